"""Benchmarks: each binds a corpus and programs to the protocol of `runs`."""

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.execution import Execution, Finished, folder_name, run_name
from dspy_proact.benchmarks.jury import JudgePrompt
from dspy_proact.benchmarks.proactbench import ProactBench, Seat, case_key, cases_of
from dspy_proact.benchmarks.rejudging import Rejudging
from dspy_proact.benchmarks.responses import Responses

__all__ = [
    "Evaluation",
    "Execution",
    "Finished",
    "JudgePrompt",
    "ProactBench",
    "Rejudging",
    "Responses",
    "Seat",
    "case_key",
    "cases_of",
    "folder_name",
    "run_name",
]
