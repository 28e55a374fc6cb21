"""One grade from several verdicts."""

from collections import Counter
from collections.abc import Sequence


def consensus(given: Sequence[str], order: Sequence[str]) -> str:
    """The label of the most verdicts; of several that tie, the worst.

    Args:
        given: Label of each verdict, at least one.
        order: Every label, from best to worst.
    """
    counts = Counter(given)
    return max(order, key=lambda label: (counts[label], order.index(label)))
