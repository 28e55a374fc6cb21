"""The metric: agreement with people beyond what a constant answer earns. Each number is worked by hand."""

from itertools import combinations_with_replacement

import dspy
import pytest
from dspy_proact.benchmarks.proactbench.compile.judge.labels import Labelled
from dspy_proact.benchmarks.proactbench.compile.judge.metric import AgreementMetric
from dspy_proact.benchmarks.proactbench.compile.judge.training import PROPOSAL, JudgeTraining
from hypothesis import given
from hypothesis import strategies as st
from tuning import QUOTE, item

from dspy_proact.benchmarks.proactbench.programs import Judge
from dspy_proact.benchmarks.proactbench.types import Grade, Phase, Rating

P, H, F = Grade.PASS, Grade.PARTIAL, Grade.FAIL
CRITERION = "Plans the move"
"""Stands in every rubric."""


def rated(number: int, *grades: Grade, phase: Phase = Phase.EMERGENT, reasons: tuple[str, ...] = ()) -> Labelled:
    of = item(number, number % 4, phase)
    told = reasons or ("",) * len(grades)
    ratings = [
        Rating(item=of.key, annotator=f"r{place}", grade=grade, confidence=3, reason=reason)
        for place, (grade, reason) in enumerate(zip(grades, told, strict=True))
    ]
    assert of.view is not None
    return Labelled(of.key, phase, of.scenario, of.persona, of.view, str(of.response), tuple(ratings))


def said(grade: Grade, *quotes: str) -> dspy.Prediction:
    return dspy.Prediction(reasoning="because so", evidence=list(quotes), grade=str(grade))


def training(items: list[Labelled]) -> JudgeTraining:
    """A training set of these items, whose models nobody asks."""
    lm = dspy.LM("openai/any")
    return JudgeTraining(
        student=Judge(),
        learn=[each.example for each in items],
        compare=[],
        groups={each.key: each.scenario for each in items},
        task_lm=lm,
        proposer_lm=lm,
        proposal=PROPOSAL,
        width=1,
        items={each.key: each for each in items},
        metric=AgreementMetric(items),
        answers=[each.worked() for each in items],
    )


FOUR = [rated(0, P, P), rated(1, H, P), rated(2, F, F), rated(3, F, H)]
"""Of one phase: shares of FAIL, PARTIAL, PASS are (0, 0, 1), (0, .5, .5), (1, 0, 0) and (.5, .5, 0)."""


@pytest.mark.parametrize(
    ("place", "grade", "score"),
    [
        # Distances are level apart / 2. For the first item the others' mean shares are (1.5, 1, .5) / 3.
        # PASS: others (1.5 * 1 + 1 * .5) / 3 = 2/3, own 0: .5 + (2/3 - 0) / 2 = 5/6.
        (0, P, 5 / 6),
        # PARTIAL: others (1.5 * .5 + .5 * .5) / 3 = 1/3, own .5: .5 + (1/3 - 1/2) / 2 = 5/12.
        (0, H, 5 / 12),
        # FAIL: others (1 * .5 + .5 * 1) / 3 = 1/3, own 1: .5 + (1/3 - 1) / 2 = 1/6.
        (0, F, 1 / 6),
        # Second: others (1.5, .5, 1) / 3. PASS: (1.5 + .25) / 3 = 7/12, own .25: .5 + (7/12 - 3/12) / 2 = 2/3.
        (1, P, 2 / 3),
        # PARTIAL: (.75 + .5) / 3 = 5/12, own .25: .5 + (5/12 - 3/12) / 2 = 7/12.
        (1, H, 7 / 12),
    ],
)
def test_a_score_is_the_disagreement_with_the_others_minus_that_with_its_own_mapped_to_one(place, grade, score):
    metric = AgreementMetric(FOUR)
    assert metric.score(FOUR[place], grade) == pytest.approx(score)
    assert training(FOUR).score(FOUR[place].example, said(grade)) == pytest.approx(score)


