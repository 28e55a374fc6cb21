"""Why stages of several cases failed: those that failed for the same are one cause."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dspy_proact.calls import Failure, Stage
from dspy_proact.plain_text import folded

_MOST = 5
"""In a text; documents have all."""


@dataclass(frozen=True)
class Cause:
    """What several stages failed for, in sentences that differ in numbers and identifiers at most."""

    count: int
    reason: str
    """Stage and reason, such as `verdict: refused`."""
    sentence: str
    """Of the first of them."""

    def __str__(self) -> str:
        return f"{self.count} x {self.reason}: {self.sentence}"


def causes_of(failures: Iterable[tuple[Stage, Failure]]) -> list[Cause]:
    """What failed and why, the commonest first; without what says no more than its reason."""
    groups = defaultdict[tuple[str, str], list[str]](list)
    for stage, failure in failures:
        if failure.detail:
            groups[f"{stage}: {failure.reason}", folded(failure.detail)].append(failure.detail)
    causes = [Cause(len(sentences), reason, sentences[0]) for (reason, _), sentences in groups.items()]
    return sorted(causes, key=lambda cause: -cause.count)


def cause_lines(causes: Sequence[Cause]) -> list[str]:
    """The commonest causes in a line each, and how many stages failed for others."""
    others = sum(cause.count for cause in causes[_MOST:])
    return [*map(str, causes[:_MOST]), *([f"{others} x other causes"] if others else [])]
