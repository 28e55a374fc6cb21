from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from dspy_proact.calls import Call
from dspy_proact.runs import PricePerToken


@dataclass(frozen=True)
class Usage:
    """What one role has used, every attempt counted."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    usd: float | None
    """US dollars at list price; None where it cannot be known."""
    reason: str | None
    """Why `usd` is None."""

    @classmethod
    def of(cls, calls: Sequence[Call], price: PricePerToken) -> Self:
        """What calls of one role have used; the cost is not known where an answer came without token counts."""
        cached = sum(call.cached_tokens or 0 for call in calls)
        prompt = sum(call.prompt_tokens or 0 for call in calls)
        completion = sum(call.completion_tokens or 0 for call in calls)
        answered = [call for call in calls if call.error is None]
        silent = sum(call.prompt_tokens is None or call.completion_tokens is None for call in answered)
        if price.prompt is None or price.completion is None:
            return cls(len(calls), prompt, completion, cached, None, price.reason)
        if silent:
            reason = f"{silent} of {len(answered)} answers came without token counts"
            return cls(len(calls), prompt, completion, cached, None, reason)
        cached_price = price.prompt if price.cached is None else price.cached
        usd = (prompt - cached) * price.prompt + cached * cached_price + completion * price.completion
        return cls(len(calls), prompt, completion, cached, usd, None)

    def __add__(self, other: "Usage") -> "Usage":
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            usd,
            "; ".join(dict.fromkeys(filter(None, (self.reason, other.reason)))) or None,
        )
