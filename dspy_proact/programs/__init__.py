"""The DSPy programs of the measurement: the assistant under test, its judges, and the detector of offers."""

from dspy_proact.programs.agent_card import AgentCandidate, AgentCard
from dspy_proact.programs.artefact import (
    AgentArtefact,
    Artefact,
    AssistantArtefact,
    Cuts,
    JudgeArtefact,
    JudgesArtefact,
    PredictorState,
    SeveralArtefact,
    compiled_assistant,
    compiled_judge,
    load_assistant,
    load_judge,
    predictor_state,
    read_agent,
    read_artefact,
    read_assistant,
    read_judge,
    read_judges,
    signature_hash,
    write_artefact,
)
from dspy_proact.programs.assistant import Assistant, Reply, usable
from dspy_proact.programs.assistant_card import AssistantCard, CandidateCard, Change
from dspy_proact.programs.bare_chat import BareChat
from dspy_proact.programs.card import (
    OPTIMIZERS,
    Card,
    CardNumber,
    CardUsage,
    DataSource,
    Optimizer,
    Provenance,
    Recipe,
    tokens_ratio,
)
from dspy_proact.programs.direct import Direct
from dspy_proact.programs.fenced_json import FencedJSON, ask_plainly
from dspy_proact.programs.indented_text import IndentedText
from dspy_proact.programs.judge import INSTRUCTION as JUDGE_INSTRUCTION
from dspy_proact.programs.judge import GradeResponse, Judge, QuoteEvidence
from dspy_proact.programs.judge_card import CasesRight, Gain, JudgeCard, PhaseCard
from dspy_proact.programs.offers import DetectOffers, OfferDetector
from dspy_proact.programs.official import OfficialJudge
from dspy_proact.programs.roles import ASSISTANT, JUDGE, PROPOSER, REPORT_JUDGE

__all__ = [
    "ASSISTANT",
    "JUDGE",
    "JUDGE_INSTRUCTION",
    "OPTIMIZERS",
    "PROPOSER",
    "REPORT_JUDGE",
    "AgentArtefact",
    "AgentCandidate",
    "AgentCard",
    "Artefact",
    "Assistant",
    "AssistantArtefact",
    "AssistantCard",
    "BareChat",
    "CandidateCard",
    "Card",
    "CardNumber",
    "CardUsage",
    "CasesRight",
    "Change",
    "Cuts",
    "DataSource",
    "DetectOffers",
    "Direct",
    "FencedJSON",
    "Gain",
    "GradeResponse",
    "IndentedText",
    "Judge",
    "JudgeArtefact",
    "JudgeCard",
    "JudgesArtefact",
    "OfferDetector",
    "OfficialJudge",
    "Optimizer",
    "PhaseCard",
    "PredictorState",
    "Provenance",
    "QuoteEvidence",
    "Recipe",
    "Reply",
    "SeveralArtefact",
    "ask_plainly",
    "compiled_assistant",
    "compiled_judge",
    "load_assistant",
    "load_judge",
    "predictor_state",
    "read_agent",
    "read_artefact",
    "read_assistant",
    "read_judge",
    "read_judges",
    "signature_hash",
    "tokens_ratio",
    "usable",
    "write_artefact",
]
