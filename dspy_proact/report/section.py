"""What there is to read of a case and of a verdict, in forms that a terminal and a page show alike."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from dspy_proact.types import Quote


@dataclass(frozen=True)
class Section:
    """Something that stood there before the answer."""

    title: str
    kind: Literal["chat", "terms"]
    """Messages one after another, or names with what each means."""
    items: tuple[tuple[str, str], ...]
    """Who says it or what is named, and the text."""


@dataclass(frozen=True)
class Grounds:
    """What a verdict rests on."""

    reasons: str
    quotes: tuple[Quote, ...] = ()
    """Of the response."""
    points: tuple[tuple[str, str], ...] = ()
    """What else it says, by name."""


def quoted(quotes: Iterable[Quote]) -> list[tuple[int, int]]:
    """Where quotes stand in the text that they are of, in order; those that overlap or touch are one."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted((q.start, q.end) for q in quotes if q.start is not None and q.end is not None):
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], end)
        else:
            spans.append((start, end))
    return spans
