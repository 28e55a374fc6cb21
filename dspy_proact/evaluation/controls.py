"""Control cases, at which nothing was to be gained, and how reports show them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dspy_proact.runs import Outcomes


@dataclass(frozen=True)
class Controls:
    """How reports show a benchmark's control cases; the defaults serve any."""

    rate: str = "rate of the worst label"
    """What the share of control cases with the worst label is called."""
    gain: str | None = None
    """The stratum whose score a page sets against that share; None for none."""
    document: Callable[[Outcomes], Mapping[str, Any]] = lambda _: {}
    """Further keys of the `controls` of `report --json`."""
    lines: Callable[[Outcomes], Iterable[str]] = lambda _: ()
    """Further sentences below the rate, of control cases that there are."""
    notes: Callable[[], Iterable[str]] = tuple
    """What the rate rests on, in sentences for `report --explain`."""

    @property
    def key(self) -> str:
        """The name of the rate in JSON."""
        return self.rate.replace(" ", "_")
