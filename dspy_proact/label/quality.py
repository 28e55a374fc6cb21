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
from pathlib import Path
from statistics import fmean, median
from typing import Any

from dspy_proact.evaluation.benchmark import Benchmark, Part
from dspy_proact.label.exchange import SIDES
from dspy_proact.label.store import Store
from dspy_proact.label.study import LONGEST_REASON, Design, Given, Rater, Rating, Study, StudyItem, practice_passed
from dspy_proact.report.numbers import counted, plain, probability, share, shown_gain
from dspy_proact.report.page.figures import templates
from dspy_proact.report.pairs import PairChoice, PairStudy, pairs_headline
from dspy_proact.stats import Estimate, Panel, alpha_estimate, holm, smallest_gain
from dspy_proact.stats.agreement import RaterPair, disagreements, rater_pairs
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
class RatedPart:
    """The items of one part of the grading, or of the grading as a whole, and what raters gave to them."""

    part: Part
    items: tuple[StudyItem, ...]
    groups: tuple[str, ...]
    """Of the items."""
    given: tuple[tuple[Rating, ...], ...]
    """To each item, without planned repeats."""
    repeats: tuple[Rating, ...]
    complete: int
    """Items with as many ratings as planned."""

    @cached_property
    def ratings(self) -> tuple[Rating, ...]:
        """Item by item, without planned repeats."""
        return tuple(each for of in self.given for each in of)

    @cached_property
    def panel(self) -> Panel:
        """Aligned with `items`, and its ratings with `ratings`."""
        return self._panel_until(math.inf)

    def _panel_until(self, number: float) -> Panel:
        given = [[each for each in of if each.number <= number] for of in self.given]
        grades, raters = ([[getattr(each, name) for each in of] for of in given] for name in ("grade", "rater"))
        return Panel.of(grades, self.part.levels, raters)

    @cached_property
    def growth(self) -> tuple[tuple[int, Estimate], ...]:
        """Krippendorff's alpha, ordinal or nominal as the scale is, of so many of the ratings in time, up to all."""
        numbers = [0, *sorted(each.number for each in self.ratings)]
        counts = dict.fromkeys(math.ceil((len(numbers) - 1) * step / _STEPS) for step in range(1, _STEPS + 1))
        return tuple((n, alpha_estimate(self._panel_until(numbers[n]), self.part.scale, self.groups)) for n in counts)

    @cached_property
    def conducts(self) -> dict[str, Conduct]:
        """How each rater rated."""
        found = conducts(self.panel, [each.number for each in self.ratings])
        return {str(name): each for name, each in zip(self.panel.names, found, strict=True)}


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
class Overview:
    """How a study stands."""

    design: Design
    parts: tuple[RatedPart, ...]
    raters: tuple[RaterStanding, ...]
    """In the order in which they came."""
    tested: bool
    """Whether there are ratings enough for any test of what is unusual."""
    pairs: tuple[tuple[Part, RaterPair], ...]
    """Those who agree least first."""
    disputed: tuple[tuple[StudyItem, Sequence[Rating]], ...]
    """Items whose ratings differ, or that the owner graded; the most disagreement first."""
    adjudications: Mapping[str, Given]
    """By key of the item."""
    carried: str
    """What the labels would carry today, a sentence."""


def overview(
    store: Store, items: Sequence[StudyItem], declared: Benchmark[Any, Any], groups: Mapping[str, str] | None = None
) -> Overview:
    """How a study stands now.

    Args:
        store: Of the study.
        items: As `Store.chosen` gives them.
        declared: The benchmark.
        groups: Of each case, which intervals allow for; each case is its own where None.
    """
    ratings, adjudged = store.ratings(), store.adjudications()
    rated = [*_parts(items, ratings, groups or {}, store.study.design.each)]
    tests, marks = [*_tests(rated, ratings)], defaultdict[str, list[str]](list)
    for (name, _, text), p in zip(tests, holm([p for _, p, _ in tests]), strict=True):
        if p is not None and p < LEVEL:
            marks[name].append(f"{text} (p {probability(p)})")
    pairs = [
        (part.part, pair) for part in rated for pair in rater_pairs(part.panel, part.groups, part.part.weight, _SHARED)
    ]
    pairs.sort(key=lambda each: each[1].same if each[1].kappa.value is None else each[1].kappa.value)
    disputed = [
        (found, item, given)
        for part in rated
        for item, given, found in zip(part.items, part.given, disagreements(part.panel, part.part.weight), strict=True)
        if found or item.key in adjudged
    ]
    disputed.sort(key=lambda each: -each[0])
    return Overview(
        design=store.study.design,
        parts=tuple(rated),
        raters=tuple(_rater(store, each, rated, marks[each.name]) for each in store.raters()),
        tested=any(p is not None for _, p, _ in tests),
        pairs=tuple(pairs[:_MOST]),
        disputed=tuple((item, given) for _, item, given in disputed[:_MOST]),
        adjudications=adjudged,
        carried=_carried(store.study, declared, rated),
    )


