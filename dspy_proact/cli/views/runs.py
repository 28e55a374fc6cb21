"""The runs of a command: their forecasts, their progress, and how they end."""

import dataclasses
import json
import logging
import sys
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, Self

import click
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from dspy_proact.calls import CallTally, FailedCall, Price, Stall
from dspy_proact.cli.exit_status import exit_status
from dspy_proact.cli.next_step import Next, Typed, command_line, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.arguments import flags_in_hand, with_options
from dspy_proact.cli.views.message import print_json, say, say_stopped
from dspy_proact.errors import Halt
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.execution import Completed, Execution
from dspy_proact.evaluation.forecast import SECONDS, RoleCalls, RunForecast
from dspy_proact.models import Limits, Model
from dspy_proact.plain_text import duration, printable
from dspy_proact.runs import CorpusRecord, Manifest, Observer, RunFolder, Scope, StageEvent

if TYPE_CHECKING:
    from dspy_proact.programs.card import Card

_SECONDS = 30.0
"""After which a model's failures are reported anew from the first attempt on."""
_ANSWERS = "answers"
"""What is counted if there are several epochs or control cases."""
_LINES = 10
_WIDTH = 80
"""Columns of a line that no terminal shows."""
_ALL_SENT = 0.4
"""Seconds within which the first requests are sent."""
_WORTH_SAYING = 10.0
"""Seconds that are left, from which on a line says so."""


# How far they are


class ProgressOnStderr:
    """How far something is, on standard error as it was at first: a bar on a terminal, lines elsewhere."""

    def __init__(self, left: str):
        self._stream = sys.stderr
        self._failures: dict[str, tuple[int, float]] = {}
        self._flags = flags_in_hand()
        console = Console(file=self._stream)
        console.width = console.width or _WIDTH
        self._bar = _Bar(left, console) if console.is_terminal else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def failed(self, call: FailedCall) -> None:
        """Say of each model's failures the first at once, then every wave of further attempts."""
        number, when = self._failures.get(call.who, (0, 0.0))
        now = time.monotonic()
        if call.number <= number and now - when < _SECONDS:
            return
        self._failures[call.who] = call.number, now
        attempt = f"attempt {call.number} of {call.attempts}"
        after = "" if call.wait is None else f" Next attempt in {call.wait:.0f} s."
        who = with_options(call.who, self._flags)
        self._say(f"{who}: {attempt} failed: {call.word}: {call.detail}.{after}")

    def stalled(self, stall: Stall) -> None:
        """Say what is waited for."""
        self._say(with_options(str(stall), self._flags))

    def form_changed(self, who: str, change: str) -> None:
        """Say what is sent otherwise."""
        self._say(f"{with_options(who, self._flags)}: {change}")

    def interrupted(self) -> None:
        """Say what happens now."""
        self._say("Stopping: waiting for calls in flight. Press Ctrl-C again to drop them.")

    def _begin(self, what: str, total: int | None, done: int = 0) -> None:
        if self._bar:
            self._bar.add_task(what, total=total, completed=done)
            self._bar.start()

    def _move(self, done: int, text: str) -> None:
        if self._bar:
            self._bar.text = text
            self._bar.update(self._bar.task_ids[0], completed=done)

    def _say(self, text: str) -> None:
        click.echo(printable(text), file=self._stream)


class _Bar(Progress):
    def __init__(self, left: str, console: Console):
        self.text = ""
        clocks = (TextColumn("so far"), TimeElapsedColumn(), TextColumn(left), TimeRemainingColumn())
        columns = (TextColumn("{task.description}"), BarColumn(16), MofNCompleteColumn(), *clocks)
        # A compile silences both streams meanwhile; rich would put its own in their place and not find them again.
        super().__init__(*columns, console=console, redirect_stdout=False, redirect_stderr=False)

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        if self.text:
            yield Text(self.text, overflow="ellipsis", no_wrap=True)


