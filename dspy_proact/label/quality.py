"""How a study stands: coverage, agreement, what is unusual in how somebody rates, and what the labels carry today.

A mark on a rater is an observation with the test that it rests on, not a verdict. The p values of all tests of all
raters are adjusted together (Holm): where everyone works alike, one study in twenty shows a mark at one look, however
strict anyone is.
"""

import math
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from dspy_proact.benchmarks.benchmark import Benchmark, Part
from dspy_proact.label.exchange import SIDES
from dspy_proact.label.items import Item
from dspy_proact.label.reading import templates
from dspy_proact.label.store import Store
from dspy_proact.label.study import LONGEST_REASON, Adjudication, Rater, Rating, Study, practice_passed
from dspy_proact.report.numbers import counted, plain, probability, share, shown_gain
from dspy_proact.report.pairs import PairChoice, PairStudy, pairs_headline
from dspy_proact.stats import Estimate, Panel, alpha_estimate, coincidences, holm, kappa_estimate, smallest_gain
from dspy_proact.stats.agreement import disagreement
from dspy_proact.stats.conduct import FEWEST_TESTED, Conduct, conducts, outlier_p

LEVEL = 0.05
"""Of all tests of all raters together."""
_STEPS = 8
"""Points in time at which agreement is shown."""
_SHARED = 5
"""Items that two raters share, below which they are not compared."""
_MOST = 20
"""Pairs of raters, and items, that are shown."""


@dataclass(frozen=True)
class PartStanding:
    """One part of the grading, or the grading as a whole."""

    part: Part
    items: int
    complete: int
    """Items with as many ratings as planned."""
    ratings: int
    """Planned repeats not counted."""
    growth: tuple[tuple[int, Estimate], ...]
    """Krippendorff's alpha, ordinal or nominal as the scale is, of so many ratings from the first on; at least one."""

    @property
    def agreement(self) -> Estimate:
        """Alpha of all ratings."""
        return self.growth[-1][1]


@dataclass(frozen=True)
class PairStanding:
    """Two raters on the items of a part that both rated."""

    part: str
    raters: tuple[str, str]
    items: int
    same: float
    """Share of these with the same grade, in [0, 1]."""
    kappa: Estimate
    """Cohen's, in [-1, 1]: quadratic on an ordinal scale, else unweighted."""


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
    failed_practice: bool
    seconds: float | None
    """Median of a rating; None where no time is known."""
    same: float | None
    """Share of the other ratings of the same items with the same grade, in [0, 1]; None where there are none."""
    again: tuple[int, int]
    """Repeats with the same grade as the first time, and all."""
    moved: float | None
    """By how many levels repeats of ordinal parts are above the first time, on average; None where there are none."""
    grades: Mapping[str, int]
    """How often each grade was given."""
    marks: tuple[str, ...] = ()
    """What is unusual, in sentences."""


@dataclass(frozen=True)
class DisputedItem:
    """An item on which raters disagree, or which the owner graded."""

    item: Item
    ratings: tuple[Rating, ...]
    disagreement: float
    """Mean of two of its ratings: squared share of the scale between them, or whether they differ; in [0, 1]."""
    adjudication: Adjudication | None


@dataclass(frozen=True)
class Overview:
    """How a study stands."""

    study: Study
    items: int
    complete: int
    ratings: int
    undone: int
    parts: tuple[PartStanding, ...]
    raters: tuple[RaterStanding, ...]
    """In the order in which they came."""
    pairs: tuple[PairStanding, ...]
    """Those who agree least first."""
    disputed: tuple[DisputedItem, ...]
    """The most disagreement first."""
    carried: str
    """What the labels would carry today, a sentence."""


def overview(
    store: Store, items: Sequence[Item], declared: Benchmark[Any, Any], groups: Mapping[str, str] | None = None
) -> Overview:
    """How a study stands now.

    Args:
        store: Of the study.
        items: As `Store.chosen` gives them.
        declared: The benchmark.
        groups: Of each case, which intervals allow for; each case is its own where None.
    """
    study, ratings = store.study, store.ratings()
    rated = [_RatedPart.of(part, items, ratings, groups or {}) for part in dict.fromkeys(item.part for item in items)]
    first = [each for part in rated for each in part.first]
    of_item = Counter(each.item for each in first)
    done, raters = {item.key for item in items if of_item[item.key] >= study.each}, store.raters()
    marks, adjudged = _marks(rated, ratings), store.adjudications()
    pairs = [each for part in rated for each in part.pairs()]
    disputed = [each for part in rated for each in part.disputed(adjudged)]
    return Overview(
        study=study,
        items=len(items),
        complete=len(done),
        ratings=len(first),
        undone=store.undone(),
        parts=tuple(part.standing(done) for part in rated),
        raters=tuple(_rater(store, each, rated, marks[each.name]) for each in raters),
        pairs=tuple(
            sorted(pairs, key=lambda each: each.same if each.kappa.value is None else each.kappa.value)[:_MOST]
        ),
        disputed=tuple(sorted(disputed, key=lambda each: -each.disagreement)[:_MOST]),
        carried=_carried(study, declared, rated),
    )


