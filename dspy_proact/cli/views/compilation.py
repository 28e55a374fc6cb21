"""A compile on the terminal: its forecast and progress, its card, and what it changed in a prompt."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from difflib import unified_diff
from math import floor, log10
from pathlib import Path
from typing import Any

import click

from dspy_proact.cli.exit_status import exit_status
from dspy_proact.cli.options import option
from dspy_proact.cli.views.message import console, print_json, print_more, say, say_stopped
from dspy_proact.cli.views.progress import ProgressOnStderr
from dspy_proact.cli.views.runs import exceeded, sent_line
from dspy_proact.compile.compile import Compile
from dspy_proact.compile.forecast import CompileObserver, Forecast, Stand, proposals_at_most
from dspy_proact.errors import Halt
from dspy_proact.evaluation.forecast import SECONDS
from dspy_proact.models import Limits
from dspy_proact.plain_text import duration, printable
from dspy_proact.programs.artefact import Artefact, PredictorState
from dspy_proact.programs.card import Card, CardUsage, tokens_ratio
from dspy_proact.recipe import Recipe
from dspy_proact.report.numbers import counted, gain_range, share, shown_gain, signed
from dspy_proact.report.terminal import TerminalTable, reason_lines, show, table
from dspy_proact.stats import CANDIDATES
from dspy_proact.trained.card_text import cells_of

_SECONDS = 60.0
"""Between two lines."""
_FEWEST = 20
"""Calls from which on the time that is left is worth showing."""


class CompileProgress(ProgressOnStderr, CompileObserver):
    """Shows calls, candidates, cost and time, also while the compile silences standard error."""

    def __init__(self, folder: Path) -> None:
        super().__init__("left at most")
        self._folder = folder
        self._last_line = time.monotonic()
        self.last: Stand | None = None

    def started(self, forecast: Forecast, stand: Stand) -> None:
        """Say what it will take."""
        for line in _forecast_text(forecast, Limits()):
            self._say(line)
        self.last = stand
        if stand.kept:
            self._say(f"{stand.kept:,} answers are in the record and are not paid for again.")
        else:
            self._say(f"New compile in {self._folder}; to go on with one that was moved, name its folder with --out.")
        self._begin("calls", stand.at_most, stand.kept)

    def changed(self, stand: Stand) -> None:
        """Show how far it is."""
        self.last = stand
        self._move(stand.done, _stand_text(stand))
        if not self._bar and time.monotonic() - self._last_line >= _SECONDS:
            self._last_line = time.monotonic()
            self._say(f"calls {_stand_text(stand)}")


def _stand_text(stand: Stand) -> str:
    """Calls, candidates, the best of them, cost and time left, in a line."""
    parts = [f"{stand.done:,}" if stand.at_most is None else f"{stand.done:,} of at most {stand.at_most:,}"]
    if stand.tried:
        best = "" if stand.best is None else f", best {stand.best:.2f}"
        parts.append(f"{stand.tried} candidates{best}")
    if stand.usd:
        parts.append(f"USD {stand.usd:.2f}")
    if stand.paid >= _FEWEST and stand.at_most is not None:
        left = max(0, stand.at_most - stand.done) * stand.seconds / stand.paid
        parts.append(f"at most {duration(left)} left")
    return "; ".join(parts)


def _forecast_text(forecast: Forecast, limits: Limits) -> list[str]:
    """What the items can show, calls, tokens, price, time, and which limit may stop it."""
    roles = ", ".join(f"{name.replace('_', ' ')} {role.calls:,}" for name, role in forecast.roles.items())
    calls, counted = f"{forecast.calls:,} calls ({roles})", "repairs and retries not counted."
    lines = [f"Warning: {forecast.warning}."] if forecast.warning else []
    lines.append(shown_gain(forecast.sizes, forecast.nouns, forecast.detectable_gain, in_kappa=forecast.in_kappa))
    lines += _selected_text(forecast)
    if forecast.unknown:
        models = ", ".join(name.replace("_", " ") for name in forecast.unknown)
        lines.append(f"Not known in advance: calls of {models}, and so tokens, price and time.")
        lines.append(f"With one question each: at most {calls}; {counted}")
    else:
        low, high = (duration(seconds) for seconds in forecast.seconds)
        price = "price unknown" if forecast.usd is None else f"at most USD {forecast.usd:.2f}"
        lines.append(f"At most {calls}, {forecast.tokens:,} tokens, {price}; {counted}")
        lines.append(
            f"Time: {low} to {high} at most, {forecast.concurrency} calls in flight, if a call takes {SECONDS[0]:g} to "
            f"{SECONDS[1]:g} seconds."
        )
        lines += exceeded(limits, forecast.calls, forecast.tokens, forecast.usd or 0.0)
    return [*lines, *filter(None, [forecast.assumption])]


def _selected_text(forecast: Forecast) -> Iterator[str]:
    """The gain that selection finds, under its assumption, beside the one that the items can show."""
    selected, detectable = forecast.selected_gain, forecast.detectable_gain
    if selected is None:
        return
    mean, spread = (f"{number:.2f}" if forecast.in_kappa else f"{100 * number:.0f}" for number in CANDIDATES)
    few, unit = ("hundredths", " in kappa") if forecast.in_kappa else ("points", "")
    yield (
        f"Expect a few {few}: if {forecast.candidates} candidates are compared on {forecast.compared:,} items, and "
        f"their true gains{unit} are {mean} on average (standard deviation {spread}; both assumed), the chosen one "
        f"gains {gain_range(selected, in_kappa=forecast.in_kappa)}"
        f"{'; these items are not likely to show that' if detectable and selected[1] < detectable[0] else ''}."
    )


def compile_shown(
    compiling: Compile, recipe: Recipe, output: option.Output, following: Callable[..., None], note: str = ""
) -> int:
    """Do a compile and say how it ended, or only what it will take; the exit status.

    The recipe is as it was asked for. `following` prints the command to type next, with the file of the program and
    what is said before, to which `note` adds a sentence.
    """
    if (folds := compiling.recipe.folds) < recipe.folds:
        data, groups = compiling.target.data.name, compiling.target.declared.nouns.groups
        say(f"{data}: {folds} independent {groups} make {folds} folds.")
    if output.dry_run:
        _print_forecast(compiling, output.as_json)
        return 0
    folder = output.out or compiling.default_folder
    progress = CompileProgress(folder)
    try:
        with progress:
            finished = compiling.run(folder, progress)
    except Halt as halt:
        if progress.last:
            say(f"Stopped at call {_stand_text(progress.last)}.")
        say_stopped(halt, folder, has_answers=bool(progress.last and progress.last.done))
        return exit_status(halt)
    artefact = finished.artefact
    print_card(artefact, output.as_json)
    if why := _nothing_proposed(artefact.card):
        say(why)
    if finished.paid == 0:
        say("Nothing to do: every answer is in the record; no calls were made.")
    following(file=finished.path, before=f"The program is in {finished.path}. {note}".rstrip())
    return exit_status(unscored=bool(artefact.card.unscored))


def _nothing_proposed(card: Card) -> str:
    """Why no instruction of the proposer's is in the program, where that is known; empty otherwise."""
    proposals = card.proposals
    if not proposals_at_most(card.provenance.recipe, tips=1):
        return ""
    if not proposals.new:
        why = f"{proposals}. Name another model with --proposer" if proposals.total else "the proposer was not asked"
        return f"No instruction of the proposer's was compared: {why}."
    start, *others = [candidate.score for candidate in card.candidates if candidate.share == 1]
    if max(others, default=start) > start:
        return ""
    wrote = f"the proposer wrote {proposals.new}, those for the folds included"
    return f"In the compile on all items no new instruction did better than the start's; {wrote}."


