"""Means of clustered scores and jackknives: by hand, silent where nothing can be said, and by their laws."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from builders.studies import numbers
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dspy_proact.stats import Estimate, cluster_mean, part_mean
from dspy_proact.stats.cluster import NEAR_AN_END, degrees_of_freedom, spread_of, standard_error, tabulate
from dspy_proact.stats.jackknife import Jackknife, ratio
from dspy_proact.stats.tally import numbered

law = settings(deadline=None)
STRATA = ["E", "C", "R"]
grades = st.sampled_from([0.0, 0.5, 1.0])
# One row is (score, scenario, stratum).
rows = st.lists(st.tuples(grades, st.integers(0, 7), st.sampled_from(STRATA)), min_size=1, max_size=60)


def both_means(table: Sequence[tuple[float, object, object]], order: Sequence[object]) -> tuple[Estimate, Estimate]:
    scores, groups, strata = zip(*table, strict=True)
    return cluster_mean(scores, groups), cluster_mean(scores, groups, strata, order)


# Worked by hand.


def test_unequal_scenarios_by_hand():
    # A: 1, 1; B: 0; C: .5. theta = 2.5/4 = .625; r = .75, -.625, -.125; w = .5, .25, .25.
    # SE = sqrt(.5625/.5 + .390625/.75 + .015625/.75) / 4 = sqrt(5/3) / 4 = .322749.
    # q = .5, 1/12, 1/12: 1/df = .375 + (2/3)^2 - (.25 + 2/144) = 5/9, df = 1.8, t = 4.794881.
    shares = np.array([0.5, 0.25, 0.25])
    assert standard_error(tabulate(np.array([1, 1, 0, 0.5]), "AABC")) == pytest.approx(0.322749, abs=1e-6)
    assert degrees_of_freedom(shares) == pytest.approx(1.8)
    # s = .322749 / (.625 * .375) = 1.377061; logit .510826 -+ 6.602842: expit(-6.092016), expit(7.113668).
    estimate = cluster_mean([1, 1, 0, 0.5], list("AABC"))
    assert numbers(estimate) == pytest.approx([0.625, 0.002256, 0.999187], abs=1e-6)


def test_a_mean_of_any_range_by_hand():
    # 10, 20, 30, 40, 50 in five groups: mean 30, SE^2 = 1000 / 5 / 4 = 50; t(4) = 2.776445.
    result = part_mean([10, 20, 30, 40, 50], "ABCDE")
    assert result.value == 30
    assert [result.low, result.high] == pytest.approx([30 - 2.776445 * 50**0.5, 30 + 2.776445 * 50**0.5], abs=1e-5)
    assert part_mean([10, 20, 30, 40, 50], "ABCDE", bounds=(20, 35)) == Estimate(30, 20, 35)


# Silence and ties.


def test_a_stratum_within_few_scenarios_carries_a_warning():
    estimate = cluster_mean([1, 0, 0.5, 0.5, 1, 0.5, 1], list("ABCDEAB"), list("XXXXXYY"), list("XY"))
    assert None not in numbers(estimate)
    assert estimate.reason == "fewer than 5 groups in Y: may be too narrow"


@pytest.mark.parametrize(("passed", "warning"), [(3, NEAR_AN_END), (4, None), (46, None), (47, NEAR_AN_END)])
def test_a_mean_near_an_end_of_the_scale_is_marked(passed: int, warning: str | None):
    scores = [1.0] * passed + [0.0] * (50 - passed)
    assert cluster_mean(scores, [index % 10 for index in range(50)]).reason == warning


def test_all_grades_equal_counts_scenarios_as_trials():
    # 1 - .025^(1/25) = 1 - exp(-3.688879 / 25) = 1 - exp(-.147555) = .137185.
    scores, groups = np.zeros(50), [f"group {k // 2}" for k in range(50)]
    none, all_ = cluster_mean(scores, groups), cluster_mean(1 - scores, groups)
    assert numbers(none) == pytest.approx([0, 0, 0.137185], abs=1e-6)
    assert numbers(all_) == pytest.approx([1, 0.862815, 1], abs=1e-6)
    assert none.reason == all_.reason == "all values equal"
    assert cluster_mean([0, 0], "AB").reason == "all values equal; fewer than 5 groups"


# Laws.


@law
@given(rows)
def test_the_complement_mirrors_the_interval(table: list[tuple[float, int, str]]):
    mirrored = [(1 - score, group, stratum) for score, group, stratum in table]
    for one, other in zip(both_means(table, STRATA), both_means(mirrored, STRATA), strict=True):
        mirror = [None if number is None else 1 - number for number in (other.value, other.high, other.low)]
        assert numbers(one) == pytest.approx(mirror, abs=1e-12)
        assert one.reason == other.reason


@law
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5), st.sampled_from(["X", "Y"])), min_size=8, max_size=30))
def test_the_spread_of_a_macro_mean_is_cr2_by_matrices(table: list[tuple[float, int, str]]):
    """The regression on the strata, each group's residuals by the root of the inverse of 1 - H (Bell & McCaffrey)."""
    result = tabulate(np.array([row[0] for row in table]), [row[1] for row in table], [row[2] for row in table], "XY")
    assume(not result.empty("scores") and not result.lonely)
    positions = numbered([row[1] for row in table])
    design = np.array([[row[2] == "X", row[2] == "Y"] for row in table], dtype=float)
    inverse = np.linalg.inv(design.T @ design)
    left = np.eye(len(table)) - design @ inverse @ design.T
    pulls = []
    for group in range(positions.max() + 1):
        inside = positions == group
        values, vectors = np.linalg.eigh(left[np.ix_(inside, inside)])
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        pulls.append(left[:, inside] @ root @ design[inside] @ inverse @ [0.5, 0.5])
    scores = np.array([row[0] for row in table])
    moments = np.array(pulls) @ np.array(pulls).T
    spread = spread_of(result)
    assert spread.variance == pytest.approx(np.sum((np.array(pulls) @ scores) ** 2), abs=1e-12)
    assert spread.df == pytest.approx(np.trace(moments) ** 2 / np.sum(moments**2))


