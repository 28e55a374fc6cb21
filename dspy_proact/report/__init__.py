"""A run as numbers: aggregated, as JSON, and on a terminal."""

from dspy_proact.report.document import document
from dspy_proact.report.summary import Outcome, Scores, Summary, Usage, summarize
from dspy_proact.report.terminal import STAND_IN, print_summary

__all__ = ["STAND_IN", "Outcome", "Scores", "Summary", "Usage", "document", "print_summary", "summarize"]
