"""The stand-in's roles that make PROBE's tasks behind a provider, with one fault planted in what one of them answers.

Clean ones do not forget what the stand-in forgets by nature. A fault that code cannot see is named by an *honest
auditor*, whose answer is changed too, as somebody would answer who read what was written; or the auditor is *silent*,
and only the proof can find it.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dspy_proact.benchmarks.probe.embedded_generation import writer
from dspy_proact.benchmarks.probe.generation.made import MadePerson, MadeTask
from dspy_proact.benchmarks.probe.generation.making import ROLES
from dspy_proact.programs.embedded.fields import outputs_of, request_fields
from support.provider import Received, Scripted

Value = dict[str, Any]
AGAIN = "cannot be used"
"""Stands in a request that is asked once more."""
_FORGETFUL = ("written", "distractors")
"""What the stand-in writes with a fault now and then, unless it is asked again."""


@dataclass(frozen=True)
class TaskQuestion:
    """A request to whoever writes or audits."""

    stage: str
    """The output that is asked for; of audits and reviews with what they are of."""
    fields: Mapping[str, str]
    text: str
    """Of the last message."""

    @property
    def again(self) -> bool:
        """Whether an answer before it could not be used."""
        return bool(re.search(f"{AGAIN}|has failed before", self.text))

    def value(self, name: str) -> Any:
        """An input that is JSON."""
        return json.JSONDecoder().raw_decode(self.fields[name].lstrip())[0]


Planting = Callable[[TaskQuestion, Value], bool]
"""Changes an answer in place; False where there is no occasion for the fault."""


@dataclass(frozen=True)
class TaskFault:
    """A fault of a writer, and what should find it."""

    kind: str
    form: str
    """How it is planted."""
    finder: Literal["rule", "auditor", "proof", "gate"]
    stage: str
    """Whose answers have it."""
    plant: Planting
    reason: str
    """A pattern in what is against it."""
    mark: str
    """Stands in what has it."""
    audited: str = ""
    """Stage whose audit is changed."""
    audit: Callable[[TaskQuestion, Value], None] | None = None

    def kept(self, person: MadePerson) -> bool:
        """Whether tasks that are published have it all the same."""
        tasks = [task for task in person.tasks if task.published]
        return any(self.mark in text for task in tasks for text in _texts(person, task))


def _texts(person: MadePerson, task: MadeTask) -> list[str]:
    """What is published of a task, and the marks of its making."""
    parts = [task.bottleneck, *task.plan, *task.evidence, *task.parameters]
    return [part.model_dump_json() for part in (*parts, *person.actions, *person.distractors)]


@dataclass
class TaskWriters:
    """A provider's script: clean writers, or ones with a fault.

    Args:
        fault: None for clean ones.
        once: Whether only a first answer to a question has it.
    """

    fault: TaskFault | None = None
    once: bool = False
    planted: int = 0
    """Answers with the fault."""
    repeated: int = 0
    """Requests of its stage that are asked again for it."""
    digests: set[str] = field(default_factory=set[str])

    def __call__(self, received: Received) -> Scripted:
        """The reply to a request."""
        pairs = [(message["role"], message["content"]) for message in received.body["messages"]]
        system = "\n".join(text for role, text in pairs if role == "system")
        messages = [pair for pair in pairs if pair[0] != "system"]
        question = TaskQuestion(_stage(system, messages), request_fields(messages), messages[-1][1])
        stand_in = ROLES[received.role].stand_in
        assert stand_in, "every role has one"
        if question.stage in _FORGETFUL:
            role, text = messages[-1]
            stand_in, messages = writer, [*messages[:-1], (role, f"{text}\n{AGAIN}")]
        answer = stand_in(system, messages)
        return Scripted(self._changed(question, answer, received.digest) if self.fault and answer else answer)

    def _changed(self, question: TaskQuestion, answer: str, digest: str) -> str:
        fault = self.fault
        assert fault, "only then is anything changed"
        self.repeated += question.stage == fault.stage and bool(
            question.again and re.search(fault.reason, question.text)
        )
        audited = fault.audit is not None and question.stage == fault.audited
        writes = question.stage == fault.stage and not (self.once and (question.again or digest in self.digests))
        if not audited and not writes:
            return answer
        value: Value = json.loads(answer)
        if writes and fault.plant(question, value):
            self.planted += 1
            self.digests.add(digest)
        if audited and fault.audit:
            fault.audit(question, value)
        return json.dumps(value, ensure_ascii=False)


def _stage(system: str, messages: list[tuple[str, str]]) -> str:
    fields, outputs = request_fields(messages), outputs_of(system)
    if "audit" in outputs:
        return "audit of actions" if "actions" in fields else "audit of bottlenecks"
    if "review" in outputs:
        return "review of distractors" if "bottlenecks" in fields else "review of evidence"
    known = ("world", "bottlenecks", "actions", "items", "written", "parameters", "distractors", "shortcut")
    return next((name for name in known if name in outputs), "answer")
