"""The DSPy programs of the measurement: the assistant under test and its judges."""

from dspy_proact.programs.artefact import (
    Artefact,
    Cuts,
    PredictorState,
    compiled_judge,
    judge_state,
    read_artefact,
    signature_hash,
    write_artefact,
)
from dspy_proact.programs.assistant import Assistant, Reply, usable
from dspy_proact.programs.bare_chat import BareChat
from dspy_proact.programs.card import Card, CardNumber, CardUsage, Gain, PhaseCard
from dspy_proact.programs.fenced_json import FencedJSON
from dspy_proact.programs.judge import GradeResponse, Judge, QuoteEvidence
from dspy_proact.programs.official import OfficialJudge

__all__ = [
    "Artefact",
    "Assistant",
    "BareChat",
    "Card",
    "CardNumber",
    "CardUsage",
    "Cuts",
    "FencedJSON",
    "Gain",
    "GradeResponse",
    "Judge",
    "OfficialJudge",
    "PhaseCard",
    "PredictorState",
    "QuoteEvidence",
    "Reply",
    "compiled_judge",
    "judge_state",
    "read_artefact",
    "signature_hash",
    "usable",
    "write_artefact",
]
