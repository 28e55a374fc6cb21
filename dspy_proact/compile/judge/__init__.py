"""The judge, tuned to people's labels and tested on labels that it has not seen."""

from dspy_proact.compile.judge.compiling import Compiled, Plan, Start, compile_judge
from dspy_proact.compile.judge.estimate import CompileEstimate
from dspy_proact.compile.judge.judge_compile import JudgeCompile
from dspy_proact.compile.judge.labels import Labelled, labelled
from dspy_proact.compile.judge.metric import AgreementMetric

__all__ = [
    "AgreementMetric",
    "CompileEstimate",
    "Compiled",
    "JudgeCompile",
    "Labelled",
    "Plan",
    "Start",
    "compile_judge",
    "labelled",
]
