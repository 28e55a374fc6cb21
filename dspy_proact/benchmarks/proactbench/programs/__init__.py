"""ProactBench's DSPy programs: the assistant under test, its judges, and the detector of offers."""

from dspy_proact.benchmarks.proactbench.programs.adapters import BareChat
from dspy_proact.benchmarks.proactbench.programs.assistant import ASSISTANT, Assistant, Reply
from dspy_proact.benchmarks.proactbench.programs.judge import INSTRUCTIONS as JUDGE_INSTRUCTIONS
from dspy_proact.benchmarks.proactbench.programs.judge import JUDGE, GradeResponse, Judge, OfficialJudge, QuoteEvidence
from dspy_proact.benchmarks.proactbench.programs.offers import DetectOffers, OfferDetector
