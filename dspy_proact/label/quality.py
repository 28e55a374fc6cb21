"""How a study stands: coverage, agreement, how each rater rates, and what the labels carry today.

Numbers of a rater stand beside the median of all; no sentence says that somebody rates badly.
"""

import math
import secrets
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import Any

from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.people import Part, is_cut
from dspy_proact.label.exchange import SIDES
from dspy_proact.label.store import Store
from dspy_proact.label.study import LONGEST_REASON, Design, Rater, Rating, Study, StudyItem, Submission
from dspy_proact.report.numbers import counted, plain, share, shown_gain
from dspy_proact.report.page.figures import templates
from dspy_proact.report.pairs import PairChoice, PairStudy, pairs_headline
from dspy_proact.stats import Estimate, Panel, alpha_estimate, detectable_gain
from dspy_proact.stats.agreement import RaterPair, disagreements, rater_pairs
from dspy_proact.stats.conduct import Conduct, conducts

_STEPS = 8
"""Points in time at which agreement is shown."""
_SHARED = 5
"""Items that two raters share, below which they are not compared."""
_MOST = 20
"""Pairs of raters, and items, that are shown."""


@dataclass(frozen=True)
class RatedPart:
    """The items of one part of the grading, or of the grading as a whole, and what raters gave to them."""

    part: Part
    items: tuple[StudyItem, ...]
    groups: tuple[str, ...]
    """Of the items."""
    by_item: tuple[tuple[Rating, ...], ...]
    """To each item, without planned repeats."""
    repeats: tuple[Rating, ...]
    complete: int
    """Items with as many ratings as planned."""

    @cached_property
    def ratings(self) -> tuple[Rating, ...]:
        """Item by item, without planned repeats."""
        return tuple(rating for of in self.by_item for rating in of)

    @cached_property
    def panel(self) -> Panel:
        """Aligned with `items`, and its ratings with `ratings`."""
        return self._panel_until(math.inf)

    def _panel_until(self, number: float) -> Panel:
        ratings = [[rating for rating in of if rating.number <= number] for of in self.by_item]
        grades, raters = ([[getattr(rating, name) for rating in of] for of in ratings] for name in ("grade", "rater"))
        return Panel.of(grades, self.part.levels, raters)

    @cached_property
    def growth(self) -> tuple[tuple[int, Estimate], ...]:
        """Krippendorff's alpha, ordinal or nominal as the scale is, of so many of the ratings in time, up to all."""
        numbers = [0, *sorted(rating.number for rating in self.ratings)]
        counts = dict.fromkeys(math.ceil((len(numbers) - 1) * step / _STEPS) for step in range(1, _STEPS + 1))
        return tuple((n, alpha_estimate(self._panel_until(numbers[n]), self.part.scale, self.groups)) for n in counts)

    @cached_property
    def conducts(self) -> dict[Hashable, Conduct]:
        """How each rater rated, by name."""
        return conducts(self.panel, [rating.number for rating in self.ratings], self.groups)


@dataclass(frozen=True)
class RaterStanding:
    """One rater."""

    rater: Rater
    rated: int
    """Planned repeats not counted."""
    skipped: int
    open: int
    practised: tuple[int, int]
    """Practice items graded right, and all."""
    seconds: float | None
    """Median of a rating; None where no time is known."""
    again: tuple[int, int]
    """Repeats with the same grade as the first time, and all."""
    moved: float | None
    """By how many levels repeats of ordinal parts are above the first time, on average; None where there are none."""


@dataclass(frozen=True)
class Overview:
    """How a study stands."""

    design: Design
    parts: tuple[RatedPart, ...]
    raters: tuple[RaterStanding, ...]
    """In the order in which they came."""
    pairs: tuple[tuple[Part, RaterPair], ...]
    """Those who agree least first."""
    disputed: tuple[tuple[StudyItem, Sequence[Rating]], ...]
    """Items whose ratings differ, or that the owner graded; the most disagreement first."""
    adjudications: Mapping[str, Submission]
    """By key of the item."""
    carried: str
    """What the labels would carry today, a sentence."""


