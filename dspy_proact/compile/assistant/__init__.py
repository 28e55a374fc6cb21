"""The assistant, tuned to be proactive, and what that cost."""

from dspy_proact.compile.assistant.assistant_compile import ASSISTANT_OPTIMIZERS, AssistantCompile
from dspy_proact.compile.assistant.examiner import Examined, Examiner
from dspy_proact.compile.assistant.guards import GUARDS, MARGINS, Guard
from dspy_proact.compile.assistant.task import AssistantTask

__all__ = [
    "ASSISTANT_OPTIMIZERS",
    "GUARDS",
    "MARGINS",
    "AssistantCompile",
    "AssistantTask",
    "Examined",
    "Examiner",
    "Guard",
]
