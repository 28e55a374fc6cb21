"""One grade from several verdicts: the commonest, and the lower one where the commonest tie."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.runs import consensus

ORDER = ("PASS", "PARTIAL", "FAIL")
LETTERS = {"P": "PASS", "A": "PARTIAL", "F": "FAIL"}
GIVEN = st.lists(st.sampled_from(ORDER), min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("given", "grade"),
    [
        # One verdict is the grade.
        ("P", "P"),
        ("A", "A"),
        ("F", "F"),
        # Two that differ tie.
        ("PA", "A"),
        ("PF", "F"),
        ("AF", "F"),
        # A majority wins against better and worse ones.
        ("PPF", "P"),
        ("AAF", "A"),
        ("PAA", "A"),
        ("PFF", "F"),
        ("PPPFF", "P"),
        # The commonest needs no majority.
        ("PPAF", "P"),
        ("PAAF", "A"),
        ("PPPAAFF", "P"),
        # All three tie, and two of them above the third.
        ("PAF", "F"),
        ("PPAAFF", "F"),
        ("PPAAF", "A"),
        ("PPAFF", "F"),
        ("PAAFF", "F"),
    ],
)
def test_the_commonest_grade_and_of_those_that_tie_the_lower(given: str, grade: str):
    assert consensus([LETTERS[letter] for letter in given], ORDER) == LETTERS[grade]


def test_which_label_is_the_lower_is_said_by_their_order():
    assert consensus(["a", "b"], ("a", "b")) == "b"
    assert consensus(["a", "b"], ("b", "a")) == "a"


@given(given=GIVEN, data=st.data())
def test_the_order_of_the_verdicts_does_not_matter(given: list[str], data: st.DataObject):
    assert consensus(data.draw(st.permutations(given)), ORDER) == consensus(given, ORDER)


@given(given=GIVEN)
def test_no_grade_was_given_more_often_and_no_lower_one_as_often(given: list[str]):
    counts, grade = Counter(given), consensus(given, ORDER)
    assert counts[grade] == max(counts.values())
    assert all(counts[lower] < counts[grade] for lower in ORDER[ORDER.index(grade) + 1 :])


@given(given=GIVEN, times=st.integers(1, 4))
def test_saying_everything_as_often_again_changes_nothing(given: list[str], times: int):
    assert consensus(given * times, ORDER) == consensus(given, ORDER)


@given(given=GIVEN, more=st.sampled_from(ORDER))
def test_another_verdict_moves_the_grade_towards_itself_or_not_at_all(given: list[str], more: str):
    assert consensus([*given, more], ORDER) in {consensus(given, ORDER), more}
