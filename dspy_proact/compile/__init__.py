"""Compiling: a judge tuned to people's labels, tested on labels that it has not seen, with a card that says so."""

from dspy_proact.compile.compiling import Compiled, Plan, Start, compile_judge
from dspy_proact.compile.estimate import CompileEstimate
from dspy_proact.compile.folds import Fold, grouped_folds
from dspy_proact.compile.judge_compile import Finished, JudgeCompile
from dspy_proact.compile.labels import Labelled, labelled
from dspy_proact.compile.metric import AgreementMetric
from dspy_proact.compile.optimizers import OPTIMIZERS, Effort, Optimizer

__all__ = [
    "OPTIMIZERS",
    "AgreementMetric",
    "CompileEstimate",
    "Compiled",
    "Effort",
    "Finished",
    "Fold",
    "JudgeCompile",
    "Labelled",
    "Optimizer",
    "Plan",
    "Start",
    "compile_judge",
    "grouped_folds",
    "labelled",
]
