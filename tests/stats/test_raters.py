"""A judge beside raters, and what raters add to a variance."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from builders.studies import numbers
from support.panels import PanelDesign, simulate_panel

from dspy_proact.stats import Estimate, Judged, Panel, cluster_mean, cross_tables, kappa_estimate, paired_difference
from dspy_proact.stats.agreement import acs, kappas
from dspy_proact.stats.cluster import degrees_of_freedom
from dspy_proact.stats.estimate import Spread, t_quantile
from dspy_proact.stats.jackknife import rater_variance, ratio
from dspy_proact.stats.raters import Changes, RaterVariance, rater_term
from dspy_proact.stats.tally import commonest, shares

LABELS, TIES, SCORES = [0, 1, 2], [1, 2, 0], [0, 0.5, 1]
PANEL = Panel.of([["F", "+"], ["P"], []], ["F", "P", "+"], [["ann", "bob"], ["bob"], []])


def width(one: Estimate) -> float:
    assert one.high is not None
    assert one.low is not None
    return one.high - one.low


def drawn(raters: int, leniency: float = 0.5):
    return simulate_panel(np.random.default_rng(5), PanelDesign(20, 80, raters, leniency))


def judged(study, ties: Sequence[int] | None, *, known: bool = True) -> Judged:
    panel = Panel.of(study.ratings, LABELS, study.raters if known else None)
    return Judged.of(panel, study.judges[0].tolist(), LABELS, study.groups, ties)


def jackknifed(of: Callable[[list[int]], float], groups: list[int]) -> list[float]:
    """Value +- t SE of a function of the places of items, by leaving out whole groups."""
    everyone, keys = list(range(len(groups))), sorted(set(groups))
    value, without = of(everyone), [of([index for index in everyone if groups[index] != key]) for key in keys]
    error = ((len(keys) - 1) / len(keys) * sum((other - value) ** 2 for other in without)) ** 0.5
    reach = t_quantile(0.975, degrees_of_freedom(np.unique(groups, return_counts=True)[1] / len(groups))) * error
    return [value, value - reach, value + reach]


# A judge.


def test_without_raters_it_is_what_two_gradings_are():
    study = drawn(6)
    judge, groups = study.judges[0].tolist(), study.groups
    consensus = [max(TIES, key=list(rating).count) for rating in study.ratings]
    one, soft = judged(study, TIES, known=False), judged(study, None, known=False)
    assert numbers(one.kappa("none")) == pytest.approx(
        numbers(kappa_estimate(consensus, judge, LABELS, groups, "none"))
    )
    tables = cross_tables(consensus, judge, LABELS)
    logarithms = jackknifed(lambda kept: -np.log(1 - acs(tables[kept].sum(axis=0), "linear")), groups)
    assert numbers(one.ac("linear")) == pytest.approx(1 - np.exp(-np.array(logarithms)))
    same = [float(a == b) for a, b in zip(consensus, judge, strict=True)]
    assert numbers(one.exact()) == pytest.approx(numbers(cluster_mean(same, groups)))
    middle = [index for index, label in enumerate(consensus) if label == 1]
    result = cluster_mean([same[index] for index in middle], [groups[index] for index in middle])
    assert numbers(one.recall(1)) == pytest.approx(numbers(result))
    labels = soft.panel.counts / soft.panel.counts.sum(axis=1, keepdims=True)
    tables = labels[:, :, None] * np.eye(3)[judge][:, None, :]
    expected = jackknifed(lambda kept: float(kappas(tables[kept].sum(axis=0), "quadratic")), groups)
    assert numbers(soft.kappa("quadratic")) == pytest.approx(expected)
    people = (labels @ SCORES).tolist()
    bias = paired_difference(people, [SCORES[level] for level in judge], groups).difference
    assert numbers(soft.bias(SCORES)) == pytest.approx(numbers(bias))


def test_raters_of_differing_leniency_widen_every_interval_and_move_no_value():
    study = drawn(6)
    for ties in (TIES, None):
        these, others = judged(study, ties, known=False), judged(study, ties)
        for of in (lambda one: one.kappa("quadratic"), lambda one: one.exact(), lambda one: one.bias(SCORES)):
            assert of(others).value == of(these).value
            assert width(of(others)) > width(of(these))
            assert of(others).reason == "fewer than 8 raters"


def test_the_bias_beside_four_raters_by_hand():
    # Four scenarios, each rated by all: raters 1 and 2 always say 2, 3 and 4 always 0; the judge says 2, 0, 2, 0.
    study = Panel.of([[2, 2, 0, 0]] * 4, LABELS, [[1, 2, 3, 4]] * 4)
    one = Judged.of(study, [2, 0, 2, 0], LABELS, range(4), None).bias(SCORES)
    # Scenarios: .5, -.5, .5, -.5: V_J = (4 / 16) / (3/4) / 4 = 1/12 (r = .5 each: 4 * .25 / (1 - 1/4) / 16), df 3.
    # Without a rater people's mean is 1/3 or 2/3 in every scenario, bias -+ 1/6: V_R = 3/4 * 4 / 36 = 1/12.
    # Without one rating in one scenario it moves by 1/24: V_SR = 15/16 * 16 / 576 = 15/576. Term: 33/576.
    # Satterthwaite: (81/576)^2 / ((48/576)^2 / 3 + (33/576)^2 / 3) = 3 * 6561 / 3393; with 3 the harmonic mean.
    df = 2 / (3393 / (3 * 6561) + 1 / 3)
    reach = t_quantile(0.975, df) * (81 / 576) ** 0.5
    assert numbers(one) == [0, pytest.approx(max(-1, -reach)), pytest.approx(min(1, reach))]
    assert reach < 1.5
    assert one.reason == "fewer than 5 groups; fewer than 8 raters"


@pytest.mark.parametrize(("raters", "message"), [(1, "for this rater only"), (3, "for these 3 raters only")])
def test_few_raters_speak_of_themselves_and_the_interval_says_so(raters: int, message: str):
    study = drawn(raters)
    these, others = judged(study, TIES, known=False), judged(study, TIES)
    for of in (lambda one: one.kappa("none"), lambda one: one.ac("none"), lambda one: one.exact()):
        assert of(others).reason == message
        assert numbers(of(others)) == numbers(of(these))


def test_what_no_other_rater_bears_out_has_no_bounds():
    # Rater 4 alone says 2, which the judge does at two of these items.
    ratings, raters = [[0, 0, 0]] * 9 + [[2]] * 3, [[1, 2, 3]] * 9 + [[4]] * 3
    one = Judged.of(Panel.of(ratings, LABELS, raters), [0] * 10 + [2, 2], LABELS, range(12), TIES)
    assert one.recall(2) == Estimate(2 / 3, reason="depends on one rater")


@pytest.mark.parametrize(("items", "message"), [(29, "fewer than 30 items: may be too wide"), (30, None)])
def test_a_share_of_few_items_says_that_its_interval_is_wide(items: int, message: str | None):
    # Every item is rated 2 by two people in the first, and every third of them 0 by the judge.
    study = Panel.of([[2, 2]] * items + [[1, 1]] * 30, LABELS)
    groups = [index % 7 for index in range(items + 30)]
    one = Judged.of(study, [0 if index % 3 == 0 else 2 for index in range(items + 30)], LABELS, groups, TIES)
    assert one.recall(2).reason == message
    assert one.recall(2).low is not None
    assert one.exact().reason is None


# Ratings.


def test_parts_and_what_each_rating_changes_in_them_by_hand():
    parts, changes = PANEL.parts(lambda counts, _: shares(counts))
    assert parts.tolist() == [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 0]]
    assert changes is not None
    # Without Ann's F the first item is all +, without Bob's + all F; without Bob's P the second has none.
    assert changes.parts.tolist() == [[-0.5, 0, 0.5], [0.5, 0, -0.5], [0, -1, 0]]
    assert (changes.items.tolist(), changes.raters.tolist()) == ([0, 0, 1], [0, 1, 1])


def test_some_items_keep_their_ratings():
    some = PANEL.where(np.array([False, True, True]))
    assert (some.counts.tolist(), some.items.tolist(), some.people) == ([[0, 1, 0], [0, 0, 0]], [0], 1)
    assert (PANEL.people, Panel.of([["F", "+"]], ["F", "P", "+"]).people) == (2, None)


def test_the_commonest_label_is_the_first_of_those_that_tie():
    counts = np.array([[1, 0, 1], [2, 1, 2], [0, 0, 3], [0, 0, 0]], dtype=float)
    assert commonest(counts, [1, 2, 0]).tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 0]]


# Their variance.


def test_the_rater_term_by_hand():
    # Raters a and b, groups 1 and 2; a: 3 + 1 and 2, b: -2 and -4. Shares 3/5 and 2/5.
    # V_R = 6^2 / (2/5) + 6^2 / (3/5) = 90 + 60; V_SR = 4^2 + 2^2 + 2^2 + 4^2 = 40.
    assert rater_term([3, 1, 2, -2, -4], "aaabb", [1, 1, 2, 1, 2]) == pytest.approx(110)


def test_the_jackknife_of_a_mean_by_hand():
    # Ratings 0, 0 | 1, 1 | 1, 0 | 1, 0 of four raters, each in groups 1 and 2: mean 1/2.
    ratings = np.array([0, 0, 1, 1, 1, 0, 1, 0])
    changes = Changes(-np.stack([ratings, np.ones(8)], axis=1), np.array([0, 1] * 4), np.repeat(range(4), 2))
    # Without a rater 2/3, 1/3, 1/2, 1/2: 3 of 1/72 = 1/24. Without one rating 4/7 or 3/7: 7 of 1/196 = 1/28.
    drawn = rater_variance(np.array([4.0, 8.0]), ratio, changes, [1, 2])
    assert (drawn.variance, drawn.raters) == (pytest.approx(1 / 24 - 1 / 28), 4)
    # Influences (y - 1/2) / 8: V_R 2/64 by 3/4 = 1/24, V_SR 8/256.
    formula = rater_term((ratings - 1 / 2) / 8, "aabbccdd", [1, 2] * 4)
    assert formula == pytest.approx(1 / 24 - 1 / 32)


def test_the_degrees_of_freedom_lie_between_the_groups_and_the_raters():
    # Satterthwaite: 9^2 / (4^2 / 11 + 5^2 / 5) = 81 / (71 / 11) = 891 / 71; the smaller: 5.
    widened = RaterVariance(5, 6).widened(Spread(4, 11))
    assert widened is not None
    assert (widened.variance, widened.error) == (9, 3)
    assert widened.df == pytest.approx(2 / (71 / 891 + 1 / 5))
    # Raters who add nothing leave Satterthwaite those of the groups: 2 / (1 / 24 + 1 / 5).
    assert RaterVariance(0, 6).widened(Spread(4, 24)) == Spread(4, pytest.approx(240 / 29))
    assert RaterVariance(0, 3).widened(Spread(4, 24)) == Spread(4, 24)
    assert RaterVariance(None, 6).widened(Spread(4, 24)) is None
