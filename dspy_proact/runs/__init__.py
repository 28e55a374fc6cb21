"""Doing a benchmark: the protocol that one speaks, the runner, and a run on disk. Knows no DSPy and no benchmark."""

from dspy_proact.runs.benchmark import CONTROL, Case, CaseSet, ExpectedCall, Runnable, Scored, Settings
from dspy_proact.runs.consensus import consensus, cut_label
from dspy_proact.runs.event import Event, Failure, GradeRecord, StageKey
from dspy_proact.runs.folder import CaseRecord, RunFolder, RunWriter, controls_of, latest
from dspy_proact.runs.glance import Glance, Sought, State, differing_epochs
from dspy_proact.runs.index import RunIndex
from dspy_proact.runs.interrupt import orderly_interrupt, run_to_end
from dspy_proact.runs.ledger import Grading, Ledger, Work
from dspy_proact.runs.manifest import CorpusRecord, Identity, Manifest, RoleIdentity
from dspy_proact.runs.measure import Measure
from dspy_proact.runs.nouns import Nouns
from dspy_proact.runs.runner import Observer, Runner, attempted
from dspy_proact.runs.scope import MOST_EPOCHS, Scope
from dspy_proact.runs.selection import seeded_order, select_cases

__all__ = [
    "CONTROL",
    "MOST_EPOCHS",
    "Case",
    "CaseRecord",
    "CaseSet",
    "CorpusRecord",
    "Event",
    "ExpectedCall",
    "Failure",
    "Glance",
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
    "RunIndex",
    "RunWriter",
    "Runnable",
    "Runner",
    "Scope",
    "Scored",
    "Settings",
    "Sought",
    "StageKey",
    "State",
    "Work",
    "attempted",
    "consensus",
    "controls_of",
    "cut_label",
    "differing_epochs",
    "latest",
    "orderly_interrupt",
    "run_to_end",
    "seeded_order",
    "select_cases",
]
