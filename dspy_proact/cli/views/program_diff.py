"""What a compiled program says to its model now, and what it was before."""

import json
import re
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

import click

from dspy_proact.benchmarks.benchmark import Benchmark, Start
from dspy_proact.benchmarks.compiled import compiled_program
from dspy_proact.benchmarks.participant import fingerprint_of
from dspy_proact.benchmarks.registry import benchmark_named
from dspy_proact.cli.options.models import text_of
from dspy_proact.cli.views.message import say
from dspy_proact.compile.agreement import plain_cuts
from dspy_proact.compile.tuning import Tuning
from dspy_proact.errors import UsageError
from dspy_proact.plain_text import printable
from dspy_proact.programs.artefact import Artefact, PredictorState, read_artefact, states_of

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_GENERATED = re.compile(r"Given the fields .*, produce the fields .*\.", re.DOTALL)
"""DSPy's text where nothing is told."""
States = Mapping[str, PredictorState]


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
    before, known = _before(artefact, start, system_prompt)
    known = known == artefact.card.provenance.start
    named = "--start" if start else "--system-prompt" if system_prompt else None
    if named and not known:
        raise UsageError(f"{named}: is not what this {artefact.role} was compiled from, by the hash in its card")
    if not known:
        mend = "--start or --system-prompt" if artefact.role == "assistant" else "--start"
        say(
            "What it was before is not known: the hash of that in its card is not that of the uncompiled "
            f"{artefact.role}. Name it with {mend}. This is what it says now."
        )
    if as_json:
        told = {"before": _document(before) if known else None, "now": _document(artefact.states)}
        click.echo(json.dumps(told, indent=2))
        return
    lines = lines_of(artefact.states)
    if known:
        changed = unified_diff(lines_of(before), lines, "before", "now", lineterm="")
        lines = list(changed) or ["It says what it said before."]
    for line in lines:
        click.secho(printable(line.expandtabs(4)), fg=_COLOURS.get(line[:1]) if known else None)


def unchanged(artefact: Artefact, declared: Benchmark[Any, Any] | None = None) -> bool:
    """Whether it is known to be the uncompiled program that the compile began with: nothing better was found."""
    try:
        declared = declared or benchmark_named(artefact.benchmark)
        before, known = _before(artefact, None, None, declared)
    except UsageError:  # of a person's own file, which a program does not name
        return False
    plain = plain_cuts(declared)
    uncut = all(cut == plain[stratum] for stratum, cut in artefact.cuts.items())
    return uncut and known == artefact.card.provenance.start and lines_of(before) == lines_of(artefact.states)


def lines_of(states: States, demos: bool = True) -> list[str]:
    """What predictors say beside the fields of a case: instruction and worked examples, each under its name."""
    told: list[str] = []
    for name, state in states.items():
        text = [f"# {name}"] if len(states) > 1 else []
        text += [_instruction(state)]
        shown = state.demos if demos else ()
        text += [f"\nA worked example:\n{json.dumps(demo, ensure_ascii=False, indent=1)}" for demo in shown]
        told.append("\n".join(text))
    return "\n\n".join(told).splitlines()


def _document(states: States) -> dict[str, Any]:
    """As JSON; of several predictors each by its name."""
    documents = {
        name: {"instruction": _instruction(state), "demos": list(state.demos)} for name, state in states.items()
    }
    return next(iter(documents.values())) if len(documents) == 1 else documents


def _instruction(state: PredictorState) -> str:
    return "" if _GENERATED.fullmatch(state.signature.instructions) else state.signature.instructions


def _before(
    artefact: Artefact, start: Path | None, system_prompt: str | None, declared: Benchmark[Any, Any] | None = None
) -> tuple[States, str]:
    """What a program said before it was compiled, and its hash as cards have it."""
    if start and system_prompt is not None:
        raise UsageError("--start has a prompt of its own; leave --system-prompt out")
    if system_prompt is not None and artefact.role == "judge":
        raise UsageError("--system-prompt: a judge has none; leave it out")
    if start:
        begun = read_artefact(start, artefact.role)
        return begun.states, begun.digest
    declared = declared or benchmark_named(artefact.benchmark)
    settings = declared.settings_type.model_validate(artefact.settings)
    program = compiled_program(declared, settings, Start(text_of(system_prompt)), artefact.role)
    program = (declared.tuning(settings) or Tuning(declared, settings)).student(program)
    return states_of(program), fingerprint_of(program)
