"""How far a run is: a bar on a terminal, a line now and then elsewhere."""

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from dspy_proact.cli.views.progress import ProgressOnStderr
from dspy_proact.runs import Event, Observer

_LINES = 10


class RunProgress(ProgressOnStderr, Observer):
    """Shows turns that are done."""

    def __init__(self) -> None:
        text = TextColumn("{task.description}")
        super().__init__(text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._todo = 0
        self._done = 0

    def started(self, todo: int, asked: int) -> None:
        """Say how much there is."""
        self._todo = todo
        if todo < asked:
            self._say(f"{asked - todo} of {asked} turns are done already.")
        if self._bar and todo:
            self._bar.add_task("turns", total=todo)
            self._bar.start()

    def ended(self, event: Event, last: bool) -> None:
        """Count a turn that has its grades, or will have none."""
        if not last:
            return
        self._done += 1
        if self._bar:
            self._bar.advance(self._bar.task_ids[0])
        elif self._done * _LINES // self._todo > (self._done - 1) * _LINES // self._todo:
            self._say(f"{self._done} of {self._todo} turns")
