"""A made-up benchmark that makes corpora of notes, for tests and soaks of the engine, and a provider's part in it.

A note has a topic, which is compared, and lines. Roles are a writer, a checker, who audits lines, and a reader, who is
the checker's model. The provider answers from the request alone, so that a request has one answer.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy

from dspy_proact import ProactBench
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import CorpusFacts
from dspy_proact.evaluation.corpus_forecast import StageForecast
from dspy_proact.generation.attempt import Attempt
from dspy_proact.generation.maker import Made, Making, Proof, joint_fingerprint
from dspy_proact.models import Role
from dspy_proact.programs.program import Question
from dspy_proact.stats import Headline
from dspy_proact.types import Frozen
from support.provider import Received, Scripted

LINES = 3
WORDS = 30
"""Of a topic: drawn from the words below, so that no two are near duplicates."""


class NotesBrief(Frozen):
    """What notes are about."""

    about: str = "gardens"
    language: str = "English"


class NameTopic(dspy.Signature):
    """Name a topic for a note."""

    about: str = dspy.InputField()
    number: str = dspy.InputField()
    topic: str = dspy.OutputField()


class WriteLine(dspy.Signature):
    """Write a line of a note."""

    topic: str = dspy.InputField()
    number: int = dspy.InputField()
    advice: str = dspy.InputField()
    line: str = dspy.OutputField()


class CheckLine(dspy.Signature):
    """Say whether a line stands."""

    line: str = dspy.InputField()
    sound: bool = dspy.OutputField()


class ReadNote(dspy.Signature):
    """Say how good a note is."""

    lines: list[str] = dspy.InputField()
    stars: int = dspy.OutputField()


class Topic(Frozen):
    """What a note begins with."""

    topic: str


class Note(Frozen):
    """An item."""

    name: str
    topic: str
    lines: tuple[str, ...]
    stars: tuple[int, ...]


class NotesMaker:
    """Makes notes."""

    usual: Mapping[str, str] = {"reader": "checker"}

    def __init__(self, brief: NotesBrief, proof: Proof):
        self.brief, self.samples = brief, {"none": 0, "light": 1, "full": 3}[proof]
        names = ("writer", "checker", "reader")
        self.roles = {name: Role(name, f"roles.{name}", "response", answer) for name in names}
        signatures = (NameTopic, WriteLine, CheckLine, ReadNote)
        self.name, self.write, self.check, self.read = self.programs = [Question(s) for s in signatures]

    async def begin(self, attempt: Attempt) -> Topic:
        """Name a topic."""
        number = f"{attempt.slot}.{attempt.number}"
        named = await attempt.ask("writer", "topic", self.name, _speaks, about=self.brief.about, number=number)
        return Topic(topic=named.topic)

    def text(self, made: Topic | Note) -> str:
        """The topic."""
        return made.topic

    async def finish(self, attempt: Attempt, begun: Topic) -> Note:
        """Write lines one after another, each checked, and have them read side by side."""
        lines = list[str]()
        for number in range(1, LINES + 1):

            async def write(reason: str, number: int = number) -> str:
                inputs = {"topic": begun.topic, "number": number, "advice": reason}
                return (await attempt.ask("writer", "line", self.write, _speaks, turn=number, **inputs)).line

            async def check(line: str, number: int = number) -> str:
                await attempt.ask("checker", "check", self.check, _sound, turn=number, line=line)
                return line

            lines.append(await attempt.mended(write, check))
        readings = [attempt.ask("reader", "reading", self.read, lines=lines) for _ in range(self.samples)]
        stars = tuple(read.stars for read in await asyncio.gather(*readings))
        name = f"note-{attempt.slot}-{attempt.number}"
        return Note(name=name, topic=begun.topic, lines=tuple(lines), stars=stars)

    def key(self, item: Note) -> str:
        """Its name."""
        return item.name

    def fingerprint(self) -> str:
        """Of all programs."""
        return joint_fingerprint(self.programs)

    def forecast(self) -> Sequence[StageForecast]:
        """One call each."""
        lines = [StageForecast("line", "writer", LINES, 300, 20), StageForecast("check", "checker", LINES, 300, 10)]
        reading = StageForecast("reading", "reader", self.samples, 300, 10, in_a_row=min(self.samples, 1))
        return [StageForecast("topic", "writer", 1, 250, 20), *lines, reading]

    def headline(self, made: Made) -> Headline:
        """How many there are."""
        return Headline(f"{len(made.kept)} of {made.wanted} notes.")

    def files(self, made: Made) -> Mapping[str, str]:
        """The notes, a line each, how many there are, and the lines of each in a file of its own."""
        notes = "".join(f"{kept.item.model_dump_json()}\n" for kept in made.kept)
        own = {f"notes/{kept.item.name}.txt": "\n".join(kept.item.lines) for kept in made.kept}
        return {"notes.jsonl": notes, "about.txt": f"{self.headline(made).text}\n", **own}


def _speaks(answer: Any) -> list[str]:
    text = answer.topic if "topic" in answer else answer.line
    return [f"It holds {text[:20]!r}, a forbidden word; leave that out."] if "forbidden" in text else []


def _sound(answer: Any) -> list[str]:
    return [] if answer.sound else ["The line is not sound; check it again."]


def read_brief(named: Any, language: str | None) -> NotesBrief:
    """A brief, or what its notes are about."""
    if named is not None and not isinstance(named, NotesBrief | str):
        raise UsageError(f"`brief` {named!r}: name what notes are about")
    brief = named if isinstance(named, NotesBrief) else NotesBrief(about=named) if named else NotesBrief()
    return brief.model_copy(update={"language": language}) if language else brief


class NotesBench(ProactBench):
    """Makes corpora of notes."""

    name = "notes"
    corpus = CorpusFacts(making=lambda: Making(read_brief, NotesMaker, item="note", items="notes"))


Faults = Callable[[str, str], str | None]
"""What is answered in place of a sound answer to a question (topic, line, check, reading) about a text; None as usual.
The text is the number of a topic (`2.1` is slot 2, attempt 1), `<number of the line> <topic>`, a line, or lines, and
ends with AGAIN where the answer before it broke a rule."""
AGAIN = " (again)"


def answered(text: str, faults: Faults = lambda _, __: None) -> str:
    """The answer to a request of this text."""
    fields = dict(re.findall(r"\[\[ ## (\w+) ## \]\]\n(.*?)(?=\n\n|\Z)", text, re.DOTALL))
    again = AGAIN if "cannot be used" in text else ""
    if "about" in fields:
        topic = f"topic {fields['number']} " + " ".join(f"word{fields['number']}{letter}" for letter in "abcdefgh")
        return faults("topic", fields["number"] + again) or json.dumps({"topic": topic})
    if "advice" in fields:
        about = f"{fields['number']} {fields['topic']}{' mended' if 'check' in fields['advice'] else ''}"
        return faults("line", about + again) or json.dumps({"line": f"line {about}"})
    if "lines" in fields:
        return faults("reading", fields["lines"] + again) or json.dumps({"stars": len(fields["lines"]) % 5})
    return faults("check", fields["line"] + again) or json.dumps({"sound": True})


def answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """As the embedded model."""
    del system
    return answered(messages[-1][1])


@dataclass
class NotesScript:
    """The provider's part: answers requests, and counts them.

    Attributes:
        texts: Of all requests, in the order in which they came.
    """

    faults: Faults = lambda _, __: None
    delay: Callable[[Received], float] = lambda _: 0.0
    texts: list[str] = field(default_factory=list[str])

    def __call__(self, received: Received) -> Scripted:
        """The reply to a request."""
        text = received.body["messages"][-1]["content"]
        self.texts.append(text)
        answer = answered(text, self.faults)
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": len(answer) // 4}
        return Scripted(answer, usage=usage, delay=self.delay(received))
