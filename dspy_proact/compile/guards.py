"""Which candidate of an optimizer is chosen: the best that keeps every `--guard`.

Whether a program breaks a guard is decided by the target: `measured.Measured.is_broken` with the margin of
`measured.guards_of` for an assistant, `JudgeTarget.broken` for a judge.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from statistics import fmean

import dspy

from dspy_proact.compile.forecast import Progress
from dspy_proact.compile.optimizers import NO_END, OPTIMIZERS
from dspy_proact.compile.search import search
from dspy_proact.compile.training import Candidate, Choice, Training
from dspy_proact.recipe import Recipe


def choose(training: Training, recipe: Recipe, journal: Path | None, progress: Progress) -> Choice:
    """The best candidate of the recipe's optimizer that keeps the guards; the student where no other does."""
    settings = {"max_errors": NO_END, "disable_history": True, "trace": None}
    with dspy.context(lm=training.task_lm, **settings):
        if recipe.optimizer == "search":
            race = search(training, recipe, journal, progress)
            return _keeping_guards(training, race.candidates(), race.without)
        programs = [training.student, *OPTIMIZERS[recipe.optimizer](training, recipe)]
        answers = [training.answers(program, training.compare) for program in programs]
        tried = [
            Candidate(program, fmean(answered.score for answered in own))
            for program, own in zip(programs, answers, strict=True)
        ]
        progress.tried(len(tried), max(candidate.score for candidate in tried))
        return _keeping_guards(training, tried, lambda _: tried)


def _keeping_guards(
    training: Training, tried: list[Candidate], again: Callable[[Collection[int]], list[Candidate]]
) -> Choice:
    """The best candidate that keeps the guards; `again` gives the candidates without some of them."""
    broken: dict[int, tuple[str, ...]] = {0: ()}
    while True:
        best = next(index for index in rank(tried) if not broken.get(index))
        if best not in broken:
            broken[best] = training.broken(tried[best].program)
        if not broken[best]:
            return Choice(tuple(tried), best, broken)
        tried = again([index for index, guards in broken.items() if guards])


def rank(candidates: Sequence[Candidate]) -> list[int]:
    """Indices of candidates, the best first: by share compared, score, harm, and the order of trying."""
    worth = [(-candidate.share, -candidate.score, candidate.harm or 0.0) for candidate in candidates]
    return sorted(range(len(candidates)), key=worth.__getitem__)
