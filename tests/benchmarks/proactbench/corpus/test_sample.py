"""Control turns, and what comes with the package: the sample, worked cases of the judge, and published figures."""

import csv
import json
import math
import re
from collections import Counter, defaultdict
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import jsonl, record, row, trigger_point

from dspy_proact.benchmarks.proactbench.cases import controls_of
from dspy_proact.benchmarks.proactbench.corpus.bundled import (
    HUMAN_ALPHA,
    TRIGGERS_PER_PHASE,
    judge_cases,
    published_models,
    sample_control_responses,
    sample_offer_ratings,
)
from dspy_proact.benchmarks.proactbench.corpus.dialogues import (
    control_turns,
    load_corpus,
    read_jsonl,
    sample_path,
    trigger_key,
)
from dspy_proact.benchmarks.proactbench.corpus.rating_files import load_ratings
from dspy_proact.benchmarks.proactbench.types import Dialogue, Origin, Phase, Rubric, Trigger, Turn
from dspy_proact.benchmarks.published import Counts, pooled
from dspy_proact.evidence import words_of
from dspy_proact.runs import CONTROL

CORPUS = load_corpus("sample")
STUDY = load_ratings("sample")
TRIGGERS = {
    trigger_key(dialogue.origin.dialogue, trigger.turn): trigger
    for dialogue in CORPUS.dialogues
    for trigger in dialogue.triggers
}


# Control turns

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
        (0, {}, ()),
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


def test_the_choice_depends_on_key_and_turns_and_on_nothing_else(tmp_path):
    first, second = (dialogue(10, {1: E, 4: C}, text=text) for text in ("Question", "Another question"))
    assert control_turns(first) == control_turns(second)

    def keys(*each) -> list[str]:
        (tmp_path / "rows.jsonl").write_text(jsonl(*each), encoding="utf-8")
        return [case.key for case in controls_of(read_jsonl(tmp_path / "rows.jsonl"))]

    records = [record(number) for number in range(1, 10)]
    changes = {"trigger_points": [trigger_point(2)], "turn_records": records, "num_turns_completed": 9}
    rows = [row(unique_id_eval=f"d{number}", **changes) for number in range(6)]
    alone = [key for each in rows for key in keys(each)]
    assert keys(*rows) == alone
    assert sorted(keys(*rows[::-1])) == sorted(alone)


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
    far = {t for t in range(1, last + 1) if triggers and min(abs(t - u) for u in triggers) >= 2}
    assert len(far & set(found)) >= min(len(far), len(triggers))


def test_a_control_case_is_of_a_stratum_of_its_own_and_of_its_dialogues_scenario():
    cases = controls_of(CORPUS)
    assert {case.stratum for case in cases} == {CONTROL}
    of = {each.origin.dialogue: each for each in CORPUS.dialogues}
    for case in cases:
        each, turn = of[str(case.meta["dialogue"])], int(case.meta["turn"])
        assert (case.key, case.group) == (trigger_key(each.origin.dialogue, turn), each.origin.scenario)
        assert case.meta["curated_response"] == each.turns[turn - 1].assistant


# The sample


def test_it_has_the_dialogues_scenarios_and_triggers_that_are_said():
    scenarios = {dialogue.origin.scenario for dialogue in CORPUS.dialogues}
    personas = {dialogue.origin.persona for dialogue in CORPUS.dialogues}
    assert (len(CORPUS.dialogues), len(scenarios), len(personas), len(TRIGGERS)) == (16, 13, 12, 49)
    domains = {dialogue.origin.life_domain for dialogue in CORPUS.dialogues}
    assert domains == {"professional", "sports", "arts", "travel", "culinary"}
    assert sum(R not in {trigger.rubric.phase for trigger in each.triggers} for each in CORPUS.dialogues) == 2
    phases = Counter(trigger.rubric.phase for trigger in TRIGGERS.values())
    assert phases == {Phase.EMERGENT: 16, Phase.CRITICAL: 19, Phase.RECOVERY: 14}


def test_it_is_in_the_official_format_and_nothing_in_it_is_unknown():
    rows = [json.loads(line) for line in sample_path().read_text(encoding="utf-8").splitlines()]
    assert not CORPUS.ignored_fields
    assert all(record["planner"]["tactical_order"]["intent"] for row in rows for record in row["turn_records"])
    assert all(re.fullmatch(r"[0-9a-f]{32}", row["uuid"]) for row in rows)


