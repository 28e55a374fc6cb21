import pytest
from dspy_proact.stats.slates import slates

LABELS = ["FAIL", "PARTIAL", "PASS"]


def test_each_person_has_own_labels_beside_the_others():
    ann, bob = slates([["PASS", "FAIL"], [], ["PARTIAL"]], [["ann", "bob"], [], ["ann"]], LABELS)
    assert (ann.rater, ann.items.tolist()) == ("ann", [0, 2])
    assert ann.own.tolist() == [[0, 0, 1], [0, 1, 0]]
    assert ann.others.tolist() == [[1, 0, 0], [0, 0, 0]]
    assert ann.shared.tolist() == [True, False]
    assert (bob.rater, bob.items.tolist(), bob.others.tolist()) == ("bob", [0], [[0, 0, 1]])
    assert slates([], [], LABELS) == []


@pytest.mark.parametrize(
    ("ratings", "raters", "message"),
    [
        ([["PASS"]], [["ann", "bob"]], "one rater a rating"),
        ([["PASS"]], [], "one rater a rating"),
        ([["PASS", "FAIL"]], [["ann", "ann"]], "rates an item once"),
    ],
)
def test_raters_and_ratings_must_align(ratings: list[list[str]], raters: list[list[str]], message: str):
    with pytest.raises(ValueError, match=message):
        slates(ratings, raters, LABELS)
