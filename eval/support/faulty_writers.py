"""The stand-in's roles behind a provider, with one fault of a kind planted by changing what one of them answers.

Clean ones have no faults that the stand-in has by nature: it forgets a quote now and then, and draws an errand twice.

A fault that code cannot see is named by an *honest auditor*: the auditor's answer is changed too, as somebody would
answer who read what was written. That shows what becomes of a fault that an auditor names, and nothing about whether
auditors name it.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dspy_proact.benchmarks.proactbench import embedded
from dspy_proact.benchmarks.proactbench.embedded_generation import writer
from dspy_proact.benchmarks.proactbench.generation.made import MadeDialogue
from dspy_proact.benchmarks.proactbench.generation.proof import LOOK
from dspy_proact.programs.embedded.fields import outputs_of, request_fields
from support.provider import Received, Scripted

Value = dict[str, Any]
AGAIN = "cannot be used"
"""Stands in a request that is asked once more."""
_STAGES = {
    "scenario": "scenario",
    "steps": "blueprint",
    "plan": "plan",
    "rubric": "rubric",
    "written": "message",
    "swap": "swap",
    "uptake": "audit of reply",
}
"""By the output that is asked for."""
_PERSONA, _DRAWS = re.compile(r"(^\[\[ ## persona ## \]\]\n(?:\| .*\n)+)", re.MULTILINE), 50
"""The persona in a request, and how often an errand is drawn until it is nobody else's."""
_AUDITS = {"removed_facts": "swap", "message": "message", "rubric": "rubric", "steps": "blueprint"}
"""What is audited, by the input that only this audit has; else a scenario."""


@dataclass(frozen=True)
class Question:
    """A request to a writer."""

    stage: str
    fields: Mapping[str, str]
    text: str
    """Of the last message."""
    scenarios: Mapping[str, Value]
    """The last one by its persona, and the first of all by no name."""
    steps: Mapping[str, list[Value]]
    """Those of a scenario, by its persona."""
    plans: Mapping[tuple[str, int], Value]
    """The step by which a turn was planned last, by the persona of its scenario and the turn."""

    @property
    def again(self) -> bool:
        """Whether an answer before it could not be used."""
        return AGAIN in self.text or bool(self.fields.get("advice", "").strip())

    def same(self, digest: str) -> str:
        """By what it is known again: its digest, or the persona of a scenario, whose initials change by attempt."""
        return self.fields["persona"] if self.stage == "scenario" else digest

    def value(self, name: str) -> Any:
        """An input that is JSON."""
        return json.JSONDecoder().raw_decode(self.fields[name].lstrip())[0]

    @property
    def turn(self) -> int:
        """Of the message that is written or audited, counted from 1."""
        return len(self.value("conversation")) + 1

    @property
    def scenario(self) -> Value:
        """That of the user who writes, or whose message is audited."""
        return self.scenarios[self.fields["persona"].strip()]

    @property
    def step(self) -> Value:
        """Of the message that is written; one that became an ordinary turn has no trigger."""
        persona = self.fields["persona"].strip()
        return self.plans.get((persona, self.turn)) or {**self.steps[persona][self.turn - 1], "trigger": None}


Planting = Callable[[Question, Value], bool]
"""Changes an answer in place; False where there is no occasion for the fault."""
Honesty = Callable[[Question, Value], None]
"""Changes an audit, in place, of whatever has the fault."""


@dataclass(frozen=True)
class Fault:
    """A fault of a writer, and what should find it."""

    kind: str
    """One of the 22."""
    form: str
    """How it is planted."""
    finder: Literal["rule", "proof", "auditor"]
    stage: str
    """Whose answers have it."""
    plant: Planting
    reason: str
    """A pattern in what is against it."""
    kept: Callable[[MadeDialogue], bool]
    """Whether a dialogue has it all the same, in what is published."""
    audited: str = ""
    """Stage whose audit names it."""
    honest: Honesty | None = None


def in_messages(text: str) -> Callable[[MadeDialogue], bool]:
    """Whether a user message has it."""
    return lambda item: any(text in turn.message.message for turn in item.turns)


def in_rubrics(text: str) -> Callable[[MadeDialogue], bool]:
    """Whether the rubric of a published trigger has it."""
    return lambda item: any(text in made.rubric.model_dump_json() for made in item.triggers if made.published)


