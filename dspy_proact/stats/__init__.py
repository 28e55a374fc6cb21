"""Estimates with honest intervals: functions of scores and their groups, without I/O."""
# pyright: reportUnusedImport=false

from dspy_proact.stats.agreement import Judged, alpha_estimate, alphas, coincidences, kappa_estimate, kappas
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
from dspy_proact.stats.headline import Headline, Side
from dspy_proact.stats.improvement import (
    CANDIDATES,
    CLAIM_GROUPS,
    CLAIM_LABELS,
    SCORE_SPREADS,
    SPREADS,
    Change,
    detectable_gain,
    enough_for_claim,
    improvement,
    is_shown_lower,
    length_change,
    score_change,
    selected_gain,
    value_change,
)
from dspy_proact.stats.paired import (
    Discordant,
    Paired,
    claimed_side,
    discordant,
    holm,
    paired_difference,
    rounded_points,
)
from dspy_proact.stats.people import AltTest, HumanReference, Standing, alt_test, human_reference, standings
from dspy_proact.stats.preference import Binomial, exact_binomial, preferred_share
from dspy_proact.stats.ranks import DESIGN_EFFECT, Counted, competition_ranks, rank_ranges
from dspy_proact.stats.raters import ENOUGH_RATERS, Panel
from dspy_proact.stats.repeats import Repeats, repeats
from dspy_proact.stats.tally import cross_tables, tally
