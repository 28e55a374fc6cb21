"""What a compiled program says to its model now, and what it was before."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

import click

from dspy_proact.benchmarks.proactbench.compile.judge.cuts import PLAIN
from dspy_proact.benchmarks.proactbench.programs import Assistant, Judge
from dspy_proact.benchmarks.registry import benchmark_named
from dspy_proact.cli.options.models import text_of
from dspy_proact.cli.views.message import say
from dspy_proact.errors import UsageError
from dspy_proact.plain_text import printable
from dspy_proact.programs.artefact import (
    Artefact,
    AssistantArtefact,
    JudgeArtefact,
    PredictorState,
    SeveralArtefact,
    compiled_assistant,
    compiled_judge,
    read_assistant,
    read_judge,
)

_WITHOUT_PROMPT = {
    "judge": "a judge has none",
    "judges": "judges have none",
    "agent": "an agent has one instruction for each question",
}
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True)
class _Question:
    """What a predictor says beside the fields of a case."""

    instruction: str
    demos: Sequence[Mapping[str, Any]]

    @property
    def text(self) -> str:
        """The instruction, and the worked examples after it."""
        examples = (f"\nA worked example:\n{json.dumps(demo, ensure_ascii=False, indent=1)}" for demo in self.demos)
        return "\n".join([self.instruction, *examples])

    @property
    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        return {"instruction": self.instruction, "demos": list(self.demos)}


@dataclass(frozen=True)
class _Said:
    """What a program says."""

    questions: Mapping[str, _Question]
    """By the names of its predictors."""
    start: str
    """As a card names it where this is what a compile began with."""

    @classmethod
    def one(cls, instruction: str, demos: Sequence[Mapping[str, Any]], start: str) -> "_Said":
        """What a program with one predictor says."""
        return cls({"": _Question(instruction, demos)}, start)

    @classmethod
    def several(cls, states: Mapping[str, PredictorState], start: str) -> "_Said":
        """What one with several says."""
        return cls({name: _Question(each.signature.instructions, each.demos) for name, each in states.items()}, start)

    @property
    def lines(self) -> list[str]:
        """Of several questions each under its name."""
        if len(self.questions) == 1:
            return [line for each in self.questions.values() for line in each.text.splitlines()]
        told = "\n\n".join(f"# {name}\n{each.text}" for name, each in self.questions.items())
        return told.splitlines()

    @property
    def document(self) -> dict[str, Any]:
        """As JSON; of several questions each by its name."""
        documents = {name: each.document for name, each in self.questions.items()}
        return documents.get("", documents)


def print_diff(artefact: Artefact, start: Path | None, system_prompt: str | None, as_json: bool) -> None:
    """Print the lines that a compile took away and those that it brought.

    Args:
        artefact: What came of it.
        start: The compiled program that it began with.
        system_prompt: The prompt that it began with, TEXT or @FILE; without either the uncompiled program.
        as_json: Both wholes instead.

    Raises:
        UsageError: What is named is not what it began with.
    """
    now, before = _now(artefact), _before(artefact, start, system_prompt)
    named = "--start" if start else "--system-prompt" if system_prompt else None
    known = before if before.start == artefact.card.provenance.start else None
    if named and known is None:
        raise UsageError(f"{named}: is not what this {artefact.program} was compiled from, by the hash in its card")
    if known is None:
        mend = "--start or --system-prompt" if isinstance(artefact, AssistantArtefact) else "--start"
        say(
            "What it was before is not known: the hash of that in its card is not that of our "
            f"{artefact.program} uncompiled. Name it with {mend}. This is what it says now."
        )
    if as_json:
        click.echo(json.dumps({"before": known and known.document, "now": now.document}, indent=2))
        return
    for line in _diff(known, now) if known else now.lines:
        shown = printable(line.expandtabs(4))
        click.secho(shown, fg=_COLOURS.get(line[:1]) if known else None)


def unchanged(artefact: Artefact) -> bool:
    """Whether it is known to be the uncompiled program that the compile began with: nothing better was found."""
    before = _before(artefact, None, None)
    cuts = artefact.cuts if isinstance(artefact, JudgeArtefact) else {}
    plain = all(cut == PLAIN[phase] for phase, cut in cuts.items())
    return plain and before.start == artefact.card.provenance.start and before.lines == _now(artefact).lines


def _diff(before: _Said, now: _Said) -> Iterator[str]:
    changed = list(unified_diff(before.lines, now.lines, "before", "now", lineterm=""))
    yield from changed or ["It says what it said before."]


def _now(artefact: Artefact) -> _Said:
    if isinstance(artefact, SeveralArtefact):
        return _Said.several(artefact.states, artefact.digest)
    if isinstance(artefact, JudgeArtefact):
        return _Said.one(compiled_judge(artefact).instruction, artefact.state.demos, artefact.digest)
    assistant = compiled_assistant(artefact)
    return _Said.one(assistant.instruction, artefact.state.demos, assistant.fingerprint())


def _before(artefact: Artefact, start: Path | None, system_prompt: str | None) -> _Said:
    if start and system_prompt is not None:
        raise UsageError("--start has a prompt of its own; leave --system-prompt out")
    if system_prompt is not None and not isinstance(artefact, AssistantArtefact):
        raise UsageError(f"--system-prompt: {_WITHOUT_PROMPT[artefact.program]}; leave it out")
    if isinstance(artefact, SeveralArtefact):
        return _Said.several(*benchmark_named(artefact.benchmark).begun_with(artefact, start))
    if isinstance(artefact, JudgeArtefact):
        judge = Judge(ask_quote_again=False)
        return _now(read_judge(start)) if start else _Said.one(judge.instruction, (), judge.fingerprint())
    assistant = Assistant(text_of(system_prompt))
    return _now(read_assistant(start)) if start else _Said.one(assistant.instruction, (), assistant.fingerprint())
