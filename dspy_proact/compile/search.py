"""A search of ours: an Optuna study over instructions and over which demos and how many, whose trials are raced.

The instructions come from a proposer that is shown where the student falls short. Trials are asked of the study in
generations, each raced against all that are left (`race`), so that their answers can come in any order. The study is
seeded and asks no more than its trials; run again with the same answers it ends in the same candidates.
"""

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import dspy
import optuna

from dspy_proact.compile.journal import journal_at
from dspy_proact.compile.progress import Progress
from dspy_proact.compile.race import Race
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.compile.training import P, Training, instructions_of, variant
from dspy_proact.errors import StageError
from dspy_proact.programs import Recipe, ask_plainly

_DRAWS = 6
"""Random draws of demos to choose from."""
_SHOWN = 6
"""Answers of the lowest scores that the proposer is shown."""
_GENERATION = 10
"""Trials that are asked for at once: as many as the sampler draws at random before it learns from them."""
_NOTHING = "(none: nothing is told)"
_Choice = tuple[tuple[int, ...], int, int]


def search(training: Training[P], recipe: Recipe, journal: Path | None, progress: Progress) -> Race[P]:
    """A race of the candidates that the study asked for, the student first, each once.

    Args:
        training: What is tuned.
        recipe: Trials (the student included), the most demos, and the seed.
        journal: Where the study is written down in Optuna's own form, for its dashboard; it is never read.
        progress: Is told of candidates.
    """
    instructions = _instructions(training)
    progress.worded(sum(len(each) - 1 for each in instructions))
    pool = training.pool() if recipe.max_demos else ()
    draws = [_draw(pool, recipe.seed + place) for place in range(_DRAWS)]
    harm = bool(training.watched)
    study = _study(harm, recipe.seed, journal)
    study.enqueue_trial({"demos": 0} | dict.fromkeys(_names(len(instructions)), 0))
    race, places = Race(training, recipe.seed), dict[_Choice, int]()
    left: list[int] = []
    for begun in range(0, recipe.trials, _GENERATION):
        trials = [study.ask() for _ in range(min(_GENERATION, recipe.trials - begun))]
        choices = [_choice(trial, list(map(len, instructions)), min(recipe.max_demos, len(pool))) for trial in trials]
        for instruction, draw, count in choices:
            if (instruction, draw, count) not in places:
                told = [texts[each] if each else None for texts, each in zip(instructions, instruction, strict=True)]
                demos = draws[draw][:count] or training.student.predictors()[0].demos
                places[instruction, draw, count] = race.enter(variant(training.student, told, demos))
        left = race.run({*left, *(places[choice] for choice in choices)})
        candidates = race.candidates()
        progress.tried(len(trials), max(each.score for each in candidates if each.share == 1))
        for trial, choice in zip(trials, choices, strict=True):
            found = candidates[places[choice]]
            study.tell(trial, [found.score, found.harm or 0.0] if harm else [found.score])
    return race


def _study(harm: bool, seed: int, journal: Path | None) -> optuna.Study:
    """A seeded study of scores, and of harm where that is looked at, begun afresh; the same seed, the same trials."""
    return optuna.create_study(
        storage=None if journal is None else journal_at(journal),
        directions=["maximize", "minimize"] if harm else ["maximize"],
        sampler=optuna.samplers.TPESampler(seed=seed),
    )


def _choice(trial: optuna.Trial, instructions: Sequence[int], demos: int) -> _Choice:
    """Places of the instruction of each predictor and of a draw of demos, and how many of these."""
    named = zip(_names(len(instructions)), instructions, strict=True)
    instruction = tuple(trial.suggest_int(name, 0, of - 1) for name, of in named)
    count = trial.suggest_int("demos", 0, demos)
    return instruction, trial.suggest_int("draw", 0, _DRAWS - 1) if count else 0, count


def _names(count: int) -> list[str]:
    """Of the study's choices of instructions, for so many predictors."""
    return ["instruction", *(f"instruction_{place}" for place in range(2, count + 1))]


def _instructions(training: Training[P]) -> list[list[str]]:
    """By predictor the student's instruction, and one for each tip; what the proposer fails to word is left out."""
    starts, tips = instructions_of(training.student), training.proposal.tips
    shown = _shortfalls(training)
    asked = [(start, tip) for start in starts for tip in tips]
    proposed = side_by_side(
        [partial(_proposed, training, start or _NOTHING, shown, tip) for start, tip in asked], training.width
    )
    worded = (proposed[place * len(tips) :][: len(tips)] for place in range(len(starts)))
    return [list(dict.fromkeys([start, *filter(None, texts)])) for start, texts in zip(starts, worded, strict=True)]


def _proposed(training: Training[P], start: str, shown: list[str], tip: str) -> str | None:
    propose = dspy.Predict(training.proposal.signature)
    try:
        with dspy.context(lm=training.proposer_lm, trace=None):
            said = ask_plainly(propose, instruction=start, shortfalls=shown, tip=tip)
    except StageError:
        return None
    return said.improved_instruction.strip()


def _shortfalls(training: Training[P]) -> list[str]:
    """What may be told of the student's answers of the lowest scores, the lowest first."""
    work = [partial(_rated, training, example) for example in training.learn]
    rated = [each for each in side_by_side(work, training.width) if each]
    return [
        training.shortfall(example, prediction)
        for _, example, prediction in sorted(rated, key=lambda each: each[0])[:_SHOWN]
    ]


def _rated(training: Training[P], example: dspy.Example) -> tuple[float, dspy.Example, dspy.Prediction] | None:
    prediction = training.answered(training.student, example)
    return None if prediction is None else (training.score(example, prediction), example, prediction)


def _draw(pool: Sequence[dspy.Example], seed: int) -> list[dspy.Example]:
    order = list(pool)
    random.Random(seed).shuffle(order)
    return order
