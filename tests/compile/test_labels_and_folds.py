"""Labels as a compile has them, the folds that keep personas together, worked examples, votes and cuts."""

import random
from collections import Counter
from dataclasses import replace

import dspy
import pytest
from dspy_proact.benchmarks.proactbench.compile.judge.cuts import PLAIN, fitted, level_of
from dspy_proact.benchmarks.proactbench.compile.judge.labels import Labelled, labelled
from dspy_proact.benchmarks.proactbench.compile.judge.task import Votes
from hypothesis import given
from hypothesis import strategies as st
from tuning import QUOTE, item, study

from dspy_proact.benchmarks.proactbench.programs import GradeResponse
from dspy_proact.benchmarks.proactbench.types import Grade, Phase, Rating, Verdict
from dspy_proact.compile.folds import grouped_folds, split
from dspy_proact.errors import UsageError
from dspy_proact.evidence import locate_quotes
from dspy_proact.programs.artefact import Cuts

P, H, F = Grade.PASS, Grade.PARTIAL, Grade.FAIL


def rated(number: int, grades: list[Grade], unit: str = "p0", scenario: str = "", reason: str = "") -> Labelled:
    """An item of the EMERGENT phase with these ratings."""
    of = item(number, 0, Phase.EMERGENT)
    ratings = [
        Rating(item=of.key, annotator=f"r{place}", grade=grade, confidence=3, reason=reason and f"{reason} {grade}")
        for place, grade in enumerate(grades)
    ]
    assert of.view is not None
    return Labelled(of.key, of.phase, scenario or unit, unit, of.view, str(of.response), tuple(ratings))


def said(grade: Grade, quote: str = QUOTE, response: str = "") -> Verdict:
    evidence = locate_quotes([quote], response or str(item(0, 0, Phase.EMERGENT).response))
    return Verdict(reasoning=f"judged {grade}", evidence=evidence, grade=grade)


# Labels


@pytest.mark.parametrize(
    ("grades", "consensus", "soft"),
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
def test_ratings_make_a_distribution_and_a_consensus(grades, consensus, soft):
    one = rated(0, grades)
    assert one.consensus is consensus
    assert one.soft == pytest.approx(soft)


def test_items_that_nobody_rated_are_left_out_and_the_rest_keep_their_order():
    of = study()
    some = replace(of, ratings=tuple(rating for rating in of.ratings if rating.item != of.items[3].key))
    assert [each.key for each in labelled(some)] == [each.key for each in of.items if each is not of.items[3]]
    with pytest.raises(UsageError, match="a study: nobody has rated anything in it"):
        labelled(replace(of, ratings=()))


def test_an_example_holds_the_judges_inputs_and_an_opaque_key_and_nothing_else():
    for each in labelled(study()):
        assert set(each.example.keys()) == {*GradeResponse.input_fields, "key"}
        assert set(each.example.inputs().keys()) == set(GradeResponse.input_fields)


def test_what_is_kept_together_is_the_persona_or_else_the_scenario():
    of = study()
    without = replace(of, items=tuple(each.model_copy(update={"persona": ""}) for each in of.items))
    assert [each.unit for each in labelled(of)] == [each.persona for each in of.items]
    assert [each.unit for each in labelled(without)] == [each.scenario for each in of.items]


# Folds


@given(
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=9),
    count=st.integers(2, 5),
    seed=st.integers(0, 5),
    order=st.randoms(use_true_random=False),
)
def test_folds_partition_the_items_by_whole_units_in_any_order_of_them(sizes, count, seed, order: random.Random):
    items = [
        rated(10 * unit + number, [P], unit=f"p{unit}", scenario=f"p{unit}/{number % 2}")
        for unit, size in enumerate(sizes)
        for number in range(size)
    ]
    if count > len(sizes):
        with pytest.raises(UsageError, match=f"{len(sizes)} personas or scenarios cannot make {count} folds"):
            grouped_folds(items, count, seed)
        return
    folds = grouped_folds(items, count, seed)
    assert Counter(each.key for fold in folds for each in fold.test) == Counter(each.key for each in items)
    for fold in folds:
        assert fold.test
        assert {each.key for each in fold.train} == {each.key for each in items} - {each.key for each in fold.test}
        assert not {each.unit for each in fold.train} & {each.unit for each in fold.test}
    # Dealt out largest first to the smallest: no two folds differ by more than the largest unit.
    lengths = [len(fold.test) for fold in folds]
    assert max(lengths) - min(lengths) <= max(sizes)
    shuffled = order.sample(items, len(items))
    assert [{e.key for e in f.test} for f in grouped_folds(shuffled, count, seed)] == [
        {e.key for e in f.test} for f in folds
    ]


def test_seeds_give_other_folds():
    items = labelled(study(6))
    assert len({frozenset(each.unit for each in grouped_folds(items, 2, seed)[0].test) for seed in range(8)}) > 1


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_number_of_folds_that_cannot_be_is_refused(count):
    with pytest.raises(UsageError, match="give --folds between 2 and 4"):
        grouped_folds(labelled(study()), count, 0)


