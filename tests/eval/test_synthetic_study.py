"""Synthetic studies without a signal, by which false claims are counted."""

from collections import Counter

import pytest
from builders.judges import graded
from support.synthetic_study import LEVELS, permuted_within_phase, rater_kappa, synthetic_items, synthetic_ratings

from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.stats import Panel, improvement


def agreement(levels, ratings):
    items = sorted(graded(ratings), key=lambda entry: entry.key)  # the order of the levels
    panel = Panel.of([[rating.grade for rating in item.grades[""]] for item in items], LEVELS)
    phases, scenarios = [item.case.stratum for item in items], [item.group for item in items]
    return improvement(levels, levels, panel, phases, scenarios, order=list(Phase)).overall.before.value


def levels_with(cuts, items):
    return [sum(item.step.strength >= cut for cut in cuts) for item in items]


def test_permuted_labels_are_the_same_labels_and_say_nothing():
    items = synthetic_items(0, 2000)
    ratings = synthetic_ratings(0, items)
    permuted = permuted_within_phase(ratings, 0)
    assert permuted.items == ratings.items
    assert permuted == permuted_within_phase(ratings, 0)
    phase = {item.item.key: item.item.stratum for item in items}
    grades = [Counter((phase[row.key], row.grade) for row in study.grades) for study in (ratings, permuted)]
    assert grades[0] == grades[1]
    assert {len(rating) for rating in permuted.by_item.values()} == {3}
    assert rater_kappa(permuted) == pytest.approx(rater_kappa(ratings))
    assert abs(agreement(levels_with((0.675, 0.95), items), permuted)) < 0.07