def overview(
    store: Store, items: Sequence[StudyItem], declared: Benchmark[Any, Any], groups: Mapping[str, str] | None = None
) -> Overview:
    """How a study stands now, of items as `Store.chosen` gives them; intervals allow for `groups` of cases, if any."""
    ratings, adjudged = store.ratings(), store.adjudications()
    rated = [*_parts(items, ratings, groups or {}, store.study.design.ratings)]
    pairs = [
        (part.part, pair) for part in rated for pair in rater_pairs(part.panel, part.groups, part.part.weight, _SHARED)
    ]
    pairs.sort(key=lambda pair: pair[1].same if pair[1].kappa.value is None else pair[1].kappa.value)
    disputed = [
        (by, item, ratings)
        for part in rated
        for item, ratings, by in zip(part.items, part.by_item, disagreements(part.panel, part.part.weight), strict=True)
        if by or item.key in adjudged
    ]
    disputed.sort(key=lambda entry: -entry[0])
    return Overview(
        design=store.study.design,
        parts=tuple(rated),
        raters=tuple(_rater(store, rater, rated) for rater in store.raters()),
        pairs=tuple(pairs[:_MOST]),
        disputed=tuple((item, ratings) for _, item, ratings in disputed[:_MOST]),
        adjudications=adjudged,
        carried=_carried(store.study, declared, rated),
    )


def _parts(
    items: Sequence[StudyItem], ratings: Sequence[Rating], groups: Mapping[str, str], planned: int
) -> Iterator[RatedPart]:
    of_item = defaultdict[str, list[Rating]](list)
    for rating in ratings:
        of_item[rating.item].append(rating)
    for part in dict.fromkeys(item.part for item in items):
        own = tuple(item for item in items if item.part == part)
        by_item = tuple(tuple(rating for rating in of_item[item.key] if not rating.repeated) for item in own)
        repeats = tuple(rating for item in own for rating in of_item[item.key] if rating.repeated)
        keys = tuple(groups.get(item.case, item.case) for item in own)
        yield RatedPart(part, own, keys, by_item, repeats, sum(len(of) >= planned for of in by_item))


def _rater(store: Store, rater: Rater, rated: Sequence[RatedPart]) -> RaterStanding:
    slate = Counter(slot.state for slot in store.slate(rater.number))
    practice = store.practice(rater.number).values()
    first = {rating.item: rating for part in rated for rating in part.ratings if rating.rater == rater.name}
    repeats = [(part.part, rating) for part in rated for rating in part.repeats if rating.rater == rater.name]
    pairs = [(part, first[again.item].grade, again.grade) for part, again in repeats if again.item in first]
    rises = [part.levels.index(b) - part.levels.index(a) for part, a, b in pairs if part.scale == "ordinal"]
    return RaterStanding(
        rater=rater,
        rated=len(first),
        skipped=slate["skipped"],
        open=slate["open"],
        practised=(sum(practice), len(practice)),
        seconds=median_of(rating.seconds or None for rating in (*first.values(), *(again for _, again in repeats))),
        again=(sum(a == b for _, a, b in pairs), len(pairs)),
        moved=fmean(rises) if rises else None,
    )


def median_of(values: Iterable[float | None]) -> float | None:
    """The median of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def median_share(counts: Iterable[tuple[int, int]]) -> str:
    """The median of shares, in percent, each as how many of how many."""
    middle = median_of(some / count if count else None for some, count in counts)
    return "-" if middle is None else f"{share(middle, 0)} %"


def _carried(study: Study, declared: Benchmark[Any, Any], rated: Sequence[RatedPart]) -> str:
    """What a compile of the judge could show with the labels as they are; of pairs, what people prefer."""
    if study.design.kind == "pairs":
        one, other = (Path(run.path).name or run.path for run in study.runs)
        choices = [
            PairChoice(rating.rater, rating.case, SIDES[rating.grade]) for part in rated for rating in part.ratings
        ]
        return (
            " ".join(pairs_headline(PairStudy("pairs", (one, other), choices)).lines)
            if choices
            else "Nobody has chosen yet."
        )
    of_items = [
        (group, item.unit)
        for part in rated
        for item, group, count in zip(part.items, part.groups, part.panel.counts, strict=True)
        if count.any()
    ]
    sizes = [*Counter(group for group, _ in {*of_items}).values()]
    raters = {rating.rater for part in rated for rating in part.ratings}
    vary = len({rating.grade for part in rated for rating in part.ratings}) > 1
    gain = detectable_gain(sizes, len(raters)) if is_cut(declared) and vary else None
    return shown_gain(sizes, declared.nouns, gain)


def owner_page(view: Overview, csrf: str) -> str:
    """The owner's page, as HTML; its forms carry the CSRF value, and a key each by which a write counts once."""
    page = templates(__package__).get_template("owner.html")
    names = {function.__name__: function for function in (plain, share, counted, median_of, median_share)}
    names |= {"most": _MOST, "longest": LONGEST_REASON}
    return page.render(view=view, csrf=csrf, key=lambda: secrets.token_hex(16), rater=None, **names)
