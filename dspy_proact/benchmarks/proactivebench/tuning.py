"""How ProactiveBench's program is compiled: by instructions alone, to the reward of each step."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings, Step, Trajectory, TrajectoryGrade
from dspy_proact.compile.tuning import Tuning
from dspy_proact.runs import Case, Scored


class OwnTuning(Tuning):
    """Compiles the program that looks at images."""

    demos = False  # they would carry images into a file and every request
    titles: ClassVar[Mapping[str, str]] = {"blind": "blind asking (until the limit)"}

    def metric(self, scored: Scored[Any]) -> float:
        """The mean reward of the steps; of an open answer its score."""
        return scored.parts.get("step_reward", scored.score)

    def shortfall(self, case: Case, answer: Trajectory, told: str) -> str:  # noqa: ARG002 - `told` says it all
        """What became of each step."""
        return told

    def notes(self, demos: int) -> Sequence[str]:
        """What was tuned for."""
        reward = ProactiveBenchSettings.of(self.settings).ask_reward
        return [*super().notes(demos), f"tuned for a reward of {reward:g} a right move, where the right category has 1"]


def told(answer: Trajectory, scored: Scored[TrajectoryGrade]) -> str:
    """What a proposer is told of each step, without any category, and how it ended."""
    lines = [f"Step {number}: {_did(step)}." for number, step in enumerate(answer.steps, start=1)]
    return "\n".join([*lines, f"It ended {scored.detail.ended}."])


def _did(step: Step) -> str:
    if step.outcome is None or step.outcome.act in ("guess", "none"):
        return "it named a category" if step.outcome and step.outcome.option else f"it said {step.text!r}"
    effect = ", which is a right move" if step.outcome.action else ", which does not help"
    return f"it chose {step.outcome.option!r}{effect if step.outcome.act == 'ask' else ''}"
