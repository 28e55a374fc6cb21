"""Compiling: programs tuned on whole scenarios, tested on others, with a card that says what it bought."""

from dspy_proact.compile.assistant import (
    ASSISTANT_OPTIMIZERS,
    GUARDS,
    MARGINS,
    AssistantCompile,
    AssistantPlan,
    Guard,
)
from dspy_proact.compile.compile import Compile, Finished
from dspy_proact.compile.effort import OPTIMIZERS, Effort, Optimizer
from dspy_proact.compile.folds import Fold, grouped_folds
from dspy_proact.compile.judge import (
    AgreementMetric,
    Compiled,
    CompileEstimate,
    JudgeCompile,
    Labelled,
    Plan,
    Start,
    compile_judge,
    labelled,
)

__all__ = [
    "ASSISTANT_OPTIMIZERS",
    "GUARDS",
    "MARGINS",
    "OPTIMIZERS",
    "AgreementMetric",
    "AssistantCompile",
    "AssistantPlan",
    "Compile",
    "CompileEstimate",
    "Compiled",
    "Effort",
    "Finished",
    "Fold",
    "Guard",
    "JudgeCompile",
    "Labelled",
    "Optimizer",
    "Plan",
    "Start",
    "compile_judge",
    "grouped_folds",
    "labelled",
]
