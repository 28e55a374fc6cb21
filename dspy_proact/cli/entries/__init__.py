"""The benchmarks that the command line knows: what each is, and what the verbs do with it."""

from dspy_proact.cli.entries.asked import Agreeing, Answering, AssistantTuning, Graders, JudgeTuning
from dspy_proact.cli.entries.entry import Entry, Leaderboards
from dspy_proact.cli.entries.known import DEFAULT, entries, entry_of

__all__ = [
    "DEFAULT",
    "Agreeing",
    "Answering",
    "AssistantTuning",
    "Entry",
    "Graders",
    "JudgeTuning",
    "Leaderboards",
    "entries",
    "entry_of",
]
