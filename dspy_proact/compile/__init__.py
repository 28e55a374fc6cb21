"""Compiling: programs tuned on whole units, tested on others, with a card that says what it bought.

`Compile` and `CrossFit` do it once for any `Task`; judge, assistant and the agents of PROBE are such tasks.
"""

from dspy_proact.compile.assistant.assistant_compile import ASSISTANT_OPTIMIZERS, AssistantCompile
from dspy_proact.compile.assistant.costs import Costs
from dspy_proact.compile.assistant.guards import GUARDS, MARGINS, Guard
from dspy_proact.compile.candidate import Candidate, Chosen
from dspy_proact.compile.compile import CLAIM, COMPILES, Compile, CompileClaim, CompileIdentity, Finished
from dspy_proact.compile.cross_fit import Compiled, CrossFit
from dspy_proact.compile.folds import Fold, grouped_folds
from dspy_proact.compile.forecast import PROPOSALS, Forecast, RoleForecast
from dspy_proact.compile.judge.card import advice
from dspy_proact.compile.judge.judge_compile import JudgeCompile
from dspy_proact.compile.judge.labels import Labelled, labelled
from dspy_proact.compile.judge.metric import AgreementMetric
from dspy_proact.compile.judge.task import CutJudge, JudgeTask
from dspy_proact.compile.probe.agent_compile import AGENT_OPTIMIZERS, AgentCompile
from dspy_proact.compile.probe.judges_compile import JudgesCompile
from dspy_proact.compile.progress import CompileObserver, Progress, Stand
from dspy_proact.compile.task import Task, Tested
from dspy_proact.compile.training import Proposal, Training

__all__ = [
    "AGENT_OPTIMIZERS",
    "ASSISTANT_OPTIMIZERS",
    "CLAIM",
    "COMPILES",
    "GUARDS",
    "MARGINS",
    "PROPOSALS",
    "AgentCompile",
    "AgreementMetric",
    "AssistantCompile",
    "Candidate",
    "Chosen",
    "Compile",
    "CompileClaim",
    "CompileIdentity",
    "CompileObserver",
    "Compiled",
    "Costs",
    "CrossFit",
    "CutJudge",
    "Finished",
    "Fold",
    "Forecast",
    "Guard",
    "JudgeCompile",
    "JudgeTask",
    "JudgesCompile",
    "Labelled",
    "Progress",
    "Proposal",
    "RoleForecast",
    "Stand",
    "Task",
    "Tested",
    "Training",
    "advice",
    "grouped_folds",
    "labelled",
]
