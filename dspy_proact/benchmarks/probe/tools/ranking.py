"""Items by how well they answer a query: by their words, or by their meaning."""

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from dspy_proact.benchmarks.probe.tools.record import Record

Embed = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[float]]]]
"""Texts to vectors of one length, in their order; raises a `StageError` where there are none."""
_LONGEST_EMBEDDED = 20_000
"""Characters of an item that are embedded: what embedders take at once."""


class Ranking(Protocol):
    """A way to search."""

    async def scores(self, query: str) -> Sequence[float]:
        """One number an item, in their order, higher is better; 0 or less where it has nothing of the query.

        Raises:
            StageError: The query cannot be asked.
        """
        ...


class WordRanking:
    """BM25 (Lucene's formula, k1 1.5, b 0.75) over words of two letters or more, common English ones left out.

    Args:
        records: What is searched.
    """

    def __init__(self, records: Sequence[Record]):
        self._count = len(records)
        self._index = _indexed([record.words for record in records])

    async def scores(self, query: str) -> Sequence[float]:
        """As `Ranking` says."""
        return self.scores_now(query)

    def scores_now(self, query: str) -> Sequence[float]:
        """The same, not awaited."""
        words = _words([query])[0]
        if self._index is None or not words:
            return [0.0] * self._count
        return [float(score) for score in self._index.get_scores(words)]


class MeaningRanking:
    """The cosine of embeddings. Items are embedded at the first query.

    Args:
        records: What is searched.
        embed: How texts are embedded.
    """

    def __init__(self, records: Sequence[Record], embed: Embed):
        self._texts = [record.words[:_LONGEST_EMBEDDED] or record.id for record in records]
        self._embed = embed
        self._vectors: Sequence[Sequence[float]] | None = None

    async def scores(self, query: str) -> Sequence[float]:
        """As `Ranking` says."""
        if not query.strip():
            return [0.0] * len(self._texts)
        if self._vectors is None:
            self._vectors = await self._embed(self._texts)
        (asked,) = await self._embed([query[:_LONGEST_EMBEDDED]])
        return [_cosine(asked, vector) for vector in self._vectors]


def ranked(scores: Sequence[float]) -> list[int]:
    """Places of the scores above 0, the best first; of equal ones the first."""
    return sorted((place for place, score in enumerate(scores) if score > 0), key=lambda place: -scores[place])


def _indexed(texts: Sequence[str]) -> Any:
    """An index of texts; None where there are no words in them."""
    import bm25s

    words = _words(texts)
    if not any(words):
        return None
    index = bm25s.BM25()
    index.index(words, show_progress=False)
    return index


def _words(texts: Sequence[str]) -> Any:
    import bm25s

    return bm25s.tokenize(list(texts), stopwords="en", return_ids=False, show_progress=False)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
