"""What does not fit together is refused with a sentence, and nothing is said where nothing can be known."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from dspy_proact import stats
from dspy_proact.stats import Estimate, Judged, Panel, RatedCases
from dspy_proact.stats.estimate import t_quantile
from dspy_proact.stats.jackknife import Jackknife, ratio

L = [0, 1, 2]
NAN = math.nan
NONE = np.empty(0, dtype=np.intp)


def alpha(ratings: list[list[int]]) -> Estimate:
    return stats.alpha_estimate(Panel.of(ratings, L), "ordinal", range(len(ratings)))


def judged(ratings: list[list[int]], judge: int = 0) -> Judged:
    """By A, or by A and B."""
    panel = Panel.of(ratings, L, ["AB"[: len(rating)] for rating in ratings])
    return Judged.of(panel, [judge] * len(ratings), L, range(len(ratings)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: t_quantile(0, 3), "0 < p < 1"),
        (lambda: t_quantile(NAN, 3), "0 < p < 1"),
        (lambda: t_quantile(0.975, 0), "df > 0"),
        (lambda: t_quantile(0.975, NAN), "df > 0"),
        (lambda: stats.tally([["d"]], "abc"), "every rating once"),
        (lambda: stats.tally([["a"]], "aab"), "every rating once"),
        (lambda: stats.cross_tables(["a"], [], "a"), "same items"),
        (lambda: Panel.of([[0, 2]], L, [["ann"]]), "one rater a rating"),
        (lambda: Panel.of([[0, 2]], L, [["ann", "ann"]]), "rates an item once"),
        (lambda: Jackknife.of(np.ones((1, 2)), [], ratio), "one group an item"),
        (lambda: stats.kappa_estimate([0], [0], L, []), "one group an item"),
        (lambda: stats.kappa_estimate([0], [0], [1, 2], [0]), "labels must name every rating once"),
        (lambda: Judged.of(Panel.of([[0]], L), [0, 1], L, [1]), "one grade and group an item"),
        (lambda: Judged.of(Panel.of([[0]], L), [0], L, [1], [0, 1, 1]), "ties must name"),
        (lambda: Judged.of(Panel.of([[]], L), [0], L, [1]), "without ratings has no label"),
        (lambda: stats.cluster_mean([0.5, -0.01], "AB"), r"scores must be in \[0, 1\]"),
        (lambda: stats.cluster_mean([0.5, NAN], "AB"), r"scores must be in \[0, 1\]"),
        (lambda: stats.cluster_mean([1.0], []), "one group and stratum a score"),
        (lambda: stats.cluster_mean([], ["A"]), "one group and stratum a score"),
        (lambda: stats.cluster_mean([1, 0], "AB", "XY", "X"), "order must name every stratum once"),
        (lambda: stats.cluster_mean([1, 0], "AB", "XY", "XYY"), "order must name every stratum once"),
        (lambda: stats.part_mean([1, math.inf], "AB"), "one finite number and group a case"),
        (lambda: stats.part_mean([1], "AB"), "one finite number and group a case"),
        (lambda: stats.paired_difference([0.5], [1.01], "A"), r"scores must be in \[0, 1\]"),
        (lambda: stats.paired_difference([NAN], [1], "A"), r"scores must be in \[0, 1\]"),
        (lambda: stats.paired_difference([1], [1, 0], "A"), "one group and stratum a score"),
        (lambda: stats.score_change([0.0], [], "S"), r"."),
        (lambda: stats.score_change([0.0], [2.0], "S"), r"."),
        (lambda: stats.classification_estimate([[]], "A", "f1"), "are 0 or 1, once a case at least"),
        (lambda: stats.classification_estimate([[(1, 0.5)]], "A", "f1"), "are 0 or 1, once a case at least"),
        (lambda: stats.keep_cuts([0, 1], [[1, 0, 0]] * 2, "aa", [0, 1]), "a group is in one fold"),
        (lambda: stats.repeats([2], [1], [1], "A"), r"scores must be in \[0, 1\]"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], object], message: str):
    with pytest.raises(ValueError, match=message):
        call()


ALPHA, LONELY = pytest.approx(4 / 9), "depends on one group"
NOBODY = "no rater with 5 items that others rated too"


@pytest.mark.parametrize(
    ("result", "value", "reason"),
    [
        (lambda: stats.kappa_estimate([], [], L, []), None, "no items"),
        (lambda: stats.kappa_estimate([1] * 12, [1] * 12, L, range(12)), None, "gradings that do not vary"),
        (lambda: stats.kappa_estimate(L * 3, L * 3, L, range(9)), 1, "no variance between groups"),
        (lambda: stats.kappa_estimate([0] * 4 + [1], [0] * 4 + [1], L, range(5)), 1, LONELY),
        (lambda: stats.kappa_estimate([0, 1], [0, 1], L, "AA"), 1, LONELY),
        (lambda: Judged.of(Panel.of([], L), [], L, []).ac("none"), None, "no items"),
        (lambda: Judged.of(Panel.of([[0]], [0]), [0], [0], [0]).ac("none"), None, "fewer than two labels"),
        (lambda: alpha([]), None, "no item with two ratings"),
        (lambda: alpha([[0], [1]]), None, "no item with two ratings"),
        # 01 and 10, twice 00 and 11, three ratings of each: (6 - 1) * 2 = 10 of 2 * 3 * 3.
        (lambda: stats.alpha_estimate(Panel.of([[0, 1], [0, 0], [1, 1]], L), "ordinal", "AAA"), ALPHA, LONELY),
        # Thirds add up with a rounding error that must not make 0 / 0 a number.
        (lambda: alpha([[2] * 4] * 7 + [[0]]), None, "all ratings equal"),
        # 02 and 20, n = 2: (2 - 1) * 2 = 2 of 2 * 1 * 1.
        (lambda: alpha([[2, 0], [2]]), 0, LONELY),
        (lambda: stats.alt_test(judged([]), epsilon=0.1).advantage, None, NOBODY),
        (lambda: stats.alt_test(judged([[0, 0]] * 4), epsilon=0.1).ties, None, NOBODY),
        (lambda: stats.human_reference(judged([[0, 0]] * 9)).best_attainable, None, "gradings that do not vary"),
        (lambda: stats.standings(judged([[0]] * 9))[0].against_others, None, "no item that others rated too"),
        (lambda: stats.length_change([], [], []).difference, None, "no items"),
        (lambda: stats.length_change([2], [4], "A").difference, 2, LONELY),
        (lambda: stats.length_change([0, 5], [3, 5], "AB").difference, 8 / 5, LONELY),
        (lambda: stats.length_change([0, 0], [3, 4], "AB").difference, None, "nothing to compare with"),
        (lambda: stats.cluster_mean([], []), None, "no scores"),
        (lambda: stats.cluster_mean([1, 0, 0.5], "AAA"), 0.5, "one group"),
        (lambda: stats.cluster_mean([0.1, 0.2, 0.2, 0.1], "AABB"), pytest.approx(0.15), "no variance between groups"),
        (lambda: stats.cluster_mean([1, 0], "AB", "XX", "WXY"), None, "no scores in W, Y"),
        (lambda: stats.cluster_mean([1, 0], "AA", "XY", "XY"), 0.5, "one group"),
        (lambda: stats.cluster_mean([1, 0, 1], "ABA", "XXY", "XY"), 0.75, "one group in Y"),
        (lambda: stats.part_mean([], []), None, "no scores"),
        (lambda: stats.part_mean([7, 9], "AA"), 8, "one group"),
        (lambda: stats.part_mean([7e9, 7e9, 7e9], "ABC"), 7e9, "no variance between groups"),
        (lambda: stats.paired_difference([], [], []).difference, None, "no pairs"),
        (lambda: stats.paired_difference([0, 0], [1, 0], "AA").difference, 0.5, "one group"),
        (lambda: stats.paired_difference([0] * 9, [0] * 9, range(9)).difference, 0, "no pair differs"),
        (lambda: stats.paired_difference([1], [0], "A", "X", "WXY").difference, None, "no pairs in W, Y"),
        (lambda: stats.classification_estimate([], "", "f1"), None, "no items"),
        (lambda: stats.corrected_mean(RatedCases([], NONE, [], [], NONE, [], NONE)).corrected, None, "no scores"),
        (lambda: stats.human_reference(judged([[0, 2]], 2)).difference, 1, LONELY),
        (lambda: stats.classification_estimate([[(1, 1)], [(0, 0)]], "AA", "f1"), 1, LONELY),
    ],
)
def test_where_nothing_can_be_known_the_reason_is_said(
    result: Callable[[], Estimate], value: float | None, reason: str
):
    estimate = result()
    assert (estimate.value, estimate.low, estimate.high, estimate.reason) == (value, None, None, reason)