def _print_forecast(compiling: Compile, as_json: bool) -> None:
    forecast = compiling.forecast()
    if as_json:
        numbers = ("calls", "prompt_tokens", "completion_tokens", "usd")
        roles = {
            name: {number: getattr(role, number) if role.known else None for number in numbers}
            for name, role in forecast.roles.items()
        }
        known = not forecast.unknown
        document: dict[str, Any] = {
            "roles": roles,
            "concurrency": forecast.concurrency,
            "items": forecast.items,
            forecast.nouns.groups: len(forecast.sizes),
            "detectable_gain": forecast.detectable_gain,
            "selected_gain": forecast.selected_gain,
            "gains_in": "kappa" if forecast.in_kappa else "score",
            "candidates": forecast.candidates,
            "warning": forecast.warning,
            "calls": forecast.calls if known else None,
            "usd": forecast.usd,
            "seconds": list(forecast.seconds) if known else None,
        }
        if not known:
            document["reason"] = f"not known in advance: what is asked of {', '.join(forecast.unknown)}"
        print_json(document)
    else:
        models = {f"{role.replace('_', ' ')} {model.name}": model for role, model in compiling.models.items()}
        sent = [sent_line(name, model) for name, model in models.items() if not model.embedded]
        lines = [*_forecast_text(forecast, compiling.gate.limits), *sent, "Dry run: no calls were made."]
        click.echo("\n".join(lines))


