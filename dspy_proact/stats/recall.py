from collections.abc import Hashable, Sequence

from dspy_proact.stats.cluster import cluster_mean
from dspy_proact.stats.estimate import Estimate


def recall(
    label: Hashable, grading: Sequence[Hashable], reference: Sequence[Hashable], groups: Sequence[Hashable]
) -> Estimate:
    """Share of the items with a label in the reference that have it in the grading too.

    The interval is that of a clustered mean, and so are silence and ties. No item has the label in the
    reference: no value.

    Args:
        label: The label whose recall is asked for.
        grading: The labels of the grading under test, one an item.
        reference: The labels of the reference, aligned with `grading`.
        groups: Key of the group of each item.

    Returns:
        The share in [0, 1], higher is better, with its 95 % interval.

    Raises:
        ValueError: The lengths differ.
    """
    if not len(grading) == len(reference) == len(groups):
        raise ValueError(f"one group and two gradings an item: {len(grading)}, {len(reference)}, {len(groups)}")
    found = [
        (float(given == label), key)
        for given, wanted, key in zip(grading, reference, groups, strict=True)
        if wanted == label
    ]
    if not found:
        return Estimate(None, reason=f"no {label} in the reference")
    return cluster_mean([hit for hit, _ in found], [key for _, key in found])