class RunProgress(ProgressOnStderr, Observer):
    """Shows cases that are done: of a run as it begins, as far as it is asked for."""

    def __init__(self, manifest: Manifest, scope: Scope):
        super().__init__("left")
        self._manifest = manifest
        more = scope.controls or (scope.epochs or manifest.epochs) > 1
        self._counted = _ANSWERS if more else manifest.nouns.cases
        self._todo = self._done = self._failed = 0
        self._begun = time.monotonic()
        self._labels = Counter[str]()
        self._tallies = defaultdict[tuple[str, str | None], CallTally](CallTally)

    def started(self, todo: int, total: int) -> None:
        """Say how much there is."""
        self._todo = todo
        if todo < total:
            self._say(f"{total - todo} of {total} {self._counted} are done already.")
        if todo:
            self._begin(self._counted, todo)

    def ended(self, event: StageEvent, last: bool) -> None:
        """Count a stage, and a case that has its grades or will have none."""
        for call in event.calls:
            self._tallies[call.role, event.key.judge].add(call)
        self._labels.update([event.grade.label] if event.grade else [])
        self._failed += event.failure is not None
        self._done += last
        due = last and self._done * _LINES // self._todo > (self._done - 1) * _LINES // self._todo
        if not (self._bar or due):
            return  # to word what nobody is shown would take a tenth of the time of a call
        manifest, labels = self._manifest, self._labels
        named = {"verdicts": manifest.labels, manifest.nouns.controls: manifest.control_labels}
        counts = {
            name: ", ".join(f"{label} {labels[label]}" for label in known if labels[label])
            for name, known in named.items()
        }
        parts = [f"{name}: {text}" for name, text in counts.items() if text]
        parts += [f"failed {self._failed}"] if self._failed else []
        prices: dict[tuple[str, str | None], Price] = {("assistant", None): manifest.assistant_price}
        prices |= {(role, None): price for role, price in manifest.further_prices.items()}
        prices |= {("judge", judge): price for judge, price in manifest.judge_prices.items()}
        spent = [tally.usage(prices[who]).usd for who, tally in self._tallies.items() if who in prices]
        usd = sum(filter(None, spent))
        results = [*parts, *([f"USD {usd:.2f}"] if usd and None not in spent else [])]
        self._move(self._done, _broken(results, self._bar.console.width if self._bar else _WIDTH))
        if due and not self._bar:
            left = (time.monotonic() - self._begun) * (self._todo - self._done) / self._done
            ahead = [f"about {duration(left)} left"] if left >= _WORTH_SAYING else []
            self._say(_broken([f"{self._done} of {self._todo} {self._counted}", *results, *ahead], _WIDTH))


def _broken(parts: Sequence[str], width: int) -> str:
    """Parts in lines of so many columns, none of them broken."""
    text = "; ".join(part.replace(" ", "\xa0") for part in parts)
    return textwrap.fill(text, width, subsequent_indent="  ").replace("\xa0", " ")


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
                "assistant": dataclasses.asdict(forecast.assistant),
                "judge": dataclasses.asdict(forecast.judge),
                "roles": {name: dataclasses.asdict(role) for name, role in forecast.roles.items()},
                "seconds": forecast.seconds,
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
            click.echo(f"{printable(execution.manifest.identity.assistant.model)}:")
        low, high = (duration(seconds) for seconds in forecast.seconds)
        click.echo(f"{forecast.calls:,} calls, without repairs and retries.")
        for name, role in forecast.by_role.items():
            click.echo(f"{name}: {_role(role)}")
        for name, model in _callable(execution, forecast).items():
            click.echo(sent_line(name, model))
        if forecast.assumption:
            click.echo(forecast.assumption)
        assumed = f"if a call takes {SECONDS[0]:g} to {SECONDS[1]:g} seconds and none has to wait"
        click.echo(f"Time: {low} to {high}, {assumed}.")
    known = [forecast for _, forecast in forecasts]
    usd = sum(role.usd[1] for forecast in known for role in forecast.by_role.values() if role.usd)
    calls, tokens = (sum(getattr(forecast, name) for forecast in known) for name in ("calls", "most_tokens"))
    for line in exceeded(runs[0][0].limits, calls, tokens, usd):
        click.echo(line)
    click.echo("Dry run: no calls were made.")


def _callable(execution: Execution, forecast: RunForecast) -> dict[str, Model]:
    """The models that are called, by role and name; the stand-in takes no parameters."""
    models = (model for model in execution.models if isinstance(model, Model) and not model.embedded)
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
            _say_again(Next.CASES_UNSCORED, typed)
        elif len(paths) == 1:
            if bad := [label for label in declared.labels[1:] if label in self.finished[0].labels]:
                worst = command_line(Next.RUN_FINISHED_BADLY, benchmark=named, run=paths, grade=bad[-1].lower())
                say(f"To read the worst: {worst}")
            say_next(Next.RUN_FINISHED, benchmark=named, runs=paths)
        else:
            say_next(Next.RUNS_FINISHED, benchmark=named, runs=paths)
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
    for execution, _ in runs:
        if (reused := execution.reused(scope)) and reused.reason:
            say(reused.reason)
        for argument, role, participants in execution.compiled():
            say_of_card(
                f"--{argument.replace('_', '-')}",
                participants[0].program_card,
                role,
                [participant.model.name for participant in participants],
            )
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
            say(f"{execution.manifest.identity.assistant.model}:")
        try:
            with RunProgress(execution.manifest, scope) as progress:
                finished.append(execution.run(path, scope, progress, spent))
        except Halt as halt:
            return Ending(finished, halt, path)
        spent = execution.spent
    return Ending(finished, None, None)