# Its card


def print_card(artefact: Artefact, as_json: bool, explain: bool | None = None) -> None:
    """Print what a compile showed; `explain` adds the details, and is None where the command has no option for it."""
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
    rows = [[card.target.title if in_kappa else f"{card.aim}*", *cells_of(card.target)]]
    rows += [[row.title, *cells_of(row)] for row in card.rows if row.title != card.aim]
    first = "kappa" if in_kappa else "out of fold"
    show(
        console(),
        *card.headline.lines,
        heading,
        f"a {answer} takes {before}{'' if card.unchanged else f' before, {after} after{times}'}.",
        table((first, "n", "before", "after", "change", "p"), rows, fold=False),
        *_notes(card),
        *(_explained(artefact) if explain else ()),
    )
    print_more(explain, "dspy-proact optimize show FILE " if explain is None else "")


def _notes(card: Card) -> Iterator[str]:
    nouns = card.nouns
    if card.target.unit != "kappa":
        yield (
            f"Means in %, * tuned for; each {nouns.case} is tested by a program that never saw its {nouns.group}, or "
            "any that shares data with it."
        )
    if values := [row.title for row in card.rows if row.unit == "value"]:
        yield f"{', '.join(values)}: means as they are, of numbers that may be below 0; the change is their difference."
    if card.unchanged:
        yield "after: the programs that the optimizer found in each fold; the program in this file is the start."
    yield from reason_lines((row.title, row.difference.reason) for row in (card.target, *card.rows))
    if card.unscored:
        yield f"{counted(card.unscored, nouns.case, nouns.cases)} left out because a verdict on them could not be read."
    for name, (count, of) in card.counts.items():
        if count < of and name.startswith("evidence "):
            yield f"verdicts with a quote that stands in the answer, {name.split()[1]}: {count} of {of}."
    if {"cases before", "cases after"} <= card.counts.keys():
        (before, of), (after, _) = card.counts["cases before"], card.counts["cases after"]
        yield f"worked cases of the judge's rules: {before} of {of} right before, {after} after, none lost."


