import pytest

from dspy_proact.stats.tally import cross_tables, tally


def test_ratings_are_counted_by_label():
    assert tally([["b", "a", "b"], [], ["c"]], "abc").tolist() == [[1, 2, 0], [0, 0, 0], [0, 0, 1]]
    assert tally([], "abc").shape == (0, 3)


def test_two_gradings_meet_in_one_cell_an_item():
    assert cross_tables(["a", "b"], ["b", "b"], "ab").tolist() == [[[0, 1], [0, 0]], [[0, 0], [0, 1]]]
    assert cross_tables([], [], "ab").shape == (0, 2, 2)


@pytest.mark.parametrize(("ratings", "labels"), [([["d"]], "abc"), ([["a"]], "aab")])
def test_labels_must_name_every_rating_once(ratings: list[list[str]], labels: str):
    with pytest.raises(ValueError, match="every rating once"):
        tally(ratings, labels)


def test_two_gradings_must_align():
    with pytest.raises(ValueError, match="same items"):
        cross_tables(["a"], [], "a")
