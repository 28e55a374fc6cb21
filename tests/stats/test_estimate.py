"""Values with intervals, figures without, and the quantiles of Student's t."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.report.numbers import document
from dspy_proact.stats import Estimate, Figure
from dspy_proact.stats.estimate import t_quantile

# To six decimals, as scipy 1.17 prints stats.t.ppf; the 0.975 and 0.995 columns of whole degrees of
# freedom are those of every printed table (12.706, 3.182, 2.365, 2.064, 1.980, ...).
TABLE = {
    1: (1.376382, 12.706205, 63.656741),
    1.5: (1.153364, 6.016663, 17.820311),
    2.5: (1.010164, 3.574655, 7.163728),
    3: (0.978472, 3.182446, 5.840909),
    7: (0.896030, 2.364624, 3.499483),
    24: (0.856855, 2.063899, 2.796940),
    120: (0.844627, 1.979930, 2.617421),
    1e6: (0.841622, 1.959966, 2.575834),
}
law = settings(deadline=None)
upper_half = st.floats(0.5, 0.99)


def test_json_has_the_three_numbers_always_and_the_reason_only_when_there_is_one():
    assert document(Estimate(0.5, 0.25, 0.75)) == {"value": 0.5, "low": 0.25, "high": 0.75}
    nothing = {"value": None, "low": None, "high": None, "reason": "no scores"}
    assert document(Estimate(None, reason="no scores")) == nothing


def test_what_rounds_to_zero_has_no_sign():
    assert str(Estimate(-0.001, -0.004, 0.004)) == "0.00 [0.00, 0.00]"


@pytest.mark.parametrize(
    ("numbers", "reason", "message"),
    [
        *(((0.5, 0.25, bad), "mends nothing", "finite") for bad in (math.nan, math.inf)),
        ((math.nan, 0.25, 0.75), "mends nothing", "finite"),
        ((0.5, 0.25, None), "mends nothing", "both bounds or none"),
        ((0.5, None, 0.75), "mends nothing", "both bounds or none"),
        ((None, 0.25, 0.75), "mends nothing", "both bounds or none"),
        ((None, 0.25, None), "mends nothing", "both bounds or none"),
        ((0.5, None, None), None, "needs a reason"),
        ((None, None, None), "", "needs a reason"),
        ((0.2, 0.25, 0.75), None, "enclose"),
        ((0.8, 0.25, 0.75), None, "enclose"),
    ],
)
def test_an_estimate_keeps_its_promises(numbers: tuple[float, float, float], reason: str | None, message: str):
    with pytest.raises(ValueError, match=message):
        Estimate(*numbers, reason)


def test_a_mark_is_added_to_what_is_said_already_and_only_where_there_are_bounds():
    assert Estimate(0.5, 0.2, 0.9).marked("wide") == Estimate(0.5, 0.2, 0.9, "wide")
    assert Estimate(0.5, 0.2, 0.9, "few").marked("wide") == Estimate(0.5, 0.2, 0.9, "few; wide")
    assert Estimate(0.5, reason="one").marked("wide") == Estimate(0.5, reason="one")


@pytest.mark.parametrize(("value", "reason"), [(None, None), (None, ""), (1, "a reason")])
def test_a_figure_has_either_a_value_or_a_reason(value: int | None, reason: str | None):
    with pytest.raises(ValueError, match="either a value or a reason"):
        Figure(value, reason)


# Student's t.


@pytest.mark.parametrize("df", TABLE)
@pytest.mark.parametrize(("column", "p"), [(0, 0.8), (1, 0.975), (2, 0.995)])
def test_quantiles_are_the_printed_ones(df: float, column: int, p: float):
    assert t_quantile(p, df) == pytest.approx(TABLE[df][column], abs=1e-6)


@pytest.mark.parametrize("p", [1e-9, 0.001, 0.025, 0.3, 0.6, 0.9, 0.975, 0.999999])
def test_one_and_two_degrees_of_freedom_have_closed_forms(p: float):
    # df = 1 is the Cauchy distribution: -cot(pi p). df = 2: (2p - 1) / sqrt(2 p (1 - p)).
    assert t_quantile(p, 1) == pytest.approx(-1 / math.tan(math.pi * p), rel=1e-9)
    assert t_quantile(p, 2) == pytest.approx((2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-9)


@pytest.mark.parametrize(("p", "error"), [(0.6, 1e-11), (0.975, 1e-11), (1 - 1e-9, 1e-8)])
def test_the_methods_for_few_and_many_degrees_of_freedom_meet(p: float, error: float):
    assert t_quantile(p, 1000) == pytest.approx(t_quantile(p, math.nextafter(1000, math.inf)), rel=error)


@law
@given(upper_half, st.floats(1, 1e6))
def test_quantiles_are_symmetric_about_zero_and_fall_towards_the_normal_one(p: float, df: float):
    assert t_quantile(0.5, df) == 0
    assert t_quantile(1 - p, df) == pytest.approx(-t_quantile(p, df), abs=1e-9)
    assert t_quantile(p, df) >= t_quantile(p, 2 * df) >= t_quantile(p, math.inf)
