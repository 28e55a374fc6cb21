"""Laws that all statistics share: neither order nor names matter, and a difference turns with its sides."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact import stats
from dspy_proact.stats import Estimate, Figure, Judged, Panel
from dspy_proact.types import Classification

law = settings(deadline=None, max_examples=15)
LEVELS, STRATA = [0, 1, 2], ["E", "C", "R"]
# One item: the ratings by the first so many of four people, two judges' levels, its group and its stratum.
Row = tuple[list[int], int, int, int, str]
level = st.integers(0, 2)
rows = st.lists(
    st.tuples(st.lists(level, min_size=1, max_size=4), level, level, st.integers(0, 9), st.sampled_from(STRATA)),
    min_size=1,
    max_size=40,
)


class Table:
    """Rows as columns, with names for people and groups."""

    def __init__(self, rows: Sequence[Row], people: str = "ABCD", group: Callable[[int], object] = lambda key: key):
        self.ratings, self.first, self.second, keys, self.strata = (list(column) for column in zip(*rows, strict=True))
        self.raters = [list(people[: len(rating)]) for rating in self.ratings]
        self.groups = [group(key) for key in keys]
        self.a, self.b = ([one / 2 for one in side] for side in (self.first, self.second))
        self.panel = Panel.of(self.ratings, LEVELS, self.raters)
        self.both = self.groups, self.strata, STRATA

    def pairs(self, side: Sequence[int]) -> list[list[tuple[float, float]]]:
        return [[(float(rating[0] > 0), float(text > 0))] for rating, text in zip(self.ratings, side, strict=True)]

    def judged(self, ties: list[int] | None) -> Judged:
        return Judged.of(self.panel, self.first, LEVELS, self.groups, ties)


CLASSES: list[Classification] = list(get_args(Classification))
ONE: dict[str, Callable[[Table], Any]] = {
    "mean": lambda t: stats.cluster_mean(t.a, t.groups),
    "macro mean": lambda t: stats.cluster_mean(t.a, *t.both),
    "mean of any range": lambda t: stats.part_mean([7 * a - 3 for a in t.a], t.groups),
    "kappa": lambda t: [stats.kappa_estimate(t.first, t.second, LEVELS, t.groups, w) for w in ("none", "linear")],
    "alpha": lambda t: stats.alpha_estimate(t.panel, "ordinal", t.groups),
    "human reference": lambda t: stats.human_reference(t.judged(None)),
    "judged": lambda t: [t.judged([1, 2, 0]).ac("none"), t.judged(None).exact(), t.judged(None).bias([0, 0.5, 1])],
    "lengths": lambda t: stats.length_change(t.first, t.second, t.groups),
    "classification": lambda t: [stats.classification_estimate(t.pairs(t.first), t.groups, one) for one in CLASSES],
    "repeats": lambda t: stats.repeats(t.a, t.groups, t.second, t.groups),
    "standings": lambda t: sorted(stats.standings(t.judged(None)), key=lambda one: str(one.rater)),
    "alt-test": lambda t: stats.alt_test(t.judged(None), epsilon=0.1).advantage,
}
"""Of one judge, or of a judge and people."""
TWO: dict[str, Callable[[Table], Any]] = {
    "paired": lambda t: stats.paired_difference(t.a, t.b, t.groups),
    "macro paired": lambda t: stats.paired_difference(t.a, t.b, *t.both),
    "change": lambda t: stats.score_change(t.a, t.b, t.groups),
    "value change": lambda t: stats.value_change([7 * a - 3 for a in t.a], [7 * b - 3 for b in t.b], t.groups),
    "improvement": lambda t: stats.improvement(t.first, t.second, t.panel, t.strata, t.groups, order=STRATA).overall,
    "classes": lambda t: stats.classification_difference(t.pairs(t.first), t.pairs(t.second), t.groups, "f1"),
}
"""Of the second judge less the first."""
RANGES = {
    "mean": (0, 1),
    "macro mean": (0, 1),
    "kappa": (-1, 1),
    "alpha": (-1, 1),
    "alt-test": (0, 1),
    "paired": (-1, 1),
}
ENDLESS = {"mean of any range", "value change", "lengths", "repeats", "judged"}
NOT_DOUBLED = {"alpha", "human reference", "repeats", "alt-test", "improvement"}
"""What counts pairs of ratings or repeats, or says how many items there are."""


def estimates(result: Any) -> list[Estimate]:
    """All that are in what was found."""
    if isinstance(result, Estimate):
        return [result]
    if isinstance(result, Figure):
        return [Estimate(result.value, reason=result.reason or "no interval")]
    parts = result if isinstance(result, list) else [getattr(result, field.name) for field in fields(result)]
    return [one for part in parts if isinstance(part, list) or is_dataclass(part) for one in estimates(part)]


def alike(one: Estimate, other: Estimate, sign: int = 1) -> bool:
    """Whether two are so but for rounding, which may also leave a spread of 0 a little above it."""
    if one.value is None or other.value is None or one.low is None or other.low is None:
        return other.value == (None if one.value is None else pytest.approx(sign * one.value, abs=1e-9))
    ends = [sign * end for end in (one.low, one.high or 0)][::sign]
    return [other.value, other.low, other.high] == pytest.approx([sign * one.value, *ends], abs=1e-7)


@pytest.mark.parametrize("name", [*ONE, *TWO])
@law
@given(drawn=rows, random=st.randoms())
def test_neither_the_order_of_items_nor_the_names_of_groups_and_people_matter(name: str, drawn: list[Row], random):
    of = (ONE | TWO)[name]
    one, other = of(Table(drawn)), of(Table(random.sample(drawn, len(drawn)), "WXYZ", lambda key: ("group", -key)))
    assert estimates(one)
    assert all(alike(*pair) for pair in zip(estimates(one), estimates(other), strict=True))
    assert getattr(other, "p", None) == getattr(one, "p", None)
    low, high = RANGES.get(name, (-2, 2))
    numbers = [
        number
        for estimate in estimates(one)
        for number in (estimate.value, estimate.low, estimate.high)
        if number is not None
    ]
    assert name in ENDLESS or all(low <= number <= high for number in numbers)


@pytest.mark.parametrize("name", TWO)
@law
@given(drawn=rows)
def test_exchanging_the_sides_turns_a_difference_and_keeps_its_p(name: str, drawn: list[Row]):
    turned = [(ratings, second, first, *rest) for ratings, first, second, *rest in drawn]
    one, other = TWO[name](Table(drawn)), TWO[name](Table(turned))
    differences = [getattr(result, "difference", result) for result in (one, other)]
    assert alike(*differences, sign=-1)
    assert getattr(other, "p", None) == getattr(one, "p", None)
    assert not (getattr(one, "shown", False) and getattr(other, "shown", False))


@pytest.mark.parametrize("name", TWO)
@law
@given(drawn=rows)
def test_a_judge_does_not_differ_from_itself(name: str, drawn: list[Row]):
    result = TWO[name](Table([(ratings, first, first, *rest) for ratings, first, _, *rest in drawn]))
    assert getattr(result, "difference", result).value in {0, None}
    assert getattr(result, "p", None) in {1, None}


@pytest.mark.parametrize("name", [name for name in ONE | TWO if name not in NOT_DOUBLED])
@law
@given(drawn=rows)
def test_every_item_twice_in_its_group_changes_nothing(name: str, drawn: list[Row]):
    of = (ONE | TWO)[name]
    both = zip(estimates(of(Table(drawn))), estimates(of(Table(drawn * 2))), strict=True)
    assert all(alike(*pair) for pair in both)
