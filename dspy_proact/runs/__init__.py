"""Doing a benchmark: the protocol that one speaks, the runner, and a run on disk. Knows no DSPy and no benchmark."""

from dspy_proact.runs.benchmark import CONTROL, Benchmark, Case, CaseSet, ExpectedCall, Scored, Settings
from dspy_proact.runs.consensus import consensus
from dspy_proact.runs.event import Event, Failure, GradeRecord, StageKey
from dspy_proact.runs.folder import CaseRecord, RunFolder, RunWriter, latest
from dspy_proact.runs.interrupt import orderly_interrupt, signals_heard
from dspy_proact.runs.ledger import Grading, Ledger, Work
from dspy_proact.runs.manifest import CorpusRecord, Identity, Manifest, RoleIdentity
from dspy_proact.runs.measure import Measure
from dspy_proact.runs.nouns import Nouns
from dspy_proact.runs.runner import Observer, Runner, attempted
from dspy_proact.runs.scope import MOST_EPOCHS, Scope
from dspy_proact.runs.selection import select_cases

__all__ = [
    "CONTROL",
    "MOST_EPOCHS",
    "Benchmark",
    "Case",
    "CaseRecord",
    "CaseSet",
    "CorpusRecord",
    "Event",
    "ExpectedCall",
    "Failure",
    "GradeRecord",
    "Grading",
    "Identity",
    "Ledger",
    "Manifest",
    "Measure",
    "Nouns",
    "Observer",
    "RoleIdentity",
    "RunFolder",
    "RunWriter",
    "Runner",
    "Scope",
    "Scored",
    "Settings",
    "StageKey",
    "Work",
    "attempted",
    "consensus",
    "latest",
    "orderly_interrupt",
    "select_cases",
    "signals_heard",
]
