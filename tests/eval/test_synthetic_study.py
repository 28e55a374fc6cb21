"""Synthetic studies: their laws, and that demos can teach the embedded judge their rule."""

import re
from collections import Counter

import dspy
import pytest
from builders.judges import graded
from support.synthetic_study import (
    LADDER,
    LEVELS,
    permuted_within_phase,
    rater_kappa,
    synthetic_items,
    synthetic_ratings,
)

from dspy_proact.benchmarks.proactbench.programs import JUDGE, Judge
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.models import Gate, open_model
from dspy_proact.stats import Panel, improvement


def verdict_of(judge, item):
    with dspy.context(lm=open_model("embedded", JUDGE, Gate()).lm):
        return judge(
            conversation=list(item.view.conversation),
            rubric=item.view.rubric,
            response=item.text,
        )


def agreement(levels, ratings):
    items = sorted(graded(ratings), key=lambda entry: entry.key)  # the order of the levels
    panel = Panel.of([[rating.grade for rating in item.grades[""]] for item in items], LEVELS)
    phases, scenarios = [item.case.stratum for item in items], [item.group for item in items]
    return improvement(levels, levels, panel, phases, scenarios, order=list(Phase)).overall.before.value


def levels_with(cuts, items):
    return [sum(item.step.strength >= cut for cut in cuts) for item in items]


def one_per_step(items):
    return list({item.step: item for item in items}.values())


def test_a_person_is_off_by_one_grade_at_most():
    items = synthetic_items(0)
    truth = {item.item.key: LEVELS.index(item.step.grade) for item in items}
    off = Counter(abs(LEVELS.index(grade.grade) - truth[grade.key]) for grade in synthetic_ratings(0, items).grades)
    assert set(off) == {0, 1}
    # One in five of 600, give or take three standard errors of 10.
    assert 90 < off[1] < 150


def test_the_embedded_judge_measures_the_strength_that_the_rule_rests_on():
    items = one_per_step(synthetic_items(0))
    assert {entry.step for entry in items} == set(LADDER)
    for item in items:
        result = re.search(r"strength (\d\.\d\d)", verdict_of(Judge(), item.item).reasoning)
        assert float(result.group(1)) == pytest.approx(item.step.strength, abs=0.0051)


def test_with_the_cuts_of_people_the_judge_agrees_better_than_with_its_own():
    items = synthetic_items(0, 1000)
    ratings = synthetic_ratings(0, items)
    own, people = (agreement(levels_with(cuts, items), ratings) for cuts in ((0.45, 0.75), (0.675, 0.95)))
    assert own < 0.55
    assert people > 0.75
    assert levels_with((0.675, 0.95), items) == [LEVELS.index(item.step.grade) for item in items]


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
