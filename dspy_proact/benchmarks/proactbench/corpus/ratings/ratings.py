import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from dspy_proact.benchmarks.proactbench.corpus.ratings.draw import Draw
from dspy_proact.benchmarks.proactbench.corpus.ratings.rated_item import RatedItem
from dspy_proact.benchmarks.proactbench.corpus.ratings.rating import ASSUMED_CONFIDENCE, GivenRating
from dspy_proact.benchmarks.proactbench.types import Phase, Rating
from dspy_proact.errors import CorpusError
from dspy_proact.files.line import Line
from dspy_proact.plain_text import shown
from dspy_proact.types import Frozen


class RatingsSource(Frozen):
    """What a study was read from."""

    origin: str
    """A path, or the address of a repository."""
    commit: str | None = None
    """Of the repository; None for files, which have none."""
    files: Mapping[str, str]
    """64 hex digits over the bytes of each file that was read, by its name."""

    @classmethod
    def of(cls, origin: str, contents: Mapping[str, bytes], commit: str | None = None) -> Self:
        """The source that these contents came from."""
        files = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
        return cls(origin=origin, commit=commit, files=files)


@dataclass(frozen=True)
class Coverage:
    """How far a phase was rated."""

    items: int
    """Rated or not."""
    rated: int
    """Items with at least one rating."""
    single: int
    """Items with exactly one, which say nothing of how raters agree."""
    ratings: int


@dataclass(frozen=True)
class Ratings:
    """A study: responses, and what people thought of them, validated as a whole.

    Nothing is dropped: items without a rating stay, and what was left out or assumed in reading is counted.
    """

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
        _require_unique(items, name)
        if not given:
            left = f": the grade is empty on {ungraded} lines; fill it in" if ungraded else ""
            raise CorpusError(f"there is no rating in it{left}", source=name)
        _require_known(given, items)
        _require_single(given)
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

    @cached_property
    def by_item(self) -> Mapping[str, tuple[Rating, ...]]:
        """The ratings of every item, by key in item order; none for an item without a rating."""
        ratings: dict[str, list[Rating]] = {item.key: [] for item in self.items}
        for rating in self.ratings:
            ratings[rating.item].append(rating)
        return {key: tuple(each) for key, each in ratings.items()}

    @cached_property
    def by_annotator(self) -> Mapping[str, tuple[Rating, ...]]:
        """The ratings that each annotator gave, at least one each, in the order of their first ones."""
        ratings: dict[str, list[Rating]] = {}
        for rating in self.ratings:
            ratings.setdefault(rating.annotator, []).append(rating)
        return {annotator: tuple(each) for annotator, each in ratings.items()}

    @property
    def annotators(self) -> tuple[str, ...]:
        """Everyone who gave a rating, in the order of their first ones."""
        return tuple(self.by_annotator)

    @property
    def unrated(self) -> tuple[str, ...]:
        """Keys of the items without a rating, in item order."""
        return tuple(key for key, ratings in self.by_item.items() if not ratings)

    @cached_property
    def coverage(self) -> Mapping[Phase, Coverage]:
        """How far each phase was rated that an item has, in the order of `Phase`."""
        counts = {item.key: len(self.by_item[item.key]) for item in self.items}
        phases = {phase: [counts[item.key] for item in self.items if item.phase is phase] for phase in Phase}
        return {
            phase: Coverage(len(each), sum(n > 0 for n in each), each.count(1), sum(each))
            for phase, each in phases.items()
            if each
        }

    @cached_property
    def sha256(self) -> str:
        """64 hex digits over items, ratings and their order; where and in which form they were kept leaves it alone."""
        parts = [[each.model_dump(mode="json") for each in part] for part in (self.items, self.ratings)]
        canonical = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know before believing a figure, a sentence each; nothing where all is well."""
        single = sum(each.single for each in self.coverage.values())
        silent = [phase for phase, each in self.coverage.items() if not each.ratings]
        adrift = sum(not item.scenario for item in self.items)
        ignored = ", ".join(f"{name!r} ({count})" for name, count in self.ignored_fields.items())
        told = (
            (len(self.unrated), f"items without a rating: {len(self.unrated)} of {len(self.items)}"),
            (single, f"items with one rating, which say nothing of how raters agree: {single}"),
            (len(silent), f"phases without a rating: {', '.join(silent)}"),
            (self.ungraded, f"lines without a grade, left out: {self.ungraded}"),
            (self.assumed, f"ratings without a confidence, taken as {ASSUMED_CONFIDENCE}: {self.assumed}"),
            (adrift, f"items without a scenario, so that nobody knows which belong together: {adrift}"),
            (len(self.ignored_fields), f"ignored fields that the format does not know: {ignored}"),
        )
        return tuple(note for count, note in told if count)


def _require_unique(items: Sequence[RatedItem], name: str) -> None:
    for key, count in Counter(item.key for item in items).most_common(1):
        if count > 1:
            raise CorpusError(f"{count} items have the key {shown(key)}; a key is of one item", source=name)


def _require_known(given: Iterable[GivenRating], items: Sequence[RatedItem]) -> None:
    keys = {item.key for item in items}
    if unknown := [each for each in given if each.rating.item not in keys]:
        first, count = unknown[0], len(unknown)
        others = f", and {count - 1} more ratings are of items that are not" if count > 1 else ""
        problem = f"{shown(first.rating.item)} is none of the {len(items)} items{others}"
        raise first.line.error(f"{problem}; give the run or the items that these ratings were made for", "item")


def _require_single(given: Iterable[GivenRating]) -> None:
    lines: dict[tuple[str, str], Line] = {}
    for each in given:
        first = lines.setdefault((each.rating.annotator, each.rating.item), each.line)
        if first is not each.line:
            where = f"line {first.number}" + (f" of {first.source}" if first.source != each.line.source else "")
            problem = f"{shown(each.rating.annotator)} rated {shown(each.rating.item)} on {where} already"
            raise each.line.error(f"{problem}; keep one of the two", "item")
