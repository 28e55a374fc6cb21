"""What a run will take, before a call is made."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dspy_proact.models import Model, count_tokens, image_tokens, tokenizer_name
from dspy_proact.runs import ExpectedCall

SECONDS = (2.0, 30.0)
"""Seconds that a call takes: an assumption, from a quick model to a reasoning one."""


@dataclass(frozen=True)
class RoleCalls:
    """What one role will be asked by a run."""

    calls: int
    """Exact, without repairs and retries; a stage in `unknown` counts one."""
    prompt_tokens: int
    """Of the calls that are known. Where an answer is still to come, an assumed one stands in the prompts after it."""
    completion_tokens: tuple[int, int]
    """From few to many."""
    usd: tuple[float, float] | None
    """From little to much; None where the price is not known."""
    tokenizer: str
    """By whose tokenizer the prompts were counted."""
    unknown: int = 0
    """Stages whose calls the benchmark cannot foresee."""
    images: int = 0
    """That are sent in the prompts."""
    uncounted_images: int = 0
    """Those of them whose tokens no known rule counts: they are in no number of tokens and in no price."""
    app: bool = False
    """Whether it is an application, of which only the calls are known."""
    tiers: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """By tier (`plain`, `flex`, `batch`) US dollars from little to much, as far as its list price is known."""

    @classmethod
    def of(cls, model: Model, stages: Iterable[Sequence[ExpectedCall] | None], role: str | None = None) -> "RoleCalls":
        """Count and price the calls of stages to a further role, or to their own model where that is None.

        None stands for a stage whose calls are not known. No stage is kept: those of a large corpus exceed the memory.
        """
        most = model.decoding.get("max_tokens")
        calls = unknown = prompt = low = high = images = uncounted = 0
        for stage in stages:
            unknown += stage is None
            for call in (call for call in stage or () if call.role == role):
                calls += 1
                if model.app:
                    continue
                prompt += count_tokens(model.name, call.messages)
                counts = [image_tokens(model.name, *size) for size in call.images]
                prompt += sum(filter(None, counts))
                images, uncounted = images + len(counts), uncounted + counts.count(None)
                few, many = (min(tokens, most or tokens) for tokens in call.tokens)
                low, high = low + few, high + many
        little, much = (model.price.of(prompt, end, calls=calls) for end in (low, high))
        usd = (little, much) if little is not None and much is not None and not unknown else None
        tiers = dict[str, tuple[float, float]]()
        for tier, price in model.tiers.items() if usd and calls else ():
            least, most_usd = (price.of(prompt, end, calls=calls) for end in (low, high))
            if least is not None and most_usd is not None:
                tiers[tier] = least, most_usd
        tokenizer = "" if model.app else tokenizer_name(model.name)
        is_app = model.app is not None
        return cls(calls + unknown, prompt, (low, high), usd, tokenizer, unknown, images, uncounted, is_app, tiers)

    @classmethod
    def together(cls, forecasts: Sequence["RoleCalls"]) -> "RoleCalls":
        """The sum over several models in one role; the price is known only if each is. No models: zeros."""
        few, many = (sum(role.completion_tokens[end] for role in forecasts) for end in (0, 1))
        known = [role.usd for role in forecasts if role.usd is not None]
        usd = (sum(low for low, _ in known), sum(high for _, high in known)) if len(known) == len(forecasts) else None
        names = ("calls", "prompt_tokens", "unknown", "images", "uncounted_images")
        counts: dict[str, Any] = {name: sum(getattr(role, name) for role in forecasts) for name in names}
        tokenizer = ", ".join(dict.fromkeys(role.tokenizer for role in forecasts))
        is_app = any(role.app for role in forecasts)
        costs = {
            tier: (sum(role.tiers[tier][0] for role in forecasts), sum(role.tiers[tier][1] for role in forecasts))
            for tier in (forecasts[0].tiers if forecasts else ())
            if all(tier in role.tiers for role in forecasts)
        }
        ends = (few, many)
        return cls(completion_tokens=ends, usd=usd, tokenizer=tokenizer, app=is_app, tiers=costs, **counts)


@dataclass(frozen=True)
class RunForecast:
    """What a run will take."""

    assistant: RoleCalls
    judge: RoleCalls
    concurrency: int
    """Requests in flight."""
    assumption: str | None
    in_a_row: int = 0
    """Calls of the longest chain; each waits for the one before."""
    roles: Mapping[str, RoleCalls] = field(default_factory=dict[str, RoleCalls])
    """What the benchmark's further roles will be asked, by role."""
    batch: bool = False
    """Whether requests are answered in batches."""

    @property
    def by_role(self) -> dict[str, RoleCalls]:
        """What each role will be asked."""
        return {"assistant": self.assistant, **self.roles, "judge": self.judge}

    @property
    def seconds(self) -> tuple[float, float]:
        """From quick models to slow ones."""
        rounds = max(self.calls / self.concurrency, self.rounds)
        quick, slow = (rounds * seconds for seconds in SECONDS)
        return quick, slow

    @property
    def rounds(self) -> int:
        """Calls that wait for one another at least."""
        return max(sum(bool(role.calls) for role in self.by_role.values()), self.in_a_row)

    @property
    def calls(self) -> int:
        """Of all roles."""
        return sum(role.calls for role in self.by_role.values())

    @property
    def most_tokens(self) -> int:
        """Of all roles, prompts and the longest answers."""
        return sum(role.prompt_tokens + role.completion_tokens[1] for role in self.by_role.values())
