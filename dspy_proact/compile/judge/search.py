"""A search of ours: an Optuna study over instructions, and over which demos and how many.

The instruction candidates come from a proposer that is shown where the judge and people part. The study is seeded and
asks no more than its trials; run again with the same answers it ends in the same program.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import dspy
import optuna

from dspy_proact.compile.judge.metric import AgreementMetric, feedback
from dspy_proact.compile.study import study_of
from dspy_proact.errors import StageError
from dspy_proact.programs import Judge, ask_plainly

TIPS = (
    "Say what a judge should look for that it misses now.",
    "Say what a judge should not be taken in by.",
    "Draw the line between neighbouring grades more clearly.",
)
"""What each further candidate is to try."""
_DEMO_SETS = 6
"""Random draws of demos to choose from."""
_SHOWN = 6
"""Verdicts far from people's grades that the proposer is shown."""


class ProposeInstruction(dspy.Signature):
    """Improve the instruction of a judge that grades an assistant's responses, so that it agrees more with people.

    Keep what works and the fields of its answer. State principles; do not mention single conversations or responses.
    """

    instruction: str = dspy.InputField(desc="what the judge is told now")
    disagreements: list[str] = dspy.InputField(desc="verdicts of the judge, and how people graded the same responses")
    tip: str = dspy.InputField(desc="what to try")
    improved_instruction: str = dspy.OutputField()


def search(
    student: Judge,
    *,
    learn: Sequence[dspy.Example],
    compare: Sequence[dspy.Example],
    metric: AgreementMetric,
    proposer_lm: dspy.LM,
    trials: int,
    max_demos: int,
    seed: int,
    journal: Path | None = None,
) -> Judge:
    """The best of the candidates that the study tried; the start itself is the first.

    Args:
        student: The start; the judge's model is that of the context.
        learn: Worked examples to draw demos from and to show the proposer.
        compare: Examples that candidates are compared on.
        metric: With feedback.
        proposer_lm: Writes instructions.
        trials: Candidates to try, the start included.
        max_demos: The most demos of a candidate.
        seed: Of the study and of the draws.
        journal: Where the study is written down; it is never read.
    """
    instructions = _instructions(student, learn, metric, proposer_lm)
    draws = [_draw(learn, seed + place) for place in range(_DEMO_SETS)]
    scores: dict[tuple[int, int, int], float] = {}

    def candidate(choice: tuple[int, int, int]) -> Judge:
        instruction, draw, count = choice
        judge = student.instructed(instructions[instruction])
        if count:
            judge.grade.demos = draws[draw][:count]
        return judge

    def objective(trial: optuna.Trial) -> float:
        instruction = trial.suggest_int("instruction", 0, len(instructions) - 1)
        count = trial.suggest_int("demos", 0, min(max_demos, len(learn)))
        draw = trial.suggest_int("draw", 0, len(draws) - 1) if count else 0
        choice = (instruction, draw, count)
        if choice not in scores:
            scores[choice] = _mean(candidate(choice), compare, metric)
        return scores[choice]

    study = study_of(["maximize"], seed, journal)
    study.enqueue_trial({"instruction": 0, "demos": 0})
    study.optimize(objective, n_trials=trials)
    # Of equals the simplest: the earliest instruction, the fewest demos.
    best = max(scores, key=lambda choice: (scores[choice], -choice[2], -choice[0], -choice[1]))
    return candidate(best)


def _instructions(
    student: Judge, learn: Sequence[dspy.Example], metric: AgreementMetric, proposer_lm: dspy.LM
) -> list[str]:
    """The start's instruction, and one for each tip; what the proposer fails to word is left out."""
    start = student.instruction
    shown = _disagreements(student, learn, metric)
    propose = dspy.Predict(ProposeInstruction)
    worded = [start]
    for tip in TIPS:
        try:
            with dspy.context(lm=proposer_lm):
                said = ask_plainly(propose, instruction=start, disagreements=shown, tip=tip)
        except StageError:
            continue
        if (text := said.improved_instruction.strip()) and text not in worded:
            worded.append(text)
    return worded


def _disagreements(student: Judge, learn: Sequence[dspy.Example], metric: AgreementMetric) -> list[str]:
    """The verdicts farthest from people's grades, each with what people said; the farthest first."""
    rated: list[tuple[float, str]] = []
    for example in learn:
        try:
            said = student(**example.inputs())
        except StageError:
            continue
        rated.append((metric(example, said).score, feedback(metric.item(example), said)))
    return [text for _, text in sorted(rated, key=lambda pair: pair[0])[:_SHOWN]]


def _mean(judge: Judge, examples: Sequence[dspy.Example], metric: AgreementMetric) -> float:
    """Mean score; a verdict that cannot be read scores 0."""
    scores: list[float] = []
    for example in examples:
        try:
            scores.append(metric(example, judge(**example.inputs())).score)
        except StageError:
            scores.append(0.0)
    return sum(scores) / len(scores)


def _draw(learn: Sequence[dspy.Example], seed: int) -> list[dspy.Example]:
    order = list(learn)
    random.Random(seed).shuffle(order)
    return order
