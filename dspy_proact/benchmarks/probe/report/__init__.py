"""What is PROBE's own in reports: tasks as they are read, failure modes, the leaderboard, agreement of judges."""

from dspy_proact.benchmarks.probe.report.agreement import agreement_document, judge_agreements, print_agreement
from dspy_proact.benchmarks.probe.report.leaderboard import leaderboard, leaderboard_document, print_leaderboard

__all__ = [
    "agreement_document",
    "judge_agreements",
    "leaderboard",
    "leaderboard_document",
    "print_agreement",
    "print_leaderboard",
]
