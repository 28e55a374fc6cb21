"""How a compile is done."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.kinds import choice_option, number_option
from dspy_proact.cli.options.verb import Bundle, Heading, Section

if TYPE_CHECKING:
    from dspy_proact.programs import Recipe


def _recipe(**given: Any) -> "Recipe":
    from dspy_proact.programs import Recipe

    return Recipe.model_validate(given)


_OPTIONS = (
    number_option("--trials", click.IntRange(1, 10000), "Candidates to try.", default=20),
    number_option("--max-demos", click.IntRange(0, 64), "At most N worked examples in the prompt.", default=4),
    number_option("--folds", click.IntRange(2, 100), "Folds of whole groups, such as scenarios.", default=5),
    number_option("--seed", click.IntRange(0, 2**31), "Seed of folds, draws and studies.", default=0),
)


def recipe_options(optimizers: Sequence[str]) -> Bundle:
    """The options of a compile by one of these optimizers, which come as one `Recipe`."""
    optimizer = choice_option("--optimizer", optimizers, "Optimizer.", "search")
    return Bundle("recipe", (Section(Heading.RECIPE, (optimizer, *_OPTIONS)),), _recipe)
