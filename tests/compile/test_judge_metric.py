"""What a judge is tuned to: labels, the metric, worked examples, votes and cuts. Numbers are worked by hand."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from builders.judges import QUOTE, TUNING, consensus, graded, item, study
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact import Benchmark, Grade, Phase, ProactBench, RatedItem, Response, Scored
from dspy_proact.benchmarks.proactbench.programs import GradeResponse
from dspy_proact.compile.agreement import Agreement, Votes, feedback_on, fitted_cuts, level_of, plain_cuts, soft
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.people import HumanGrade, Part, People, parts_of
from dspy_proact.evaluation.tuning import ScoredPrediction
from dspy_proact.programs.artefact import Cuts

P, H, F = Grade.PASS, Grade.PARTIAL, Grade.FAIL
DECLARED = ProactBench()
(PART,) = parts_of(DECLARED)
PLAIN = plain_cuts(DECLARED)


def rated(number: int, *grades: Grade, group: str = "p0", phase=Phase.EMERGENT, reason: str = ""):
    """An item with these grades."""
    of = item(number, 0, phase)
    answer = of.answer
    results = [
        HumanGrade(of.key, answer, grade, f"r{index}", reason=reason and f"{reason} {grade}")
        for index, grade in enumerate(grades)
    ]
    return replace(of, group=group, grades={"": results})


def scored(grade: Grade, quote: str = QUOTE) -> ScoredPrediction:
    """A verdict on the first item."""
    prediction = dspy.Prediction(reasoning=f"judged {grade}", evidence=[quote], grade=str(grade))
    one = rated(0, P)
    return ScoredPrediction(prediction, TUNING.question(one.case, one.answer).read(prediction))


# Labels


@pytest.mark.parametrize(
    ("grades", "common", "shares"),
    [
        ([P], P, (0, 0, 1)),
        ([P, P, F], P, (1 / 3, 0, 2 / 3)),
        # Ties by the published rule: PARTIAL before PASS before FAIL.
        ([P, H], H, (0, 0.5, 0.5)),
        ([F, P], P, (0.5, 0, 0.5)),
        ([F, H], H, (0.5, 0.5, 0)),
        ([F, P, H], H, (1 / 3, 1 / 3, 1 / 3)),
    ],
)
def test_ratings_make_a_distribution_and_a_consensus(grades, common, shares):
    one = rated(0, *grades)
    assert one.consensus(PART) == common
    assert soft(one, PART) == pytest.approx(shares)


def test_items_that_nobody_rated_are_left_out_and_the_rest_keep_their_order():
    of = study()
    some = replace(of, grades=tuple(row for row in of.grades if row.key != of.items[3].key))
    assert [entry.key for entry in graded(some)] == [entry.key for entry in of.items if entry is not of.items[3]]
    with pytest.raises(UsageError, match="a study: nobody has graded anything in it"):
        graded(replace(of, grades=()))


def test_the_judge_is_asked_for_the_inputs_of_its_signature_and_nothing_else():
    for entry in graded(study()):
        assert set(TUNING.question(entry.case, entry.answer).inputs) == set(GradeResponse.input_fields)


# The metric

FOUR = [rated(0, P, P), rated(1, H, P), rated(2, F, F), rated(3, F, H)]
"""Of one phase: shares of FAIL, PARTIAL, PASS are (0, 0, 1), (0, .5, .5), (1, 0, 0) and (.5, .5, 0)."""


@pytest.mark.parametrize(
    ("index", "level", "score"),
    [
        # Distances are level apart / 2. For the first item the others' mean shares are (1.5, 1, .5) / 3.
        # PASS: others (1.5 * 1 + 1 * .5) / 3 = 2/3, own 0: .5 + (2/3 - 0) / 2 = 5/6.
        (0, 2, 5 / 6),
        # PARTIAL: others (1.5 * .5 + .5 * .5) / 3 = 1/3, own .5: .5 + (1/3 - 1/2) / 2 = 5/12.
        (0, 1, 5 / 12),
        # FAIL: others (1 * .5 + .5 * 1) / 3 = 1/3, own 1: .5 + (1/3 - 1) / 2 = 1/6.
        (0, 0, 1 / 6),
        # Second: others (1.5, .5, 1) / 3. PASS: (1.5 + .25) / 3 = 7/12, own .25: .5 + (7/12 - 3/12) / 2 = 2/3.
        (1, 2, 2 / 3),
        # PARTIAL: (.75 + .5) / 3 = 5/12, own .25: .5 + (5/12 - 3/12) / 2 = 7/12.
        (1, 1, 7 / 12),
    ],
)
def test_a_score_is_the_disagreement_with_the_others_minus_that_with_its_own_mapped_to_one(index, level, score):
    assert Agreement(DECLARED, FOUR).score(FOUR[index], {"": level}) == pytest.approx(score)


GRADES = st.lists(st.sampled_from(Grade), min_size=1, max_size=3)


@given(ratings=st.lists(st.tuples(st.sampled_from(Phase), GRADES), min_size=1, max_size=12), constant=st.integers(0, 2))
def test_a_judge_that_always_answers_alike_scores_one_half_in_every_phase(ratings, constant):
    items = [rated(number, *grades, phase=phase) for number, (phase, grades) in enumerate(ratings)]
    metric = Agreement(DECLARED, items)
    for phase in Phase:
        scores = [metric.score(entry, {"": constant}) for entry in items if entry.stratum == phase]
        assert not scores or sum(scores) / len(scores) == pytest.approx(0.5)
        assert all(0 <= score <= 1 for score in scores)


def test_only_labels_of_the_phase_count_and_what_could_not_be_read_is_worth_nothing():
    more = [*FOUR, rated(4, P, phase=Phase.CRITICAL), rated(5, F, phase=Phase.RECOVERY)]
    for entry in FOUR:
        for level in range(3):
            scores = [Agreement(DECLARED, items).score(entry, {"": level}) for items in (FOUR, more)]
            assert scores[0] == scores[1]
    assert Agreement(DECLARED, FOUR).score(FOUR[0], {}) == 0


class TwoParts(Benchmark):
    name = "two parts"
    strata = ("all",)
    people = People(parts=(Part("colour", ("red", "green", "blue"), "nominal"), Part("size", ("small", "large"))))


def in_parts(number: int, colour: str, size: str) -> RatedItem:
    """An item with one grade of each part."""
    one, values = rated(number, P), {"colour": colour, "size": size}
    grades = {part: [HumanGrade(one.key, Response(text=""), level, "ann", part)] for part, level in values.items()}
    return replace(one, stratum="all", answer=Response(text=""), grades=grades)


def test_cuts_are_made_of_grades_of_the_whole_alone_for_a_run_applies_them_to_its_labels():
    class OnePart(TwoParts):
        people = People(parts=(Part("size", ("small", "middle", "large")),))

    class Single(TwoParts):
        people = People(parts=(Part("", ("small", "middle", "large")),))

    assert plain_cuts(OnePart()) == {}
    assert plain_cuts(Single()) == {"all": Cuts(partial=0.5, full=1.5)}


def test_parts_have_their_own_scale_and_an_item_scores_their_mean():
    """Colour of the first: others green and blue, own red. Size: others small and large, own large."""
    items = [in_parts(0, "red", "large"), in_parts(1, "green", "small"), in_parts(2, "blue", "large")]
    metric = Agreement(TwoParts(), items)
    # red: others differ by 1, own by 0: 1. large: others by 1/2, own by 0: .75.
    assert metric.score(items[0], {"colour": 0, "size": 1}) == pytest.approx((1 + 0.75) / 2)
    # green: others differ by 1/2, own by 1: .25. small: others by 1/2, own by 1: .25.
    assert metric.score(items[0], {"colour": 1, "size": 0}) == pytest.approx(0.25)
    assert plain_cuts(TwoParts()) == {}


# Worked examples and feedback


@pytest.mark.parametrize(
    ("grades", "reason", "before", "reasoning", "evidence"),
    [
        # A person's reason for the consensus comes first, then the judge's where it agreed, then a plain sentence.
        ([F, P, P], "as I say", scored(P), "as I say PASS", [QUOTE]),
        ([P], "", scored(P), "judged PASS", [QUOTE]),
        ([P], "", scored(F), "People graded this response PASS.", [QUOTE]),
        ([P], "", None, "People graded this response PASS.", []),
        # Quotes that do not stand in the response are left out.
        ([P], "", scored(P, "nowhere in it"), "judged PASS", []),
    ],
)
def test_a_worked_example_says_what_a_judge_would_that_agrees_with_people(grades, reason, before, reasoning, evidence):
    one = rated(0, *grades, reason=reason)
    example = TUNING.worked(one, dspy.Example(key=one.key, **TUNING.question(one.case, one.answer).inputs), before)
    assert (example.grade, example.reasoning, example.evidence) == (consensus(one), reasoning, evidence)
    assert set(example.keys()) == {*GradeResponse.fields, "key"}


@pytest.mark.parametrize(
    ("grades", "verdict", "text", "error"),
    [
        # The mean of PASS, PASS, PARTIAL is 5/3 levels: FAIL is 1.7 below it, and no level is nearer to it than PASS.
        ([P, P, H], F, "people 2 PASS, 1 PARTIAL; the judge FAIL: too strict by 1.7 levels", "too strict"),
        ([P, P, H], P, "people 2 PASS, 1 PARTIAL; the judge PASS: right", ""),
        ([P, F], P, "people 1 PASS, 1 FAIL; the judge PASS: too lenient by 1.0 level", "too lenient"),
        # At 1.5 PASS and PARTIAL are as near.
        ([P, H], P, "people 1 PASS, 1 PARTIAL; the judge PASS: right", ""),
        ([P, H], H, "people 1 PASS, 1 PARTIAL; the judge PARTIAL: right", ""),
    ],
)
def test_feedback_is_the_direction_and_size_of_the_error_and_nobodys_reasons(grades, verdict, text, error):
    feedback = feedback_on(DECLARED, rated(0, *grades, reason="as I say"), scored(verdict))
    assert (feedback.text, feedback.error) == (text, error)


def test_feedback_on_parts_names_those_that_differ():
    def graded(**levels: str) -> Any:
        detail: Any = SimpleNamespace(**levels)
        return SimpleNamespace(scored=Scored(1.0, "RIGHT", detail))

    one = in_parts(0, "red", "large")
    wrong = feedback_on(TwoParts(), one, graded(colour="blue", size="large"))
    assert wrong.text == "colour: people 1 red; the judge blue: another word\nall else right"
    assert wrong.error == "colour: another word"
    assert feedback_on(TwoParts(), one, graded(colour="red", size="large")).text == "all right"
    assert feedback_on(TwoParts(), one, graded(colour="red")).error == "no level"


# Votes and cuts


def test_cuts_turn_the_mean_level_of_votes_into_a_level():
    votes = [scored(P), scored(H), scored(F)]
    # Mean level 1: PARTIAL by the plain cuts, PASS by others.
    assert level_of(DECLARED, votes, PART) == level_of(DECLARED, votes, PART, PLAIN["EMERGENT"]) == 1
    assert level_of(DECLARED, votes, PART, Cuts(partial=0.2, full=0.9)) == 2
    assert level_of(DECLARED, [scored(P)], PART) == 2
    assert level_of(DECLARED, [], PART) is None


def study_of_votes(scenarios: int, bias: int) -> tuple[list[RatedItem], list[Votes]]:
    """Three items a scenario, labelled FAIL, PARTIAL and PASS; of three votes one is right, and two are `bias` off.

    In two scenarios all votes for the PASS are right: what is the same whichever scenario is left out has no interval.
    """
    items, votes = [], []
    for number in range(3 * scenarios):
        level = number % 3
        off = (F, H, P)[level if number in {5, 11} else min(2, max(0, level + bias))]
        items.append(rated(number, (F, H, P)[level], group=f"p{number // 3}"))
        votes.append([scored(grade) for grade in ((F, H, P)[level], off, off)])
    return items, votes


def units_of(items: list[RatedItem]) -> dict[str, str]:
    return {entry.key: entry.group for entry in items}


def test_cuts_are_kept_where_a_judge_is_plainly_too_strict_and_only_in_that_phase():
    items, votes = study_of_votes(12, -1)
    # Mean levels: FAIL 0, PARTIAL 1/3, PASS 4/3; plain cuts read them as FAIL, FAIL, PARTIAL. Fitted they lie midway
    # at 1/6 and 5/6; of ties the nearest to the plain cuts are taken: .5 cannot be the lower cut.
    cuts = fitted_cuts(DECLARED, items, units_of(items), votes, 0)
    assert (cuts["EMERGENT"].partial, cuts["EMERGENT"].full) == (pytest.approx(1 / 6), pytest.approx(5 / 6))
    assert [level_of(DECLARED, vote, PART, cuts["EMERGENT"]) for vote in votes] == [0, 1, 2] * 12
    assert cuts["CRITICAL"] == cuts["RECOVERY"] == PLAIN["CRITICAL"]


def test_cuts_stay_plain_where_they_gain_nothing_or_too_few_scenarios_say_so():
    for items, votes in (study_of_votes(12, 0), study_of_votes(1, -1)):
        assert fitted_cuts(DECLARED, items, units_of(items), votes, 0) == PLAIN
