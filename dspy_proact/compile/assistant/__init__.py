"""The assistant, tuned to be proactive, and what that cost."""

from dspy_proact.compile.assistant.assistant_compile import AssistantCompile
from dspy_proact.compile.assistant.compiling import AssistantPlan
from dspy_proact.compile.assistant.guards import GUARDS, MARGINS, Guard
from dspy_proact.compile.assistant.optimizers import ASSISTANT_OPTIMIZERS

__all__ = [
    "ASSISTANT_OPTIMIZERS",
    "GUARDS",
    "MARGINS",
    "AssistantCompile",
    "AssistantPlan",
    "Guard",
]
