import pytest

from dspy_proact.stats import Discordant, discordant


def test_pairs_are_counted_by_who_passed():
    a = [True, True, True, False, False, False]
    b = [True, True, False, True, False, False]
    assert discordant(a, b) == Discordant(both=2, only_a=1, only_b=1, neither=2)
    assert discordant(b, b) == Discordant(both=3, only_a=0, only_b=0, neither=3)
    assert discordant([], []) == Discordant(0, 0, 0, 0)


def test_exchanging_the_runs_exchanges_the_discordant_counts():
    assert discordant([True, True, False], [False, False, True]) == Discordant(0, 2, 1, 0)
    assert discordant([False, False, True], [True, True, False]) == Discordant(0, 1, 2, 0)


def test_runs_of_other_triggers_are_refused():
    with pytest.raises(ValueError, match="same cases: 1 and 2 differ"):
        discordant([True], [True, False])