@dataclass(frozen=True)
class _RatedPart:
    """The items of a part, and their ratings."""

    part: Part
    items: tuple[Item, ...]
    groups: tuple[str, ...]
    """Of the items."""
    first: tuple[Rating, ...]
    """Item by item, without planned repeats."""
    repeats: tuple[Rating, ...]

    @classmethod
    def of(
        cls, part: Part, items: Sequence[Item], ratings: Sequence[Rating], groups: Mapping[str, str]
    ) -> "_RatedPart":
        own = tuple(item for item in items if item.part == part)
        rank = {item.key: place for place, item in enumerate(own)}
        mine = sorted((each for each in ratings if each.item in rank), key=lambda each: rank[each.item])
        first, repeats = (tuple(each for each in mine if each.repeated is again) for again in (False, True))
        return cls(part, own, tuple(groups.get(item.case, item.case) for item in own), first, repeats)

    @cached_property
    def panel(self) -> Panel:
        """Aligned with `items`, and its ratings with `first`."""
        return self._panel_of(self.first)

    def _panel_of(self, ratings: Sequence[Rating]) -> Panel:
        of_item = defaultdict[str, list[Rating]](list)
        for each in ratings:
            of_item[each.item].append(each)
        given = [of_item[item.key] for item in self.items]
        return Panel.of(
            [[each.grade for each in of] for of in given],
            self.part.levels,
            [[each.rater for each in of] for of in given],
        )

    @property
    def _is_ordinal(self) -> bool:
        return self.part.scale == "ordinal"

    def standing(self, done: set[str]) -> PartStanding:
        """Coverage, and agreement as it grew."""
        in_time, metric = sorted(self.first, key=lambda each: each.number), "ordinal" if self._is_ordinal else "nominal"
        counts = dict.fromkeys(math.ceil(len(in_time) * step / _STEPS) for step in range(1, _STEPS + 1))
        growth = ((n, alpha_estimate(self._panel_of(in_time[:n]), metric, self.groups)) for n in counts)
        complete = sum(item.key in done for item in self.items)
        return PartStanding(self.part, len(self.items), complete, len(self.first), tuple(growth))

    def pairs(self) -> Iterator[PairStanding]:
        """Every two raters who share enough items."""
        given = defaultdict[str, dict[str, str]](dict)
        for each in self.first:
            given[each.rater][each.item] = each.grade
        for one, other in combinations(sorted(given), 2):
            both = given[one].keys() & given[other]
            places = [place for place, item in enumerate(self.items) if item.key in both]
            if len(places) < _SHARED:
                continue
            mine, theirs = ([given[who][self.items[place].key] for place in places] for who in (one, other))
            same = fmean(a == b for a, b in zip(mine, theirs, strict=True))
            weight = "quadratic" if self._is_ordinal else "none"
            kappa = kappa_estimate(mine, theirs, self.part.levels, [self.groups[place] for place in places], weight)
            yield PairStanding(self.part.name, (one, other), len(places), same, kappa)

    def disputed(self, adjudged: Mapping[str, Adjudication]) -> Iterator[DisputedItem]:
        """The items whose ratings differ, or that are adjudicated."""
        counts, of_item = self.panel.counts, defaultdict[str, list[Rating]](list)
        distance = disagreement(counts.shape[1], "quadratic" if self._is_ordinal else "none")
        apart = np.sum(coincidences(counts) * distance, axis=(1, 2)) / np.maximum(1, counts.sum(axis=1))
        for each in self.first:
            of_item[each.item].append(each)
        for item, found in zip(self.items, apart.tolist(), strict=True):
            if found or item.key in adjudged:
                yield DisputedItem(item, tuple(of_item[item.key]), found, adjudged.get(item.key))

    @cached_property
    def conducts(self) -> dict[str, Conduct]:
        """How each rater rated."""
        found = conducts(self.panel, [each.number for each in self.first])
        return {str(name): each for name, each in zip(self.panel.names, found, strict=True)}


