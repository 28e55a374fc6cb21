"""The runs of a command: what is to be known before, what they will take, and how they end."""

import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.benchmarks.execution import Completed, Execution
from dspy_proact.benchmarks.forecast import SECONDS, RoleCalls
from dspy_proact.cli.options.kinds import Output
from dspy_proact.cli.views.message import Typed, command, print_json, say, say_next, say_stopped
from dspy_proact.cli.views.progress import RunProgress, duration
from dspy_proact.errors import Halt
from dspy_proact.models import Limits
from dspy_proact.plain_text import printable
from dspy_proact.runs import CorpusRecord, RunFolder, Scope

if TYPE_CHECKING:
    from dspy_proact.benchmarks.benchmark import Benchmark
    from dspy_proact.programs import Card

# Before


def say_of_card(flag: str, card: "Card | None", role: str, models: Sequence[str]) -> None:
    """Say where a compiled program shows no improvement, or was compiled for another model than it speaks through."""
    if card is None:
        return
    if not card.shown:
        say(f"{flag}: its card shows no improvement over the program that the compile began with.")
    made = card.provenance.models[role].model
    if others := [name for name in models if name != made]:
        say(f"{flag}: was compiled for {made}; its card says nothing about {', '.join(others)}.")


def say_of_corpus(named: str, record: CorpusRecord) -> None:
    """Say which fields the format does not know, and which rows are no cases."""
    if record.ignored_fields:
        fields = ", ".join(f"{name!r} ({count})" for name, count in record.ignored_fields.items())
        say(f"{named}: ignored fields that the format does not know: {fields}")
    for reason, count in record.left_out.items():
        say(f"{named}: {count:,} of {record.rows:,} rows {'is' if count == 1 else 'are'} left out: {reason}.")


def _print_forecasts(runs: Sequence[tuple[Execution, Path]], scope: Scope, as_json: bool) -> None:
    """Print what each run would take, by the name of its model; JSON of several is a list."""
    forecasts = {
        execution.manifest.identity.assistant.model: execution.forecast(path, scope) for execution, path in runs
    }
    if as_json:
        documents = [
            {"model": model, **dataclasses.asdict(forecast), "calls": forecast.calls}
            for model, forecast in forecasts.items()
        ]
        print_json(documents if len(documents) > 1 else documents[0])
        return
    for model, forecast in forecasts.items():
        if len(forecasts) > 1:
            click.echo(f"{printable(model)}:")
        low, high = (duration(seconds) for seconds in forecast.seconds)
        click.echo(f"{forecast.calls:,} calls, without repairs and retries.")
        click.echo(f"assistant: {_role(forecast.assistant)}")
        click.echo(f"judge: {_role(forecast.judge)}")
        if forecast.assumption:
            click.echo(forecast.assumption)
        assumed = f"if a call takes {SECONDS[0]:g} to {SECONDS[1]:g} seconds and none has to wait"
        click.echo(f"Time: {low} to {high}, {assumed}.")
    whole = list(forecasts.values())
    usd = sum(role.usd[1] for forecast in whole for role in (forecast.assistant, forecast.judge) if role.usd)
    calls, tokens = (sum(getattr(forecast, name) for forecast in whole) for name in ("calls", "most_tokens"))
    for line in exceeded(runs[0][0].limits, calls, tokens, usd):
        click.echo(line)
    click.echo("Dry run: no calls were made.")


def _role(role: RoleCalls) -> str:
    few, many = role.completion_tokens
    price = "price unknown" if role.usd is None else f"USD {role.usd[0]:.2f} to {role.usd[1]:.2f}"
    calls = f"{'at least ' if role.unknown else ''}{role.calls:,} calls"
    counted = f" (counted by {role.tokenizer})" if role.tokenizer else ""
    return f"{calls}, {role.prompt_tokens:,} tokens in{counted}, {few:,} to {many:,} out, {price}"


def exceeded(limits: Limits, calls: int, tokens: int, usd: float) -> list[str]:
    """A warning for each limit that a forecast exceeds, with where it stops."""
    compared = [
        ("--max-calls", limits.calls, calls),
        ("--max-tokens", limits.tokens, tokens),
        ("--max-usd", limits.usd, usd),
    ]
    return [
        f"{flag} {limit:g} may stop it after {limit / need:.0%}: it could take {need:,.2f}".removesuffix(".00")
        for flag, limit, need in compared
        if limit is not None and need > limit
    ]


# The runs


@dataclass(frozen=True)
class Ending:
    """How the runs of a command ended."""

    finished: Sequence[Completed]
    """The finished runs, in order; all of them unless there was a halt."""
    halt: Halt | None
    """Why the next run stopped, if it did."""
    halted: Path | None
    """Its folder."""

    def close(self, declared: "Benchmark[Any, Any]", beside: Path | None = None) -> int:
        """Say where the results are and what to type next, such as to compare it with `beside`; the exit status."""
        if self.finished and not self.halt and not any(run.stages for run in self.finished):
            say("Nothing to do: all results are on disk; no calls were made.")
        for run in self.finished:
            say(f"The run is in {run.path}.")
        if self.halt and self.halted:
            say_stopped(self.halt, self.halted)
            return self.halt.exit_status
        paths = [*([beside] if beside else []), *(run.path for run in self.finished)]
        unscored, typed = any(run.unscored for run in self.finished), Typed()
        named = typed.options("--benchmark")
        if unscored and "--retry-unscored" not in typed.given:
            verb = click.get_current_context()
            names = [each.name for each in verb.command.params if isinstance(each, click.Argument) and each.name]
            arguments = [str(verb.params[name]) for name in names if verb.params[name] is not None]
            say_next(verb.info_name or "", *arguments, *typed.options(), "--retry-unscored")
        elif len(paths) == 1:
            worst = command("show", *named, paths[0], "--grade", declared.labels[-1].lower())
            say(f"To read the worst: {worst}")
            say_next("report", *named, *paths, "--html", "page.html")
        elif len(paths) > 2 and declared.published():
            say_next("leaderboard", *named, *paths)
        else:
            say_next("compare", *named, *paths[:2])
        return 3 if unscored else 0

    @property
    def begun(self) -> list[Path]:
        """The folders of those that came to their end, and of the one that was stopped if something is in it."""
        stopped = [self.halted] if self.halted and RunFolder(self.halted).exists else []
        return [*(run.path for run in self.finished), *stopped]


def run_all(runs: Sequence[tuple[Execution, Path]], scope: Scope, output: Output) -> Ending | None:
    """Do each run into its folder; what one spends counts against the limits of the next.

    Returns:
        How they ended; None where only the forecasts were asked for, which are printed.
    """
    for execution, _ in runs:
        for flag, role, participants in execution.compiled():
            say_of_card(flag, participants[0].program_card, role, [each.model.name for each in participants])
    if output.dry_run:
        _print_forecasts(runs, scope, output.as_json)
        return None
    # DSPy would log a line for every response cut at the token limit; the report counts them.
    logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)
    finished: list[Completed] = []
    spent = None
    for execution, path in runs:
        execution.check(path, scope)
    for execution, path in runs:
        if len(runs) > 1:
            say(f"{execution.manifest.identity.assistant.model}:")
        try:
            with RunProgress(execution.manifest, scope) as progress:
                finished.append(execution.run(path, scope, progress, spent))
        except Halt as halt:
            return Ending(finished, halt, path)
        spent = execution.spent
    return Ending(finished, None, None)
