import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import majority, ordinal_agreement, soft_labels

LABELS = ["FAIL", "PARTIAL", "PASS"]
TIES = ["PARTIAL", "PASS", "FAIL"]
item = st.lists(st.sampled_from(LABELS), min_size=1, max_size=6)


def test_a_soft_label_is_the_share_of_each_grade():
    labels = soft_labels([["PASS", "FAIL", "PASS", "PASS"], ["PARTIAL"]], LABELS)
    assert labels.tolist() == [[0.25, 0, 0.75], [0, 1, 0]]
    assert soft_labels([], LABELS).shape == (0, 3)


def test_an_item_without_ratings_has_no_soft_label():
    with pytest.raises(ValueError, match="leave it out"):
        soft_labels([["PASS"], []], LABELS)


@pytest.mark.parametrize(
    ("ratings", "label"),
    [
        (["PASS", "PASS", "FAIL"], "PASS"),
        (["FAIL", "FAIL", "PARTIAL", "PASS"], "FAIL"),
        (["PASS", "PARTIAL"], "PARTIAL"),
        (["FAIL", "PASS"], "PASS"),
        (["FAIL", "PARTIAL", "PASS"], "PARTIAL"),
        (["FAIL"], "FAIL"),
        ([], None),
    ],
)
def test_the_majority_breaks_ties_as_stated(ratings: list[str], label: str | None):
    assert majority(ratings, TIES) == label


@pytest.mark.parametrize("ties", [["PASS"], ["PASS", "PASS", "FAIL"]])
def test_ties_must_name_every_rating_once(ties: list[str]):
    with pytest.raises(ValueError, match="every rating once"):
        majority(["PASS", "FAIL"], ties)


def test_ordinal_agreement_by_hand():
    # Level 0 of (.5, .25, .25): 1 - (0 + .25 + .5) / 2. Level 1: 1 - (.5 + .25) / 2. Level 2: 1 - (1 + .25) / 2.
    soft = [[0.5, 0.25, 0.25]] * 3
    assert ordinal_agreement([0, 1, 2], soft).tolist() == [0.625, 0.625, 0.375]
    assert ordinal_agreement([], []).shape == (0,)


@pytest.mark.parametrize("levels", [[3], [-1], [0.5], [float("nan")], [0, 1], [[0]]])
def test_a_level_is_one_of_three(levels: list[float]):
    with pytest.raises(ValueError, match="level of 0, 1 or 2"):
        ordinal_agreement(levels, [[1, 0, 0]])


@pytest.mark.parametrize("soft", [[[0.5, 0.5, 0.5]], [[1.5, -0.5, 0]], [[float("nan")] * 3], [[1, 0]], [1, 0, 0]])
def test_a_soft_label_is_a_distribution_over_three(soft: list[list[float]]):
    with pytest.raises(ValueError, match="a soft label"):
        ordinal_agreement([0], soft)


@settings(deadline=None)
@given(item, st.randoms())
def test_ratings_of_an_item_have_no_order(ratings: list[str], random):
    shuffled = random.sample(ratings, len(ratings))
    assert majority(shuffled, TIES) == majority(ratings, TIES)
    assert np.array_equal(soft_labels([shuffled], LABELS), soft_labels([ratings], LABELS))


@settings(deadline=None)
@given(item)
def test_the_majority_has_the_largest_share(ratings: list[str]):
    shares = soft_labels([ratings], LABELS)[0]
    assert shares[LABELS.index(str(majority(ratings, TIES)))] == shares.max()