GRADES = st.lists(st.sampled_from(Grade), min_size=1, max_size=3)


@given(
    ratings=st.lists(st.tuples(st.sampled_from(Phase), GRADES), min_size=1, max_size=12),
    constant=st.sampled_from(Grade),
)
def test_a_judge_that_always_answers_alike_scores_one_half(ratings, constant):
    """In every phase, whatever the labels and whatever the answer."""
    items = [rated(number, *grades, phase=phase) for number, (phase, grades) in enumerate(ratings)]
    metric = AgreementMetric(items)
    for phase in Phase:
        scores = [metric.score(each, constant) for each in items if each.phase is phase]
        assert not scores or sum(scores) / len(scores) == pytest.approx(0.5)


@given(
    ratings=st.lists(GRADES, min_size=1, max_size=8), answers=st.lists(st.sampled_from(Grade), min_size=8, max_size=8)
)
def test_scores_lie_between_zero_and_one(ratings, answers):
    items = [rated(number, *grades) for number, grades in enumerate(ratings)]
    metric = AgreementMetric(items)
    assert all(0 <= metric.score(each, answer) <= 1 for each, answer in zip(items, answers, strict=False))


def test_only_labels_of_the_phase_and_of_the_training_set_count():
    metric = AgreementMetric(FOUR)
    more = AgreementMetric([*FOUR, rated(4, P, phase=Phase.CRITICAL), rated(5, F, phase=Phase.RECOVERY)])
    for each, grade in [(each, grade) for each in FOUR for grade in Grade]:
        assert more.score(each, grade) == metric.score(each, grade)
    assert [more.score(rated(4, P, phase=Phase.CRITICAL), grade) for grade in Grade] == [0.5] * 3  # alone in its phase
    with pytest.raises(KeyError):
        training(FOUR).score(rated(9, P).example, said(P))


def test_a_verdict_is_worth_a_demo_where_it_earns_more_than_a_constant_one():
    of = training(FOUR)
    assert of.is_worth_showing(FOUR[0].example, said(P))
    assert not of.is_worth_showing(FOUR[0].example, said(H))  # 5/12
    constant = training([rated(0, P), rated(1, P)])
    assert not constant.is_worth_showing(rated(0, P).example, said(P))  # .5 is no more than a constant earns


def test_feedback_tells_grades_reasons_what_the_judge_said_and_whether_it_quoted():
    one = rated(0, P, F, F, reasons=("It plans.", "", " Too late. "))
    of = training([one, *FOUR[1:]])
    told = of.feedback(one.example, said(P, QUOTE))
    assert told.splitlines() == [
        "People graded this response: 1 PASS, 0 PARTIAL, 2 FAIL.",
        "Their reasons:",
        "- PASS: It plans.",
        "- FAIL: Too late.",
        "The judge said PASS: because so",
        "Its quote stands in the response.",
    ]
    assert of.shortfall(one.example, said(P, QUOTE)) == told
    assert of.feedback(one.example, said(F, "nowhere")).endswith("Its quote does not stand in the response.")
    assert "Their reasons:" not in training(FOUR).feedback(FOUR[0].example, said(F))


def test_feedback_has_no_word_of_the_rubric_no_key_and_no_rater():
    of = training(FOUR)
    for each, grade in [(each, grade) for each in FOUR for grade in Grade]:
        told = of.feedback(each.example, said(grade, QUOTE))
        assert each.view.rubric.pass_criteria.startswith(CRITERION)
        assert CRITERION not in told
        assert each.key not in told
        assert "r0" not in told


def test_the_right_grade_is_never_worse_than_another_where_raters_agree():
    for labels in combinations_with_replacement(Grade, 4):
        items = [rated(number, grade) for number, grade in enumerate(labels)]
        metric = AgreementMetric(items)
        right = sum(metric.score(each, each.consensus) for each in items)
        for grade in Grade:
            assert right >= sum(metric.score(each, grade) for each in items) - 1e-9
