"""ProactBench: its cases, who answers and grades them, and what is its own beside a run."""

from dspy_proact.benchmarks.proactbench.benchmark import (
    ASSUMED_RESPONSE,
    ASSUMED_WORDS,
    HELD_BACK,
    RESPONSE_TOKENS,
    UNWANTED,
    VERDICT_TOKENS,
    ProactBench,
)
from dspy_proact.benchmarks.proactbench.cases import (
    case_set_of,
    cases_of,
    controls_of,
    conversation_case,
    user_message,
)
from dspy_proact.benchmarks.proactbench.evaluation import Evaluation, Rejudging
from dspy_proact.benchmarks.proactbench.examination import Examination, Examined, JudgedCase
from dspy_proact.benchmarks.proactbench.jury import JudgePrompt, Jury, open_jury
from dspy_proact.benchmarks.proactbench.rated import responses_of_ratings
from dspy_proact.benchmarks.proactbench.results import responses_of_results
from dspy_proact.benchmarks.proactbench.synthetic import (
    Step,
    SyntheticItem,
    permuted_within_phase,
    rater_kappa,
    synthetic_items,
    synthetic_ratings,
)
from dspy_proact.benchmarks.proactbench.trial import Pair, Side, Trial, Tried

__all__ = [
    "ASSUMED_RESPONSE",
    "ASSUMED_WORDS",
    "HELD_BACK",
    "RESPONSE_TOKENS",
    "UNWANTED",
    "VERDICT_TOKENS",
    "Evaluation",
    "Examination",
    "Examined",
    "JudgePrompt",
    "JudgedCase",
    "Jury",
    "Pair",
    "ProactBench",
    "Rejudging",
    "Side",
    "Step",
    "SyntheticItem",
    "Trial",
    "Tried",
    "case_set_of",
    "cases_of",
    "controls_of",
    "conversation_case",
    "open_jury",
    "permuted_within_phase",
    "rater_kappa",
    "responses_of_ratings",
    "responses_of_results",
    "synthetic_items",
    "synthetic_ratings",
    "user_message",
]
