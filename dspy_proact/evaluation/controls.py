"""Control cases, at which nothing was to be gained, and how reports show them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from dspy_proact.runs import Outcomes


@dataclass(frozen=True)
class Controls:
    """A benchmark's control cases, of stratum `CONTROL`, which are in no score; how reports show them has defaults."""

    labels: Sequence[str] = ()
    """Their labels, from best to worst."""
    view: type[BaseModel] | None = None
    """The model of their views, as they are read from disk."""
    prompt: Callable[[], str | None] = lambda: None
    """sha256 of the prompt by which they are graded; None where there are none."""

    rate: str = ""
    """What the share of control cases with the worst label is called; empty for a general name."""
    gain: str | None = None
    """The stratum whose score a page sets against that share; None for none."""
    document: Callable[[Outcomes], Mapping[str, Any]] = lambda _: {}
    """Further keys of the `controls` of `report --json`."""
    lines: "Callable[[Outcomes, bool], Iterable[str]]" = lambda _, __: ()
    """Further sentences below the rate, of control cases that there are; or, if true, those of `--explain`."""

    @property
    def key(self) -> str:
        """The name of the rate in JSON."""
        return self.rate.replace(" ", "_") or "rate"

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.rate or "rate of the worst label"
