"""The card of a compiled program, and what the compile changed in its prompt."""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from math import floor, log10
from pathlib import Path
from typing import Any

import click

from dspy_proact.benchmarks.benchmark import Start
from dspy_proact.benchmarks.compiled import compiled_program
from dspy_proact.benchmarks.participant import fingerprint_of
from dspy_proact.benchmarks.registry import benchmark_of
from dspy_proact.cli.options.models import text_of
from dspy_proact.cli.views.message import console, print_json, print_more, say
from dspy_proact.compile.tuning import Tuning
from dspy_proact.errors import UsageError
from dspy_proact.plain_text import printable
from dspy_proact.programs import Card, CardUsage, tokens_ratio
from dspy_proact.programs.artefact import Artefact, PredictorState, read_artefact, states_of
from dspy_proact.programs.card import Row
from dspy_proact.report import (
    Table,
    coefficient,
    counted,
    each_reason,
    percent,
    points_of,
    probability,
    share,
    show,
    signed,
    table,
)


def print_card(artefact: Artefact, as_json: bool, explain: bool | None = None) -> None:
    """Print what a compile showed, out of fold, and what an answer costs.

    `explain` adds the details, such as with what it was made; it is None where the command has no option for it.
    """
    if as_json:
        print_json(artefact.card.document())
        return
    card, made, recipe = artefact.card, artefact.card.provenance, artefact.card.provenance.recipe
    votes = f", {counted(artefact.votes, 'vote')}" if artefact.role == "judge" else ""
    heading = (
        f"{artefact.role} of {artefact.benchmark} on {made.models[artefact.role].model}, tuned on {made.data.name}: "
        f"{recipe.optimizer}, {recipe.trials} trials, at most {recipe.max_demos} demos, {recipe.folds} folds, "
        f"seed {recipe.seed}{votes}"
    )
    before, after = (_usage_text(usage) for usage in (card.usage_before, card.usage_after))
    ratio = tokens_ratio(card.usage_before, card.usage_after)
    times = "" if ratio is None else f", {ratio:.1f} times as many tokens"
    answer = "response" if "assistant" in made.models else "verdict"
    in_kappa = card.target.unit == "kappa"
    rows = [[card.target.title if in_kappa else f"{card.aim}*", *_row(card.target)]]
    rows += [[row.title, *_row(row)] for row in card.rows if row.title != card.aim]
    first = "kappa" if in_kappa else "out of fold"
    show(
        console(),
        card.headline,
        heading,
        f"a {answer} takes {before} before, {after} after{times}.",
        *(f"warning: {warning}." for warning in card.warnings),
        table((first, "n", "before", "after", "change", "p"), rows, fold=False),
        *_notes(card),
        *(_explained(artefact) if explain else ()),
    )
    if not explain:
        print_more("dspy-proact optimize show FILE " if explain is None else "")


def _row(row: Row) -> list[str]:
    count = str(row.count) if row.count == row.total else f"{row.count}/{row.total}"
    before, after, difference = row.before.estimate, row.after.estimate, row.difference.estimate
    if row.unit == "times":
        means = ("-" if each.value is None else f"{each.value:.0f}" for each in (before, after))
        return [count, *means, "-" if difference.value is None else f"x {coefficient(difference)}", probability(row.p)]
    if row.unit == "kappa":
        return [count, *map(coefficient, (before, after, difference)), probability(row.p)]
    return [count, percent(before), percent(after), points_of(difference), probability(row.p)]


def _notes(card: Card) -> Iterator[str]:
    """Notes on how to read the table, and what was left out."""
    if card.target.unit != "kappa":
        yield (
            f"Means in %, * tuned for; each {card.case} is tested by a program that never saw its {card.group}, or "
            "any that shares data with it."
        )
    yield from each_reason((row.title, row.difference.reason) for row in (card.target, *card.rows))
    if card.unscored:
        yield f"{counted(card.unscored, card.case)} left out because a verdict on them could not be read."
    for name, (count, of) in card.counts.items():
        if count < of and name.startswith("evidence"):
            yield f"verdicts with a quote that stands in the answer, {name.split()[1]}: {count} of {of}."
    if "cases after" in card.counts:
        (before, of), (after, _) = card.counts["cases before"], card.counts["cases after"]
        yield f"worked cases of the judge's rules: {before} of {of} right before, {after} after, none lost."


def _explained(artefact: Artefact) -> Iterator[str | Table]:
    """Further tables, and with what it was made."""
    card, made = artefact.card, artefact.card.provenance
    if beside := [row for row in card.rows if row.beside]:
        names = list(beside[0].beside)
        cells = (
            [row.title, *("-" if (value := row.beside[name].value) is None else f"{value:.2f}" for name in names)]
            for row in beside
        )
        yield table(("", *names), cells, fold=False)
    yield _candidates(card)
    low, unread = card.target.low98, card.target.low98_unread
    shown = "{:+.2f}".format if card.target.unit == "kappa" else signed
    bound = "unknown" if low is None else shown(low)
    yield (
        "The program in this file was compiled on everything and has no score of its own. Claimed only where the 98 % "
        f"interval of the change lies above 0: its lower end is {bound}"
        f"{'' if unread is None else f', counting unreadable verdicts against it {shown(unread)}'}. p is adjusted by "
        "Holm over rows of one kind."
    )
    if card.target.unit == "kappa":
        yield (
            "kappa: quadratic, against the shares of people's grades, within strata. exact: verdicts equal to people's "
            "commonest grade, before, after, and of a judge that always gives the commonest. bias: mean score of the "
            "judge minus people's: a change of it is a change of strictness, not of agreement."
        )
    guards = ", ".join(f"{guard} {margin:g}" for guard, margin in card.guards.items())
    yield f"guards, against the start on the training folds: {guards or 'none'}."
    raters = f" {counted(card.raters, 'rater')}," if card.raters else ""
    controls = f" and {card.controls} controls" if card.controls else ""
    roles = ", ".join(f"{role.replace('_', ' ')} {model.model}" for role, model in made.models.items())
    yield (
        f"{counted(card.items, card.case)}{controls} of {card.group_count} {card.groups},{raters} "
        f"{len(card.fold_scores)} folds. {roles}."
    )
    # A share in percent, never rounded to none.
    parts = {name: "under 1 %" if 0 < part < 0.01 else f"{100 * part:.0f} %" for name, part in card.overlap.items()}
    if overlaps := ", ".join(f"{part} stand in {name}" for name, part in parts.items()):
        yield f"of the instructions' runs of eight words {overlaps}."
    yield from (f"{note}." for note in card.notes)
    versions = ", ".join(f"{name} {number}" for name, number in made.versions.items())
    yield f"made {made.created} with {versions}; data {made.data.sha256[:12]}; program {artefact.digest[:12]}."


