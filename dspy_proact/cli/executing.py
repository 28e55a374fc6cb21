"""Doing runs one after another, with one set of limits, and saying how they ended."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dspy_proact.benchmarks import Execution, Finished
from dspy_proact.cli.options import Settings
from dspy_proact.cli.planning import show_forecast
from dspy_proact.cli.progress import Progress
from dspy_proact.cli.saying import say
from dspy_proact.errors import Halt


@dataclass(frozen=True)
class Ended:
    """How a command's runs ended."""

    finished: Sequence[Finished]
    """Those that came to their end, in order; all of them unless there was a halt."""
    halt: Halt | None
    """What stopped the one after them."""
    halted: Path | None
    """Its folder."""

    def close(self) -> int:
        """Say where the results are and what to type next; the exit status."""
        if self.finished and not self.halt and not any(run.stages for run in self.finished):
            say("Nothing was left to do: every result was on disk, and no call was made.")
        for run in self.finished:
            say(f"The run is in {run.path}. Next: dspy-proact report {run.path} --json")
        if self.halt:
            say(f"{self.halt}\nWhat is done is kept in {self.halted}. The same command goes on.")
            return self.halt.exit_status
        return 3 if any(run.unscored for run in self.finished) else 0


def execute(runs: Sequence[tuple[Execution, Path]], epochs: int | None, settings: Settings) -> Ended:
    """Do each run into its folder; what one spends counts against the limits of the next."""
    # DSPy would log a line for every response cut at the token limit; the report counts them.
    logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)
    finished: list[Finished] = []
    spent, scope = None, settings.scope(epochs)
    for execution, path in runs:
        execution.check(path, scope)
    for execution, path in runs:
        if len(runs) > 1:
            say(f"{execution.manifest.identity.assistant.model}:")
        try:
            with Progress() as progress:
                done = execution.run(path, scope, progress, spent)
        except Halt as halt:
            return Ended(finished, halt, path)
        finished.append(done)
        spent = execution.spent
    return Ended(finished, None, None)


def show_forecasts(runs: Sequence[tuple[Execution, Path]], epochs: int | None, settings: Settings) -> None:
    """Print what each run would take; no call is made."""
    forecasts = [execution.forecast(path, settings.scope(epochs)) for execution, path in runs]
    names = [execution.manifest.identity.assistant.model for execution, _ in runs]
    show_forecast(dict(zip(names, forecasts, strict=True)), settings.gate.limits, settings.as_json)
