"""What is PROBE's own in reports: its tasks as they are read, failure modes, the leaderboard."""

from dspy_proact.benchmarks.probe.report.agreement import AgreementRow, ProbeAgreement, judge_agreements
from dspy_proact.benchmarks.probe.report.agreement_text import agreement_document, agreement_headline, print_agreement
from dspy_proact.benchmarks.probe.report.failures import (
    MODES,
    Failures,
    RecallBin,
    failures,
    failures_document,
    modes_of,
)
from dspy_proact.benchmarks.probe.report.leaderboard import Leaderboard, leaderboard
from dspy_proact.benchmarks.probe.report.leaderboard_document import leaderboard_document
from dspy_proact.benchmarks.probe.report.leaderboard_headline import leaderboard_headline
from dspy_proact.benchmarks.probe.report.leaderboard_text import print_leaderboard

__all__ = [
    "MODES",
    "AgreementRow",
    "Failures",
    "Leaderboard",
    "ProbeAgreement",
    "RecallBin",
    "agreement_document",
    "agreement_headline",
    "failures",
    "failures_document",
    "judge_agreements",
    "leaderboard",
    "leaderboard_document",
    "leaderboard_headline",
    "modes_of",
    "print_agreement",
    "print_leaderboard",
]
