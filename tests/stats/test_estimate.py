import dataclasses
import json
import math

import pytest

from dspy_proact.stats import Estimate


def test_json_has_the_three_numbers_always_and_the_reason_only_when_there_is_one():
    assert Estimate(0.5, 0.25, 0.75).for_json() == {"value": 0.5, "low": 0.25, "high": 0.75}
    nothing = {"value": None, "low": None, "high": None, "reason": "no scores"}
    assert Estimate(None, reason="no scores").for_json() == nothing
    assert json.loads(json.dumps(nothing, allow_nan=False)) == nothing


def test_a_warning_stands_beside_bounds():
    assert Estimate(0.0, 0.0, 0.8, "all grades equal").for_json()["reason"] == "all grades equal"


def test_an_estimate_does_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Estimate(0.5, 0.25, 0.75).value = 0.6  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", ["value", "low", "high"])
def test_nothing_in_an_estimate_is_nan_or_infinite(bad: float, place: str):
    numbers = {"value": 0.5, "low": 0.25, "high": 0.75} | {place: bad}
    with pytest.raises(ValueError, match="finite"):
        Estimate(**numbers, reason="a reason mends nothing")


@pytest.mark.parametrize(
    ("value", "low", "high"), [(0.5, 0.25, None), (0.5, None, 0.75), (None, 0.25, 0.75), (None, 0.25, None)]
)
def test_bounds_are_both_there_or_both_missing_and_never_without_a_value(
    value: float | None, low: float | None, high: float | None
):
    with pytest.raises(ValueError, match="both bounds or none"):
        Estimate(value, low, high, "a reason mends nothing")


@pytest.mark.parametrize("value", [None, 0.5])
@pytest.mark.parametrize("reason", [None, ""])
def test_what_is_missing_has_a_reason(value: float | None, reason: str | None):
    with pytest.raises(ValueError, match="needs a reason"):
        Estimate(value, reason=reason)


@pytest.mark.parametrize("value", [0.2, 0.8])
def test_the_bounds_enclose_the_value(value: float):
    with pytest.raises(ValueError, match="enclose"):
        Estimate(value, 0.25, 0.75)
    assert Estimate(0.25, 0.25, 0.25).low == 0.25


def test_a_mark_is_added_to_what_is_said_already_and_only_where_there_are_bounds():
    assert Estimate(0.5, 0.2, 0.9).marked("wide") == Estimate(0.5, 0.2, 0.9, "wide")
    assert Estimate(0.5, 0.2, 0.9, "few").marked("wide") == Estimate(0.5, 0.2, 0.9, "few; wide")
    assert Estimate(0.5, reason="one").marked("wide") == Estimate(0.5, reason="one")
