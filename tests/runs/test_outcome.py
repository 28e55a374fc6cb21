"""One grade from several verdicts: the commonest, ties to the lower; of a compiled judge by its cuts."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.runs import majority_label

ORDER = ("PASS", "PARTIAL", "FAIL")
INPUTS = st.lists(st.sampled_from(ORDER), min_size=1, max_size=9)


@given(inputs=INPUTS)
def test_no_grade_was_given_more_often_and_no_lower_one_as_often(inputs: list[str]):
    counts, grade = Counter(inputs), majority_label(inputs, ORDER)
    assert counts[grade] == max(counts.values())
    assert all(counts[lower] < counts[grade] for lower in ORDER[ORDER.index(grade) + 1 :])
