import math
from statistics import NormalDist


def t_quantile(p: float, df: float) -> float:
    """Quantile of Student's t distribution.

    Relative error below 1e-8 for p from 1e-9 to 1 - 1e-9 and any df from 1 up, whole or not; below
    df = 1 the quantile grows without limit and the error with it.

    Args:
        p: Probability below the quantile, in (0, 1).
        df: Degrees of freedom, above 0; inf gives the normal quantile.

    Returns:
        The quantile: below 0 for p < 0.5, above 0 for p > 0.5, 0 at p = 0.5.

    Raises:
        ValueError: p or df is out of its range.
        ArithmeticError: The quantile's square is too large for a float (df far below 1).
    """
    if not (0 < p < 1 and df > 0):
        raise ValueError(f"t_quantile needs 0 < p < 1 and df > 0, not p={p!r}, df={df!r}")
    tail = min(p, 1 - p)
    z = -NormalDist().inv_cdf(tail)
    # At df = 1000 the expansion is good to 1e-12 at p = 0.975 and to 1e-8 at p = 1 - 1e-9.
    return math.copysign(_expanded(z, df) if df > 1000 else _solved(z, tail, df), p - 0.5)


def _expanded(z: float, df: float) -> float:
    """Quantile from the normal quantile `z`, for large `df` (Abramowitz & Stegun 1964, 26.7.5)."""
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / df + second / df**2 + third / df**3


def _solved(start: float, tail: float, df: float) -> float:
    """The t >= 0 above which `tail` of the distribution lies, by Newton's method from `start`.

    Above 0 the tail is a convex, falling function of t, so that Newton's method climbs from the normal
    quantile, which is too small, to the solution without passing it.
    """
    t, step = start, math.inf
    while step > 1e-12 * (1 + t):
        density = _density(t, df)
        step = (_upper_tail(t, density, df) - tail) / density
        t += step
    return t


def _density(t: float, df: float) -> float:
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    return scale * math.exp(-(df + 1) / 2 * math.log1p(t**2 / df))


def _upper_tail(t: float, density: float, df: float) -> float:
    """Share of the distribution above `t` >= 0, from the regularised incomplete beta function I.

    With y = t^2 / (df + t^2) it is I_{1-y}(df/2, 1/2) / 2 = 1/2 - I_y(1/2, df/2) / 2, and the factor
    x^a (1-x)^b / B(a, b) of both is t times the density. The form whose series is the shorter is used.
    """
    y = t**2 / (df + t**2)
    if y < 3 / (df + 5):
        return 0.5 - t * density * _beta_series(0.5, df / 2, y)
    return t * density / df * _beta_series(df / 2, 0.5, df / (df + t**2))


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