# Jackknives.


def counted(values: list[float]) -> NDArray[np.float64]:
    return np.array([[value, 1.0] for value in values]).reshape(-1, 2)


def test_a_hundred_thousand_groups_have_a_spread():
    # Of equal groups the degrees of freedom are their number less one, and the variance is s^2 / G: here 100,000 / 4
    # over 99,999, over 100,000. A matrix of group by group would take 80 GB.
    scores = np.tile([0.0, 1.0], 50_000)
    spread = spread_of(tabulate(scores, range(100_000)))
    assert (spread.df, spread.variance) == pytest.approx((99_999, 0.25 / 99_999))


def test_a_mean_has_its_textbook_intervals():
    # .1, .2, .3: SE = .1 / sqrt(3); 95 %: t(2) = 4.302653; 98 %: 6.964557.
    mean = Jackknife.of(counted([0.1, 0.2, 0.3]), [0, 1, 2], ratio)
    one = mean.estimate()
    assert [one.value, one.low, one.high] == pytest.approx([0.2, 0.2 - 0.248414, 0.2 + 0.248414], abs=1e-6)
    reach = 6.964557 * 0.1 / math.sqrt(3)
    assert mean.claim_bounds() == pytest.approx((0.2 - reach, 0.2 + reach), abs=1e-6)
    assert mean.claim_bounds((0, 0.25)) == (0, 0.25)


def test_what_nobody_else_adds_to_is_exactly_zero_without_it():
    seen: list[NDArray[np.float64]] = []

    def keep(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        seen.extend(sums)
        return sums.sum(axis=1)

    Jackknife.of(np.array([[0.1, 0, 0], [0, 1 / 3, 0], [0, 0, 0.7]]), range(3), keep)
    assert [others[index] for index, others in enumerate(seen[1:])] == [0, 0, 0]