def in_scenario(text: str) -> Callable[[MadeDialogue], bool]:
    """Whether the scenario has it."""
    return lambda item: text in item.scenario.model_dump_json()


def in_swaps(text: str) -> Callable[[MadeDialogue], bool]:
    """Whether the swap of a published trigger has it."""

    def has(item: MadeDialogue) -> bool:
        swaps = [made.proof.swap for made in item.triggers if made.published and made.proof]
        return any(swap and text in swap.model_dump_json() for swap in swaps)

    return has


def in_audit(name: str, text: str, **changed: Any) -> Honesty:
    """An audit that says so of whatever has a text in the input of this name."""

    def honest(question: Question, audit: Value) -> None:
        if text in question.fields[name]:
            audit |= changed

    return honest


@dataclass
class Writers:
    """A provider's script: clean writers, or ones with a fault.

    Args:
        fault: None for clean ones.
        once: Whether only a first answer to a question has it.
    """

    fault: Fault | None = None
    once: bool = False
    planted: int = 0
    """Answers with the fault."""
    repeated: int = 0
    """Requests that were asked for again with its reason, of this stage or the one before."""
    scenarios: dict[str, Value] = field(default_factory=dict[str, Value])
    steps: dict[str, list[Value]] = field(default_factory=dict[str, list[Value]])
    plans: dict[tuple[str, int], Value] = field(default_factory=dict[tuple[str, int], Value])
    titles: dict[str, str] = field(default_factory=dict[str, str])
    """Of scenarios that were drawn: the persona that was drawn for."""
    digests: set[str] = field(default_factory=set[str])

    def __call__(self, received: Received) -> Scripted:
        """The reply to a request."""
        system, messages = _read(received.body["messages"])
        if received.role == "judge":
            return Scripted(embedded.judge(system, messages))
        if received.role in ("assistant", "tester"):
            # Under a fault it holds back, unless it is told to look, so that no trigger is lost since it acted before.
            system = f"{system}\n\nHold back." if self.fault and LOOK not in system else system
            return Scripted(embedded.assistant(system, messages))
        return Scripted(json.dumps(self.written(received.digest, system, messages), ensure_ascii=False))

    def written(self, digest: str, system: str, messages: list[tuple[str, str]]) -> Value:
        """What a writer or the auditor answers."""
        fields, (role, text) = request_fields(messages), messages[-1]
        stage = next((name for output, name in _STAGES.items() if output in outputs_of(system)), None)
        if stage is None:
            stage = f"audit of {next((name for key, name in _AUDITS.items() if key in fields), 'scenario')}"
        question = Question(stage, fields, text, self.scenarios, self.steps, self.plans)
        if stage == "message":  # it is not asked again where it would forget a quote
            messages = [*messages[:-1], (role, f"{text}\n{AGAIN}")]
        answer: Value = json.loads(writer(system, messages))
        for number in range(_DRAWS if stage == "scenario" else 0):
            if self.titles.setdefault(answer["scenario"]["title"], fields["persona"]) == fields["persona"]:
                break
            another = _PERSONA.sub(rf"\1| ; {number}\n", text)
            answer = json.loads(writer(system, [*messages[:-1], (role, another)]))
        self.count(question)
        digest = question.same(digest)
        if self.fault and self.fault.stage == stage and not (self.once and (question.again or digest in self.digests)):
            planted = self.fault.plant(question, answer)
            self.planted += planted
            self.digests |= {digest} if planted else set()
        if self.fault and self.fault.honest and self.fault.audited == stage:
            self.fault.honest(question, answer["audit"])
        if stage == "scenario":
            self.scenarios |= {answer["scenario"]["persona"]: answer["scenario"]}
            self.scenarios.setdefault("", answer["scenario"])
        if stage == "plan":
            self.plans[question.value("scenario")["persona"], question.turn] = question.value("step")
        if stage == "blueprint":
            self.steps[question.value("scenario")["persona"]] = answer["steps"]
        return answer

    def count(self, question: Question) -> None:
        """Count a request that is asked again for the fault."""
        self.repeated += bool(self.fault and question.again and re.search(self.fault.reason, question.text))


def _read(messages: list[Any]) -> tuple[str, list[tuple[str, str]]]:
    """System text and messages, each a role and a text."""
    pairs = [(message["role"], _text(message["content"])) for message in messages]
    system = "\n".join(text for role, text in pairs if role == "system")
    return system, [pair for pair in pairs if pair[0] != "system"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
