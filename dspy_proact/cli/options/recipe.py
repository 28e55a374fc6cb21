"""How a compile is done."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.verb import Bundle, Heading, Section

if TYPE_CHECKING:
    from dspy_proact.programs import Recipe


def _recipe(*, optimizer: Any, trials: int, max_demos: int, folds: int, seed: int) -> "Recipe":
    from dspy_proact.programs import Recipe

    return Recipe(optimizer=optimizer, trials=trials, max_demos=max_demos, folds=folds, seed=seed)


_OPTIONS = (
    click.Option(
        ["--trials"],
        type=click.IntRange(1, 10000),
        metavar="N",
        default=20,
        show_default=True,
        help="Candidates to try.",
    ),
    click.Option(
        ["--max-demos"],
        type=click.IntRange(0, 64),
        metavar="N",
        default=4,
        show_default=True,
        help="Worked examples at most.",
    ),
    click.Option(
        ["--folds"],
        type=click.IntRange(2, 100),
        metavar="N",
        default=5,
        show_default=True,
        help="Folds of whole personas.",
    ),
    click.Option(
        ["--seed"],
        type=click.IntRange(0, 2**31),
        metavar="N",
        default=0,
        show_default=True,
        help="Of folds, draws and studies.",
    ),
)


def recipe_options(optimizers: Sequence[str]) -> Bundle:
    """The options of a compile by one of these optimizers, which come as one `Recipe`."""
    optimizer = click.Option(
        ["--optimizer"],
        type=click.Choice(list(optimizers)),
        default="search",
        show_default=True,
        help="Who looks for a better program.",
    )
    return Bundle("recipe", (Section(Heading.RECIPE, (optimizer, *_OPTIONS)),), _recipe)
