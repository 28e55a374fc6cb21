"""What people thought of responses: items, rated or not, and ratings that fit them.

A judge's grade of an item stands beside them where it is known; nothing here says who is right.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Phase, Rating, digest_of
from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import Line, Part
from dspy_proact.plain_text import shown
from dspy_proact.types import Frozen

_ASSUMED_CONFIDENCE = 3
"""The confidence of a rating that gives none: the middle. How often it was assumed is counted."""


class Draw(Frozen):
    """By what chance the items of a sheet were chosen from a run: enough to draw them again.

    A sheet holds it as `count-seed-mark`, which tells a rater nothing of any item.
    """

    count: int = Field(ge=1)
    """Items that were asked for."""
    seed: int = Field(ge=0)
    of: str = Field(pattern=r"^[0-9a-f]{8}$")
    """Mark of the cases and grades that they were drawn from."""

    def __str__(self) -> str:
        return f"{self.count}-{self.seed}-{self.of}"


def is_blank(value: object) -> bool:
    """Whether nothing is given: null, or a text of white space at most."""
    return value is None or (isinstance(value, str) and not value.strip())


def _word(value: object, kind: type[Phase] | type[Grade], problem: str) -> Phase | Grade:
    word = value.strip().upper() if isinstance(value, str) else value
    if word not in tuple(kind):
        raise PydanticCustomError("word", problem)  # pyright: ignore[reportArgumentType] - a literal of ours
    return kind(word)


def _confidence(value: Any) -> int:
    try:
        number = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = None
    if number not in {1, 2, 3, 4, 5}:
        raise PydanticCustomError("confidence", "Confidence is 1, 2, 3, 4 or 5")
    return int(number)


def _draw(value: object) -> Draw:
    match = re.fullmatch(r"(\d{1,9})-(\d{1,9})-([0-9a-f]{8})", value.strip()) if isinstance(value, str) else None
    if match is None or not int(match[1]):
        raise PydanticCustomError("draw", "A draw is what the sheet was printed with, such as 60-0-1a2b3c4d")
    return Draw(count=int(match[1]), seed=int(match[2]), of=match[3])


_Blank = BeforeValidator(lambda value: None if is_blank(value) else value)
_Phase = BeforeValidator(partial(_word, kind=Phase, problem="A phase is EMERGENT, CRITICAL or RECOVERY"))
_Grade = BeforeValidator(partial(_word, kind=Grade, problem="A grade is PASS, PARTIAL or FAIL"))
PhaseWord = Annotated[Phase, _Phase]
"""A phase in any case."""
GradeWord = Annotated[Annotated[Grade, _Grade] | None, _Blank]
"""PASS, PARTIAL or FAIL in any case; null and blanks are None."""
ConfidenceWord = Annotated[Annotated[int, BeforeValidator(_confidence)] | None, _Blank]
"""1 to 5, a number or its text; null and blanks are None."""
SecondsWord = Annotated[Annotated[float, Field(ge=0, allow_inf_nan=False, strict=False)] | None, _Blank]
"""Seconds, a number or its text; null and blanks are None."""
DrawWord = Annotated[Annotated[Draw, BeforeValidator(_draw)] | None, _Blank]
"""How an item was chosen, as a sheet has it; null and blanks are None."""


class RatedItem(Frozen):
    """One response that people rated, or were asked to; the view is of the same phase and turn."""

    key: str = Field(min_length=1)
    """What ratings refer to; unique in a study."""
    phase: Phase
    scenario: str
    """The unit of clustering, as `Origin.scenario` has it; empty where it is not known."""
    persona: str = ""
    """The unit of splitting; empty where it is not known."""
    judge: Grade | None = None
    """The judge's grade; None where it is not known."""
    view: JudgeView | None = None
    """What a judge sees beside the response; None where only labels are known."""
    response: str | None = None
    """None where only labels are known, or where a run has none."""
    turn: int | None = Field(default=None, ge=1)
    """Of the trigger, counted from 1; the view's where there is one."""
    model: str = ""
    """Who wrote the response; empty where it is not known."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.view and (self.phase is not self.view.rubric.phase or self.turn not in {None, self.view.turn}):
            raise ValueError(f"{self.phase} at turn {self.turn} is another trigger than the view's")
        return self


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
        fields = {name: getattr(row, name, None) for name in TimedRating.model_fields}
        given = {name: value for name, value in fields.items() if value is not None}
        kind = TimedRating if "seconds" in given else Rating
        rating = kind.model_validate({"confidence": _ASSUMED_CONFIDENCE, **given})
        return cls(line, rating, assumed="confidence" not in given, draw=getattr(row, "draw", None))


class RatingsSource(Frozen):
    """What a study was read from."""

    origin: str
    """A path, or the address of a repository."""
    commit: str | None = None
    """Of the repository; None for files, which have none."""
    files: Mapping[str, str]
    """64 hex digits over the bytes of each file that was read, by its name."""

    @classmethod
    def of(cls, origin: str, contents: Mapping[str, bytes]) -> Self:
        """The source that these contents came from."""
        return cls(origin=origin, files={name: hashlib.sha256(data).hexdigest() for name, data in contents.items()})


@dataclass(frozen=True)
class Ratings:
    """A study: responses, and what people thought of them. What was left out or assumed in reading is counted."""

    name: str
    """What the person asked for: `published`, `sample`, `proactbench` or a path."""
    items: tuple[RatedItem, ...]
    """In the order of their file, rated or not; no two have one key."""
    ratings: tuple[Rating, ...]
    """In the order of their file, at least one; no annotator rates an item twice."""
    source: RatingsSource = field(hash=False)
    ungraded: int = 0
    """Lines whose grade was left empty."""
    assumed: int = 0
    """Ratings without a confidence, which count as 3."""
    ignored_fields: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    """How often each field occurred that the format does not know, by dotted name."""
    draws: frozenset[Draw] = frozenset()
    """How rated items were chosen, as far as their lines say it."""

    def __repr__(self) -> str:
        count = f"{len(self.ratings):,} ratings of {len(self.items):,} items by {len(self.annotators):,} raters"
        return f"Ratings({self.name!r}, {count})"

    @classmethod
    def of(
        cls,
        name: str,
        items: Sequence[RatedItem],
        given: Sequence[GivenRating],
        source: RatingsSource,
        *,
        ungraded: int = 0,
        ignored_fields: Mapping[str, int] | None = None,
    ) -> Self:
        """Join ratings with the items that they are of.

        Raises:
            CorpusError: Two items have one key, there is no rating, ratings are of unknown items, or an annotator
                rates an item twice.
        """
        counts = Counter(item.key for item in items)
        for key, count in counts.most_common(1):
            if count > 1:
                raise CorpusError(f"{count} items have the key {shown(key)}; a key is of one item", source=name)
        if not given:
            left = f": the grade is empty on {ungraded} lines; fill it in" if ungraded else ""
            raise CorpusError(f"there is no rating in it{left}", source=name)
        if unknown := [each for each in given if each.rating.item not in counts]:
            others = f", and {len(unknown) - 1} more ratings are of items that are not" if len(unknown) > 1 else ""
            problem = f"{shown(unknown[0].rating.item)} is none of the {len(counts)} items{others}"
            mend = "give the run or the items that these ratings were made for"
            raise unknown[0].line.error(f"{problem}; {mend}", "item")
        lines: dict[tuple[str, str], Line] = {}
        for each in given:
            first = lines.setdefault((each.rating.annotator, each.rating.item), each.line)
            if first is not each.line:
                where = f"line {first.number}" + (f" of {first.source}" if first.source != each.line.source else "")
                problem = f"{shown(each.rating.annotator)} rated {shown(each.rating.item)} on {where} already"
                raise each.line.error(f"{problem}; keep one of the two", "item")
        return cls(
            name=name,
            items=tuple(items),
            ratings=tuple(each.rating for each in given),
            source=source,
            ungraded=ungraded,
            assumed=sum(each.assumed for each in given),
            ignored_fields=dict(sorted((ignored_fields or {}).items())),
            draws=frozenset(each.draw for each in given if each.draw),
        )

    @classmethod
    def merged(cls, parts: Sequence["Ratings"]) -> "Ratings":
        """The ratings of several files of the same items, such as a copy of a sheet from each rater.

        Raises:
            CorpusError: A file is named twice, the items differ, or an annotator rates an item in two of the files.
        """
        names, where = [part.name for part in parts], dict[tuple[str, str], str]()
        for place, part in enumerate(parts):
            if part.name in names[:place]:
                raise CorpusError("is named twice; name each file once", source=part.name)
            if part.items != parts[0].items:
                raise CorpusError(f"its items are not those of {names[0]}; name files of one sheet", source=part.name)
            for rating in part.ratings:
                of = where.setdefault((rating.annotator, rating.item), part.name)
                if of != part.name:
                    twice = f"{shown(rating.annotator)} rated {shown(rating.item)} in {of} already"
                    raise CorpusError(f"{twice}; keep one of the two, or give each rater a name", source=part.name)
        files = {f"{part.name}: {name}": sha256 for part in parts for name, sha256 in part.source.files.items()}
        ignored = sum((Counter(part.ignored_fields) for part in parts), Counter[str]())
        return replace(
            parts[0],
            name=" + ".join(names),
            ratings=tuple(rating for part in parts for rating in part.ratings),
            source=parts[0].source.model_copy(update={"files": files}),
            ungraded=sum(part.ungraded for part in parts),
            assumed=sum(part.assumed for part in parts),
            ignored_fields=dict(sorted(ignored.items())),
            draws=frozenset[Draw]().union(*(part.draws for part in parts)),
        )

    @property
    def published(self) -> bool:
        """Whether it is the published study, whose judge is GPT-5.4."""
        return self.name in {"published", "proactbench"}

    @cached_property
    def by_item(self) -> Mapping[str, tuple[Rating, ...]]:
        """The ratings of every item, by key in item order; none for an item without a rating."""
        ratings: dict[str, list[Rating]] = {item.key: [] for item in self.items}
        for rating in self.ratings:
            ratings[rating.item].append(rating)
        return {key: tuple(given) for key, given in ratings.items()}

    @property
    def annotators(self) -> tuple[str, ...]:
        """Everyone who gave a rating, in the order of their first ones."""
        return tuple(dict.fromkeys(rating.annotator for rating in self.ratings))

    @cached_property
    def sha256(self) -> str:
        """64 hex digits over items, ratings and their order; where and in which form they were kept does not matter."""
        return digest_of([[each.model_dump(mode="json") for each in part] for part in (self.items, self.ratings)])

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know before believing a figure, a sentence each; nothing where all is well."""
        counts = [len(given) for given in self.by_item.values()]
        rated = {item.phase for item in self.items if self.by_item[item.key]}
        silent = [phase for phase in Phase if phase in {item.phase for item in self.items} - rated]
        unknown = sum(not item.scenario for item in self.items)
        ignored = ", ".join(f"{name!r} ({count})" for name, count in self.ignored_fields.items())
        notes = (
            (counts.count(0), f"items without a rating: {counts.count(0)} of {len(counts)}"),
            (counts.count(1), f"items with one rating (not usable for agreement): {counts.count(1)}"),
            (len(silent), f"phases without a rating: {', '.join(silent)}"),
            (self.ungraded, f"lines without a grade, left out: {self.ungraded}"),
            (self.assumed, f"ratings without a confidence, taken as {_ASSUMED_CONFIDENCE}: {self.assumed}"),
            (unknown, f"items without a scenario, so that nobody knows which belong together: {unknown}"),
            (len(self.ignored_fields), f"ignored fields that the format does not know: {ignored}"),
        )
        return tuple(note for count, note in notes if count)
