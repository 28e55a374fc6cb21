"""Benchmarks: each binds a corpus and programs to the protocol of `runs`."""

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.execution import Execution, Finished, folder_name, run_name
from dspy_proact.benchmarks.jury import JudgePrompt
from dspy_proact.benchmarks.proactbench import ProactBench, Seat, case_key, cases_of
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

__all__ = [
    "Evaluation",
    "Execution",
    "Finished",
    "JudgePrompt",
    "ProactBench",
    "Rejudging",
    "Responses",
    "Seat",
    "Step",
    "SyntheticItem",
    "case_key",
    "cases_of",
    "folder_name",
    "permuted_within_phase",
    "rater_kappa",
    "run_name",
    "synthetic_items",
    "synthetic_ratings",
]
