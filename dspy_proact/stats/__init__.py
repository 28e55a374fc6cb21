"""Estimates with honest intervals: functions of scores and their groups, without I/O."""

from dspy_proact.stats.agreement import (
    Judged,
    alpha_estimate,
    alphas,
    coincidences,
    kappa_estimate,
    kappas,
)
from dspy_proact.stats.classification import classification_difference, classification_estimate
from dspy_proact.stats.cluster import SHARE_ITEMS, cluster_mean, part_mean
from dspy_proact.stats.corrected import (
    FEWEST_RATED,
    CorrectedMean,
    RatedCases,
    corrected_difference,
    corrected_mean,
    corrected_refusals,
)
from dspy_proact.stats.cuts import START_CUTS, apply_cuts, keep_cuts
from dspy_proact.stats.estimate import Estimate, Figure
from dspy_proact.stats.improvement import (
    CLAIM_GROUPS,
    CLAIM_LABELS,
    Change,
    improvement,
    length_change,
    score_change,
    smallest_gain,
    value_change,
)
from dspy_proact.stats.paired import (
    ENOUGH_TO_TELL,
    Discordant,
    Paired,
    discordant,
    holm,
    is_claimed,
    paired_difference,
    whole_points,
)
from dspy_proact.stats.people import AltTest, HumanReference, Standing, alt_test, human_reference, standings
from dspy_proact.stats.preference import Binomial, exact_binomial, preferred_share
from dspy_proact.stats.ranks import Counted, competition_ranks, rank_ranges
from dspy_proact.stats.raters import ENOUGH_RATERS, Panel
from dspy_proact.stats.repeats import Repeats, repeats
from dspy_proact.stats.tally import cross_tables, majority, tally

__all__ = [
    "CLAIM_GROUPS",
    "CLAIM_LABELS",
    "ENOUGH_RATERS",
    "ENOUGH_TO_TELL",
    "FEWEST_RATED",
    "SHARE_ITEMS",
    "START_CUTS",
    "AltTest",
    "Binomial",
    "Change",
    "CorrectedMean",
    "Counted",
    "Discordant",
    "Estimate",
    "Figure",
    "HumanReference",
    "Judged",
    "Paired",
    "Panel",
    "RatedCases",
    "Repeats",
    "Standing",
    "alpha_estimate",
    "alphas",
    "alt_test",
    "apply_cuts",
    "classification_difference",
    "classification_estimate",
    "cluster_mean",
    "coincidences",
    "competition_ranks",
    "corrected_difference",
    "corrected_mean",
    "corrected_refusals",
    "cross_tables",
    "discordant",
    "exact_binomial",
    "holm",
    "human_reference",
    "improvement",
    "is_claimed",
    "kappa_estimate",
    "kappas",
    "keep_cuts",
    "length_change",
    "majority",
    "paired_difference",
    "part_mean",
    "preferred_share",
    "rank_ranges",
    "repeats",
    "score_change",
    "smallest_gain",
    "standings",
    "tally",
    "value_change",
    "whole_points",
]
