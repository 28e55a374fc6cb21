import numpy as np
import pytest
from dspy_proact.stats.panel import commonest, shares

from dspy_proact.stats import Panel

LABELS = ["F", "P", "+"]
PANEL = Panel.of([["F", "+"], ["P"], []], LABELS, [["ann", "bob"], ["bob"], []])


def test_parts_and_what_each_rating_changes_in_them_by_hand():
    parts, changes = PANEL.parts(lambda counts, _: shares(counts))
    assert parts.tolist() == [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 0]]
    assert changes is not None
    # Without Ann's F the first item is all +, without Bob's + all F; without Bob's P the second has none.
    assert changes.parts.tolist() == [[-0.5, 0, 0.5], [0.5, 0, -0.5], [0, -1, 0]]
    assert (changes.items.tolist(), changes.raters.tolist()) == ([0, 0, 1], [0, 1, 1])


def test_parts_know_of_which_item_they_are():
    weights = np.array([[1.0], [10.0], [100.0]])
    parts, changes = PANEL.parts(lambda counts, at: counts * weights[at])
    assert parts.sum() == 1 + 1 + 10
    assert changes is not None
    assert changes.parts.sum(axis=1).tolist() == [-1, -1, -10]


def test_some_items_keep_their_ratings():
    some = PANEL.where(np.array([False, True, True]))
    assert (some.counts.tolist(), some.items.tolist(), some.people) == ([[0, 1, 0], [0, 0, 0]], [0], 1)
    assert PANEL.people == 2


def test_without_raters_nothing_can_be_left_out():
    unknown = Panel.of([["F", "+"]], LABELS)
    assert unknown.people is None
    assert unknown.parts(lambda counts, _: counts)[1] is None
    assert unknown.where(np.array([True])).raters is None


def test_the_commonest_label_is_the_first_of_those_that_tie():
    counts = np.array([[1, 0, 1], [2, 1, 2], [0, 0, 3], [0, 0, 0]], dtype=float)
    assert commonest(counts, [1, 2, 0]).tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_what_does_not_align_is_refused():
    with pytest.raises(ValueError, match="one rater a rating"):
        Panel.of([["F", "+"]], LABELS, [["ann"]])
    with pytest.raises(ValueError, match="rates an item once"):
        Panel.of([["F", "+"]], LABELS, [["ann", "ann"]])
