"""Benchmarks: each binds a corpus and programs to the protocol of `runs`."""

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.execution import Execution, Finished, folder_name, run_name
from dspy_proact.benchmarks.jury import JudgePrompt
from dspy_proact.benchmarks.proactbench import HELD_BACK, UNWANTED, ProactBench, Seat, case_key, cases_of, controls_of
from dspy_proact.benchmarks.rejudging import Rejudging
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.benchmarks.synthetic import (
    Step,
    SyntheticItem,
    permuted_within_phase,
    rater_kappa,
    synthetic_items,
    synthetic_ratings,
)
from dspy_proact.benchmarks.trial import Pair, Side, Trial, Tried, conversation_case, user_message

__all__ = [
    "HELD_BACK",
    "UNWANTED",
    "Evaluation",
    "Execution",
    "Finished",
    "JudgePrompt",
    "Pair",
    "ProactBench",
    "Rejudging",
    "Responses",
    "Seat",
    "Side",
    "Step",
    "SyntheticItem",
    "Trial",
    "Tried",
    "case_key",
    "cases_of",
    "controls_of",
    "conversation_case",
    "folder_name",
    "permuted_within_phase",
    "rater_kappa",
    "run_name",
    "synthetic_items",
    "synthetic_ratings",
    "user_message",
]
