"""What the three cards say alike."""

from collections.abc import Callable
from math import floor, log10
from typing import Any

from rich.console import Console

from dspy_proact.benchmarks.proactbench.programs import AssistantCard, JudgeCard
from dspy_proact.cli.views.card_headline import card_headline
from dspy_proact.programs import AgentCard, CardUsage, Recipe, tokens_ratio
from dspy_proact.report import Table, show

AnyCard = JudgeCard | AssistantCard | AgentCard


def print_card(card: AnyCard, heading: str, *told: str | Table) -> None:
    """Print what the compile shows, of what it is, what an answer takes, and lines and tables."""
    show(Console(soft_wrap=False), card_headline(card), heading, cost_text(card), *told)


def cost_text(card: AnyCard) -> str:
    """Tokens and price of one answer, before and after."""
    before, after = (_usage_text(usage) for usage in (card.usage_before, card.usage_after))
    ratio = tokens_ratio(card.usage_before, card.usage_after)
    times = "" if ratio is None else f", {ratio:.1f} times as many tokens"
    return f"a {_answer(card)} takes {before} before, {after} after{times}."


def card_document(card: AnyCard) -> dict[str, Any]:
    """The card as JSON, with what it shows, and tokens and price of one answer, first."""
    usages = {"before": card.usage_before, "after": card.usage_after}
    cost: dict[str, Any] = {
        when: {name: None if number is None else number / 1000 for name, number in usage.model_dump().items()}
        for when, usage in usages.items()
    }
    times = {"times_the_tokens": tokens_ratio(card.usage_before, card.usage_after)}
    first = {"headline": card_headline(card), f"cost_per_{_answer(card)}": cost | times}
    return {**first, **card.model_dump(mode="json")}


def _answer(card: AnyCard) -> str:
    return "response" if "assistant" in card.provenance.models else "verdict"


def _usage_text(usage: CardUsage) -> str:
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return "an unknown number of tokens"
    cost = "price unknown" if usage.usd is None else f"USD {_small(usage.usd / 1000)}"
    return f"{usage.prompt_tokens / 1000:,.0f} tokens in and {usage.completion_tokens / 1000:,.0f} out ({cost})"


def _small(usd: float) -> str:
    """To three digits, never rounded to nothing."""
    return f"{usd:.{max(2, 2 - floor(log10(usd)))}f}" if usd else "0.00"


def versions_text(versions: dict[str, str]) -> str:
    """What took part, by name."""
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def recipe_text(recipe: Recipe) -> str:
    """How a compile was done."""
    told = f"{recipe.optimizer}, {recipe.trials} trials, at most {recipe.max_demos} demos, {recipe.folds} folds"
    return f"{told}, seed {recipe.seed}"


def unread_text(low98_unread: float | None, shown: Callable[[float], str]) -> str:
    """The lower end with the unread at their worst, as the end of a sentence; nothing where all were read."""
    return "" if low98_unread is None else f", and {shown(low98_unread)} with the unread at their worst"
