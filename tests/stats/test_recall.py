import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import Estimate, cluster_mean, recall

LABELS = ["FAIL", "PARTIAL", "PASS"]
rows = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS), st.integers(0, 5)))


def test_only_items_with_the_label_in_the_reference_count():
    reference = ["PASS", "PASS", "PASS", "FAIL", "FAIL", "PARTIAL"]
    grading = ["PASS", "FAIL", "PASS", "FAIL", "PASS", "PASS"]
    groups = list("ABCABC")
    assert recall("PASS", grading, reference, groups) == cluster_mean([1, 0, 1], list("ABC"))
    assert recall("PASS", grading, reference, groups).value == pytest.approx(2 / 3)
    assert recall("FAIL", grading, reference, groups).value == 0.5
    assert recall("PARTIAL", grading, reference, groups) == Estimate(0, reason="one group")


@pytest.mark.parametrize("reference", [[], ["FAIL"]])
def test_a_label_that_the_reference_lacks_has_no_recall(reference: list[str]):
    silent = recall("PASS", reference, reference, reference)
    assert silent == Estimate(None, reason="no PASS in the reference")


def test_gradings_and_scenarios_must_align():
    with pytest.raises(ValueError, match="two gradings an item"):
        recall("PASS", ["PASS"], [], [0])


@settings(deadline=None, max_examples=25)
@given(rows)
def test_recalls_weighted_by_the_reference_are_exact_agreement(table: list[tuple[str, str, int]]):
    grading, reference, groups = ([row[column] for row in table] for column in range(3))
    found = sum((recall(label, grading, reference, groups).value or 0) * reference.count(label) for label in LABELS)
    assert found == pytest.approx(sum(given == wanted for given, wanted in zip(grading, reference, strict=True)))
