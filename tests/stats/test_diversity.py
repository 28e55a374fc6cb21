"""How varied a set of items is, with numbers that are counted by hand."""

import pytest

from dspy_proact.stats.diversity import Common, Coverage, Lengths, closings, commonest, openings


def test_the_commonest_value_counts_an_item_once_and_an_item_without_values_too():
    names = [["Mia", "Mia", "Tom"], ["Mia"], [], ["Ana", "Tom"]]
    # Mia and Tom are in two of four items each; Mia came first.
    assert commonest(names) == [Common(value="Mia", count=2, total=4)]
    assert commonest(names)[0].share == 0.5
    assert [(value.value, value.count) for value in commonest(names, 3)] == [("Mia", 2), ("Tom", 2), ("Ana", 1)]
    assert commonest([]) == []


def test_openings_and_closings_are_three_words_that_more_than_one_text_has():
    texts = ["Hi there, I need a book", "hi there I wonder", "Thanks a lot", "So, thanks a LOT!", "", "..."]
    assert openings(texts) == [Common(value="hi there i", count=2, total=6)]
    assert closings(texts) == [Common(value="thanks a lot", count=2, total=6)]
    assert openings(["one text"]) == []


def test_lengths_are_in_words_with_their_quartiles():
    # Lengths 1, 2, 3, 4, 5: quartiles 2 and 4, median 3.
    texts = ["a b c", "a", "a b c d e", "a b", "a b c d"]
    assert Lengths.of(texts) == Lengths(count=5, least=1, lower=2, median=3, upper=4, most=5)
    assert Lengths.of(["a b"]) == Lengths(count=1, least=2, lower=2, median=2, upper=2, most=2)
    assert Lengths.of([]) is None


@pytest.fixture
def coverage():
    columns = {"domain": ["health", "money"], "phase": ["one", "two"], "turn": ["1", "2", "3"]}
    rows = [("health", "one", "1"), ("health", "one", "1"), ("money", "one", "3"), ("elsewhere", "two", "2")]
    return Coverage(columns, rows)


def test_coverage_counts_cells_of_all_columns_and_those_that_are_empty(coverage):
    # Of 2 x 2 x 3 cells two hold an item; the last item stands in none.
    assert (coverage.cells, coverage.empty) == (12, 10)


def test_a_table_of_two_columns_counts_items_and_names_its_empty_cells(coverage):
    assert coverage.table("domain", "phase") == [[2, 0], [1, 0]]
    assert coverage.table("phase", "turn") == [[2, 0, 1], [0, 1, 0]]
    assert coverage.empty_cells("domain", "phase") == [("health", "two"), ("money", "two")]