def test_a_scenario_that_several_personas_share_is_on_one_side():
    of = study(8)
    personas = sorted({each.persona for each in of.items})
    shared = {persona: f"S{place // 2}" for place, persona in enumerate(personas)}
    items = labelled(
        replace(of, items=tuple(each.model_copy(update={"scenario": shared[each.persona]}) for each in of.items))
    )
    assert len({each.unit for each in items}) == len(personas) / 2
    for seed in range(5):
        for fold in grouped_folds(items, 2, seed):
            assert not {each.scenario for each in fold.train} & {each.scenario for each in fold.test}


def test_candidates_are_compared_on_units_that_nothing_was_learned_from():
    items = labelled(study(6))
    for seed in range(5):
        learn, compare = split(items, seed)
        assert len(learn) + len(compare) == len(items)
        assert compare
        assert not {each.unit for each in learn} & {each.unit for each in compare}


# Worked examples


@pytest.mark.parametrize(
    ("grades", "reason", "before", "reasoning", "evidence"),
    [
        # A person's reason for the consensus comes first, then the judge's where it agreed, then a plain sentence.
        ([F, P, P], "as I say", said(P), "as I say PASS", [QUOTE]),
        ([P], "", said(P), "judged PASS", [QUOTE]),
        ([P], "", said(F), "People graded this response PASS.", [QUOTE]),
        ([P], "", None, "People graded this response PASS.", []),
        # Quotes that do not stand in the response are left out.
        ([P], "", said(P, "nowhere in it"), "judged PASS", []),
    ],
)
def test_a_worked_example_says_what_a_judge_would_that_agrees_with_people(grades, reason, before, reasoning, evidence):
    one = rated(0, grades, reason=reason)
    example = one.worked(before)
    assert (example.grade, example.reasoning, example.evidence) == (str(one.consensus), reasoning, evidence)
    assert set(example.keys()) == {*GradeResponse.fields, "key"}
    assert isinstance(example, dspy.Example)


# Votes and cuts


@pytest.mark.parametrize(
    ("given", "level"),
    [([P], 2.0), ([P, F, F], 2 / 3), ([None, H], 1.0), ([None, None], None), ([], None)],
)
def test_the_level_of_votes_is_the_mean_of_those_that_could_be_read(given, level):
    votes = Votes(tuple(said(grade) if grade else None for grade in given))
    assert votes.level == (None if level is None else pytest.approx(level))


def test_cuts_turn_a_mean_level_into_a_level():
    votes = Votes((said(P), said(H), said(F)))
    # Mean level 1: PARTIAL by the plain cuts, PASS by others.
    assert level_of(votes, PLAIN[Phase.EMERGENT]) == 1
    assert level_of(votes, Cuts(partial=0.2, full=0.9)) == 2
    assert level_of(Votes((None,)), PLAIN[Phase.EMERGENT]) is None


def study_of_votes(scenarios: int, bias: int) -> tuple[list[Labelled], list[Votes]]:
    """Three items a scenario, labelled FAIL, PARTIAL and PASS; of three votes one is right, and two are `bias` off.

    In two scenarios all votes for the PASS are right: what is the same whichever scenario is left out has no interval.
    """
    items, votes = [], []
    for number in range(3 * scenarios):
        level = number % 3
        one = rated(number, [(F, H, P)[level]], unit=f"p{number // 3}")
        off = (F, H, P)[level if number in {5, 11} else min(2, max(0, level + bias))]
        items.append(one)
        votes.append(Votes(tuple(said(grade) for grade in ((F, H, P)[level], off, off))))
    return items, votes


def test_cuts_are_kept_where_a_judge_is_plainly_too_strict_and_only_in_that_phase():
    items, votes = study_of_votes(12, -1)
    # Mean levels: FAIL 0, PARTIAL 1/3, PASS 4/3; plain cuts read them as FAIL, FAIL, PARTIAL. Fitted they lie midway
    # at 1/6 and 5/6; of ties the nearest to the plain cuts are taken: .5 cannot be the lower cut.
    cuts = fitted(items, [each.level for each in votes], 0)
    assert (cuts[Phase.EMERGENT].partial, cuts[Phase.EMERGENT].full) == (pytest.approx(1 / 6), pytest.approx(5 / 6))
    assert [level_of(each, cuts[Phase.EMERGENT]) for each in votes] == [0, 1, 2] * 12
    assert cuts[Phase.CRITICAL] == cuts[Phase.RECOVERY] == PLAIN[Phase.CRITICAL]


def test_cuts_stay_plain_where_they_gain_nothing_or_too_few_scenarios_say_so():
    items, votes = study_of_votes(12, 0)
    assert fitted(items, [each.level for each in votes], 0) == PLAIN
    items, votes = study_of_votes(1, -1)
    assert fitted(items, [each.level for each in votes], 0) == PLAIN


def test_cuts_stay_plain_on_noise():
    """Of 40 judges that guess hardly one keeps cuts of its own."""
    kept = 0
    for seed in range(40):
        chance = random.Random(seed)
        items = [rated(n, [chance.choice((F, H, P))], unit=f"p{n // 3}") for n in range(36)]
        votes = [Votes((said(chance.choice((F, H, P))),)) for _ in items]
        kept += fitted(items, [each.level for each in votes], seed)[Phase.EMERGENT] != PLAIN[Phase.EMERGENT]
    assert kept <= 4
