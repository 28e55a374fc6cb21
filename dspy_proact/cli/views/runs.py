"""The runs of a command, done one after another with one set of limits."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dspy_proact.benchmarks.execution import Completed, Execution
from dspy_proact.cli.views.message import say, say_stopped
from dspy_proact.cli.views.next import Typed, say_next
from dspy_proact.cli.views.run_progress import RunProgress
from dspy_proact.errors import Halt
from dspy_proact.runs import RunFolder, Scope


@dataclass(frozen=True)
class Ending:
    """How the runs of a command ended."""

    finished: Sequence[Completed]
    """Those that came to their end, in order; all of them unless there was a halt."""
    halt: Halt | None
    """What stopped the one after them."""
    halted: Path | None
    """Its folder."""

    def close(self, beside: Path | None = None, ranks: bool = True) -> int:
        """Say where the results are and what to type next; the exit status.

        Args:
            beside: The run with which the only one is compared next.
            ranks: Whether the benchmark has a leaderboard, where more than two stand together.
        """
        if self.finished and not self.halt and not any(run.stages for run in self.finished):
            say("Nothing was left to do: every result was on disk, and no call was made.")
        for run in self.finished:
            say(f"The run is in {run.path}.")
        if self.halt and self.halted:
            say_stopped(self.halt, self.halted)
            return self.halt.exit_status
        paths = [*([beside] if beside else []), *(run.path for run in self.finished)]
        named = Typed().options("--benchmark")
        if len(paths) == 1:
            say_next("report", *named, *paths, "--json")
        elif len(paths) > 2 and ranks:
            say_next("leaderboard", *named, *paths)
        else:
            say_next("compare", *named, *paths[:2])
        return 3 if any(run.unscored for run in self.finished) else 0

    @property
    def begun(self) -> list[Path]:
        """The folders of those that came to their end, and of the one that was stopped if something is in it."""
        stopped = [self.halted] if self.halted and RunFolder(self.halted).exists else []
        return [*(run.path for run in self.finished), *stopped]


def run_all(runs: Sequence[tuple[Execution, Path]], scope: Scope) -> Ending:
    """Do each run into its folder; what one spends counts against the limits of the next."""
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
