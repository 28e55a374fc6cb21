"""How ProactiveBench's program is compiled: by instructions alone, to the reward of each step."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings, Step, Trajectory, TrajectoryGrade
from dspy_proact.evaluation.tuning import CardRows, Feedback, Tuning, proposals_of
from dspy_proact.runs import Case, Scored


class OwnTuning(Tuning):
    """Compiles the program that looks at images."""

    # Worked examples would carry images into a file and every request.
    proposals = proposals_of(demos=False)
    rows = CardRows(titles={"blind": "blind asking (until the limit)"})

    def feedback(self, case: Case, answer: Trajectory, scored: Scored[Any] | None) -> Feedback:
        """The mean reward of the steps, of an open answer its score, and what became of each step."""
        usual = super().feedback(case, answer, scored)
        score = scored.parts.get("step_reward", scored.score) if scored else usual.score
        return replace(usual, score=score)

    def notes(self, demos: int, raters: Sequence[str]) -> Sequence[str]:
        """What was tuned for."""
        reward = ProactiveBenchSettings.of(self.settings).ask_reward
        aim = f"tuned for a reward of {reward:g} a right move, where the right category has 1"
        return [*super().notes(demos, raters), aim]


def step_feedback(answer: Trajectory, scored: Scored[TrajectoryGrade]) -> str:
    """What a proposer is told of each step, without any category, and how it ended."""
    lines = [f"Step {number}: {_did(step)}." for number, step in enumerate(answer.steps, start=1)]
    return "\n".join([*lines, f"It ended {scored.detail.ended}."])


def _did(step: Step) -> str:
    if step.outcome is None or step.outcome.act in ("guess", "none"):
        return "it named a category" if step.outcome and step.outcome.option else f"it said {step.text!r}"
    effect = ", which is a right move" if step.outcome.action else ", which does not help"
    return f"it chose {step.outcome.option!r}{effect if step.outcome.act == 'ask' else ''}"
