"""Control turns: the rule on dialogues worked by hand, its laws, and what the sample holds at its own."""

from collections import Counter, defaultdict
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import jsonl, record, row, trigger_point

from dspy_proact.benchmarks.proactbench.cases import controls_of
from dspy_proact.benchmarks.proactbench.corpus import (
    control_turns,
    load_corpus,
    read_jsonl,
    sample_control_responses,
    sample_offer_ratings,
    trigger_key,
)
from dspy_proact.benchmarks.proactbench.types import Dialogue, Origin, Phase, Rubric, Trigger, Turn
from dspy_proact.runs import CONTROL

CORPUS = load_corpus("sample")
E, C, R = Phase.EMERGENT, Phase.CRITICAL, Phase.RECOVERY


def dialogue(turns: int, triggers: dict[int, Phase], key: str = "d1", text: str = "Question") -> Dialogue:
    """A dialogue of so many turns with triggers of these phases at these turns."""
    return Dialogue(
        origin=Origin(
            dialogue=key,
            persona="p",
            scenario_id="S",
            blueprint="B",
            life_domain="travel",
            style=1,
            source_model="curator",
        ),
        turns=tuple(Turn(user=f"{text} {number}", assistant="Answer.") for number in range(1, turns + 1)),
        triggers=tuple(
            Trigger(turn=turn, rubric=Rubric(phase=phase, pass_criteria="a", partial_criteria="b", fail_criteria="c"))
            for turn, phase in sorted(triggers.items())
        ),
    )


@pytest.mark.parametrize(
    ("turns", "triggers", "expected"),
    [
        # At least 2 turns from 2 and 5 lie 7 and 8, as many as there are triggers; 8 closes too.
        (8, {2: E, 5: C}, (7, 8)),
        # From 2, 5 and 8 only 10.
        (10, {2: E, 5: C, 8: R}, (10,)),
        # From 4 and 7 lie 1 and 2; 7 closes, and is a trigger.
        (7, {4: E, 7: R}, (1, 2)),
        # A closing turn may stand beside a trigger: nothing lies 2 turns from 2.
        (3, {2: E}, (3,)),
        (3, {2: C}, (3,)),
        # Not after a RECOVERY trigger, wherever that is.
        (3, {2: R}, ()),
        (3, {2: R, 1: E}, ()),
        # A closing turn that is a trigger is none.
        (3, {3: C}, (1,)),
        (1, {1: E}, ()),
        # The closing turn is added to the others: 1 from 3, and 4.
        (4, {3: E}, (1, 4)),
        # Without triggers nothing is far from one: the closing turn alone.
        (4, {}, (4,)),
        (1, {}, (1,)),
        # A trigger at every other turn leaves none.
        (6, {2: E, 4: C, 6: R}, ()),
    ],
)
def test_control_turns_worked_by_hand(turns: int, triggers: dict[int, Phase], expected: tuple[int, ...]):
    assert control_turns(dialogue(turns, triggers)) == expected


@pytest.mark.parametrize(("key", "expected"), [("d1", 4), ("d2", 6), ("d3", 5)])
def test_where_more_lie_far_enough_the_choice_is_frozen(key: str, expected: int):
    """Another choice would be another measurement: of 3 to 10, all 2 turns from the one trigger, it takes one."""
    assert control_turns(dialogue(10, {1: R}, key)) == (expected,)


def test_every_turn_that_lies_far_enough_is_as_likely_as_another():
    # 8 turns (3 to 10) and 800 keys: 100 each, with a standard deviation of 9.4; within 4 of these.
    chosen = Counter(control_turns(dialogue(10, {1: R}, f"key {number}")) for number in range(800))
    assert sorted(chosen) == [(turn,) for turn in range(3, 11)]
    assert all(62 <= count <= 138 for count in chosen.values())


def test_the_choice_depends_on_key_and_turns_and_not_on_what_is_said():
    first, second = (dialogue(10, {1: E, 4: C}, text=text) for text in ("Question", "Another question"))
    assert control_turns(first) == control_turns(second)


def keys(path, *each) -> list[str]:
    path.write_text(jsonl(*each), encoding="utf-8")
    return [case.key for case in controls_of(read_jsonl(path))]


def test_the_choice_is_independent_of_other_dialogues(tmp_path):
    records = [record(number) for number in range(1, 10)]
    changes = {"trigger_points": [trigger_point(2)], "turn_records": records, "num_turns_completed": 9}
    rows = [row(unique_id_eval=f"d{number}", **changes) for number in range(6)]
    alone = [key for each in rows for key in keys(tmp_path / "alone.jsonl", each)]
    assert keys(tmp_path / "all.jsonl", *rows) == alone
    assert sorted(keys(tmp_path / "turned.jsonl", *rows[::-1])) == sorted(alone)


