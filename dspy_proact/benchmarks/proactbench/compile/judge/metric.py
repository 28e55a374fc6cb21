"""What a judge is tuned to: agreement with people beyond what a constant answer earns."""

from collections import Counter
from collections.abc import Sequence

from dspy_proact.benchmarks.proactbench.compile.judge.labels import LEVELS, Labelled
from dspy_proact.benchmarks.proactbench.types import Grade, Phase


class AgreementMetric:
    """Score of one verdict against the labels of one training set.

    The verdict's mean ordinal disagreement with the labels of the *other* items of its phase, minus that with its own
    item's, mapped to [0, 1]: a judge that always answers alike scores 0.5 on average, whatever it answers.

    Args:
        items: The training set; labels of anything else are out of reach.
    """

    def __init__(self, items: Sequence[Labelled]):
        self._counts = Counter(item.phase for item in items)
        self._sums: dict[Phase, Sequence[float]] = dict.fromkeys(Phase, (0.0, 0.0, 0.0))
        for item in items:
            self._sums[item.phase] = [a + b for a, b in zip(self._sums[item.phase], item.soft, strict=True)]

    def score(self, item: Labelled, grade: Grade) -> float:
        """The score of a grade for an item, in [0, 1], higher is better; 0.5 where its phase has no other item."""
        level = LEVELS.index(grade)
        others = self._counts[item.phase] - 1
        if others < 1:
            return 0.5
        total, own = self._sums[item.phase], item.soft
        rest = tuple((all_of - mine) / others for all_of, mine in zip(total, own, strict=True))
        return 0.5 + (_disagreement(level, rest) - _disagreement(level, own)) / 2


def _disagreement(level: int, soft: Sequence[float]) -> float:
    """Mean distance of a level from labels, in [0, 1]."""
    return sum(share * abs(level - other) for other, share in enumerate(soft)) / (len(LEVELS) - 1)
