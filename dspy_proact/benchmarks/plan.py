"""What a run will cost, before a call is made."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dspy_proact.models import Model, count_tokens, tokenizer_name

ASSUMED_WORDS = 300
ASSUMED_RESPONSE = "word " * ASSUMED_WORDS
"""Stands for a response that is not written yet, in the judge's prompt."""
RESPONSE_TOKENS = (250, 3800)
"""Of one response: from the tersest to the most talkative of the published models, on average (264 and 3,792)."""
VERDICT_TOKENS = (450, 550)
"""Of one verdict, likewise (457 and 520)."""
SECONDS = (2.0, 30.0)
"""Seconds that a call takes: an assumption, from a quick model to a reasoning one."""


@dataclass(frozen=True)
class RolePlan:
    """What one role will be asked."""

    calls: int
    """Exactly, without repairs and retries."""
    prompt_tokens: int
    """Of all calls. The judge's rest on responses of an assumed length where there are none yet."""
    completion_tokens: tuple[int, int]
    """From few to many."""
    usd: tuple[float, float] | None
    """From little to much; None where the price is not known."""
    tokenizer: str
    """By whose tokenizer the prompts were counted."""


def together(plans: Sequence[RolePlan]) -> RolePlan:
    """One plan of several models in one role; the price is known where that of all is. No models: nothing to do."""
    few, many = (sum(plan.completion_tokens[end] for plan in plans) for end in (0, 1))
    known = [plan.usd for plan in plans if plan.usd is not None]
    usd = (sum(low for low, _ in known), sum(high for _, high in known)) if len(known) == len(plans) else None
    tokenizers = ", ".join(dict.fromkeys(plan.tokenizer for plan in plans))
    calls, prompts = sum(plan.calls for plan in plans), sum(plan.prompt_tokens for plan in plans)
    return RolePlan(calls, prompts, (few, many), usd, tokenizers)


@dataclass(frozen=True)
class Plan:
    """What a command would do."""

    assistant: RolePlan
    judge: RolePlan
    seconds: tuple[float, float]
    """From quick models to slow ones, at the given concurrency."""

    @classmethod
    def of(cls, assistant: RolePlan, judge: RolePlan, concurrency: int) -> "Plan":
        """The plan of both roles at a number of requests in flight."""
        rounds = max((assistant.calls + judge.calls) / concurrency, bool(assistant.calls) + bool(judge.calls))
        quick, slow = (rounds * seconds for seconds in SECONDS)
        return cls(assistant, judge, (quick, slow))

    @property
    def calls(self) -> int:
        """Of both roles."""
        return self.assistant.calls + self.judge.calls

    @property
    def most_tokens(self) -> int:
        """Of both roles, prompts and the longest answers."""
        return sum(role.prompt_tokens + role.completion_tokens[1] for role in (self.assistant, self.judge))


def plan_role(model: Model, prompts: Iterable[list[dict[str, Any]]], each: tuple[int, int]) -> RolePlan:
    """Count what a role is sent and price it.

    Args:
        model: Whose tokenizer and price are used.
        prompts: The messages of every call.
        each: Fewest and most tokens of one answer.
    """
    counts = [count_tokens(model.name, messages) for messages in prompts]
    low, high = (min(each[0], most), min(each[1], most)) if (most := model.decoding.get("max_tokens")) else each
    completions = (low * len(counts), high * len(counts))
    prompt = sum(counts)
    usd = model.price.of(prompt, completions[0]), model.price.of(prompt, completions[1])
    known = (usd[0], usd[1]) if usd[0] is not None and usd[1] is not None else None
    return RolePlan(len(counts), prompt, completions, known, tokenizer_name(model.name))
