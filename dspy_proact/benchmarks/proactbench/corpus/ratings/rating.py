"""A rating at the border where it is read: the words that people write for grades and confidence."""

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from dspy_proact.benchmarks.proactbench.corpus.ratings.draw import Draw
from dspy_proact.benchmarks.proactbench.types import Grade, Rating
from dspy_proact.files.line import Line
from dspy_proact.files.part import Part

ASSUMED_CONFIDENCE = 3
"""The confidence of a rating that gives none: the middle. How often it was assumed is counted."""


class TimedRating(Rating):
    """A rating, and how long it took."""

    seconds: float = Field(ge=0, allow_inf_nan=False)
    """From the moment the item was shown until it was sent."""


@dataclass(frozen=True)
class GivenRating:
    """A rating, and where it stands."""

    line: Line
    rating: Rating
    assumed: bool = False
    """Whether it gives no confidence."""
    draw: Draw | None = None
    """How its item was chosen; None where that is not said."""

    @classmethod
    def of(cls, line: Line, row: Part) -> Self:
        """What a row says under the names of `TimedRating`; the confidence is assumed where it gives none."""
        told = {name: getattr(row, name, None) for name in TimedRating.model_fields}
        given = {name: value for name, value in told.items() if value is not None}
        kind = TimedRating if "seconds" in given else Rating
        rating = kind.model_validate({"confidence": ASSUMED_CONFIDENCE, **given})
        return cls(line, rating, assumed="confidence" not in given, draw=getattr(row, "draw", None))


def is_blank(value: object) -> bool:
    """Whether nothing is given: null, or a text of white space at most."""
    return value is None or (isinstance(value, str) and not value.strip())


def _grade(value: object) -> object:
    if is_blank(value):
        return None
    word = value.strip().upper() if isinstance(value, str) else value
    if word not in tuple(Grade):
        raise PydanticCustomError("grade", "A grade is PASS, PARTIAL or FAIL")
    return Grade(word)


def _confidence(value: object) -> object:
    if is_blank(value):
        return None
    try:
        number = None if isinstance(value, bool) else float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        number = None
    if number not in {1, 2, 3, 4, 5}:
        raise PydanticCustomError("confidence", "Confidence is 1, 2, 3, 4 or 5")
    return int(number)


def _draw(value: object) -> Draw | None:
    if is_blank(value):
        return None
    found = Draw.read(value) if isinstance(value, str) else value
    if not isinstance(found, Draw):
        raise PydanticCustomError("draw", "A draw is what the sheet was printed with, such as 60-0-1a2b3c4d")
    return found


GradeWord = Annotated[Grade | None, BeforeValidator(_grade)]
"""PASS, PARTIAL or FAIL in any case; null and blanks are None."""
ConfidenceWord = Annotated[int | None, BeforeValidator(_confidence)]
"""1 to 5, a number or its text; null and blanks are None."""
DrawWord = Annotated[Draw | None, BeforeValidator(_draw)]
"""How an item was chosen, as a sheet has it; null and blanks are None."""