def _parts(
    items: Sequence[StudyItem], ratings: Sequence[Rating], groups: Mapping[str, str], planned: int
) -> Iterator[RatedPart]:
    of_item = defaultdict[str, list[Rating]](list)
    for each in ratings:
        of_item[each.item].append(each)
    for part in dict.fromkeys(item.part for item in items):
        own = tuple(item for item in items if item.part == part)
        given = tuple(tuple(each for each in of_item[item.key] if not each.repeated) for item in own)
        repeats = tuple(each for item in own for each in of_item[item.key] if each.repeated)
        keys = tuple(groups.get(item.case, item.case) for item in own)
        yield RatedPart(part, own, keys, given, repeats, sum(len(of) >= planned for of in given))


def _tests(rated: Sequence[RatedPart], ratings: Sequence[Rating]) -> Iterator[tuple[str, float | None, str]]:
    """What is tested of each rater: their name, the p value, and what is unusual where it is small."""
    for part in rated:
        of = f" of {part.part.name.replace('_', ' ')}" if part.part.name else ""
        for name, each in part.conducts.items():
            alike = f"{share(each.same, 0)} % of them are the same, and {share(each.theirs, 0)} % among the others"
            yield name, each.likeness, f"Grades{of} have less in common with those of others: {alike}."
            moved = f"moved by {each.moved or 0:+.2f} levels, beside those of others, from the first half to the second"
            if part.part.scale == "ordinal" or len(part.part.levels) == 2:
                yield name, each.drift, f"Grades{of} {moved}."
            yield name, each.run, f"Gave the same grade{of} {each.longest} times in a row."
    times = defaultdict[str, list[float]](list)
    for each in ratings:
        if each.seconds > 0:
            times[each.rater].append(each.seconds)
    typical = {name: median(of) for name, of in times.items() if len(of) >= FEWEST_TESTED}
    for name, own in typical.items():
        others = [each for other, each in typical.items() if other != name]
        quick = outlier_p(-math.log(own), [-math.log(each) for each in others])
        yield name, quick, f"Took {own:.0f} seconds a rating, and the others {median(others or [own]):.0f}."


def _rater(store: Store, rater: Rater, rated: Sequence[RatedPart], marks: Sequence[str]) -> RaterStanding:
    slate = Counter(each.state for each in store.slate(rater.number))
    practice = [*store.practice(rater.number).values()]
    first = {each.item: each for part in rated for each in part.ratings if each.rater == rater.name}
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
        practised=(sum(practice), len(practice)),
        failed_practice=practice_passed(practice) is False,
        seconds=median(times) if times else None,
        same=fmean(same) if same else None,
        again=(sum(a == b for _, a, b in pairs), len(pairs)),
        moved=fmean(rises) if rises else None,
        grades=dict(sorted(Counter(each.grade for each in first.values()).items())),
        marks=tuple(marks),
    )


def _carried(study: Study, declared: Benchmark[Any, Any], rated: Sequence[RatedPart]) -> str:
    """What a compile of the judge could show with the labels as they are; of pairs, what people prefer."""
    if study.design.kind == "pairs":
        one, other = (Path(run.path).name or run.path for run in study.runs)
        choices = [PairChoice(each.rater, each.case, SIDES[each.grade]) for part in rated for each in part.ratings]
        return pairs_headline(PairStudy("pairs", (one, other), choices)) if choices else "Nobody has chosen yet."
    of_items = [
        (item.unit, group)
        for part in rated
        for item, group, count in zip(part.items, part.groups, part.panel.counts, strict=True)
        if count.any()
    ]
    units, groups = ({*each} for each in zip(*of_items, strict=True)) if of_items else (set(), set())
    raters, parts = {each.rater for part in rated for each in part.ratings}, declared.graded_by_people
    # As a compile has it: kappas, and so gains in them, are of one grade on an ordinal scale of three.
    is_cut = len(parts) == 1 and not parts[0].name and parts[0].scale == "ordinal" and len(parts[0].levels) == 3
    gain = smallest_gain(len(units), len(groups), len(raters)) if is_cut else None
    nouns = declared.nouns
    return shown_gain(len(units), len(groups), nouns.group if len(groups) == 1 else nouns.groups, gain)


def owner_page(view: Overview, csrf: str) -> str:
    """The owner's page, as HTML; its forms carry the CSRF value, and a key each by which a write counts once."""
    told = {"plain": plain, "share": share, "counted": counted, "most": _MOST, "longest": LONGEST_REASON}
    page = templates(__package__).get_template("owner.html")
    return page.render(view=view, csrf=csrf, key=lambda: secrets.token_hex(16), rater=None, **told)
