"""How far something is, on standard error: a bar on a terminal, lines elsewhere."""

import sys
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Self

import click
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from dspy_proact.call_observer import BatchProgress, FailedCall, Stall
from dspy_proact.calls import CallTally, Price
from dspy_proact.cli.options.arguments import flags_in_hand, with_options
from dspy_proact.plain_text import duration, printable
from dspy_proact.runs import Manifest, Observer, Scope, StageEvent

_SECONDS = 30.0
"""After which a model's failures are reported anew from the first attempt on."""
_MINUTES = 600.0
"""Seconds after which a line says how far batches are, where no bar does."""
_ANSWERS = "answers"
"""What is counted if there are several epochs or control cases."""
_LINES = 10
_WIDTH = 80
"""Columns of a line that no terminal shows."""
_WORTH_SAYING = 10.0
"""Seconds that are left, from which on a line says so."""


class ProgressOnStderr:
    """How far something is, on standard error as it was at first: a bar on a terminal, lines elsewhere."""

    def __init__(self, left: str):
        self._stream = sys.stderr
        self._failures: dict[str, tuple[int, float]] = {}
        self._flags = flags_in_hand()
        self._in_batches, self._last_line = False, 0.0
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

    def cluster_ready(self, workers: int, nodes: int) -> None:
        """Say who sends requests."""
        on = f"{nodes} node{'s' if nodes != 1 else ''}"
        self._say(f"Requests are sent by {workers} worker{'s' if workers != 1 else ''} on {on} of a Ray cluster.")

    def form_changed(self, who: str, change: str) -> None:
        """Say what is sent otherwise."""
        self._say(f"{with_options(who, self._flags)}: {change}")

    def batched(self, progress: BatchProgress, news: bool) -> None:
        """Say what is submitted, and now and then when it was last looked at."""
        now = time.monotonic()
        if self._bar:
            self._bar.text = str(progress)
        if news or (not self._bar and now - self._last_line >= _MINUTES):
            self._last_line = now
            self._say(f"{with_options(progress.who, self._flags)}: {progress}.")

    def interrupted(self) -> None:
        """Say what happens now."""
        if self._in_batches:
            self._say("Stopping: batches that are submitted go on at the provider.")
            return
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
        self._manifest, self._in_batches = manifest, manifest.in_batches
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
            name: ", ".join(f"{_named_level(label)} {labels[label]}" for label in known if labels[label])
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
            # Of a batch all results come at once, after hours: nothing follows from that for the rest.
            ahead = [f"about {duration(left)} left"] if left >= _WORTH_SAYING and not self._in_batches else []
            self._say(_broken([f"{self._done} of {self._todo} {self._counted}", *results, *ahead], _WIDTH))


def _named_level(label: str) -> str:
    """A label before its count: one that is a number is told from it."""
    return f"level {label}:" if label[-1:].isdigit() else label


def _broken(parts: Sequence[str], width: int) -> str:
    """Parts in lines of so many columns, none of them broken."""
    text = "; ".join(part.replace(" ", "\xa0") for part in parts)
    return textwrap.fill(text, width, subsequent_indent="  ").replace("\xa0", " ")
