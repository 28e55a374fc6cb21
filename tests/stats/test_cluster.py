import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev

import numpy as np
import pytest
from dspy_proact.stats.table import numbered, tabulate
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.stats import Estimate, cluster_mean, macro_mean, t_quantile
from dspy_proact.stats.cluster import degrees_of_freedom, spread_of, standard_error

law = settings(deadline=None)
grades = st.sampled_from([0.0, 0.5, 1.0])
# One row is (score, scenario, phase).
rows = st.lists(st.tuples(grades, st.integers(0, 7), st.sampled_from(Phase)), min_size=1, max_size=60)


def both_means(table: Sequence[tuple[float, object, object]], order: Sequence[object]) -> tuple[Estimate, Estimate]:
    scores, groups, strata = zip(*table, strict=True)
    return cluster_mean(scores, groups), macro_mean(scores, groups, strata, order)


def numbers(estimate: Estimate) -> list[float | None]:
    return [estimate.value, estimate.low, estimate.high]


def bounds(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def logit(p: float) -> float:
    return math.log(p / (1 - p))


# Worked by hand.


def test_equal_scenarios_by_hand():
    # A: 1, .5; B: .5, .5; C: 0, .5. theta = 3/6 = .5; r = .5, 0, -.5; w = 1/3.
    # SE = sqrt((.25 + 0 + .25) / (2/3)) / 6 = .144338; s = SE / .25 = .577350; df = 2, t = 4.302653.
    # expit(.577350 * 4.302653) = expit(2.484138) = .923022.
    estimate = cluster_mean([1, 0.5, 0.5, 0.5, 0, 0.5], list("AABBCC"))
    assert numbers(estimate) == pytest.approx([0.5, 0.076978, 0.923022], abs=1e-6)


def test_unequal_scenarios_by_hand():
    # A: 1, 1; B: 0; C: .5. theta = 2.5/4 = .625; r = .75, -.625, -.125; w = .5, .25, .25.
    # SE = sqrt(.5625/.5 + .390625/.75 + .015625/.75) / 4 = sqrt(5/3) / 4 = .322749.
    # q = .5, 1/12, 1/12: 1/df = .375 + (2/3)^2 - (.25 + 2/144) = 5/9, df = 1.8, t = 4.794881.
    shares = np.array([0.5, 0.25, 0.25])
    assert standard_error(np.array([0.75, -0.625, -0.125]) / 4, shares) == pytest.approx(0.322749, abs=1e-6)
    assert degrees_of_freedom(shares) == pytest.approx(1.8)
    # s = .322749 / (.625 * .375) = 1.377061; logit .510826 -+ 6.602842: expit(-6.092016), expit(7.113668).
    estimate = cluster_mean([1, 1, 0, 0.5], list("AABC"))
    assert numbers(estimate) == pytest.approx([0.625, 0.002256, 0.999187], abs=1e-6)


def test_macro_by_hand():
    # X: A 1, B 0, C .5; Y: A 1, B .5, C 0. Means .5 and .5; r_X = .5, -.5, 0; r_Y = .5, 0, -.5.
    # z = (r_X / 3 + r_Y / 3) / 2 = 1/6, -1/12, -1/12; w = 1/3; SE = sqrt((1/36 + 2/144) * 1.5) = .25.
    # s = .25 / .25 = 1; df = 2, t = 4.302653; expit(4.302653) = .986648.
    estimate = macro_mean([1, 0, 0.5, 1, 0.5, 0], list("ABCABC"), list("XXXYYY"), list("XY"))
    assert numbers(estimate) == pytest.approx([0.5, 0.013352, 0.986648], abs=1e-6)


def test_macro_of_strata_in_other_scenarios_by_hand():
    # Scores 1, 0 and 0, .5, .5: mean 5/12, SE .182647 and t 6.188116 as in test_paired.py, here on the logit scale:
    # -.336472 -+ 6.188116 * .182647 / (5/12 * 7/12) = -4.986709 and 4.313765.
    estimate = macro_mean([1, 0, 0, 0.5, 0.5], list("ABABC"), list("XXYYY"), list("XY"))
    assert numbers(estimate) == pytest.approx([5 / 12, 0.006782, 0.986797], abs=1e-5)


def test_macro_weighs_strata_and_not_triggers():
    # X: 1, 1, 1, .5 has mean .875; Y: 0, .5 has .25; (.875 + .25) / 2 = .5625, where all six have 2/3.
    estimate = macro_mean([1, 1, 1, 0.5, 0, 0.5], list("ABABAB"), list("XXXXYY"), list("XY"))
    assert estimate.value == pytest.approx(0.5625)


# Silence and ties.


def test_no_scores_leave_no_value():
    assert cluster_mean([], []) == Estimate(None, reason="no scores")


def test_a_silent_stratum_leaves_no_value_and_is_named():
    silent = macro_mean([1, 0], ["A", "B"], [Phase.CRITICAL, Phase.CRITICAL], list(Phase))
    assert silent == Estimate(None, reason="no scores in EMERGENT, RECOVERY")
    assert macro_mean([], [], [], ["X"]) == Estimate(None, reason="no scores in X")


def test_one_scenario_has_no_bounds():
    assert cluster_mean([1, 0, 0.5], list("AAA")) == Estimate(0.5, reason="one group")
    assert macro_mean([1, 0], list("AA"), list("XY"), list("XY")) == Estimate(0.5, reason="one group")


@pytest.mark.parametrize(("groups", "warning"), [*((few, "too few groups: very wide") for few in (2, 3, 4)), (5, None)])
def test_bounds_from_two_to_four_scenarios_carry_a_warning(groups: int, warning: str | None):
    estimate = cluster_mean([0.5] + [1] * (groups - 1), list(range(groups)))
    assert None not in numbers(estimate)
    assert estimate.reason == warning


def test_a_stratum_within_one_scenario_leaves_no_bounds():
    estimate = macro_mean([1, 0, 0.5, 0.5, 1, 0.5], list("ABCDEA"), list("XXXXXY"), list("XY"))
    # X: 3/5, Y: .5.
    assert numbers(estimate) == [pytest.approx(0.55), None, None]
    assert estimate.reason == "one group in Y"


def test_a_stratum_within_few_scenarios_carries_a_warning():
    estimate = macro_mean([1, 0, 0.5, 0.5, 1, 0.5, 1], list("ABCDEAB"), list("XXXXXYY"), list("XY"))
    assert None not in numbers(estimate)
    assert estimate.reason == "too few groups in Y: too narrow"


def test_all_grades_equal_counts_scenarios_as_trials():
    # 1 - .025^(1/25) = 1 - exp(-3.688879 / 25) = 1 - exp(-.147555) = .137185.
    scores, groups = np.zeros(50), [f"group {k // 2}" for k in range(50)]
    none, all_ = cluster_mean(scores, groups), cluster_mean(1 - scores, groups)
    assert numbers(none) == pytest.approx([0, 0, 0.137185], abs=1e-6)
    assert numbers(all_) == pytest.approx([1, 0.862815, 1], abs=1e-6)
    assert none.reason == all_.reason == "all grades equal"


def test_all_grades_equal_in_few_scenarios_gives_both_warnings():
    # 1 - .025^(1/2) = 1 - .158114 = .841886.
    estimate = cluster_mean([0, 0], ["A", "B"])
    assert numbers(estimate) == pytest.approx([0, 0, 0.841886], abs=1e-6)
    assert estimate.reason == "all grades equal; too few groups: very wide"


@pytest.mark.parametrize("scores", [[0.5, 0.5, 0.5, 0.5], [0, 1, 1, 0], [0.1, 0.2, 0.2, 0.1]])
def test_scenarios_that_do_not_differ_have_no_bounds(scores: list[float]):
    estimate = cluster_mean(scores, list("AABB"))
    assert numbers(estimate) == [pytest.approx(sum(scores) / 4), None, None]
    assert estimate.reason == "groups do not differ"


@pytest.mark.parametrize("score", [-0.01, 1.01, math.nan, math.inf])
def test_scores_outside_their_range_are_refused(score: float):
    with pytest.raises(ValueError, match=r"scores must be in \[0, 1\]"):
        cluster_mean([0.5, score], ["A", "B"])


@pytest.mark.parametrize(("scores", "groups"), [([1.0], []), ([], ["A"]), ([1.0, 0.0], ["A"])])
def test_scores_and_clusters_must_align(scores: list[float], groups: list[str]):
    with pytest.raises(ValueError, match="one group and stratum a score"):
        cluster_mean(scores, groups)


@pytest.mark.parametrize("order", [[], ["X"], ["X", "Y", "Y"]])
def test_the_order_names_every_stratum_once(order: list[str]):
    with pytest.raises(ValueError, match="order must name every stratum once"):
        macro_mean([1, 0], ["A", "B"], ["X", "Y"], order)


def test_a_macro_mean_over_no_strata_is_refused():
    with pytest.raises(ValueError, match="order must name every stratum once"):
        macro_mean([], [], [], [])


# Laws.


@law
@given(rows, st.randoms())
def test_order_of_rows_and_names_of_scenarios_change_nothing(table: list[tuple[float, int, Phase]], random):
    shuffled = [(score, ("group", -group), stratum) for score, group, stratum in table]
    random.shuffle(shuffled)
    for before, after in zip(both_means(table, list(Phase)), both_means(shuffled, list(Phase)), strict=True):
        assert numbers(after) == pytest.approx(numbers(before), abs=1e-12)
        assert after.reason == before.reason


@law
@given(rows)
def test_order_and_names_of_strata_change_no_number(table: list[tuple[float, int, Phase]]):
    renamed = [(score, group, stratum.value.lower()) for score, group, stratum in table]
    before, after = both_means(table, list(Phase))[1], both_means(renamed, ["recovery", "emergent", "critical"])[1]
    assert numbers(after) == pytest.approx(numbers(before), abs=1e-12)


@law
@given(rows)
def test_the_complement_mirrors_the_interval(table: list[tuple[float, int, Phase]]):
    mirrored = [(1 - score, group, stratum) for score, group, stratum in table]
    for one, other in zip(both_means(table, list(Phase)), both_means(mirrored, list(Phase)), strict=True):
        mirror = [None if number is None else 1 - number for number in (other.value, other.high, other.low)]
        assert numbers(one) == pytest.approx(mirror, abs=1e-12)
        assert one.reason == other.reason


@law
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 7), st.just("X")), min_size=1))
def test_bounds_stay_inside_the_unit_interval_around_the_value(table: list[tuple[float, int, str]]):
    for estimate in both_means(table, ["X"]):
        inside = [number for number in (estimate.low, estimate.value, estimate.high) if number is not None]
        assert len(inside) in {1, 3}
        assert [0, *inside, 1] == sorted([0, *inside, 1])


