"""The runs of a command: their forecasts, their folders, and how they end."""

import dataclasses
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.exit_status import exit_status
from dspy_proact.cli.next_step import Next, Typed, command_line, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.arguments import flags_in_hand, with_options_of_models
from dspy_proact.cli.views.message import console, print_json, print_more, say, say_of_batches, say_stopped
from dspy_proact.cli.views.progress import RunProgress
from dspy_proact.errors import Halt, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.execution import Execution
from dspy_proact.evaluation.forecast import SECONDS, RoleCalls, RunForecast
from dspy_proact.evaluation.mends import Completed
from dspy_proact.models import Limits, Model
from dspy_proact.plain_text import duration, printable
from dspy_proact.runs import CorpusRecord, RunFolder, Scope

if TYPE_CHECKING:
    from dspy_proact.programs.card import Card
    from dspy_proact.report import Summary

_ALL_SENT = 0.4
"""Seconds within which the first requests are sent."""


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
    forecasts = [(execution, execution.forecast(path, scope)) for execution, path in runs]
    if as_json:
        documents = [
            {
                "model": execution.manifest.identity.assistant.model,
                "name": execution.manifest.model_name,
                "assistant": dataclasses.asdict(forecast.assistant),
                "judge": dataclasses.asdict(forecast.judge),
                "roles": {name: dataclasses.asdict(role) for name, role in forecast.roles.items()},
                "seconds": None if forecast.batch else forecast.seconds,
                "assumption": forecast.assumption,
                "calls": forecast.calls,
                "sent": {name: model.decoding for name, model in _callable(execution, forecast).items()},
                "response_format": {name: model.form for name, model in _callable(execution, forecast).items()},
            }
            for execution, forecast in forecasts
        ]
        print_json(documents if len(documents) > 1 else documents[0])
        return
    for execution, forecast in forecasts:
        if len(forecasts) > 1:
            click.echo(f"{printable(execution.manifest.model_name)}:")
        click.echo(f"{forecast.calls:,} calls, without repairs and retries.")
        for name, role in forecast.by_role.items():
            click.echo(f"{name}: {_role(role)}")
        for name, model in _callable(execution, forecast).items():
            click.echo(sent_line(name, model))
        if forecast.assumption:
            click.echo(forecast.assumption)
        click.echo(_time(forecast))
    known = [forecast for _, forecast in forecasts]
    roles = [role for forecast in known for role in forecast.by_role.values()]
    if len(known) > 1:
        together = RoleCalls.together([role for role in roles if role.calls])
        low, high = (duration(sum(forecast.seconds[end] for forecast in known)) for end in (0, 1))
        time = "" if known[0].batch else f" Time: {low} to {high}, one run after another."
        click.echo(f"All {len(known)} runs: {_role(together)}.{time}")
    tiers = RoleCalls.together([role for role in roles if role.calls]).tiers
    if len(tiers) > 1:
        options = {"flex": "--flex", "batch": "--batch"}
        flags = {"plain": "plain"} | {tier: flag for tier, flag in options.items() if flag in flags_in_hand()}
        costs = [f"{flags[tier]} {low:.2f} to {high:.2f}" for tier, (low, high) in tiers.items() if tier in flags]
        costs += [f"{flag} not known for every model" for tier, flag in flags.items() if tier not in tiers]
        click.echo(f"USD by tier: {', '.join(costs)}.")
    usd = sum(role.usd[1] for role in roles if role.usd)
    calls, tokens = (sum(getattr(forecast, name) for forecast in known) for name in ("calls", "most_tokens"))
    for line in exceeded(runs[0][0].limits, calls, tokens, usd):
        click.echo(line)
    click.echo("Dry run: no calls were made.")


def _time(forecast: RunForecast) -> str:
    """How long it takes, in a sentence."""
    if forecast.batch:
        rounds = f"{forecast.rounds} round{'s' if forecast.rounds != 1 else ''} of batches"
        return f"Time: {rounds}, without repairs; providers promise each within 24 hours."
    low, high = (duration(seconds) for seconds in forecast.seconds)
    return f"Time: {low} to {high}, if a call takes {SECONDS[0]:g} to {SECONDS[1]:g} seconds and none has to wait."


def _callable(execution: Execution, forecast: RunForecast) -> dict[str, Model]:
    """The models that are called, by role and name; the stand-in takes no parameters."""
    models = (model for model in execution.models if isinstance(model, Model) and not (model.embedded or model.app))
    return {f"{model.role.name} {model.name}": model for model in models if forecast.by_role[model.role.name].calls}


def sent_line(name: str, model: Model) -> str:
    """Which parameters a model is sent, in a sentence; `name` begins with its role."""
    decoding = [(key, json.dumps(value)) for key, value in model.decoding.items() if key != "response_format"]
    texts = ", ".join(f"{key}={value}" for key, value in decoding)
    form = f"for answers in JSON response_format={model.form or 'none'}"
    return printable(f"{name} is sent {texts or 'no parameters'}, and {form}.")