def test_every_trigger_has_three_responses_with_three_reasoned_ratings_each():
    assert STUDY.notes == ()
    assert (len(STUDY.items), STUDY.annotators) == (147, ("A", "B", "C"))
    items = defaultdict(list)
    for item in STUDY.items:
        assert item.view
        assert item.response
        assert item.judge is None
        items[item.scenario, item.view.conversation, item.turn].append(item)
    assert [len(each) for each in items.values()] == [3] * len(TRIGGERS)
    for ratings in STUDY.by_item.values():
        assert sorted(rating.annotator for rating in ratings) == ["A", "B", "C"]
        assert all(len(rating.reason.split()) >= 5 for rating in ratings)
    assert sum(len({rating.grade for rating in ratings}) > 1 for ratings in STUDY.by_item.values()) >= 30
    assert (len({item.scenario for item in STUDY.items}), len({item.persona for item in STUDY.items})) == (13, 12)
    assert set(STUDY.source.files) == {"dialogues.jsonl", "responses.jsonl", "ratings.csv"}


RESPONSES = sample_control_responses()
RATINGS = sample_offer_ratings()


def test_the_sample_has_15_control_turns_with_three_responses_each_in_the_order_of_the_corpus():
    turns = [case.key for case in controls_of(CORPUS)]
    assert len(turns) == 15
    assert [response.case for response in RESPONSES] == [turn for turn in turns for _ in range(3)]
    assert len({response.item for response in RESPONSES}) == len({response.text for response in RESPONSES}) == 45
    assert {response.dialogue for response in RESPONSES} <= {each.origin.dialogue for each in CORPUS.dialogues}


def test_every_control_response_is_rated_once_by_each_of_three_with_a_reason():
    assert [(rating.item, rating.annotator) for rating in RATINGS] == [
        (response.item, rater) for response in RESPONSES for rater in "ABC"
    ]
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


# Worked cases of the judge's rules

CASES = judge_cases()
RUN = 8
"""Words in a row that nobody writes twice by chance."""


def test_there_are_40_cases_with_several_of_every_phase_and_grade():
    assert len({case.name for case in CASES}) == 40
    for counts in (Counter(case.case.view.rubric.phase for case in CASES), Counter(case.label for case in CASES)):
        assert min(counts.values()) >= 6
        assert len(counts) == 3
    assert len({(case.case.view.model_dump_json(), case.answer.text) for case in CASES}) == 40


@pytest.mark.parametrize("rule", [*Phase, "Addressees", "Errors", "Lists", "Questions"])
def test_a_rule_has_neighbours_of_other_grades(rule):
    assert len({case.label for case in CASES if case.rule == rule}) > 1


def test_no_case_is_of_the_sample():
    sample = {item.response for item in STUDY.items}
    runs = {
        tuple(words[at : at + RUN]) for text in sample if text for words in [words_of(text)] for at in range(len(words))
    }
    for case in CASES:
        words = words_of(case.answer.text)
        assert not {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)} & runs


# Published figures

# ProactBench's dataset/eval/*_proactivity_bench_metrics.json (github.com/boson-ai/ProactBench): overall weighted score
# and pass rate, weighted score of EMERGENT, CRITICAL and RECOVERY. Last, what the study does not state: the triggers of
# each phase without a grade, 201, 232 and 191 less the published pass + partial + fail.
TABLE = [
    ("gpt-5.5", 0.6979, 0.6154, (0.7313, 0.8319, 0.5000), (0, 0, 0)),
    ("qwen/qwen3.5-397b-a17b", 0.6064, 0.5254, (0.7688, 0.7348, 0.2665), (2, 2, 9)),
    ("claude-opus-4-7", 0.6058, 0.5192, (0.7861, 0.7047, 0.2958), (0, 0, 0)),
    ("gemini-3.1-pro-preview", 0.5829, 0.5040, (0.7727, 0.7651, 0.1649), (3, 0, 0)),
    ("qwen/qwen3.5-9b", 0.5701, 0.4798, (0.7722, 0.6459, 0.2468), (21, 47, 35)),
    ("kimi-k2.6", 0.5428, 0.4753, (0.7306, 0.7356, 0.1237), (8, 7, 1)),
    ("deepseek/deepseek-v4-flash", 0.5353, 0.4430, (0.6667, 0.6450, 0.2644), (0, 1, 0)),
    ("xiaomi/mimo-v2.5-pro", 0.5281, 0.4494, (0.7164, 0.6429, 0.1911), (0, 1, 0)),
    ("gemini-2.5-pro", 0.5032, 0.4247, (0.7313, 0.6207, 0.1204), (0, 0, 0)),
    ("o4-mini-2025-04-16", 0.4736, 0.3862, (0.5771, 0.5884, 0.2251), (0, 0, 0)),
    ("gemini-2.5-flash", 0.4423, 0.3526, (0.6567, 0.5496, 0.0864), (0, 0, 0)),
    ("gpt-4o", 0.3133, 0.2051, (0.4254, 0.3599, 0.1387), (0, 0, 0)),
    ("meta-llama/llama-4-maverick", 0.2252, 0.1314, (0.2910, 0.3190, 0.0419), (0, 0, 0)),
    ("Qwen3-1.7B", 0.2204, 0.1026, (0.3184, 0.2112, 0.1283), (0, 0, 0)),
    ("Qwen2.5-7B-Instruct", 0.2163, 0.1154, (0.3184, 0.1789, 0.1545), (0, 0, 0)),
    ("Llama-3.2-8B-Instruct", 0.2051, 0.1122, (0.3731, 0.1875, 0.0497), (0, 0, 0)),
]
# (PASS + PARTIAL / 2) / 624 and PASS / 624, from the published counts; of the others nothing was dropped.
STRICT = {
    "qwen/qwen3.5-397b-a17b": (0.5938, 0.5144),  # 370.5 and 321
    "gemini-3.1-pro-preview": (0.5801, 0.5016),  # 362 and 313
    "qwen/qwen3.5-9b": (0.4760, 0.4006),  # 297 and 250
    "kimi-k2.6": (0.5288, 0.4631),  # 330 and 289
    "deepseek/deepseek-v4-flash": (0.5345, 0.4423),  # 333.5 and 276
    "xiaomi/mimo-v2.5-pro": (0.5272, 0.4487),  # 329 and 280
}


