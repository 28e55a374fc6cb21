"""How much of one text stands in others."""

import re
from collections.abc import Iterable

_RUN = 8
"""Words in a row that make an overlap."""


def overlap(text: str, others: Iterable[str]) -> float:
    """Share in [0, 1] of a text's runs of eight words that stand in one of the others; 0 where it has none."""
    own = _runs(text)
    seen = {run for other in others for run in _runs(other)} if own else set[tuple[str, ...]]()
    return sum(run in seen for run in own) / len(own) if own else 0.0


def _runs(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return [tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1)]
