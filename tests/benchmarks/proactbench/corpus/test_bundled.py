"""Control turns, and what comes with the package: the sample, worked cases of the judge, and published figures."""

import csv
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact import ProactBench, RatedItem, load_ratings
from dspy_proact.benchmarks.proactbench.corpus.bundled import AUTHORS, HUMAN_ALPHA, judge_cases, published_study
from dspy_proact.benchmarks.proactbench.corpus.dialogues import control_turns, load_corpus, sample_path
from dspy_proact.benchmarks.proactbench.corpus.rated_items import BALANCED
from dspy_proact.benchmarks.proactbench.types import Dialogue, Grade, Origin, Phase, Rubric, Trigger, Turn
from dspy_proact.evaluation.published import Counts, pooled
from dspy_proact.evidence import words_of

CORPUS = load_corpus("sample")
STUDY = load_ratings("sample")
CASES = judge_cases()

# Control turns

E, C, R = Phase.EMERGENT, Phase.CRITICAL, Phase.RECOVERY


def dialogue(turns: int, triggers: dict[int, Phase], key: str = "d1", text: str = "Question") -> Dialogue:
    """A dialogue of so many turns with triggers of these phases at these turns."""
    names = {"persona": "p", "scenario_id": "S", "blueprint": "B", "life_domain": "travel", "source_model": "m"}
    return Dialogue(
        origin=Origin(dialogue=key, style=1, **names),
        turns=tuple(Turn(user=f"{text} {number}", assistant="Answer.") for number in range(1, turns + 1)),
        triggers=tuple(
            Trigger(turn=turn, rubric=Rubric(phase=phase, pass_criteria="a", partial_criteria="b", fail_criteria="c"))
            for turn, phase in sorted(triggers.items())
        ),
    )


@pytest.mark.parametrize(
    ("turns", "triggers", "expected"),
    [
        (8, {2: E, 5: C}, (7, 8)),  # at least 2 turns from 2 and 5 lie 7 and 8; 8 closes too
        (10, {2: E, 5: C, 8: R}, (10,)),  # from 2, 5 and 8 only 10
        (7, {4: E, 7: R}, (1, 2)),  # from 4 and 7 lie 1 and 2; 7 closes, and is a trigger
        (3, {2: E}, (3,)),  # a closing turn may stand beside a trigger
        (3, {2: R}, ()),  # not after a RECOVERY trigger, wherever that is
        (3, {2: R, 1: E}, ()),
        (3, {3: C}, (1,)),  # a closing turn that is a trigger is none
        (1, {1: E}, ()),
        (4, {3: E}, (1, 4)),  # the closing turn is added to the others
        (4, {}, (4,)),  # without triggers nothing is far from one: the closing turn alone
        (0, {}, ()),
        (6, {2: E, 4: C, 6: R}, ()),  # a trigger at every other turn leaves none
    ],
)
def test_control_turns_worked_by_hand(turns: int, triggers: dict[int, Phase], expected: tuple[int, ...]):
    assert control_turns(dialogue(turns, triggers)) == expected


def test_where_more_lie_far_enough_each_is_as_likely_and_the_choice_is_frozen():
    """Another choice would be another measurement: of 3 to 10, all 2 turns from the one trigger, it takes one."""
    assert [control_turns(dialogue(10, {1: R}, key)) for key in ("d1", "d2", "d3")] == [(4,), (6,), (5,)]
    # 8 turns (3 to 10) and 800 keys: 100 each, with a standard deviation of 9.4; within 4 of these.
    chosen = Counter(control_turns(dialogue(10, {1: R}, f"key {number}")) for number in range(800))
    assert sorted(chosen) == [(turn,) for turn in range(3, 11)]
    assert all(62 <= count <= 138 for count in chosen.values())


@st.composite
def dialogues(draw: st.DrawFn) -> Dialogue:
    length = draw(st.integers(1, 14))
    turns = draw(st.sets(st.integers(1, length), max_size=6))
    return dialogue(length, {turn: draw(st.sampled_from(Phase)) for turn in turns}, draw(st.text(max_size=5)))


@given(item=dialogues())
def test_the_laws_of_control_turns(item: Dialogue):
    result, last = control_turns(item), len(item.turns)
    triggers = [trigger.turn for trigger in item.triggers]
    recovers = any(trigger.rubric.phase is R for trigger in item.triggers)
    assert list(result) == sorted(set(result))
    assert set(result) <= set(range(1, last + 1)) - set(triggers)
    near = {turn for turn in result if any(abs(turn - trigger) <= 1 for trigger in triggers)}
    assert near <= {last}
    assert not (near and recovers)
    assert len(result) <= len(triggers) + (not recovers)
    if not recovers and last not in triggers:
        assert last in result
    far = {t for t in range(1, last + 1) if triggers and min(abs(t - u) for u in triggers) >= 2}
    assert len(far & set(result)) >= min(len(far), len(triggers))


# The sample


def test_every_trigger_has_three_responses_with_three_reasoned_ratings_each():
    assert STUDY.notes(ProactBench.nouns) == ()
    assert (len(STUDY.items), STUDY.raters) == (147, ("A", "B", "C"))
    assert (STUDY.agents, STUDY.judge, STUDY.about) == (True, "", (AUTHORS,))
    items = Counter((item.group, item.view) for item in STUDY.items)
    assert list(items.values()) == [3] * 49
    assert all(item.text and not item.judged for item in STUDY.items)
    for grades in STUDY.by_item.values():
        assert sorted(row.rater for row in grades) == ["A", "B", "C"]
        assert all(len(row.reason.split()) >= 5 for row in grades)
    assert sum(len({row.grade for row in grades}) > 1 for grades in STUDY.by_item.values()) >= 30
    assert (len({item.group for item in STUDY.items}), len({item.meta["persona"] for item in STUDY.items})) == (13, 12)
    assert set(STUDY.source.files) == {"dialogues.jsonl", "responses.jsonl", "ratings.csv"}