def _explained(artefact: Artefact) -> Iterator[str | TerminalTable]:
    card, made, nouns = artefact.card, artefact.card.provenance, artefact.card.nouns
    if beside := [row for row in card.rows if row.beside]:
        names = list(beside[0].beside)
        cells = (
            [row.title, *("-" if (value := row.beside[name].value) is None else f"{value:z.2f}" for name in names)]
            for row in beside
        )
        yield table(("", *names), cells, fold=False)
    yield _candidates(card)
    if card.proposals.total:
        yield f"{card.proposals}."
    low, unread = card.target.low98, card.target.low98_unread
    shown = "{:+z.2f}".format if card.target.unit == "kappa" else signed
    bound = "unknown" if low is None else shown(low)
    reach = "" if card.reach is None else shown(card.reach).removeprefix("+")
    needed = reach and f"; it takes a measured gain of more than {reach}"
    yield (
        "The program in this file was compiled on everything and has no score of its own. Claimed only where the 98 % "
        f"interval of the change lies above 0: its lower end is {bound}"
        f"{'' if unread is None else f', counting unreadable verdicts against it {shown(unread)}'}"
        f"{needed}. p is adjusted by Holm over rows of one kind."
    )
    if card.target.unit == "kappa":
        ordered = card.item_scores.parts[0].scale == "ordinal"
        bias = (
            "bias: mean score of the judge minus people's: a change of it is a change of strictness, not of agreement."
        )
        yield (
            f"kappa: {'quadratic' if ordered else 'unweighted'}, against the shares of people's grades, within strata. "
            "exact: verdicts equal to people's commonest grade, before, after, and of a judge that always gives the "
            f"commonest.{f' {bias}' if ordered else ''}"
        )
    guards = ", ".join(f"{guard} {margin:g}" for guard, margin in card.guards.items())
    yield f"guards, against the start on the training folds: {guards or 'none'}."
    raters = f" {counted(card.raters, 'rater')}," if card.raters else ""
    controls = f" and {card.controls} controls" if card.controls else ""
    roles = ", ".join(f"{role.replace('_', ' ')} {model.model}" for role, model in made.models.items())
    yield (
        f"{counted(card.items, nouns.case, nouns.cases)}{controls} of {card.group_count} {nouns.groups},{raters} "
        f"{len(card.fold_scores)} folds. {roles}."
    )
    # A share in percent, never rounded to none.
    parts = {name: "under 1 %" if 0 < part < 0.01 else f"{100 * part:.0f} %" for name, part in card.overlap.items()}
    if overlaps := ", ".join(f"{part} stand in {name}" for name, part in parts.items()):
        yield f"of the instructions' runs of eight words {overlaps}."
    yield from (f"{note}." for note in card.notes)
    versions = ", ".join(f"{name} {number}" for name, number in made.versions.items())
    yield f"made {made.created} with {versions}; data {made.data.sha256[:12]}; program {artefact.digest[:12]}."


def _candidates(card: Card) -> TerminalTable:
    harm = any(candidate.harm is not None for candidate in card.candidates)
    rows: list[list[str]] = []
    for number, candidate in enumerate(card.candidates, start=1):
        what = ", ".join(
            [*(["chosen"] if candidate.chosen else []), *(f"breaks {guard}" for guard in candidate.broken)]
        )
        harmed = ["-" if candidate.harm is None else share(candidate.harm, 0)] if harm else []
        rows.append([str(number), share(candidate.score), share(candidate.share, 0), *harmed, what])
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


def print_diff(artefact: Artefact, as_json: bool) -> None:
    """Print the lines that a compile took away and those that it brought; as JSON the whole of before and after."""
    before, now = artefact.start.states, artefact.states
    if as_json:
        print_json({"before": _document(before), "now": _document(now)})
        return
    changed = unified_diff(lines_of(before), lines_of(now), "before", "now", lineterm="")
    for line in list(changed) or ["No change."]:
        click.secho(printable(line.expandtabs(4)), fg=_COLOURS.get(line[:1]))


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
    documents = {
        name: {"instruction": _instruction(state), "demos": list(state.demos)} for name, state in states.items()
    }
    return next(iter(documents.values())) if len(documents) == 1 else documents


def _instruction(state: PredictorState) -> str:
    return "" if _GENERATED.fullmatch(state.signature.instructions) else state.signature.instructions
