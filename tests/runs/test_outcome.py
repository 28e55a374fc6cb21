"""One grade from several verdicts: the commonest, ties to the lower; of a compiled judge by its cuts."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.runs import consensus, cut_label

ORDER = ("PASS", "PARTIAL", "FAIL")
LETTERS = {"P": "PASS", "A": "PARTIAL", "F": "FAIL"}
GIVEN = st.lists(st.sampled_from(ORDER), min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("given", "grade"),
    [
        ("A", "A"),  # one verdict is the grade
        ("PA", "A"),  # two that differ tie
        ("PPF", "P"),  # a majority wins against better and worse ones
        ("PAAF", "A"),  # the commonest needs no majority
        ("PPAAF", "A"),  # two tie above the third
        ("PAF", "F"),  # all three tie
    ],
)
def test_the_commonest_grade_and_of_those_that_tie_the_lower(given: str, grade: str):
    assert consensus([LETTERS[letter] for letter in given], ORDER) == LETTERS[grade]


@given(given=GIVEN)
def test_no_grade_was_given_more_often_and_no_lower_one_as_often(given: list[str]):
    counts, grade = Counter(given), consensus(given, ORDER)
    assert counts[grade] == max(counts.values())
    assert all(counts[lower] < counts[grade] for lower in ORDER[ORDER.index(grade) + 1 :])


@pytest.mark.parametrize(
    ("given", "cuts", "grade"),
    [
        # Levels 2, 1 and 0: the mean of PPA is 5/3, that of PAA 4/3, that of PFF 2/3.
        ("PPA", (0.5, 1.5), "P"),
        ("PAA", (0.5, 1.5), "A"),
        # Nobody said PARTIAL.
        ("PFF", (0.5, 1.5), "A"),
        ("PFF", (0.7, 1.5), "F"),
        ("PFF", (0.2, 0.6), "P"),
        # On a cut is above it: 3/2, and 1.
        ("PA", (0.5, 1.5), "P"),
        ("A", (1.0, 1.5), "A"),
    ],
)
def test_cuts_on_the_mean_level_make_the_grade(given: str, cuts: tuple[float, float], grade: str):
    assert cut_label([LETTERS[letter] for letter in given], ORDER, cuts) == LETTERS[grade]
