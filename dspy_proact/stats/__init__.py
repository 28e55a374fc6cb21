"""Estimates with honest intervals: functions of scores and their groups, without I/O."""

from dspy_proact.stats.alpha import AlphaMetric, alpha, alpha_estimate, coincidences, disagreements
from dspy_proact.stats.alt_test import Advantage, AltTest, alt_test
from dspy_proact.stats.attainable import attainable_kappa
from dspy_proact.stats.balanced import Kind, balanced_counts, balanced_order, drawn_counts
from dspy_proact.stats.change import LengthChange, ScoreChange, length_change, score_change
from dspy_proact.stats.claim import (
    CLAIM_GROUPS,
    CLAIM_LABELS,
    Improvement,
    Improvements,
    improvement,
    improvement_shown,
    smallest_gain,
)
from dspy_proact.stats.classification import (
    Classification,
    classification,
    classification_difference,
    classification_estimate,
)
from dspy_proact.stats.cluster import SHARE_ITEMS, cluster_mean, macro_mean, part_mean
from dspy_proact.stats.corrected import (
    FEWEST_RATED,
    CorrectedMean,
    corrected_difference,
    corrected_mean,
    corrected_refusals,
)
from dspy_proact.stats.correction import Correction, correction
from dspy_proact.stats.cuts import KeptCuts, apply_cuts, fit_cuts, keep_cuts
from dspy_proact.stats.disagreement import Weight
from dspy_proact.stats.discordant import Discordant, discordant
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.figure import Figure
from dspy_proact.stats.gwet import ac
from dspy_proact.stats.holm import holm
from dspy_proact.stats.human_reference import HumanReference, human_reference
from dspy_proact.stats.judged import Judged
from dspy_proact.stats.kappa import kappa, kappa_estimate
from dspy_proact.stats.paired import ENOUGH_TO_TELL, Paired, macro_paired_difference, paired_difference, whole_points
from dspy_proact.stats.panel import Panel
from dspy_proact.stats.plan import (
    PILOT_CASES,
    PLAN_MOST_EACH,
    PLAN_RATERS,
    PLAN_SCATTER,
    Plan,
    PlanFrame,
    RatingComponents,
    best_plan,
    plan_frame,
    planned_half_width,
    plans,
    rating_components,
)
from dspy_proact.stats.ranks import Counted, competition_ranks, rank_ranges
from dspy_proact.stats.rated_cases import RatedCases
from dspy_proact.stats.raters import ENOUGH_RATERS, RaterVariance, Spread, rater_term
from dspy_proact.stats.repeats import Repeats, repeats
from dspy_proact.stats.soft_kappa import within_strata_kappa
from dspy_proact.stats.soft_labels import majority, ordinal_agreement, soft_labels
from dspy_proact.stats.standing import Standing, standings
from dspy_proact.stats.student import t_quantile
from dspy_proact.stats.tally import cross_tables, tally

__all__ = [
    "CLAIM_GROUPS",
    "CLAIM_LABELS",
    "ENOUGH_RATERS",
    "ENOUGH_TO_TELL",
    "FEWEST_RATED",
    "PILOT_CASES",
    "PLAN_MOST_EACH",
    "PLAN_RATERS",
    "PLAN_SCATTER",
    "SHARE_ITEMS",
    "Advantage",
    "AlphaMetric",
    "AltTest",
    "Classification",
    "CorrectedMean",
    "Correction",
    "Counted",
    "Discordant",
    "Estimate",
    "Figure",
    "HumanReference",
    "Improvement",
    "Improvements",
    "Judged",
    "KeptCuts",
    "Kind",
    "LengthChange",
    "Paired",
    "Panel",
    "Plan",
    "PlanFrame",
    "RatedCases",
    "RaterVariance",
    "RatingComponents",
    "Repeats",
    "ScoreChange",
    "Spread",
    "Standing",
    "Weight",
    "ac",
    "alpha",
    "alpha_estimate",
    "alt_test",
    "apply_cuts",
    "attainable_kappa",
    "balanced_counts",
    "balanced_order",
    "best_plan",
    "classification",
    "classification_difference",
    "classification_estimate",
    "cluster_mean",
    "coincidences",
    "competition_ranks",
    "corrected_difference",
    "corrected_mean",
    "corrected_refusals",
    "correction",
    "cross_tables",
    "disagreements",
    "discordant",
    "drawn_counts",
    "fit_cuts",
    "holm",
    "human_reference",
    "improvement",
    "improvement_shown",
    "kappa",
    "kappa_estimate",
    "keep_cuts",
    "length_change",
    "macro_mean",
    "macro_paired_difference",
    "majority",
    "ordinal_agreement",
    "paired_difference",
    "part_mean",
    "plan_frame",
    "planned_half_width",
    "plans",
    "rank_ranges",
    "rater_term",
    "rating_components",
    "repeats",
    "score_change",
    "smallest_gain",
    "soft_labels",
    "standings",
    "t_quantile",
    "tally",
    "whole_points",
    "within_strata_kappa",
]
