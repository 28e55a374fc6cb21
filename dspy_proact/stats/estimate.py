import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, or the reason why there is none.

    Whatever is present is finite. The bounds are both there or both missing, and never without a
    value; where anything is missing, the reason says why.

    Raises:
        ValueError: One of these promises is broken.
    """

    value: float | None
    """None where nothing could be estimated."""
    low: float | None = None
    """Lower end of the interval, at most `value`."""
    high: float | None = None
    """Upper end of the interval, at least `value`."""
    reason: str | None = None
    """Why the value or the bounds are missing, or a warning on bounds that are there; None where all is well."""

    def __post_init__(self):
        numbers = [number for number in (self.low, self.value, self.high) if number is not None]
        if not all(map(math.isfinite, numbers)):
            raise ValueError(f"an estimate is finite or None with a reason: {self!r}")
        if len(numbers) == 2 or (len(numbers) == 1 and self.value is None):
            raise ValueError(f"an estimate has both bounds or none, and none without a value: {self!r}")
        if len(numbers) < 3 and not self.reason:
            raise ValueError(f"an estimate without value or bounds needs a reason: {self!r}")
        if numbers != sorted(numbers):
            raise ValueError(f"the bounds of an estimate enclose its value: {self!r}")

    def marked(self, warning: str) -> "Estimate":
        """The same with a further warning on its bounds; the same where it has none."""
        return self if self.low is None else replace(self, reason=joined(self.reason, warning))

    def for_json(self) -> dict[str, float | str | None]:
        """The fields by name: value, low and high always (None becomes null), reason only when there is one."""
        numbers: dict[str, float | str | None] = {"value": self.value, "low": self.low, "high": self.high}
        return numbers | {"reason": self.reason} if self.reason else numbers


def joined(*reasons: str | None) -> str | None:
    """Those that are given, as one; None where none is."""
    return "; ".join(filter(None, reasons)) or None
