"""How near texts are: to a query by their words, and to each other by their vectors."""

import math
from collections.abc import Sequence
from typing import Any


class WordRanking:
    """BM25 (Lucene's formula, k1 1.5, b 0.75) over words of two letters or more, common English ones left out."""

    def __init__(self, texts: Sequence[str]):
        import bm25s

        self._count, self._index = len(texts), None
        if texts and any(words := _words(texts)):
            self._index = bm25s.BM25()
            self._index.index(words, show_progress=False)

    def scores(self, query: str) -> Sequence[float]:
        """One number per text, in their order, higher is better; 0 where it has no word of the query."""
        words = _words([query])[0]
        if self._index is None or not words:
            return [0.0] * self._count
        return [float(score) for score in self._index.get_scores(words)]


def _words(texts: Sequence[str]) -> Any:
    import bm25s

    return bm25s.tokenize(list(texts), stopwords="en", return_ids=False, show_progress=False)


def ranked(scores: Sequence[float]) -> list[int]:
    """Places of the scores above 0, the best first; of equal ones the first."""
    return sorted((index for index, score in enumerate(scores) if score > 0), key=lambda index: -scores[index])


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Cosine of the angle between two vectors of one length, in [-1, 1]; 0 where one has none."""
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
