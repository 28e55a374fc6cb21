"""Control cases, at which nothing was to be gained, and how reports show them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from dspy_proact.evaluation.reporting import Addition
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
    report: Callable[[Outcomes], Addition] = lambda _: Addition()
    """What it adds to the report of control cases that there are."""