# Worked cases of the judge's rules


def test_there_are_40_cases_with_several_of_every_phase_and_grade_and_none_of_the_sample():
    assert len({case.name for case in CASES}) == 40
    for counts in (Counter(case.case.stratum for case in CASES), Counter(case.label for case in CASES)):
        assert (min(counts.values()) >= 6, len(counts)) == (True, 3)
    for rule in ("CRITICAL", "RECOVERY", "Addressees", "Questions and offers", "Wrong details and harm"):
        assert len({case.label for case in CASES if case.rule == rule}) > 1
    # Eight words in a row nobody writes twice by chance.
    runs = [
        {tuple(words[at : at + 8]) for text in texts for words in [words_of(text)] for at in range(len(words) - 7)}
        for texts in ([case.answer.text for case in CASES], [item.text or "" for item in STUDY.items])
    ]
    assert runs[0].isdisjoint(runs[1])


# Published figures


def test_the_published_study_has_the_ratings_that_it_states():
    study = published_study(ProactBench())
    assert (len(study.items), len(study.grades), len(study.raters)) == (60, 275, 18)
    assert (study.agents, study.judge, study.about) == (False, "GPT-5.4", (BALANCED,))
    assert study.source.origin == "github.com/boson-ai/ProactBench"
    # 1 item is unrated, 9 with one rating, 5 with two, 8 with three, so 37 with at least four.
    counts = Counter(min(len(grades), 4) for grades in study.by_item.values())
    assert counts == {0: 1, 1: 9, 2: 5, 3: 8, 4: 37}
    assert study.notes(ProactBench.nouns) == (
        "items without a rating: 1 of 60",
        "items with one rater (not usable for agreement): 9",
    )
    # Each phase has 20 items, 7 PASS, 7 PARTIAL and 6 FAIL by the judge; 83, 83 and 109 ratings; each model 12 items.
    for phase, count in zip(Phase, (83, 83, 109), strict=True):
        items = [item for item in study.items if item.stratum == phase]
        assert Counter(item.judged[""] for item in items) == {"PASS": 7, "PARTIAL": 7, "FAIL": 6}
        assert sum(len(study.by_item[item.key]) for item in items) == count
    assert set(Counter(item.meta["response_model"] for item in study.items).values()) == {12}
    persona = "531a542ff1714bb080d8f06f3cd2daff"
    meta = {"persona": persona, "response_model": "Claude-Opus-4.7", "turn": 8}
    key = f"{persona}__PROFESSIONAL_01__s20__Claude-Opus-4.7__t8"
    scenario = f"{persona}/PROFESSIONAL_01"
    assert study.items[0] == RatedItem(key, scenario, Phase.RECOVERY, judged={"": Grade.PASS}, meta=meta)
    assert (len({item.meta["persona"] for item in study.items}), len({item.group for item in study.items})) == (15, 20)


def test_counts_add_up_by_hand_and_nothing_scored_has_no_lenient_figure_and_a_strict_0():
    # 10 tried: 4 PASS, 2 PARTIAL, 2 FAIL, 2 unscored. Lenient 5 / 8, strict 5 / 10.
    one, other = Counts(4, (3, 0, 1)), Counts(6, (1, 2, 1))
    counts = one + other
    assert counts == Counts(10, (4, 2, 2)) == pooled([one, other])
    assert (counts.scored, counts.unscored, counts.weighted(), counts.strict_weighted()) == (8, 2, 0.625, 0.5)
    # Where the middle label scores .2, the sum is 4 + .4. Four labels fall by thirds: (1 + 2 / 3 + 1 / 3) / 4 = .5.
    assert (counts.weighted((1, 0.2, 0)), counts.strict_weighted((1, 0.2, 0))) == (4.4 / 8, 4.4 / 10)
    assert Counts(5, (1, 1, 1, 1)).weighted() == pytest.approx(0.5)
    assert (Counts(3, (0, 0, 0)).weighted(), Counts(3, (0, 0, 0)).strict_weighted()) == (None, 0)
    assert (pooled([]), pooled([]).weighted(), pooled([]).strict_weighted()) == (Counts(0), None, None)
    for total, labels in ((1, (1, 1, 0)), (0, (0, 0, 1)), (3, (-1, 0, 0)), (3, (0, 0, -1))):
        with pytest.raises(ValueError, match="counts are at least 0, and labels at most one a case"):
            Counts(total, labels)


def test_the_bundled_figures_are_the_public_ones(data):
    # Krippendorff's ordinal alpha, ProactBench human_eval: 0.1703, 0.1576 and 0.2780.
    assert pytest.approx({"EMERGENT": 0.1703, "CRITICAL": 0.1576, "RECOVERY": 0.2780}, abs=0.005) == HUMAN_ALPHA
    for name in ("leaderboard_counts.csv", "human_items.csv", "human_ratings.csv"):
        bundled = sample_path().parent.parent / "published" / name
        ours, public = (
            list(csv.reader(path.read_text(encoding="utf-8").splitlines())) for path in (bundled, data / name)
        )
        assert ours == public
