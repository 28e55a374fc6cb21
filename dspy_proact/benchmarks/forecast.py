"""What a run will take, before a call is made."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dspy_proact.models import Model, count_tokens, tokenizer_name
from dspy_proact.runs import ExpectedCall

SECONDS = (2.0, 30.0)
"""Seconds that a call takes: an assumption, from a quick model to a reasoning one."""


@dataclass(frozen=True)
class RoleCalls:
    """What one role will be asked by a run."""

    calls: int
    """Exactly, without repairs and retries, and with one for each stage that is `untold`."""
    prompt_tokens: int
    """Of all calls that can be told. Those that follow on an answer rest on an assumed one where there is none yet."""
    completion_tokens: tuple[int, int]
    """From few to many."""
    usd: tuple[float, float] | None
    """From little to much; None where the price is not known."""
    tokenizer: str
    """By whose tokenizer the prompts were counted."""
    untold: int = 0
    """Stages of which the benchmark cannot tell what they will ask."""

    @classmethod
    def of(cls, model: Model, stages: Iterable[Sequence[ExpectedCall] | None]) -> "RoleCalls":
        """Count and price what a model will be asked, in stages of which None stands for one that cannot be told.

        Stages are taken one by one, and none is kept: those of a large corpus are larger than the memory.
        """
        most = model.decoding.get("max_tokens")
        calls = untold = prompt = low = high = 0
        for stage in stages:
            untold += stage is None
            for call in stage or ():
                calls += 1
                prompt += count_tokens(model.name, call.messages)
                low, high = (
                    told + min(tokens, most or tokens) for told, tokens in zip((low, high), call.tokens, strict=True)
                )
        little, much = model.price.of(prompt, low), model.price.of(prompt, high)
        usd = (little, much) if little is not None and much is not None and not untold else None
        return cls(calls + untold, prompt, (low, high), usd, tokenizer_name(model.name), untold)

    @classmethod
    def together(cls, forecasts: Sequence["RoleCalls"]) -> "RoleCalls":
        """One of several models in one role; the price is known where that of all is. No models: nothing to do."""
        few, many = (sum(each.completion_tokens[end] for each in forecasts) for end in (0, 1))
        known = [each.usd for each in forecasts if each.usd is not None]
        usd = (sum(low for low, _ in known), sum(high for _, high in known)) if len(known) == len(forecasts) else None
        return cls(
            calls=sum(each.calls for each in forecasts),
            prompt_tokens=sum(each.prompt_tokens for each in forecasts),
            completion_tokens=(few, many),
            usd=usd,
            tokenizer=", ".join(dict.fromkeys(each.tokenizer for each in forecasts)),
            untold=sum(each.untold for each in forecasts),
        )


@dataclass(frozen=True)
class RunForecast:
    """What a run will take."""

    assistant: RoleCalls
    judge: RoleCalls
    seconds: tuple[float, float]
    """From quick models to slow ones, at the given concurrency."""
    assumption: str | None
    """What the counts rest on, as a sentence."""

    @classmethod
    def of(
        cls, assistant: RoleCalls, judge: RoleCalls, concurrency: int, assumption: str | None = None
    ) -> "RunForecast":
        """The forecast of both roles at a number of requests in flight."""
        rounds = max((assistant.calls + judge.calls) / concurrency, bool(assistant.calls) + bool(judge.calls))
        quick, slow = (rounds * seconds for seconds in SECONDS)
        return cls(assistant, judge, (quick, slow), assumption)

    @property
    def calls(self) -> int:
        """Of both roles."""
        return self.assistant.calls + self.judge.calls

    @property
    def most_tokens(self) -> int:
        """Of both roles, prompts and the longest answers."""
        return sum(role.prompt_tokens + role.completion_tokens[1] for role in (self.assistant, self.judge))
