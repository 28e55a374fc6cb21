"""Which candidate is chosen: the best that is above the student and keeps the guards, or else the student.

Whatever the optimizer, its candidates end in one race on the training items. By default a candidate is dropped that
writes much more, or is shown to be worse in a stratum that it is not tuned for; `--guard none` lifts both. Whether a
program breaks a guard on other items is decided by the target.
"""

from pathlib import Path

import dspy

from dspy_proact.compile.forecast import Progress
from dspy_proact.compile.optimizers import NO_END, OPTIMIZERS
from dspy_proact.compile.race import Race
from dspy_proact.compile.search import search
from dspy_proact.compile.target import TOKENS
from dspy_proact.compile.training import Choice, Training
from dspy_proact.recipe import Recipe


def choose(training: Training, recipe: Recipe, journal: Path | None, progress: Progress) -> Choice:
    """The best candidate of the recipe's optimizer that keeps the guards; the student where none is better."""
    settings = {"max_errors": NO_END, "disable_history": True, "trace": None}
    with dspy.context(lm=training.task_lm, **settings):
        if recipe.optimizer == "search":
            return chosen(search(training, recipe, journal, progress), training)
        race = Race(training, recipe.seed)
        left = race.run([race.enter(program) for program in OPTIMIZERS[recipe.optimizer](training, recipe)])
        if (joined := race.joined()) is not None:
            race.run([*left, race.enter(joined)])
        progress.tried(len(race), race.candidates()[race.leader].score)
        return chosen(race, training)


def chosen(race: Race, training: Training) -> Choice:
    """The best candidate of a race that keeps the guards; those that were dropped for one that does not race again."""
    broken: dict[int, tuple[str, ...]] = {0: ()}
    while True:
        out = [index for index, guards in broken.items() if guards]
        (best, *_) = [*race.better(out), 0]
        if best in broken:
            return Choice(tuple(race.candidates()), best, broken)
        broken[best] = _broken(race, best, training)
        if broken[best]:
            race.run([index for index in range(len(race)) if index not in [*out, best]])


def _broken(race: Race, index: int, training: Training) -> tuple[str, ...]:
    """Guards that a candidate breaks; what cannot be measured breaks none. Tokens first, which cost no answer."""
    if race.is_wordy(index):
        return (TOKENS,)
    return training.broken(race.program(index))
