"""The judge, tuned to people's labels and tested on labels that it has not seen."""

from dspy_proact.compile.judge.judge_compile import JudgeCompile
from dspy_proact.compile.judge.labels import Labelled, labelled
from dspy_proact.compile.judge.metric import AgreementMetric
from dspy_proact.compile.judge.task import CutJudge, Graded, JudgeTask
from dspy_proact.compile.judge.votes import Votes

__all__ = [
    "AgreementMetric",
    "CutJudge",
    "Graded",
    "JudgeCompile",
    "JudgeTask",
    "Labelled",
    "Votes",
    "labelled",
]
