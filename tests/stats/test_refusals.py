"""What does not fit together is refused with a sentence, and nothing is said where nothing can be known."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from dspy_proact.stats.human_reference import attainable_kappa

from dspy_proact import stats
from dspy_proact.stats import Counted, Estimate, Judged, Panel, RatedCases
from dspy_proact.stats.cuts import fit_cuts
from dspy_proact.stats.estimate import t_quantile
from dspy_proact.stats.jackknife import Jackknife, ratio
from dspy_proact.stats.raters import rater_term

L = [0, 1, 2]
HARD = [[1.0, 0.0, 0.0]]
NAN = math.nan
RATED = {"labels": "a", "scores": [1], "groups": "A", "strata": "s", "of": [0], "raters": "r", "ratings": [1]}


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
        (lambda: stats.majority(["PASS", "FAIL"], ["PASS"]), "every rating once"),
        (lambda: stats.majority(["PASS"], ["PASS", "PASS"]), "every rating once"),
        (lambda: Panel.of([[0, 2]], L, [["ann"]]), "one rater a rating"),
        (lambda: Panel.of([[0, 2]], L, [["ann", "ann"]]), "rates an item once"),
        (lambda: rater_term([0, 0], "aa", [1, 2]), "takes two of them"),
        (lambda: rater_term([0, 0], "ab", [1]), "one rater and group a rating"),
        (lambda: Jackknife.of(np.ones((1, 2)), [], ratio), "one group an item"),
        (lambda: stats.kappa([[1, 2]], "none"), "square table of counts"),
        (lambda: stats.kappa([[1, -1], [0, 2]], "none"), "square table of counts"),
        (lambda: stats.kappa([[1, NAN], [0, 2]], "none"), "square table of counts"),
        (lambda: stats.kappa_estimate([0], [], L, [0]), "two gradings an item"),
        (lambda: stats.kappa_estimate([0], [0], L, []), "two gradings an item"),
        (lambda: stats.kappa_estimate([0], [0], [1, 2], [0]), "labels must name every rating once"),
        (lambda: stats.alpha_estimate([[0]], L, "ordinal", []), "one group an item"),
        (lambda: Judged.of(Panel.of([[0]], L), [0, 1], L, [1]), "one grade and group an item"),
        (lambda: Judged.of(Panel.of([[0]], L), [0], L, [1], [0, 1, 1]), "ties must name"),
        (lambda: Judged.of(Panel.of([[]], L), [0], L, [1]), "without ratings has no label"),
        (lambda: stats.human_reference([[0]], [], L, [0]), "one grade and group an item"),
        (lambda: attainable_kappa(0, (0.2, 0.3, 0.5)), "beyond chance"),
        (lambda: stats.alt_test([[0]], ["A"], [], L, [0], epsilon=0.1), "lengths differ"),
        (lambda: stats.alt_test([], [], [], L, [], epsilon=1), "epsilon is in"),
        (lambda: stats.alt_test([], [], [], L, [], epsilon=NAN), "epsilon is in"),
        (lambda: stats.standings([[0]], ["A"], [], L, [0]), "lengths differ"),
        (lambda: stats.cluster_mean([0.5, -0.01], "AB"), r"scores must be in \[0, 1\]"),
        (lambda: stats.cluster_mean([0.5, NAN], "AB"), r"scores must be in \[0, 1\]"),
        (lambda: stats.cluster_mean([1.0], []), "one group and stratum a score"),
        (lambda: stats.cluster_mean([], ["A"]), "one group and stratum a score"),
        (lambda: stats.macro_mean([1, 0], "AB", "XY", "X"), "order must name every stratum once"),
        (lambda: stats.macro_mean([1, 0], "AB", "XY", "XYY"), "order must name every stratum once"),
        (lambda: stats.macro_mean([], [], [], []), "order must name every stratum once"),
        (lambda: stats.part_mean([1, math.inf], "AB"), "one finite number and group a case"),
        (lambda: stats.part_mean([1], "AB"), "one finite number and group a case"),
        (lambda: stats.paired_difference([0.5], [1.01], "A"), r"scores must be in \[0, 1\]"),
        (lambda: stats.paired_difference([NAN], [1], "A"), r"scores must be in \[0, 1\]"),
        (lambda: stats.paired_difference([1], [1, 0], "A"), "one group and stratum a score"),
        (lambda: stats.holm([0.5, 1.1]), r"p values must be in \[0, 1\]"),
        (lambda: stats.holm([NAN]), r"p values must be in \[0, 1\]"),
        (lambda: stats.discordant([True], [True, False]), "same cases: 1 and 2 differ"),
        (lambda: stats.improvement([0], [0], Panel.of([[0]], L), "EE", [0], order="E"), r"an item: \["),
        (lambda: stats.improvement([0, 0], [0], Panel.of([[0]], L), "E", [0], order="E"), r"an item: \["),
        (lambda: stats.improvement([0], [3], Panel.of([[0]], L), "E", [0], order="E"), "a level is 0, 1 or 2"),
        (lambda: stats.improvement([0], [0], Panel.of([[]], L), "E", [0], order="E"), "at least one of each item"),
        (lambda: stats.improvement([0], [0], Panel.of([[0]], L), "C", [0], order="E"), "order must name"),
        (lambda: stats.score_change([0.0], [], "S"), r"."),
        (lambda: stats.score_change([0.0], [2.0], "S"), r"."),
        (lambda: stats.length_change([0.0], [1.0], []), "one group and two lengths a case"),
        (lambda: stats.classification_estimate([[(1, 1)]], "AB", "f1"), "one group a case: 1 and 2 differ"),
        (lambda: stats.classification_estimate([[]], "A", "f1"), "is 0 or 1, once a case at least"),
        (lambda: stats.classification_estimate([[(1, 0.5)]], "A", "f1"), "is 0 or 1, once a case at least"),
        (lambda: RatedCases(**RATED | {"scores": [1, 1]}), "one score, group and stratum a label"),
        (lambda: RatedCases(**RATED | {"raters": "rs"}), "one case and rater a rating"),
        (lambda: RatedCases(**RATED | {"of": [1]}), "counted from 0"),
        (lambda: RatedCases(**RATED | {"ratings": [2.0]}), r"in \[0, 1\]"),
        (lambda: stats.rating_components(RatedCases(**RATED)), "in two groups are needed"),
        (lambda: fit_cuts([2.1], HARD), "mean levels are in"),
        (lambda: fit_cuts([NAN], HARD), "mean levels are in"),
        (lambda: fit_cuts([1], [[0.5, 0.5, 0.5]]), "a soft label"),
        (lambda: fit_cuts([1], [[1.5, -0.5, 0]]), "a soft label"),
        (lambda: fit_cuts([1], [[1, 0]]), "a soft label"),
        (lambda: fit_cuts([1], []), "one mean level"),
        (lambda: stats.apply_cuts([1], (1.5, 0.5)), "rise"),
        (lambda: stats.keep_cuts([1], HARD, [0], []), "one group and fold"),
        (lambda: stats.keep_cuts([0, 1], HARD * 2, "aa", [0, 1]), "a group is in one fold"),
        (lambda: Counted.of_scores(0, 0, 0), "counted from 0"),
        (lambda: Counted.of_scores(-1, 2, 2), "counted from 0"),
        (lambda: Counted(0.5, 0.1, 0), "a counted score has"),
        (lambda: Counted(0.5, -0.1, 3), "a counted score has"),
        (lambda: Counted(NAN, 0.1, 3), "a counted score has"),
        (lambda: stats.rank_ranges([], 0), "above 0"),
        (lambda: stats.rank_ranges([], math.inf), "above 0"),
        (lambda: stats.repeats([1, 0], [1, 1], [1, 2], "AB"), "a case is in one group"),
        (lambda: stats.repeats([1, 0], [1, 2], [1], "AB"), "one case and response a score"),
        (lambda: stats.repeats([2], [1], [1], "A"), r"scores must be in \[0, 1\]"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], object], message: str):
    with pytest.raises(ValueError, match=message):
        call()


NOBODY = "no rater with 5 items that others rated too"


@pytest.mark.parametrize(
    ("found", "value", "reason"),
    [
        (lambda: stats.kappa_estimate([], [], L, []), None, "no items"),
        (lambda: stats.kappa_estimate([1] * 12, [1] * 12, L, range(12)), None, "all gradings equal"),
        (lambda: stats.kappa_estimate(L * 3, L * 3, L, range(9)), 1, "no variance between groups"),
        (lambda: stats.kappa_estimate([0] * 4 + [1], [0] * 4 + [1], L, range(5)), 1, "depends on one group"),
        (lambda: stats.kappa_estimate([0, 1], [0, 1], L, "AA"), 1, "depends on one group"),
        (lambda: Judged.of(Panel.of([], L), [], L, []).ac("none"), None, "no items"),
        (lambda: Judged.of(Panel.of([[0]], [0]), [0], [0], [0]).ac("none"), None, "fewer than two labels"),
        (lambda: stats.alpha_estimate([], L, "ordinal", []), None, "no item with two ratings"),
        (lambda: stats.alpha_estimate([[0], [1]], L, "ordinal", "AB"), None, "no item with two ratings"),
        # Thirds add up with a rounding error that must not make 0 / 0 a number.
        (lambda: stats.alpha_estimate([[2] * 4] * 7 + [[0]], L, "ordinal", range(8)), None, "all ratings equal"),
        # 02 and 20, n = 2: (2 - 1) * 2 = 2 of 2 * 1 * 1.
        (lambda: stats.alpha_estimate([[2, 0], [2]], L, "ordinal", [1, 2]), 0, "depends on one group"),
        (lambda: stats.alt_test([], [], [], L, [], epsilon=0.1).advantage, None, NOBODY),
        (lambda: stats.alt_test([[0, 0]] * 4, ["AB"] * 4, [0] * 4, L, "ABCD", epsilon=0.1).ties, None, NOBODY),
        (lambda: stats.cluster_mean([], []), None, "no scores"),
        (lambda: stats.cluster_mean([1, 0, 0.5], "AAA"), 0.5, "one group"),
        (lambda: stats.cluster_mean([0.1, 0.2, 0.2, 0.1], "AABB"), pytest.approx(0.15), "no variance between groups"),
        (lambda: stats.macro_mean([1, 0], "AB", "XX", "WXY"), None, "no scores in W, Y"),
        (lambda: stats.macro_mean([1, 0], "AA", "XY", "XY"), 0.5, "one group"),
        (lambda: stats.macro_mean([1, 0, 1], "ABA", "XXY", "XY"), 0.75, "one group in Y"),
        (lambda: stats.part_mean([], []), None, "no scores"),
        (lambda: stats.part_mean([7, 9], "AA"), 8, "one group"),
        (lambda: stats.part_mean([7e9, 7e9, 7e9], "ABC"), 7e9, "no variance between groups"),
        (lambda: stats.paired_difference([], [], []).difference, None, "no pairs"),
        (lambda: stats.paired_difference([0, 0], [1, 0], "AA").difference, 0.5, "one group"),
        (lambda: stats.paired_difference([0] * 9, [0] * 9, range(9)).difference, 0, "no pair differs"),
        (lambda: stats.macro_paired_difference([1], [0], "A", "X", "WXY").difference, None, "no pairs in W, Y"),
        (lambda: stats.classification_estimate([], "", "f1"), None, "no items"),
        (lambda: stats.corrected_mean(RatedCases([], [], [], [], [], [], [])).corrected, None, "no scores"),
        (lambda: stats.human_reference([[0, 2]], [2], L, [0]).difference, 1, "depends on one group"),
        (lambda: stats.classification_estimate([[(1, 1)], [(0, 0)]], "AA", "f1"), 1, "depends on one group"),
    ],
)
def test_where_nothing_can_be_known_the_reason_is_said(found: Callable[[], Estimate], value: float | None, reason: str):
    estimate = found()
    assert (estimate.value, estimate.low, estimate.high, estimate.reason) == (value, None, None, reason)
