"""What both cards say alike."""

from rich.console import Console

from dspy_proact.programs import AssistantCard, CardUsage, JudgeCard, Recipe
from dspy_proact.report import STAND_IN, Table, show


def print_card(card: JudgeCard | AssistantCard, heading: str, *told: str | Table) -> None:
    """Print a heading, what the compile claims, and lines and tables."""
    stand_in = [STAND_IN] if card.provenance.embedded else []
    show(Console(soft_wrap=False), heading, *stand_in, f"{card.statement}.", *told)


def usage_text(usage: CardUsage) -> str:
    """Tokens and cost."""
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return "not known (nothing was asked anew)"
    cost = "price unknown" if usage.usd is None else f"USD {usage.usd:.2f}"
    return f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out, {cost}"


def versions_text(versions: dict[str, str]) -> str:
    """What took part, by name."""
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def recipe_text(recipe: Recipe) -> str:
    """How a compile was done."""
    told = f"{recipe.optimizer}, {recipe.trials} trials, at most {recipe.max_demos} demos, {recipe.folds} folds"
    return f"{told}, seed {recipe.seed}"
