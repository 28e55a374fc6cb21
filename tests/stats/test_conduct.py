"""How a rater rated, in numbers."""

import pytest

from dspy_proact.stats import Panel, cluster_mean
from dspy_proact.stats.conduct import conducts


def test_whom_a_rater_is_beside_is_no_change_of_their_own():
    # All see alike. Ann is beside Bob first and beside Cleo, who is a level lower on every item, later.
    level = [1, 2] * 10
    ratings = [[label, label - (number >= 10)] for number, label in enumerate(level)]
    people = [["Ann", "Cleo" if number >= 10 else "Bob"] for number in range(20)]
    by_name = conducts(Panel.of(ratings, [0, 1, 2], people), range(40), range(20))
    assert by_name["Ann"].change == pytest.approx(0)


def test_numbers_are_of_the_others_on_the_same_items():
    # Ann gives 0, 0; Bob 0, 1; Cleo 1, 1: Ann is as Bob once of two, as Cleo never.
    people = ["Ann", "Bob", "Cleo"]
    ann = conducts(Panel.of([[0, 0, 1], [0, 1, 1]], [0, 1], [people] * 2), range(6), "ab")["Ann"]
    assert (ann.shares, ann.agreement.value) == ((1, 0), 0.25)
    # Above the others by 0 - .5 on the first item, and by 0 - 1 on the second.
    assert ann.change == pytest.approx(-0.5)
    alone = conducts(Panel.of([[0], [1]], [0, 1], [["Ann"], ["Ann"]]), range(2), "ab")["Ann"]
    assert (alone.shares, alone.agreement.value, alone.change) == ((0.5, 0.5), None, None)
    assert alone.agreement.reason == "no item with two ratings"


def test_the_order_is_that_in_which_ratings_were_given_and_the_interval_that_of_the_groups():
    # Of 40 items Bob gives 0 always; Ann 0 to the last 20 in the panel, which she rated first, and then 1.
    ratings = [[int(number < 20), 0] for number in range(40)]
    groups = [number // 4 for number in range(40)]
    by_name = conducts(Panel.of(ratings, [0, 1], [["Ann", "Bob"]] * 40), [-number for number in range(80)], groups)
    assert (by_name["Ann"].change, by_name["Bob"].change) == (pytest.approx(1), pytest.approx(-1))
    assert by_name["Ann"].agreement == cluster_mean([float(number >= 20) for number in range(40)], groups)
