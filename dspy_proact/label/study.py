"""The values of a study of raters, as its file gives and takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import from_json

LONGEST_NAME, LONGEST_REASON, MOST_SPANS, LONGEST_SECONDS = 60, 4000, 100, 86_400.0
"""Characters of a pseudonym and of a reason, marked passages of a response, and time of a rating."""
PRACTICE_ROUND, PRACTICE_ROUNDS, PRACTICE_RIGHT = 3, 2, 2
"""Practice items of a round, rounds that a rater has at most, and right grades by which a round is passed."""
Kind = Literal["grades", "pairs"]
"""Grades of single responses, or choices between two."""


@dataclass(frozen=True)
class Design:
    """What a study is to hold, as whoever begins it asks for it."""

    count: int | None = None
    """Responses of each run, or pairs; None for all."""
    each: int = 2
    """Ratings of every item, each by another rater."""
    raters: int = 4
    """Among whom the work is divided, at least `each`."""
    repeated: float = 0.1
    """Share of a rater's units that come again, in [0, 1]."""
    seed: int = 0
    disputed: bool = False
    """Whether cases on which judges disagree come first; scores cannot be corrected by ratings of these."""
    kind: Kind = "grades"


@dataclass(frozen=True)
class StudyRun:
    """A run whose responses are rated."""

    run: str
    """Its `items.run_key`."""
    path: str
    """Where its folder was when the study began."""
    draw: str | None = None
    """By what chance its cases were drawn, as the column `draw` of a sheet has it; None where they were chosen
    otherwise, so that no score can be corrected by their ratings."""


@dataclass(frozen=True)
class Study:
    """What a study is: declared once, when its file is made."""

    benchmark: str
    runs: tuple[StudyRun, ...]
    design: Design


@dataclass(frozen=True)
class Rater:
    """A person who rates, under a pseudonym."""

    number: int
    """Counted from 1 in the order in which they came."""
    name: str
    """The pseudonym, in NFC."""


def practice_passed(correct: Sequence[bool]) -> bool | None:
    """Whether a rater passed a round of practice; None where the last round that they need is not finished.

    `correct` says of each practice item that the rater graded, in order, whether the grade was right.
    """
    starts = range(0, PRACTICE_ROUND * PRACTICE_ROUNDS, PRACTICE_ROUND)
    rounds = [correct[start : start + PRACTICE_ROUND] for start in starts]
    if any(len(given) == PRACTICE_ROUND and sum(given) >= PRACTICE_RIGHT for given in rounds):
        return True
    return None if len(rounds[-1]) < PRACTICE_ROUND else False


@dataclass(frozen=True)
class Place:
    """One place of a rater's slate."""

    rater: int
    item: str
    repeated: bool
    """Whether the rater is to rate the item a second time."""
    state: Literal["open", "rated", "skipped", "returned"]
    """Returned places were given back, and somebody else rates their items."""


def _of_json(value: Any) -> Any:
    return from_json(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Given:
    """What somebody gives to an item: a rating, a skip, whose grade is empty, or the owner's own grade.

    Forms, files of offline pages and the log hold it under the names of these fields; texts are read as numbers.
    Whether it fits its item is for `Item.misfit` to say.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", allow_inf_nan=False)

    item: str
    grade: str
    key: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    """Idempotency key: a second write with it is none."""
    confidence: Annotated[int, BeforeValidator(lambda value: value or 0)] = 0
    """1 to 5; 0 for a skip."""
    reason: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """Empty where none is given."""
    spans: Annotated[tuple[tuple[int, int], ...], BeforeValidator(_of_json)] = ()
    """Start and end of each passage of the response that decided, in characters."""
    seconds: float = 0.0
    """Time taken, without pauses; 0 where it is not known."""
    repeated: bool = False
    """Whether it is a planned second rating by the same rater."""
    time: Annotated[float, Field(ge=0, lt=1e11)] | None = None
    """When it was given, in seconds since the epoch; None for now."""


@dataclass(frozen=True, kw_only=True)
class Rating(Given):
    """What a rater gave to an item, as the log has it. What was undone is none."""

    number: int
    """In the order in which they were given."""
    rater: str
    """Pseudonym."""
    run: str
    case: str
    part: str
    """Name of the part; empty for the grading as a whole."""
