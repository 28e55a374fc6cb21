"""Doing a benchmark: the protocol that one speaks, the runner, and a run on disk. Knows no DSPy and no ProactBench."""

from dspy_proact.runs.benchmark import Benchmark, Case, Scored
from dspy_proact.runs.event import Event, Failure, GradeRecord, StageKey
from dspy_proact.runs.folder import CaseRecord, RunFolder, RunWriter, latest
from dspy_proact.runs.manifest import CorpusRecord, Identity, Manifest, PricePerToken, RoleIdentity
from dspy_proact.runs.runner import Runner, Work
from dspy_proact.runs.selection import select_cases

__all__ = [
    "Benchmark",
    "Case",
    "CaseRecord",
    "CorpusRecord",
    "Event",
    "Failure",
    "GradeRecord",
    "Identity",
    "Manifest",
    "PricePerToken",
    "RoleIdentity",
    "RunFolder",
    "RunWriter",
    "Runner",
    "Scored",
    "StageKey",
    "Work",
    "latest",
    "select_cases",
]
