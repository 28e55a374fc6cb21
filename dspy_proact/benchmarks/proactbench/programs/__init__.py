"""ProactBench's DSPy programs: the assistant under test, its judges, and the detector of offers."""

from dspy_proact.benchmarks.proactbench.programs.adapters import BareChat
from dspy_proact.benchmarks.proactbench.programs.assistant import (
    ASSISTANT,
    Assistant,
    AssistantCard,
    CandidateCard,
    Reply,
    usable,
)
from dspy_proact.benchmarks.proactbench.programs.judge import INSTRUCTION as JUDGE_INSTRUCTION
from dspy_proact.benchmarks.proactbench.programs.judge import (
    JUDGE,
    REPORT_JUDGE,
    CasesRight,
    Gain,
    GradeResponse,
    Judge,
    JudgeCard,
    PhaseCard,
    QuoteEvidence,
)
from dspy_proact.benchmarks.proactbench.programs.offers import DetectOffers, OfferDetector
from dspy_proact.benchmarks.proactbench.programs.official import OfficialJudge

__all__ = [
    "ASSISTANT",
    "JUDGE",
    "JUDGE_INSTRUCTION",
    "REPORT_JUDGE",
    "Assistant",
    "AssistantCard",
    "BareChat",
    "CandidateCard",
    "CasesRight",
    "DetectOffers",
    "Gain",
    "GradeResponse",
    "Judge",
    "JudgeCard",
    "OfferDetector",
    "OfficialJudge",
    "PhaseCard",
    "QuoteEvidence",
    "Reply",
    "usable",
]
