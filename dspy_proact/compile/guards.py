"""Which candidate of an optimizer is chosen: the best that keeps every `--guard`.

Whether a program breaks a guard is said by the training: `measured.Measured.is_broken` with the margin of
`measured.guarded` for an assistant, `judge_compile.JudgeTraining.broken` for a judge.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import dspy

from dspy_proact.compile.forecast import Progress
from dspy_proact.compile.optimizers import NO_END, OPTIMIZERS
from dspy_proact.compile.proposer import TamedAdapter
from dspy_proact.compile.search import search
from dspy_proact.compile.training import Candidate, Chosen, Training, instructions_of
from dspy_proact.programs import Recipe


def choose(training: Training, recipe: Recipe, journal: Path | None, progress: Progress) -> Chosen:
    """The best candidate of the recipe's optimizer that keeps the guards; the student where no other does."""
    settings = {"adapter": TamedAdapter(), "max_errors": NO_END, "disable_history": True, "trace": None}
    with dspy.context(lm=training.task_lm, **settings):
        if recipe.optimizer == "search":
            race = search(training, recipe, journal, progress)
            return _keeping_guards(training, race.candidates(), race.without)
        tried = OPTIMIZERS[recipe.optimizer](training, recipe)
        progress.tried(len(tried), max(each.score for each in tried))
        worded = {text for each in tried for text in instructions_of(each.program)}
        progress.worded(len(worded - {*instructions_of(training.student)}))
        return _keeping_guards(training, tried, lambda _: tried)


def _keeping_guards(
    training: Training, tried: list[Candidate], again: Callable[[Collection[int]], list[Candidate]]
) -> Chosen:
    """The best candidate that keeps the guards; `again` gives the candidates without some of them."""
    broken: dict[int, tuple[str, ...]] = {0: ()}
    while True:
        place = next(place for place in rank(tried) if not broken.get(place))
        if place not in broken:
            broken[place] = training.broken(tried[place].program)
        if not broken[place]:
            return Chosen(tuple(tried), place, broken)
        tried = again([each for each, guards in broken.items() if guards])


def rank(candidates: Sequence[Candidate]) -> list[int]:
    """Places of candidates, the best first: by share compared, score, harm, and the order of trying."""
    worth = [(-each.share, -each.score, each.harm or 0.0) for each in candidates]
    return sorted(range(len(candidates)), key=worth.__getitem__)
