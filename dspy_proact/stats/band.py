"""What is asked of a share of simulated data sets, such as those whose interval holds the truth."""

from dataclasses import dataclass


def share_error(share: float, count: int) -> float:
    """Standard error of a share, in [0, 1], of so many independent data sets."""
    return (share * (1 - share) / count) ** 0.5


@dataclass(frozen=True)
class Band:
    """Where a share ought to lie: a measured one may be out by two standard errors."""

    low: float
    """In [0, 1]."""
    high: float
    """In [0, 1], at least `low`."""

    def holds(self, share: float, count: int) -> bool:
        """Whether a share of so many data sets is within."""
        low, high = (edge + side * 2 * share_error(edge, count) for edge, side in ((self.low, -1), (self.high, 1)))
        return low <= share <= high

    def told(self, share: float, count: int, *, marked: bool = False) -> str:
        """The share in %, and OUT if it is; where intervals are marked that is no fault."""
        return f"{100 * share:.1f}{'' if self.holds(share, count) else ' marked' if marked else ' OUT'}"


COVERAGE = Band(0.93, 0.98)
"""Of intervals of 95 %."""
