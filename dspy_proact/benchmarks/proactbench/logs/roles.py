"""The roles that make a corpus of logs, as signatures: the inputs of each are all that it may know.

| role | what it reads | what it never sees |
|---|---|---|
| redactor | what was logged, after the rules | the brief but for the product |
| finder | the turns up to a message | the response to it, and what came after |
| planner, of a rubric | likewise, with the need that was found | likewise |
| auditor of a rubric | likewise, with the rubric | likewise |
| auditor of what came after | all turns | the rubric |
| judge | the turns up to a message, rubric, logged response | what came after |

All but the redactor read the redacted text. Names, order and types of the fields are prompt text, and so are their
values' (`values`). A conversation is one line of JSON, so that nothing in it can imitate a field.
"""

import dspy

from dspy_proact.benchmarks.proactbench.generation.roles import AuditRubric, prompt
from dspy_proact.benchmarks.proactbench.generation.rubrics import RUBRIC, RUBRIC_AUDIT
from dspy_proact.benchmarks.proactbench.generation.values import Anchor, DraftRubric, Step, SwappedTurn
from dspy_proact.benchmarks.proactbench.logs.values import Aftermath, ChatReading, Findings
from dspy_proact.programs.program import Question

READING, FINDING, AFTER, VERDICT = "redaction", "needs", "audit of what came after", "verdict on the logged response"
"""Stages that no other corpus has."""


class ReadChat(dspy.Signature):
    __doc__ = prompt("read_chat", room="logs")

    product: str = dspy.InputField(desc="What the assistant is for; what stands here is public")
    conversation: str = dspy.InputField(desc="What was logged")
    reading: ChatReading = dspy.OutputField()


class FindNeeds(dspy.Signature):
    __doc__ = prompt("find_needs", room="logs")

    product: str = dspy.InputField(desc="The product's text")
    product_rules: list[str] = dspy.InputField(desc="What its assistant must keep to")
    never: list[str] = dspy.InputField(desc="What its assistant must never offer or do")
    may: list[str] = dspy.InputField(desc="Kinds of fact from which something follows for the product, as examples")
    system: str = dspy.InputField(desc="What the assistant knew before the conversation")
    conversation: list[SwappedTurn] = dspy.InputField(desc="Up to the last message, which awaits its response")
    known: list[str] = dspy.InputField(desc="Needs that were found at earlier messages")
    findings: Findings = dspy.OutputField()


class WriteLoggedRubric(dspy.Signature):
    __doc__ = "\n\n".join((prompt("write_logged_rubric", room="logs"), prompt("rubric_criteria")))

    product: str = dspy.InputField(desc="The product's text")
    product_rules: list[str] = dspy.InputField(desc="What its assistant must keep to")
    forbidden: list[str] = dspy.InputField(desc="What must never be offered")
    system: str = dspy.InputField(desc="What the assistant knew before the conversation")
    anchors: list[Anchor] = dspy.InputField(desc="Facts that the user has disclosed")
    conversation: list[SwappedTurn] = dspy.InputField(desc="Up to the last message, which awaits its response")
    step: Step = dspy.InputField(desc="What the response should come to")
    language: str = dspy.InputField()
    rubric: DraftRubric = dspy.OutputField()


class ReadAfter(dspy.Signature):
    __doc__ = prompt("read_after", room="logs")

    product: str = dspy.InputField(desc="The product's text")
    conversation: list[SwappedTurn] = dspy.InputField(desc="What was said before the response")
    at_turn: int = dspy.InputField(desc="Number of the last message before the response")
    need: str = dspy.InputField()
    act: str = dspy.InputField(desc="What a good response would have done")
    after: list[SwappedTurn] = dspy.InputField(desc="The turn again with its response, and all later turns")
    aftermath: Aftermath = dspy.OutputField()


def programs() -> dict[str, Question]:
    """The programs of a corpus of logs, by the name of their stage, in the order in which they are first asked."""
    return {
        READING: Question(ReadChat, "product", "conversation"),
        FINDING: Question(FindNeeds, "product", "system"),
        RUBRIC: Question(WriteLoggedRubric, "product", "system"),
        RUBRIC_AUDIT: Question(AuditRubric, "product", "system"),
        AFTER: Question(ReadAfter, "product"),
    }
