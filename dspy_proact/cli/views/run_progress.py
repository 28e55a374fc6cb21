"""How far a run is: a bar on a terminal, a line now and then elsewhere."""

from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from dspy_proact.cli.views.message import say
from dspy_proact.runs import Event, Observer

_LINES = 10


class RunProgress(Observer):
    """Shows turns that are done, on standard error."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
        self._bar = Bar(*columns, TimeRemainingColumn(), console=console) if console.is_terminal else None
        self._todo = 0
        self._done = 0
        self._failed = Counter[str]()

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def started(self, todo: int, asked: int) -> None:
        """Say how much there is."""
        self._todo = todo
        if todo < asked:
            say(f"{asked - todo} of {asked} turns are done already.")
        if self._bar and todo:
            self._bar.add_task("turns", total=todo)

    def ended(self, event: Event, last: bool) -> None:
        """Count a turn that has its grades, or will have none."""
        if not last:
            return
        self._done += 1
        if self._bar:
            self._bar.advance(self._bar.task_ids[0])
        elif self._done * _LINES // self._todo > (self._done - 1) * _LINES // self._todo:
            say(f"{self._done} of {self._todo} turns")

    def interrupted(self) -> None:
        """Say what happens now."""
        say("Stopping: what is in flight is awaited and kept. Press Ctrl-C again to drop it.")
