from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Discordant:
    """McNemar's table of two runs on the same cases: how many each of them passed.

    A description only. McNemar's test takes cases for independent, which those of one group are
    not; `paired_difference` of the passes is the test.
    """

    both: int
    """Cases that both runs passed."""
    only_a: int
    """Cases that the first run passed and the second did not."""
    only_b: int
    """Cases that the second run passed and the first did not."""
    neither: int
    """Cases that no run passed."""


def discordant(a_pass: Sequence[bool], b_pass: Sequence[bool]) -> Discordant:
    """Count the cases by which of two runs passed them.

    Args:
        a_pass: Whether the first run passed, one a case.
        b_pass: Whether the second run passed, aligned with `a_pass`.

    Raises:
        ValueError: The lengths differ.
    """
    if len(a_pass) != len(b_pass):
        raise ValueError(f"the runs are on the same cases: {len(a_pass)} and {len(b_pass)} differ")
    counts = Counter((bool(a), bool(b)) for a, b in zip(a_pass, b_pass, strict=True))
    return Discordant(counts[True, True], counts[True, False], counts[False, True], counts[False, False])
