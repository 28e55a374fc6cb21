"""Numbers with their uncertainty: a value with its 95 % interval, and how a standard error becomes one."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Generic, TypeVar

Number = TypeVar("Number", int, float)

UPPER = 0.975
"""Probability below the upper end of a two-sided 95 % interval."""
ROUNDING = 1e-12
"""A standard error of a score below this is rounding, not spread."""


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, or the reason why there is none.

    Raises a `ValueError` where a number is not finite, one bound is there without the other or without a value, the
    bounds do not enclose the value, or something is missing without a reason.
    """

    value: float | None
    """None where nothing could be estimated."""
    low: float | None = None
    """Lower end of the interval, at most `value`."""
    high: float | None = None
    """Upper end of the interval, at least `value`."""
    reason: str | None = None
    """Why the value or the bounds are missing, or a warning on bounds that are there; else None."""

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

    def __str__(self) -> str:
        """The number and its interval, to two digits, such as 0.42 [0.31, 0.55]; a dash where there is no number.

        What rounds to zero has no sign.
        """
        return self.text("{:z.2f}".format)

    def text(self, number: Callable[[float], str], to: str = ", ") -> str:
        """The number and its interval, each as `number` writes it; a dash where there is no number."""
        if self.value is None or self.low is None or self.high is None:
            return "-" if self.value is None else number(self.value)
        return f"{number(self.value)} [{number(self.low)}{to}{number(self.high)}]"

    def marked(self, warning: str) -> "Estimate":
        """A copy with a further warning on its bounds; itself where it has none."""
        return self if self.low is None else replace(self, reason=joined(self.reason, warning))


@dataclass(frozen=True)
class Figure(Generic[Number]):
    """A number without an interval, or the reason why there is none; a `ValueError` with both or neither."""

    value: Number | None
    reason: str | None = None

    def __post_init__(self):
        if (self.value is None) != bool(self.reason):
            raise ValueError(f"a figure has either a value or a reason: {self!r}")


@dataclass(frozen=True)
class Spread:
    """How far an estimate scatters over the data sets that might have been drawn."""

    variance: float
    """In the square of the estimate's unit, at least 0."""
    df: float
    """Degrees of freedom of t with which the variance is known, at least 1."""

    @property
    def error(self) -> float:
        """Standard error, in the estimate's unit."""
        return math.sqrt(self.variance)


def joined(*reasons: str | None) -> str | None:
    """The reasons that are given, as one; None where none is."""
    return "; ".join(filter(None, reasons)) or None


def trial_bounds(theta: float, groups: int) -> tuple[float, float]:
    """Exact binomial (Clopper-Pearson) bounds of one trial a group, all of them 0 or all 1."""
    reach = 1 - (1 - UPPER) ** (1 / groups)
    return (0.0, reach) if theta == 0 else (1 - reach, 1.0)


def logit_bounds(
    value: float, spread: Spread, bounds: tuple[float, float] = (0.0, 1.0), upper: float = UPPER
) -> tuple[float, float]:
    """Bounds of a value inside `bounds`: Student's t on the logit scale of where it lies between them, carried back.

    Between -1 and 1 this is Fisher's z. `upper` is the probability below the upper end, in (0.5, 1).
    """
    least, width = bounds[0], bounds[1] - bounds[0]
    theta = (value - least) / width
    logit = math.log(theta / (1 - theta))
    reach = t_quantile(upper, spread.df) * spread.error / width / (theta * (1 - theta))
    # 1 / (1 + exp(-x)) in a form that cannot overflow.
    low, high = ((1 + math.tanh((logit + sign * reach) / 2)) / 2 for sign in (-1, 1))
    return least + width * low, least + width * high


def plain_bounds(
    value: float, spread: Spread, bounds: tuple[float, float], upper: float = UPPER
) -> tuple[float, float]:
    """Value +- t SE, clipped to `bounds`; `upper` is the probability below the upper end, in (0.5, 1)."""
    reach = t_quantile(upper, spread.df) * spread.error
    return max(bounds[0], value - reach), min(bounds[1], value + reach)


def t_quantile(p: float, df: float) -> float:
    """Quantile of Student's t distribution at p, the probability below it.

    The relative error is below 1e-8 for p from 1e-9 to 1 - 1e-9 and any df from 1 up, whole or not; df = inf gives the
    normal quantile. Raises a `ValueError` where p or df is out of its range.
    """
    if not (0 < p < 1 and df > 0):
        raise ValueError(f"t_quantile needs 0 < p < 1 and df > 0, not p={p!r}, df={df!r}")
    tail = min(p, 1 - p)
    z = -NormalDist().inv_cdf(tail)
    if df <= 1000:
        return math.copysign(_solved(z, tail, df), p - 0.5)
    # Abramowitz & Stegun 1964, 26.7.5: at df = 1000 good to 1e-12 at p = 0.975 and to 1e-8 at p = 1 - 1e-9.
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return math.copysign(z + first / df + second / df**2 + third / df**3, p - 0.5)


def _solved(start: float, tail: float, df: float) -> float:
    """The t >= 0 above which `tail` of the distribution lies, by Newton's method from `start`.

    Above 0 the tail is a convex, falling function of t, so that Newton's method climbs from the normal
    quantile, which is too small, to the solution without passing it.

    With y = t^2 / (df + t^2) the tail is I_{1-y}(df/2, 1/2) / 2 = 1/2 - I_y(1/2, df/2) / 2, I being the regularised
    incomplete beta function, and the factor x^a (1-x)^b / B(a, b) of both is t times the density.
    """
    t, step = start, math.inf
    while step > 1e-12 * (1 + t):
        step = (t_tail(t, df) - tail) / _density(t, df)
        t += step
    return t


def t_tail(t: float, df: float) -> float:
    """Probability above t >= 0 of Student's t distribution with `df` degrees of freedom, in (0, 0.5]."""
    y = t**2 / (df + t**2)
    if y < 3 / (df + 5):  # where this form's series is the shorter one
        return 0.5 - t * _density(t, df) * _beta_series(0.5, df / 2, y)
    return t * _density(t, df) / df * _beta_series(df / 2, 0.5, df / (df + t**2))


def _density(t: float, df: float) -> float:
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    return scale * math.exp(-(df + 1) / 2 * math.log1p(t**2 / df))


def _beta_series(a: float, b: float, x: float) -> float:
    """I_x(a, b) without its factor x^a (1-x)^b / (a B(a, b)): 2F1(a + b, 1; a + 1; x) (DLMF 8.17.8)."""
    total = term = 1.0
    count = 0
    # All terms are positive, so that nothing cancels.
    while term > 1e-18 * total:
        term *= x * (a + b + count) / (a + 1 + count)
        total += term
        count += 1
    return total
