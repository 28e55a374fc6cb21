"""A compile, done while a person watches: what it will take, how far it is, and what came of it."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dspy_proact.benchmarks.forecast import SECONDS
from dspy_proact.cli.options.kinds import Output
from dspy_proact.cli.views.card import print_card
from dspy_proact.cli.views.message import print_json, say, say_next, say_stopped
from dspy_proact.cli.views.progress import ProgressOnStderr, duration
from dspy_proact.cli.views.runs import exceeded
from dspy_proact.compile.compile import Compile
from dspy_proact.compile.forecast import PROPOSALS, CompileObserver, Forecast, Stand
from dspy_proact.errors import Halt
from dspy_proact.models import Limits
from dspy_proact.programs import Optimizer, Recipe
from dspy_proact.stats import CLAIM_GROUPS, CLAIM_LABELS

_SECONDS = 60.0
"""Between two lines."""
_FEWEST = 20
"""Calls from which on the time that is left is worth showing."""


class CompileProgress(ProgressOnStderr, CompileObserver):
    """Shows calls, candidates, cost and time, also while the compile silences standard error."""

    def __init__(self, folder: Path) -> None:
        super().__init__("left at most")
        self._folder = folder
        self._said = time.monotonic()
        self._last: Stand | None = None

    def started(self, forecast: Forecast, stand: Stand) -> None:
        """Say what it will take."""
        for line in forecast_text(forecast, Limits()):
            self._say(line)
        self._last = stand
        if stand.kept:
            self._say(f"{stand.kept:,} answers are in the record and are not paid for again.")
        else:
            self._say(f"New compile in {self._folder}; to go on with one that was moved, name its folder with --out.")
        self._begin("calls", stand.at_most, stand.kept)

    def changed(self, stand: Stand) -> None:
        """Show how far it is."""
        self._last = stand
        self._move(stand.done, stand_text(stand))
        if not self._bar and time.monotonic() - self._said >= _SECONDS:
            self._said = time.monotonic()
            self._say(f"calls {stand_text(stand)}")

    @property
    def answered(self) -> bool:
        """Whether any answer is kept."""
        return self._last is not None and self._last.done > 0

    def say_unworded(self, optimizer: Optimizer) -> None:
        """Say so where a proposer was asked and no instruction of it was compared."""
        if PROPOSALS[optimizer] and self._last and not self._last.worded:
            why = "none of the proposer's could be used, or did better on a few items"
            self._say(f"No instruction but the start's was compared: {why}. Name another model with --proposer.")

    def say_reached(self) -> None:
        """Say how far it came, once it has stopped."""
        if self._last:
            self._say(f"Stopped at call {stand_text(self._last)}.")


def stand_text(stand: Stand) -> str:
    """Calls, candidates, the best of them, cost and time left, in a line."""
    parts = [f"{stand.done:,} of at most {stand.at_most:,}"]
    if stand.tried:
        best = "" if stand.best is None else f", best {stand.best:.2f}"
        parts.append(f"{stand.tried} candidates{best}")
    if stand.usd:
        parts.append(f"USD {stand.usd:.2f}")
    if stand.paid >= _FEWEST:
        left = max(0, stand.at_most - stand.done) * stand.seconds / stand.paid
        parts.append(f"at most {duration(left)} left")
    return "; ".join(parts)


def forecast_document(forecast: Forecast) -> dict[str, Any]:
    """The numbers of a forecast."""
    numbers = ("calls", "prompt_tokens", "completion_tokens", "usd")
    return {
        "roles": {name: {number: getattr(role, number) for number in numbers} for name, role in forecast.roles.items()},
        "concurrency": forecast.concurrency,
        "items": forecast.items,
        forecast.groups: forecast.group_count,
        "smallest_gain": forecast.smallest_gain,
        "calls": forecast.calls,
        "usd": forecast.usd,
        "seconds": list(forecast.seconds),
    }


def forecast_text(forecast: Forecast, limits: Limits) -> list[str]:
    """What the items can show, calls, tokens, price, time, and which limit may stop it."""
    low, high = (duration(seconds) for seconds in forecast.seconds)
    price = "price unknown" if forecast.usd is None else f"at most USD {forecast.usd:.2f}"
    roles = ", ".join(f"{name.replace('_', ' ')} {role.calls:,}" for name, role in forecast.roles.items())
    shown = f"{forecast.items} items in {forecast.group_count} {forecast.groups}"
    if forecast.items < CLAIM_LABELS or forecast.group_count < CLAIM_GROUPS:
        shown += f" are too few for any claim, which takes {CLAIM_LABELS} in {CLAIM_GROUPS}."
    elif forecast.smallest_gain is None:
        shown += f"; a claim takes at least {CLAIM_LABELS} in {CLAIM_GROUPS}."
    else:
        gain = f"a true gain of {forecast.smallest_gain:.2f} in kappa would be shown 4 times in 5"
        shown = f"With {shown}, {gain}; smaller ones will often be missed."
    return [
        shown,
        f"At most {forecast.calls:,} calls ({roles}), {forecast.tokens:,} tokens, {price}; "
        "repairs and retries not counted.",
        f"Time: {low} to {high} at most, {forecast.concurrency} calls in flight, if a call takes {SECONDS[0]:g} to "
        f"{SECONDS[1]:g} seconds.",
        *exceeded(limits, forecast.calls, forecast.tokens, forecast.usd or 0.0),
    ]


def compile_shown(compiling: Compile, recipe: Recipe, output: Output, use: Sequence[str | Path], note: str = "") -> int:
    """Do a compile and say how it ended, or only what it will take; the exit status.

    Args:
        compiling: Checked already.
        recipe: As it was asked for.
        output: Where it is done, and what is printed.
        use: The command to type next, to the option that takes the file of the program.
        note: A sentence added to the message that names the file.
    """
    if (folds := compiling.recipe.folds) < recipe.folds:
        say(f"{compiling.data.name}: {folds} independent {compiling.declared.nouns.groups} make {folds} folds.")
    if output.dry_run:
        forecast = compiling.forecast()
        if output.as_json:
            print_json(forecast_document(forecast))
        else:
            click.echo("\n".join([*forecast_text(forecast, compiling.limits), "Dry run: no calls were made."]))
        return 0
    folder = output.out or compiling.default_folder
    progress = CompileProgress(folder)
    try:
        with progress:
            finished = compiling.run(folder, progress)
    except Halt as halt:
        progress.say_reached()
        say_stopped(halt, folder, progress.answered)
        return halt.exit_status
    artefact = finished.artefact
    print_card(artefact, output.as_json)
    progress.say_unworded(artefact.card.provenance.recipe.optimizer)
    if finished.paid == 0:
        say("Nothing to do: every answer is in the record; no calls were made.")
    say_next(*use, finished.path, before=f"The program is in {finished.path}. {note}".rstrip())
    return 3 if artefact.card.unscored else 0
