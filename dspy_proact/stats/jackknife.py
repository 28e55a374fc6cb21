import math
from collections.abc import Sequence

from dspy_proact.stats.cluster import ROUNDING, UPPER
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.student import t_quantile


def jackknife(
    value: float, left_out: Sequence[float | None], df: float, *, unit: str, bounds: tuple[float, float] = (-1, 1)
) -> Estimate:
    """A statistic with its delete-one-unit jackknife interval, clipped to the statistic's range.

    SE^2 = (n - 1) / n sum (left_out_i - value)^2, and the bounds are value +- t SE (Efron & Tibshirani 1993, 11).

    Silence is decided as follows, always without bounds. One unit, or a statistic that is undefined without
    one of them: it rests on that unit. The same without any: there is no spread to estimate.

    Args:
        value: The statistic of all units.
        left_out: The statistic without each unit in turn; None where it is undefined.
        df: Degrees of freedom of t: n - 1 for units of equal weight.
        unit: What a unit is called, in the reasons.
        bounds: The least and the greatest value that the statistic can have.
    """
    defined = [other for other in left_out if other is not None]
    if len(defined) < len(left_out) or len(left_out) < 2:
        return Estimate(value, reason=f"rests on one {unit}")
    error = math.sqrt((len(defined) - 1) / len(defined) * sum((other - value) ** 2 for other in defined))
    if error < ROUNDING:
        return Estimate(value, reason=f"the same without any {unit}")
    reach = t_quantile(UPPER, df) * error
    return Estimate(value, max(bounds[0], value - reach), min(bounds[1], value + reach))