@law
@given(st.lists(grades, min_size=5, max_size=40).filter(lambda scores: len(set(scores)) > 1))
def test_scenarios_of_one_trigger_give_the_textbook_standard_error(scores: list[float]):
    low, high = bounds(cluster_mean(scores, list(range(len(scores)))))
    # From the half width on the logit scale back to the standard error: SE = half / t * theta (1 - theta).
    half, theta = (logit(high) - logit(low)) / 2, fmean(scores)
    error = half / t_quantile(0.975, len(scores) - 1) * theta * (1 - theta)
    assert error == pytest.approx(stdev(scores) / math.sqrt(len(scores)))


@pytest.mark.parametrize("groups", [2, 3, 8, 25])
def test_equal_sizes_give_one_degree_of_freedom_less_than_scenarios(groups: int):
    assert degrees_of_freedom(np.full(groups, 1 / groups)) == pytest.approx(groups - 1)


@law
@given(st.lists(st.integers(1, 50), min_size=2, max_size=30))
def test_degrees_of_freedom_lie_between_one_and_one_less_than_scenarios(sizes: list[int]):
    df = degrees_of_freedom(np.array(sizes) / sum(sizes))
    assert 1 - 1e-9 <= df <= len(sizes) - 1 + 1e-9


@law
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5), st.sampled_from(["X", "Y"])), min_size=8, max_size=30))
def test_the_spread_of_a_macro_mean_is_cr2_by_matrices(table: list[tuple[float, int, str]]):
    """The regression on the strata, each group's residuals by the root of the inverse of 1 - H (Bell & McCaffrey)."""
    found = tabulate(np.array([row[0] for row in table]), [row[1] for row in table], [row[2] for row in table], "XY")
    assume(not found.empty and not found.lonely)
    places = numbered([row[1] for row in table])
    design = np.array([[row[2] == "X", row[2] == "Y"] for row in table], dtype=float)
    inverse = np.linalg.inv(design.T @ design)
    left = np.eye(len(table)) - design @ inverse @ design.T
    pulls = []
    for group in range(places.max() + 1):
        inside = places == group
        values, vectors = np.linalg.eigh(left[np.ix_(inside, inside)])
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        pulls.append(left[:, inside] @ root @ design[inside] @ inverse @ [0.5, 0.5])
    scores = np.array([row[0] for row in table])
    moments = np.array(pulls) @ np.array(pulls).T
    spread = spread_of(found)
    assert spread.variance == pytest.approx(np.sum((np.array(pulls) @ scores) ** 2), abs=1e-12)
    assert spread.df == pytest.approx(np.trace(moments) ** 2 / np.sum(moments**2))


