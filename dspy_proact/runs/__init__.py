"""Doing a benchmark: its protocol, the runner, and a run on disk. Knows no DSPy and no benchmark."""
# pyright: reportUnusedImport=false

from dspy_proact.runs.bar import Bar, RunBar, in_notebook, watching
from dspy_proact.runs.benchmark import (
    CONTROL,
    HELD_BACK,
    Case,
    CaseSet,
    ExpectedCall,
    Scope,
    Scored,
    Settings,
    require_public,
)
from dspy_proact.runs.case_order import limited, seeded_order, select_cases
from dspy_proact.runs.case_record import CaseRecord, StoredView
from dspy_proact.runs.causes import cause_lines, causes_of
from dspy_proact.runs.folder import RunFolder, RunWriter, controls_of
from dspy_proact.runs.interrupt import orderly_interrupt, run_to_end
from dspy_proact.runs.ledger import (
    Failure,
    Grading,
    Ledger,
    StageEvent,
    StageKey,
    VerdictRecord,
    Work,
    answer_text,
    latest,
    usable,
)
from dspy_proact.runs.manifest import (
    MOST_EPOCHS,
    AnswerFile,
    CorpusRecord,
    Identity,
    Manifest,
    Measure,
    Nouns,
    ReusedRun,
    RoleIdentity,
)
from dspy_proact.runs.merge import Merged, merge_runs
from dspy_proact.runs.outcome import Evidence, LastEvents, Outcome, Outcomes, State, outcomes_of, read_run
from dspy_proact.runs.reuse import ReuseSource
from dspy_proact.runs.runner import Observer, Runner, as_kept, attempted
from dspy_proact.runs.shard import MOST_SHARDS, Shard, Shards, shard_of
from dspy_proact.runs.votes import cut_label, joint_grade, majority_label
