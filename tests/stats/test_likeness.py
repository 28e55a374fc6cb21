"""Likeness of texts, by their runs of three words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.stats import likeness as module
from dspy_proact.stats.likeness import MOST_PAIRS, grams, likeness, near_duplicates

ONE = "Mia wants to extend a loan"
"""Runs: Mia wants to, wants to extend, to extend a, extend a loan."""


def test_likeness_is_the_share_of_runs_that_both_texts_have():
    # Runs of the other text: Mia wants to, wants to extend, to extend a, extend a card. Three of five.
    assert likeness(ONE, "mia WANTS, to extend a card!") == 3 / 5
    assert likeness(ONE, "Somebody returns two books today") == 0
    assert likeness(ONE, ONE.upper() + "...") == 1


@pytest.mark.parametrize("text", ["", "...", "one", "one two"])
def test_a_text_of_fewer_than_three_words_is_like_itself_alone(text):
    assert len(grams(text)) == 1
    assert likeness(text, text) == 1
    assert likeness(text, f"{text} more than that") == 0


def test_a_language_without_spaces_is_compared_by_characters():
    # 図書館 書館で 館で借 で借り 借りた: the first four stand in the other text, which has one of its own.
    assert likeness("図書館で借りた", "図書館で借りる") == 4 / 6


def test_near_duplicates_are_all_pairs_from_the_bar_on():
    texts = [ONE, "Somebody returns two books today", "mia wants to extend a card", ONE]
    pairs = [(pair.first, pair.second, pair.likeness) for pair in near_duplicates(texts)]
    assert pairs == [(0, 2, 0.6), (0, 3, 1.0), (2, 3, 0.6)]
    assert [(pair.first, pair.second) for pair in near_duplicates(texts, 0.61)] == [(0, 3)]


@given(st.lists(st.text("ab ", max_size=12), max_size=8), st.sampled_from([0.1, 0.5, 1.0]))
def test_near_duplicates_are_those_of_a_comparison_of_all(texts, least):
    pairs = [(i, j) for j in range(len(texts)) for i in range(j) if likeness(texts[i], texts[j]) >= least]
    assert [(pair.first, pair.second) for pair in near_duplicates(texts, least)] == pairs


def test_copies_of_one_text_give_the_first_pairs_up_to_a_limit():
    assert [(pair.first, pair.second) for pair in near_duplicates([ONE] * 4, most=4)] == [
        (0, 1),
        (0, 2),
        (1, 2),
        (0, 3),
    ]
    assert len(near_duplicates([ONE] * 3_000)) == MOST_PAIRS


def test_texts_that_share_a_phrase_of_some_words_are_not_all_compared_with_all(monkeypatch):
    """Of eight runs of each, four have words of its own alone, and by the rarest five it is compared with none."""
    compared = []
    monkeypatch.setattr(module, "overlap", lambda *pair: compared.append(pair) or 0.0)
    texts = [f"Dear reader of ours {' '.join(f'{word}{number}' for word in 'abcdef')}" for number in range(50)]
    near_duplicates(texts)
    assert compared == []
