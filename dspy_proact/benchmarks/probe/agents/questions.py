"""What agents are asked: typed signatures.

Instructions, names, order, types and descriptions of the fields are prompt text, those of `Step` and `PlanStep`
included. An output that the instruction describes has no description of its own. What repeats over the tasks of a
person comes first.
"""

import tomllib
from importlib.resources import files
from typing import Any, Literal

import dspy

from dspy_proact.benchmarks.probe.agents.tools import COLUMNS
from dspy_proact.benchmarks.probe.task import Action, Document, Email, Event, World
from dspy_proact.types import Frozen

_TEXTS = tomllib.loads((files("dspy_proact.benchmarks.probe.agents") / "questions.toml").read_text("utf-8"))


def _instruction(question: str) -> str:
    """The paragraphs of a question, each by its name or as it is, with a blank line between them."""
    paragraphs = [_TEXTS["paragraphs"].get(part, part) for part in _TEXTS["questions"][question]]
    return "\n\n".join(paragraphs).replace("{columns}", ", ".join(COLUMNS))


class Step(Frozen):
    """One use of a tool."""

    thought: str
    tool: Literal["search", "sql", "read", "model", "reflect"]
    argument: str
    observation: str


class PlanStep(Frozen):
    """One use of a tool that is planned."""

    var: str
    tool: Literal["search", "sql", "read", "model"]
    argument: str


class _OfPerson(dspy.Signature):
    """The input with which each question begins."""

    world: World = dspy.InputField(desc="who the person is, what matters to them, and today's date")


class _OfActions(_OfPerson):
    """The inputs with which most questions begin."""

    actions: list[Action] = dspy.InputField(desc="all that can be done")


class _Solution(_OfActions):
    """The outputs that `SolveTask` and `ConcludeTask` share."""

    reasoning: str = dspy.OutputField(desc="what holds up what, and how the items show it")
    evidence: list[str] = dspy.OutputField()
    bottleneck: str = dspy.OutputField()
    action: str = dspy.OutputField()
    parameters: dict[str, Any] = dspy.OutputField()


class SolveTask(_Solution):
    __doc__ = _instruction("SolveTask")

    documents: list[Email | Event | Document] = dspy.InputField(desc="everything in mailbox, calendar and folders")


class SearchDocuments(_OfPerson):
    __doc__ = _instruction("SearchDocuments")

    documents: list[Email | Event | Document] = dspy.InputField(desc="everything in mailbox, calendar and folders")
    reasoning: str = dspy.OutputField(desc="what holds up what, and how the items show it")
    evidence: list[str] = dspy.OutputField()


class IdentifyBottleneck(_OfPerson):
    __doc__ = _instruction("IdentifyBottleneck")

    documents: list[Email | Event | Document] = dspy.InputField(desc="the items that were found to show it")
    bottleneck: str = dspy.OutputField()


class ResolveBottleneck(_OfActions):
    __doc__ = _instruction("ResolveBottleneck")

    documents: list[Email | Event | Document] = dspy.InputField(desc="the items that were found to show it")
    bottleneck: str = dspy.InputField(desc="each of its lines begins with |")
    action: str = dspy.OutputField()
    parameters: dict[str, Any] = dspy.OutputField()


class ChooseStep(_OfActions):
    __doc__ = _instruction("ChooseStep")

    steps: list[Step] = dspy.InputField(desc="what you did so far, and what it returned")
    left: int = dspy.InputField(desc="steps that are left, this one included")
    thought: str = dspy.OutputField(desc="what is known, and what is to be found out next")
    tool: Literal["search", "sql", "read", "finish"] = dspy.OutputField()
    argument: str = dspy.OutputField()


class PlanWork(_OfActions):
    __doc__ = _instruction("PlanWork")

    most: int = dspy.InputField(desc="steps that the plan may have")
    reasoning: str = dspy.OutputField(desc="what could be held up, and where it would show")
    plan: list[PlanStep] = dspy.OutputField(desc="in the order in which they are done")


class AnswerQuestion(dspy.Signature):
    __doc__ = _instruction("AnswerQuestion")

    steps: list[Step] = dspy.InputField(desc="the steps that the question names, and what they returned")
    question: str = dspy.InputField(desc="each of its lines begins with |")
    answer: str = dspy.OutputField(desc="in a few sentences, with the ids of the items that it rests on")


class ConcludeTask(_Solution):
    __doc__ = _instruction("ConcludeTask")

    steps: list[Step] = dspy.InputField(desc="what was done, and what it returned")


class CriticiseAttempt(_OfActions):
    __doc__ = _instruction("CriticiseAttempt")

    steps: list[Step] = dspy.InputField(desc="what was done, and what it returned")
    evidence: list[str] = dspy.InputField()
    bottleneck: str = dspy.InputField(desc="each of its lines begins with |")
    action: str = dspy.InputField(desc="after a |")
    parameters: dict[str, Any] = dspy.InputField()
    lacking: str = dspy.OutputField()
    score: float = dspy.OutputField()