def _role(role: RoleCalls) -> str:
    few, many = role.completion_tokens
    price = "price unknown" if role.usd is None else f"USD {role.usd[0]:.2f} to {role.usd[1]:.2f}"
    calls = f"{'at least ' if role.unknown else ''}{role.calls:,} calls"
    counted = f" (counted by {role.tokenizer})" if role.tokenizer else ""
    if role.app:
        return f"{calls} to the application, whose tokens and price are not known"
    images = f", {role.images:,} images" if role.images else ""
    if role.uncounted_images:
        images += f" ({role.uncounted_images:,} not counted: no rule for their tokens is known)"
    return f"{calls}, {role.prompt_tokens:,} tokens in{counted}{images}, {few:,} to {many:,} out, {price}"


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

    def close(self, declared: Benchmark[Any, Any], beside: Path | None = None, under: bool = False) -> int:
        """Say where the results are and what to type next, such as to compare it with `beside`; the exit status.

        `under` says that a score is under the one that was asked for.
        """
        if self.finished and not self.halt and not any(run.stages for run in self.finished):
            say("Nothing to do: all results are on disk; no calls were made.")
        for run in self.finished:
            say(f"The run is in {run.path}.")
        typed = Typed()
        if self.halt and self.halted:
            say_of_batches(self.halted)
            say_stopped(self.halt, self.halted)
            if change := self.halt.change:
                kept = self.halted if self.halted.exists() else None
                _say_again(Next.PARAMETER_TO_CHANGE, typed.with_parameter(*change, anew=kept is not None), kept)
            return exit_status(self.halt)
        paths = [*([beside] if beside else []), *(run.path for run in self.finished)]
        retryable = any(run.retryable for run in self.finished)
        unscored = any(run.unscored or run.pending for run in self.finished)
        named = typed.options("--benchmark")
        if len(self.finished) == 1 and (limits := self.finished[0].limits):
            for argument, limit in limits.items():
                typed = typed.with_parameter(argument, "max_tokens", limit)
            _say_again(Next.PARAMETER_TO_CHANGE, typed, self.finished[0].path)
        elif retryable and "--retry-unscored" not in typed.texts and not any(run.limits for run in self.finished):
            by_content = any(run.by_content for run in self.finished)
            _say_again(Next.CASES_UNSCORED if by_content else Next.CASES_FAILED, typed)
        else:
            bad = [label for label in declared.labels[1:] if label in self.finished[0].labels]
            if bad and len(paths) == 1:
                worst = command_line(Next.RUN_FINISHED_BADLY, benchmark=named, run=paths, grade=bad[-1].lower())
                say(f"To read the worst: {worst}")
            step = Next.RUNS_FINISHED if len(paths) == 2 else Next.RUN_FINISHED
            say_next(step, benchmark=named, runs=paths)
        return exit_status(unscored=unscored, under=under)

    @property
    def begun(self) -> list[Path]:
        """The folders of those that came to their end, and of the one that was stopped if something is in it."""
        stopped = [self.halted] if self.halted and RunFolder(self.halted).exists else []
        return [*(run.path for run in self.finished), *stopped]


def _say_again(step: Next, typed: Typed, run: Path | None = None) -> None:
    """Print the command that runs with these options as what to type next; `run` is what it reuses."""
    verb = click.get_current_context()
    names = [param.name for param in verb.command.params if isinstance(param, click.Argument) and param.name]
    arguments = [str(verb.params[name]) for name in names if verb.params[name] is not None]
    say_next(
        step, verb=verb.info_name, arguments=arguments, options=typed.options(), reuse=["--reuse", run] if run else None
    )


def run_all(runs: Sequence[tuple[Execution, Path]], scope: Scope, output: option.Output) -> Ending | None:
    """Do each run into its folder; what one spends counts against the limits of the next.

    Returns how they ended; None where only the forecasts were asked for, which are printed.
    """
    known = set[tuple[str, tuple[str, ...]]]()
    for execution, _ in runs:
        if (reused := execution.reused(scope)) and reused.reason:
            say(reused.reason)
        for argument, role, participants in execution.compiled():
            first, models = participants[0], tuple(participant.model.name for participant in participants)
            flag = f"--{argument.replace('_', '-')}{f' ({first.variant})' if first.variant and len(runs) > 1 else ''}"
            if (flag, models) not in known:  # several runs have one judge
                say_of_card(flag, first.program_card, role, models)
            known.add((flag, models))
    if output.dry_run:
        _print_forecasts(runs, scope, output.as_json)
        return None
    # DSPy would log a line for every response cut at the token limit; the report counts them.
    logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)
    finished: list[Completed] = []
    spent = None
    for execution, path in runs:
        execution.check(path, scope)
    # What the report needs, numpy above all, is imported while answers are awaited, once the first requests are sent.
    ahead = Timer(_ALL_SENT, import_module, args=("dspy_proact.report",))
    ahead.daemon = True
    ahead.start()
    for execution, path in runs:
        if len(runs) > 1:
            say(f"{execution.manifest.model_name}:")
        try:
            with RunProgress(execution.manifest, scope) as progress:
                finished.append(execution.run(path, scope, progress, spent))
        except Halt as halt:
            return Ending(finished, halt, path)
        spent = execution.spent
    return Ending(finished, None, None)


def run_path(execution: Execution, out: Path | None, scope: Scope, alone: bool) -> Path:
    """The folder of a run: `--out` itself, or below it when a command makes several runs."""
    default = execution.folder_of(scope.shard)
    if alone:
        return out or default
    if out and RunFolder(out).exists:
        raise UsageError(f"{out}: holds a run; several runs are made, so name a folder for all of them")
    return (out or default.parent) / default.name


def print_summaries(summaries: "Sequence[Summary]", as_json: bool, alone: bool = True) -> None:
    """Print a summary, or one table of several; as JSON a list, unless no more than one was asked for (`alone`)."""
    from dspy_proact.report import compare_several, print_several, print_summary, summary_document

    if as_json and (summaries or not alone):
        documents = [summary_document(summary) for summary in summaries]
        print_json(documents[0] if alone else documents)
        return
    together = len(summaries) > 1 and all(summary.ordered for summary in summaries)
    if together:
        print_several(compare_several(summaries), console())
    for summary in () if together else summaries:
        print_summary(summary, console(), options=with_options_of_models)
    if summaries:
        print_more(command="dspy-proact report RUN ")
