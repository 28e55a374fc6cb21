"""Ready-made scorers: their ranges, and what they say at the edges."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.scorers import contains, json_fields, number, regex


@pytest.mark.parametrize(
    ("text", "expected", "score"),
    [
        ("We call you\ntomorrow  at NINE.", ("tomorrow at nine",), 1.0),
        ("We call you tomorrow.", ("tomorrow", "nine"), 0.5),
        ("unhappy", ("happy",), 1.0),
        ("Straße", ("STRASSE",), 1.0),
        ("", ("x",), 0.0),
    ],
)
def test_contains_is_the_share_of_texts_that_occur(text, expected, score):
    assert contains(text, *expected) == score


def test_contains_minds_case_if_it_is_told_to():
    assert (contains("Nine", "nine"), contains("Nine", "nine", match_case=True)) == (1.0, 0.0)


@pytest.mark.parametrize("expected", [(), ("",), ("x", " \n")])
def test_contains_refuses_what_could_not_be_missed(expected):
    with pytest.raises(ValueError, match="none of them blank"):
        contains("text", *expected)


def test_regex_matches_anywhere_and_refuses_no_pattern_of_re():
    assert [regex(text, r"\b\d may", re.IGNORECASE) for text in ("on 3 May", "on 3 may", "on A3 may")] == [1, 1, 0]
    assert [regex("two", r"\A\d\Z"), regex("", "x*"), regex("", "x"), regex("3 May", "may")] == [0, 1, 0, 0]
    with pytest.raises(re.error):
        regex("text", "(")


@pytest.mark.parametrize(
    ("text", "expected", "score"),
    [
        ('{"a": 1, "b": [1.0, {"c": null}], "more": 0}', {"a": 1.0, "b": [1, {"c": None}]}, 1.0),
        ('```json\n{"a": 1, "b": 2}\n```', {"a": 1, "b": 3}, 0.5),
        ('{"a": true}', {"a": 1}, 0.0),
        ('{"a": [true]}', {"a": [1]}, 0.0),
        ('{"a": "1"}', {"a": 1}, 0.0),
        ('{"a": {"b": 1, "c": 2}}', {"a": {"b": 1}}, 0.0),
        ("{}", None, 1.0),
        ("{}", {}, 1.0),
        ("{}", {"a": None}, 0.0),
        ("[1]", None, 0.0),
        ('Here: {"a": 1}', None, 0.0),
        ('{"a": 1, "a": 2}', None, 0.0),
        ('{"a": NaN}', None, 0.0),
        ("[" * 100_000, None, 0.0),
        ('{"a": ' * 600 + "1" + "}" * 600, {"a": 1}, 0.0),
        ("", None, 0.0),
    ],
)
def test_json_fields_is_the_share_of_fields_with_equal_values(text, expected, score):
    assert json_fields(text, expected) == score


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3 and 4 make 7.", 7),
        ("It costs 1,234.50 dollars", 1234.5),
        ("Das kostet 1.234,50 Euro", 1234.5),
        ("Das kostet 3,50 €", 3.5),
        ("1'234", 1234),
        ("1,234", 1234),
        ("1.234", 1.234),
        ("12,3456", 12.3456),
        ("about .5", 0.5),
        ("\u22124 degrees", -4),
        ("10-12", 12),
        ("6.02e23 of them", 6.02e23),
        ("37%, on A4", 37),
        ("the 3rd", 3),
        ("21km", 21),
    ],
)
def test_number_is_about_the_last_number(text, value):
    assert (number(text, value), number(text, 2 * value + 1)) == (1.0, 0.0)


def test_number_keeps_to_its_tolerance_and_refuses_what_cannot_be_met():
    assert [number("9.5", 10, tolerance) for tolerance in (0.0, 0.4, 0.5)] == [0.0, 0.0, 1.0]
    assert (number("no number, on A4", 4), number("0.3", 0.1 + 0.2)) == (0.0, 1.0)
    for wrong in ((math.nan, 0), (math.inf, 0), (1, -1), (1, math.nan)):
        with pytest.raises(ValueError, match="a finite number"):
            number("1", *wrong)


@given(st.text(), st.text())
def test_every_text_has_a_score_from_0_to_1(text, expected):
    for score in (json_fields(text, {"a": expected}), number(text, 1.0), regex(text, re.escape(expected))):
        assert 0 <= score <= 1


@given(st.integers(-(10**12), 10**12), st.sampled_from(["{}", "{:,}", "It is {}.", "{:+,}"]))
def test_a_whole_number_is_read_as_it_is_written(value, form):
    assert number(form.format(value), value) == 1.0
