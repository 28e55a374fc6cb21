"""What is PROBE's own in reports: its tasks as they are read, failure modes, the leaderboard."""

from dspy_proact.report.probe.failures import MODES, Failures, RecallBin, failures, failures_document, modes_of
from dspy_proact.report.probe.leaderboard import Leaderboard, leaderboard
from dspy_proact.report.probe.leaderboard_document import leaderboard_document
from dspy_proact.report.probe.leaderboard_headline import leaderboard_headline
from dspy_proact.report.probe.leaderboard_text import print_leaderboard

__all__ = [
    "MODES",
    "Failures",
    "Leaderboard",
    "RecallBin",
    "failures",
    "failures_document",
    "leaderboard",
    "leaderboard_document",
    "leaderboard_headline",
    "modes_of",
    "print_leaderboard",
]
