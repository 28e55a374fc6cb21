"""The DSPy programs of the measurement: the assistant under test and the judge."""

from dspy_proact.programs.assistant import Assistant, Reply
from dspy_proact.programs.bare_chat import BareChat
from dspy_proact.programs.fenced_json import FencedJSON
from dspy_proact.programs.judge import GradeResponse, Judge, QuoteEvidence

__all__ = ["Assistant", "BareChat", "FencedJSON", "GradeResponse", "Judge", "QuoteEvidence", "Reply"]