# Coverage.


def test_the_interval_covers_the_population_mean_as_often_as_it_says():
    """Nominal 95 %, 25 unequal scenarios; the band is 3.5 standard errors of a share of 400 data sets (1.1 points)."""
    rng = np.random.default_rng(20)
    # Shares .60 FAIL, .26 PARTIAL, .14 PASS: mean .26 / 2 + .14 = .27. A scenario carries .3 of the latent variance.
    cuts = [NormalDist().inv_cdf(0.60), NormalDist().inv_cdf(0.86)]
    clustered = alone = 0
    for _ in range(400):
        sizes = np.ceil(8 * rng.lognormal(-0.32, 0.8, 25)).astype(int)
        groups = np.repeat(np.arange(25), sizes)
        latent = math.sqrt(0.3) * rng.standard_normal(25)[groups] + math.sqrt(0.7) * rng.standard_normal(len(groups))
        scores = np.digitize(latent, cuts) / 2
        clustered += covers(cluster_mean(scores, groups.tolist()), 0.27)
        alone += covers(cluster_mean(scores, list(range(len(scores)))), 0.27)
    assert 0.912 <= clustered / 400 <= 0.988
    # The band can tell: with triggers for scenarios the same intervals fall well below it.
    assert alone / 400 < 0.85


def covers(estimate: Estimate, truth: float) -> bool:
    low, high = bounds(estimate)
    return low <= truth <= high
