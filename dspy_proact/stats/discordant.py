from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Discordant:
    """McNemar's table of two runs on the same triggers: how many each of them passed.

    A description only. McNemar's test takes triggers for independent, which those of one scenario are
    not; `paired_difference` of the passes is the test.
    """

    both: int
    """Triggers that both runs passed."""
    only_a: int
    """Triggers that the first run passed and the second did not."""
    only_b: int
    """Triggers that the second run passed and the first did not."""
    neither: int
    """Triggers that no run passed."""


def discordant(a_pass: Sequence[bool], b_pass: Sequence[bool]) -> Discordant:
    """Count the triggers by which of two runs passed them.

    Args:
        a_pass: Whether the first run passed, one a trigger.
        b_pass: Whether the second run passed, aligned with `a_pass`.

    Raises:
        ValueError: The lengths differ.
    """
    if len(a_pass) != len(b_pass):
        raise ValueError(f"the runs are on the same triggers: {len(a_pass)} and {len(b_pass)} differ")
    counts = Counter((bool(a), bool(b)) for a, b in zip(a_pass, b_pass, strict=True))
    return Discordant(counts[True, True], counts[True, False], counts[False, True], counts[False, False])
