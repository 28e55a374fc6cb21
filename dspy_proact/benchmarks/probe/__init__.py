"""PROBE as a benchmark: search for what matters, identify the one bottleneck, resolve it."""

from dspy_proact.benchmarks.probe.baselines import Blind
from dspy_proact.benchmarks.probe.benchmark import DIFFICULTIES, Probe
from dspy_proact.benchmarks.probe.cases import Tasks, case_set_of
from dspy_proact.benchmarks.probe.evaluation import ProbeEvaluation, ProbeRejudging
from dspy_proact.benchmarks.probe.graded import answers_learned_from, responses_of_graded
from dspy_proact.benchmarks.probe.judging import IdentificationJudge, ParametersJudge, ProbeJudge
from dspy_proact.benchmarks.probe.scoring import (
    identification_score,
    is_solved,
    overall_score,
    search_scores,
    task_score,
)
from dspy_proact.benchmarks.probe.solution import Agent, Solution
from dspy_proact.benchmarks.probe.synthetic import Size, SyntheticTask, synthetic_tasks, write_synthetic
from dspy_proact.benchmarks.probe.view import ProbeView, TaskView
from dspy_proact.settings import ProbeSettings

__all__ = [
    "DIFFICULTIES",
    "Agent",
    "Blind",
    "IdentificationJudge",
    "ParametersJudge",
    "Probe",
    "ProbeEvaluation",
    "ProbeJudge",
    "ProbeRejudging",
    "ProbeSettings",
    "ProbeView",
    "Size",
    "Solution",
    "SyntheticTask",
    "TaskView",
    "Tasks",
    "answers_learned_from",
    "case_set_of",
    "identification_score",
    "is_solved",
    "overall_score",
    "responses_of_graded",
    "search_scores",
    "synthetic_tasks",
    "task_score",
    "write_synthetic",
]