@st.composite
def dialogues(draw: st.DrawFn) -> Dialogue:
    length = draw(st.integers(1, 14))
    turns = draw(st.sets(st.integers(1, length), max_size=6))
    return dialogue(length, {turn: draw(st.sampled_from(Phase)) for turn in turns}, draw(st.text(max_size=5)))


@given(each=dialogues())
def test_the_laws_of_control_turns(each: Dialogue):
    found, last = control_turns(each), len(each.turns)
    triggers = [trigger.turn for trigger in each.triggers]
    recovers = any(trigger.rubric.phase is R for trigger in each.triggers)
    assert list(found) == sorted(set(found))
    assert set(found) <= set(range(1, last + 1)) - set(triggers)
    near = {turn for turn in found if any(abs(turn - trigger) <= 1 for trigger in triggers)}
    assert near <= {last}
    assert not (near and recovers)
    assert len(found) <= len(triggers) + 1
    assert not recovers or len(found) <= len(triggers)
    if not recovers and last not in triggers:
        assert last in found
    assert control_turns(each) == found


@given(each=dialogues())
def test_as_many_as_there_are_triggers_are_taken_where_there_are_so_many(each: Dialogue):
    triggers = [trigger.turn for trigger in each.triggers]
    far = {t for t in range(1, len(each.turns) + 1) if triggers and min(abs(t - u) for u in triggers) >= 2}
    assert len(far & set(control_turns(each))) >= min(len(far), len(triggers))


def test_a_control_case_is_of_a_stratum_of_its_own_and_of_its_dialogues_scenario():
    cases = controls_of(CORPUS)
    assert {case.stratum for case in cases} == {CONTROL}
    of = {each.origin.dialogue: each for each in CORPUS.dialogues}
    for case in cases:
        each, turn = of[str(case.meta["dialogue"])], int(case.meta["turn"])
        assert (case.key, case.group) == (trigger_key(each.origin.dialogue, turn), each.origin.scenario)
        assert case.meta["curated_response"] == each.turns[turn - 1].assistant


# The sample.


RESPONSES = sample_control_responses()
RATINGS = sample_offer_ratings()


def test_the_sample_has_15_control_turns_with_three_responses_each_in_the_order_of_the_corpus():
    turns = [case.key for case in controls_of(CORPUS)]
    assert len(turns) == 15
    assert [response.case for response in RESPONSES] == [turn for turn in turns for _ in range(3)]
    assert len({response.item for response in RESPONSES}) == len({response.text for response in RESPONSES}) == 45
    assert {response.dialogue for response in RESPONSES} <= {each.origin.dialogue for each in CORPUS.dialogues}


def test_every_response_is_rated_once_by_each_of_three_and_in_order():
    assert len(RATINGS) == 135
    assert [(rating.item, rating.annotator) for rating in RATINGS] == [
        (response.item, rater) for response in RESPONSES for rater in "ABC"
    ]


def test_grounded_is_said_of_unwanted_offers_and_of_nothing_else():
    assert all((rating.grounded is not None) == rating.unwanted for rating in RATINGS)
    assert all(rating.reason.strip() for rating in RATINGS)


def test_what_its_description_says_of_their_agreement_is_true():
    said: defaultdict[str, list[bool]] = defaultdict(list)
    for rating in RATINGS:
        said[rating.annotator].append(rating.unwanted)
    assert {rater: sum(each) for rater, each in said.items()} == {"A": 19, "B": 29, "C": 17}
    agreed = {
        first + second: sum(a == b for a, b in zip(said[first], said[second], strict=True))
        for first, second in combinations("ABC", 2)
    }
    assert agreed == {"AB": 35, "AC": 43, "BC": 33}


def test_at_no_control_turn_are_all_ratings_of_all_responses_alike():
    """Responses of one turn differ, so that a detector that always says the same is found out."""
    given: defaultdict[str, set[bool]] = defaultdict(set)
    case_of = {response.item: response.case for response in RESPONSES}
    for rating in RATINGS:
        given[case_of[rating.item]].add(rating.unwanted)
    assert all(each == {True, False} for each in given.values())


def test_a_dialogue_without_turns_has_no_control_turn():
    assert control_turns(dialogue(0, {})) == ()