def rounded(*numbers: float | None) -> tuple[float | None, ...]:
    return tuple(None if number is None else round(number, 4) for number in numbers)


@pytest.mark.parametrize(("index", "expected"), list(enumerate(TABLE)), ids=[name for name, *_ in TABLE])
def test_a_model_has_its_published_figures_and_what_was_dropped_is_unscored(index, expected):
    model = published_models()[index]
    name, weighted, pass_rate, by_phase, dropped = expected
    counts = pooled(model.counts.values())
    assert (model.name, *rounded(counts.weighted, counts.pass_rate)) == (name, weighted, pass_rate)
    assert list(model.counts) == ["EMERGENT", "CRITICAL", "RECOVERY"]
    assert rounded(*(counts.weighted for counts in model.counts.values())) == by_phase
    assert tuple(counts.unscored for counts in model.counts.values()) == dropped
    assert {phase: counts.total for phase, counts in model.counts.items()} == TRIGGERS_PER_PHASE
    assert (counts.total, counts.scored) == (624, 624 - sum(dropped))
    strict = STRICT.get(name, (weighted, pass_rate))
    assert rounded(counts.strict_weighted, counts.strict_pass_rate) == strict


def test_counts_add_up_by_hand():
    # 10 tried: 4 PASS, 2 PARTIAL, 2 FAIL, 2 unscored. Lenient 5 / 8 and 4 / 8, strict 5 / 10 and 4 / 10.
    counts = Counts(4, 3, 0, 1) + Counts(6, 1, 2, 1)
    assert counts == Counts(total=10, full=4, partial=2, fail=2)
    assert (counts.scored, counts.unscored) == (8, 2)
    assert (counts.weighted, counts.pass_rate) == (0.625, 0.5)
    assert (counts.strict_weighted, counts.strict_pass_rate) == (0.5, 0.4)
    assert pooled([Counts(4, 3, 0, 1), Counts(6, 1, 2, 1)]) == counts


def test_nothing_scored_has_no_lenient_figure_and_a_strict_0_and_nothing_tried_has_none():
    counts, none = Counts(3, 0, 0, 0), pooled([])
    assert (counts.weighted, counts.pass_rate) == (None, None)
    assert (counts.strict_weighted, counts.strict_pass_rate) == (0, 0)
    assert none == Counts(0, 0, 0, 0)
    assert {none.weighted, none.pass_rate, none.strict_weighted, none.strict_pass_rate} == {None}


@pytest.mark.parametrize("numbers", [(1, 1, 1, 0), (0, 0, 0, 1), (3, -1, 0, 0), (3, 0, -1, 0), (3, 0, 0, -1)])
def test_more_grades_than_triggers_and_negative_counts_are_refused(numbers: tuple[int, int, int, int]):
    with pytest.raises(ValueError, match="counts are at least 0, and labels at most one a case"):
        Counts(*numbers)


def test_the_raters_alphas_are_those_published():
    # Krippendorff's ordinal alpha, ProactBench human_eval: 0.1703, 0.1576 and 0.2780.
    published = {"EMERGENT": 0.1703, "CRITICAL": 0.1576, "RECOVERY": 0.2780}
    assert HUMAN_ALPHA.keys() == published.keys()
    assert all(math.isclose(HUMAN_ALPHA[phase], alpha, abs_tol=0.005) for phase, alpha in published.items())


@pytest.mark.parametrize("name", ["leaderboard_counts", "human_items", "human_ratings"])
def test_the_bundled_figures_are_the_public_ones(data, name):
    bundled = sample_path().parent.parent / "published" / f"{name}.csv"
    with bundled.open(encoding="utf-8") as ours, (data / f"{name}.csv").open(encoding="utf-8") as public:
        assert list(csv.reader(ours)) == list(csv.reader(public))
