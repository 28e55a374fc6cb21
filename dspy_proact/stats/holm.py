from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values for being read together (Holm 1979).

    Of m tests the k-th smallest p is multiplied by m - k + 1, and none falls below a smaller one's. All
    that stay at most 0.05 may be claimed together, with at most 5 % chance of any false claim.

    Args:
        p_values: One p value in [0, 1] a test; None where there was none, which counts as no test.

    Returns:
        One adjusted p value in [0, 1] a test, in the same order; None stays None.

    Raises:
        ValueError: A p value is outside [0, 1].
    """
    tests = [(p, place) for place, p in enumerate(p_values) if p is not None]
    if not all(0 <= p <= 1 for p, _ in tests):
        raise ValueError(f"p values must be in [0, 1] or None, not {list(p_values)!r}")
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for done, (p, place) in enumerate(sorted(tests)):
        largest = min(1.0, max(largest, p * (len(tests) - done)))
        adjusted[place] = largest
    return adjusted
