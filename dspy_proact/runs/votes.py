"""The grade of several verdicts on one response: the majority of votes, or a compiled judge's cuts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from dspy_proact.runs.ledger import VerdictRecord

Cuts = Mapping[str, tuple[float, float]]
"""By compiled judge, from which mean level of its verdicts on the second worst label begins, and the best."""
NO_CUTS: Cuts = {}
Label = TypeVar("Label", bound=str)


def majority_label(votes: Sequence[Label], order: Sequence[Label]) -> Label:
    """The label of the most verdicts, at least one; of several that tie, the worst. `order` is from best to worst."""
    counts = Counter(votes)
    return max(order, key=lambda label: (counts[label], order.index(label)))


def cut_label(votes: Sequence[Label], order: Sequence[Label], cuts: Sequence[float]) -> Label:
    """The label of a compiled judge's verdicts, by where their mean level lies among its cuts; on a cut is above it.

    `order` is from best to worst; the level of the worst is 0, that of the next 1, and so on. From each of the cuts on,
    in rising order, a label but the worst begins.
    """
    worst = len(order) - 1
    mean = sum(worst - order.index(label) for label in votes) / len(votes)
    return order[worst - sum(mean >= cut for cut in cuts)]


def joint_grade(verdicts: Sequence[VerdictRecord], labels: Sequence[str], cuts: Cuts) -> tuple[str, float]:
    """The commonest label, ties to the worst, and the mean score; a compiled judge counts as one verdict."""
    votes: list[tuple[str, float]] = []
    for judge in dict.fromkeys(verdict.judge for verdict in verdicts):
        own = [(verdict.label, verdict.score) for verdict in verdicts if verdict.judge == judge]
        if judge is not None and judge in cuts:
            label = cut_label([label for label, _ in own], labels, cuts[judge])
            own = [(label, 1 - labels.index(label) / (len(labels) - 1))]
        votes += own
    if len(votes) == 1:
        return votes[0]
    return majority_label([label for label, _ in votes], labels), sum(score for _, score in votes) / len(votes)