def _candidates(card: Card) -> Table:
    harm = any(each.harm is not None for each in card.candidates)
    rows: list[list[str]] = []
    for number, each in enumerate(card.candidates, start=1):
        what = ", ".join([*(["chosen"] if each.chosen else []), *(f"breaks {guard}" for guard in each.broken)])
        harmed = ["-" if each.harm is None else share(each.harm, 0)] if harm else []
        rows.append([str(number), share(each.score), share(each.share, 0), *harmed, what])
    return table(("candidate", "score", "compared", *(["harm"] if harm else []), ""), rows, fold=False)


def _usage_text(usage: CardUsage) -> str:
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return "an unknown number of tokens"
    usd = None if usage.usd is None else usage.usd / 1000
    # To three digits, never rounded to nothing.
    cost = "price unknown" if usd is None else f"USD {usd:.{max(2, 2 - floor(log10(usd)))}f}" if usd else "USD 0.00"
    return f"{usage.prompt_tokens / 1000:,.0f} tokens in and {usage.completion_tokens / 1000:,.0f} out ({cost})"


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_GENERATED = re.compile(r"Given the fields .*, produce the fields .*\.", re.DOTALL)
"""DSPy's default instruction, which stands for none."""
States = Mapping[str, PredictorState]


def print_diff(artefact: Artefact, start: Path | None, system_prompt: str | None, as_json: bool) -> None:
    """Print the lines that a compile took away and those that it brought; as JSON the whole of before and after.

    It began with the compiled program of `start`, with `system_prompt` (TEXT or @FILE), or with the uncompiled
    program; raises a `UsageError` where what is named is not what it began with.
    """
    before, known = _before(artefact, start, system_prompt)
    known = known == artefact.card.provenance.start
    named = "--start" if start else "--system-prompt" if system_prompt else None
    if named and not known:
        raise UsageError(f"{named}: is not what this {artefact.role} was compiled from, by the hash in its card")
    if not known:
        mend = "--start or --system-prompt" if artefact.role == "assistant" else "--start"
        say(
            "The program before the compile is not known: its hash in the card is not that of the uncompiled "
            f"{artefact.role}. Name it with {mend}. Its current text:"
        )
    if as_json:
        documents = {"before": _document(before) if known else None, "now": _document(artefact.states)}
        print_json(documents)
        return
    lines = lines_of(artefact.states)
    if known:
        changed = unified_diff(lines_of(before), lines, "before", "now", lineterm="")
        lines = list(changed) or ["No change."]
    for line in lines:
        click.secho(printable(line.expandtabs(4)), fg=_COLOURS.get(line[:1]) if known else None)


def lines_of(states: States, demos: bool = True) -> list[str]:
    """Instruction and worked examples of each predictor, under its name if there are several."""
    texts: list[str] = []
    for name, state in states.items():
        text = [f"# {name}"] if len(states) > 1 else []
        text += [_instruction(state)]
        shown = state.demos if demos else ()
        text += [f"\nA worked example:\n{json.dumps(demo, ensure_ascii=False, indent=1)}" for demo in shown]
        texts.append("\n".join(text))
    return "\n\n".join(texts).splitlines()


def _document(states: States) -> dict[str, Any]:
    """Instruction and demos as JSON, by predictor if there are several."""
    documents = {
        name: {"instruction": _instruction(state), "demos": list(state.demos)} for name, state in states.items()
    }
    return next(iter(documents.values())) if len(documents) == 1 else documents


def _instruction(state: PredictorState) -> str:
    return "" if _GENERATED.fullmatch(state.signature.instructions) else state.signature.instructions


def _before(artefact: Artefact, start: Path | None, system_prompt: str | None) -> tuple[States, str]:
    """The states of a program before it was compiled, and its hash as in a card."""
    if start and system_prompt is not None:
        raise UsageError("--start has a prompt of its own; leave --system-prompt out")
    if system_prompt is not None and artefact.role == "judge":
        raise UsageError("--system-prompt: a judge has none; leave it out")
    if start:
        begun = read_artefact(start, artefact.role)
        return begun.states, begun.digest
    declared = benchmark_of(artefact.benchmark)
    settings = declared.settings_type.model_validate(artefact.settings)
    program = compiled_program(declared, settings, Start(text_of(system_prompt)), artefact.role)
    program = (declared.tuning(settings) or Tuning(declared, settings)).student(program)
    return states_of(program), fingerprint_of(program)
