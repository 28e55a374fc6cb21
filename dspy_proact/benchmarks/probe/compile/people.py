"""Items of people: folds keep a person's together, and how often a compile asks rests on how they are divided."""

from collections.abc import Sequence

from dspy_proact.compile.folds import Fold, Grouped, Item, grouped_folds, split
from dspy_proact.compile.forecast import answers_at_most
from dspy_proact.errors import UsageError
from dspy_proact.programs import Recipe

_LEAST = 2
"""People of a training set: one to learn from, one to compare candidates on."""


def people_of(items: Sequence[Grouped]) -> int:
    """How many people they are of."""
    return len({item.unit for item in items})


def suited(recipe: Recipe, items: Sequence[Grouped]) -> Recipe:
    """The recipe with no more folds than there are people, and no worked examples; raises as `folds_of` does."""
    suiting = recipe.model_copy(update={"folds": max(2, min(recipe.folds, people_of(items))), "max_demos": 0})
    folds_of(items, suiting)
    return suiting


def folds_of(items: Sequence[Item], recipe: Recipe) -> tuple[Fold[Item], ...]:
    """Folds of whole people; raises a `UsageError` where one leaves fewer than two of them to learn from."""
    people = people_of(items)
    if people > _LEAST and recipe.folds <= people:
        folds = grouped_folds(items, recipe.folds, recipe.seed)
        if all(people_of(fold.train) >= _LEAST for fold in folds):
            return folds
    raise UsageError(
        f"{len(items)} items of {people} people cannot make {recipe.folds} folds and leave two of them to learn from "
        "in each; give another number of --folds, or a larger corpus"
    )


def tuned_at_most(items: Sequence[Grouped], recipe: Recipe) -> int:
    """Answers that optimizers ask for at most, on every fold's training set and on everything."""
    trains = [*(fold.train for fold in folds_of(items, recipe)), items]
    parts = [split(train, recipe.seed) for train in trains]
    return sum(answers_at_most(recipe, len(learn), len(compare)) for learn, compare in parts)
