"""One grade from several verdicts."""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

Label = TypeVar("Label", bound=str)


def consensus(given: Sequence[Label], order: Sequence[Label]) -> Label:
    """The label of the most verdicts; of several that tie, the worst.

    Args:
        given: Label of each verdict, at least one.
        order: Every label, from best to worst.
    """
    counts = Counter(given)
    return max(order, key=lambda label: (counts[label], order.index(label)))


def cut_label(given: Sequence[Label], order: Sequence[Label], cuts: Sequence[float]) -> Label:
    """The label of a compiled judge's verdicts: where their mean level lies among its cuts; one on a cut is above it.

    Args:
        given: Label of each verdict, at least one.
        order: Every label, from best to worst; the level of the worst is 0, that of the next 1, and so on.
        cuts: From where on the mean level makes each label but the worst, in rising order.
    """
    worst = len(order) - 1
    mean = sum(worst - order.index(label) for label in given) / len(given)
    return order[worst - sum(mean >= cut for cut in cuts)]
