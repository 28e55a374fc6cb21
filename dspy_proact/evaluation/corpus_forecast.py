"""What a corpus will take, stage by stage, before a call is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dspy_proact.calls import Price
from dspy_proact.evaluation.forecast import SECONDS


@dataclass(frozen=True)
class StageForecast:
    """The calls of one stage of an item, without repairs: as expected, from lengths that are assumed."""

    stage: str
    role: str
    calls: float
    prompt: int
    """Tokens of one."""
    completion: int
    in_a_row: float | None = None
    """Those of the calls that wait for one another; None for all."""
    items: int | None = None
    """The most items of which it is asked, the first ones; None for all."""


@dataclass(frozen=True)
class StageCost:
    """What one stage of all items is expected to take, without repairs."""

    stage: str
    role: str
    calls: float
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    """US dollars; None where a price is not known."""

    @classmethod
    def of(cls, stage: StageForecast, items: int, prices: Sequence[Price]) -> "StageCost":
        """Of so many items, and of models of these prices that take turns."""
        calls = stage.calls * min(items, items if stage.items is None else stage.items)
        prompt, completion = round(calls * stage.prompt), round(calls * stage.completion)
        known = [
            usd for price in prices if (usd := price.of(prompt, completion, calls=max(1, round(calls)))) is not None
        ]
        usd = sum(known) / len(known) if known and len(known) == len(prices) else None
        return cls(stage.stage, stage.role, calls, prompt, completion, usd)


@dataclass(frozen=True)
class CorpusForecast:
    """What a corpus is expected to take, whatever stands in its folder already."""

    stages: Sequence[StageCost]
    concurrency: int
    """Calls in flight."""
    in_a_row: float
    """Calls of one item that wait for one another."""

    @classmethod
    def of(
        cls, stages: Sequence[StageForecast], items: int, prices: Mapping[str, Sequence[Price]], concurrency: int
    ) -> "CorpusForecast":
        """Of so many items, and of models of these prices by role, which take turns in it."""
        costs = [StageCost.of(stage, items, prices[stage.role]) for stage in stages]
        chain = sum(stage.calls if stage.in_a_row is None else stage.in_a_row for stage in stages)
        return cls(costs, concurrency, chain)

    @property
    def calls(self) -> int:
        """Of all stages."""
        return round(sum(stage.calls for stage in self.stages))

    @property
    def prompt_tokens(self) -> int:
        """Of all stages."""
        return sum(stage.prompt_tokens for stage in self.stages)

    @property
    def completion_tokens(self) -> int:
        """Of all stages."""
        return sum(stage.completion_tokens for stage in self.stages)

    @property
    def usd(self) -> float | None:
        """US dollars; None where a price is not known."""
        known = [stage.usd for stage in self.stages if stage.usd is not None]
        return sum(known) if len(known) == len(self.stages) else None

    @property
    def seconds(self) -> tuple[float, float]:
        """From quick models to slow ones."""
        quick, slow = (max(self.calls / self.concurrency, self.in_a_row) * seconds for seconds in SECONDS)
        return quick, slow