def _marks(rated: Sequence[_RatedPart], ratings: Sequence[Rating]) -> dict[str, list[str]]:
    """What is unusual, by rater: what was tested of anyone, where the adjusted p value is below the level."""
    tests = list[tuple[str, float | None, str]]()
    for part in rated:
        of = f" of {part.part.name.replace('_', ' ')}" if part.part.name else ""
        for name, each in part.conducts.items():
            alike = f"{share(each.same, 0)} % of them are the same, and {share(each.theirs, 0)} % among the others"
            tests.append((name, each.likeness, f"Grades{of} have less in common with those of others: {alike}."))
            moved = f"moved by {each.moved or 0:+.2f} levels, beside those of others, from the first half to the second"
            if part.part.scale == "ordinal" or len(part.part.levels) == 2:
                tests.append((name, each.drift, f"Grades{of} {moved}."))
            tests.append((name, each.run, f"Gave the same grade{of} {each.longest} times in a row."))
    times = defaultdict[str, list[float]](list)
    for each in ratings:
        if each.seconds > 0:
            times[each.rater].append(each.seconds)
    typical = {name: median(of) for name, of in times.items() if len(of) >= FEWEST_TESTED}
    for name, own in typical.items():
        others = [each for other, each in typical.items() if other != name]
        quick = outlier_p(-math.log(own), [-math.log(each) for each in others])
        tests.append((name, quick, f"Took {own:.0f} seconds a rating, and the others {median(others or [own]):.0f}."))
    marks = defaultdict[str, list[str]](list)
    for (name, _, text), p in zip(tests, holm([p for _, p, _ in tests]), strict=True):
        if p is not None and p < LEVEL:
            marks[name].append(f"{text} (p {probability(p)})")
    return marks


def _rater(store: Store, rater: Rater, rated: Sequence[_RatedPart], marks: Sequence[str]) -> RaterStanding:
    slate, practice = Counter(each.state for each in store.slate(rater.number)), store.practice(rater.number)
    first = {each.item: each for part in rated for each in part.first if each.rater == rater.name}
    repeats = [(part.part, each) for part in rated for each in part.repeats if each.rater == rater.name]
    times = [each.seconds for each in (*first.values(), *(each for _, each in repeats)) if each.seconds > 0]
    same = [each.same for part in rated if (each := part.conducts.get(rater.name)) and each.same is not None]
    pairs = [(part, first[each.item].grade, each.grade) for part, each in repeats if each.item in first]
    rises = [part.levels.index(b) - part.levels.index(a) for part, a, b in pairs if part.scale == "ordinal"]
    return RaterStanding(
        rater=rater,
        rated=len(first),
        skipped=slate["skipped"],
        open=slate["open"],
        practised=(sum(each.correct for each in practice), len(practice)),
        failed_practice=practice_passed(practice) is False,
        seconds=median(times) if times else None,
        same=fmean(same) if same else None,
        again=(sum(a == b for _, a, b in pairs), len(pairs)),
        moved=fmean(rises) if rises else None,
        grades=dict(sorted(Counter(each.grade for each in first.values()).items())),
        marks=tuple(marks),
    )


def _carried(study: Study, declared: Benchmark[Any, Any], rated: Sequence[_RatedPart]) -> str:
    """What a compile of the judge could show with the labels as they are; of pairs, what people prefer."""
    if study.kind == "pairs":
        one, other = (Path(run.path).name or run.path for run in study.runs)
        choices = [PairChoice(each.rater, each.case, SIDES[each.grade]) for part in rated for each in part.first]
        return pairs_headline(PairStudy("pairs", (one, other), choices)) if choices else "Nobody has chosen yet."
    of_items = [
        (item.unit, group)
        for part in rated
        for item, group, count in zip(part.items, part.groups, part.panel.counts, strict=True)
        if count.any()
    ]
    units, groups = ({*each} for each in zip(*of_items, strict=True)) if of_items else (set(), set())
    raters, parts = {each.rater for part in rated for each in part.first}, declared.graded_by_people
    # As a compile has it: kappas, and so gains in them, are of one grade on an ordinal scale of three.
    is_cut = len(parts) == 1 and parts[0].scale == "ordinal" and len(parts[0].levels) == 3
    gain = smallest_gain(len(units), len(groups), len(raters)) if is_cut else None
    return shown_gain(len(units), len(groups), declared.nouns.groups, gain)


def owner_page(view: Overview, csrf: str) -> str:
    """The owner's page, as HTML; its forms carry the CSRF value, and a key each by which a write counts once."""
    told = {"plain": plain, "share": share, "counted": counted, "most": _MOST, "longest": LONGEST_REASON}
    return (
        templates()
        .get_template("owner.html")
        .render(view=view, csrf=csrf, key=lambda: secrets.token_hex(16), session=None, **told)
    )
