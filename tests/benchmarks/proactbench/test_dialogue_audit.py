"""The audit of dialogues: each check fails for a planted fault and passes without it; nothing hidden is needed."""

import json

import pytest
from builders.dialogues import jsonl, record, row, rubric, trigger_point
from fakes.hub import COMMIT, hub_of, printed

from dspy_proact.audit.audit import Audit
from dspy_proact.errors import CorpusError

WORDS = (
    "lamp",
    "river",
    "ticket",
    "garden",
    "soup",
    "violin",
    "letter",
    "stair",
    "winter",
    "garage",
    "basket",
    "harbour",
)


def message(dialogue, turn):
    """A message that shares no run of three words with another."""
    first = WORDS[(dialogue + turn) % len(WORDS)]
    return f"Please {first} {dialogue}-{turn} {WORDS[(3 * dialogue + turn + 5) % len(WORDS)]} d{dialogue}t{turn}."


def sound(dialogue, phases=("EMERGENT", "CRITICAL", "RECOVERY"), turns=(1, 4, 8), **changes):
    """A row of eight turns in which nothing is to be found; it begins with turns that are no control turn's."""
    records = [
        record(turn, user_message=message(dialogue, turn), assistant_response=f"Reply {dialogue} {turn}.")
        for turn in range(1, 9)
    ]
    points = [
        trigger_point(turn, phase, evaluation_rubric=rubric(phase, pass_criteria=f"{phase} {dialogue} b{turn} c{turn}"))
        for turn, phase in zip(turns, phases, strict=True)
    ]
    return {
        **row(turn_records=records, trigger_points=points),
        "unique_id_eval": f"key{dialogue}",
        "blueprint_id": f"BP_{dialogue}",
        "num_turns_completed": 8,
        "anchors": None,
        "proof": None,
        **changes,
    }


@pytest.fixture
def audited(tmp_path):
    """The checks of a file, or of a folder with controls, of these rows, by name."""

    def checks(*rows, controls=()):
        folder = tmp_path / "corpus"
        folder.mkdir(exist_ok=True)
        (folder / "final_dialogues.jsonl").write_text(jsonl(*rows), encoding="utf-8")
        (folder / "controls.jsonl").write_text(jsonl(*controls), encoding="utf-8")
        return {check.name: check for check in Audit(folder).checks}

    return checks


def problems(check):
    return [f"{finding.key}: {finding.problem}" for finding in check.findings]


def test_sound_dialogues_fail_no_check(audited):
    states = {name: check.state for name, check in audited(sound(1), sound(2)).items()}
    assert [name for name, state in states.items() if state == "failed"] == []
    passed = {"schema", "empty texts", "order of phases", "criteria", "control turns", "blueprint twins"}
    assert {name for name, state in states.items() if state == "passed"} == passed | {
        "near duplicates among conversations",
        "near duplicates among rubrics",
    }
    assert {name for name, state in states.items() if state == "not tested"} >= {"planted facts", "quotes in rubrics"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"trigger_points": [{"turn": 1}]}, "trigger_points[0].evaluation_rubric: the field is missing."),
        (
            {"trigger_points": [trigger_point(1, evaluation_rubric=rubric("EMERGENT", pass_criteria=" "))]},
            "trigger_points[0].evaluation_rubric.pass_criteria: input should not be blank, not ' '.",
        ),
        (
            {"trigger_points": [trigger_point(1, "URGENT")]},
            "trigger_points[0].evaluation_rubric.type: "
            "input should be 'EMERGENT', 'CRITICAL' or 'RECOVERY', not 'URGENT'.",
        ),
        ({"unique_id_eval": "key1"}, "unique_id_eval: the same key stands on line 1; keep one of the two rows."),
    ],
)
def test_a_row_that_cannot_be_used_is_a_finding_and_the_others_are_checked(audited, change, problem):
    schema = audited(sound(1), sound(2, **change), sound(3))["schema"]
    assert (schema.state, problems(schema)) == ("failed", [f"final_dialogues.jsonl, line 2: {problem}"])
    assert schema.sentence == "2 of 3 rows can be used, as 2 dialogues."


def test_a_corpus_of_which_no_row_can_be_used_is_refused_with_the_first_fault(audited):
    with pytest.raises(CorpusError, match="no row of it can be used: unique_id_eval: the field is missing"):
        audited({name: value for name, value in sound(1).items() if name != "unique_id_eval"})
    with pytest.raises(CorpusError, match="no dialogue has a trigger"):
        audited(sound(1, trigger_points=[]))


def test_triggers_outside_the_schedule_are_reported(audited):
    check = audited(sound(1, turns=(1, 4, 7)), sound(2))["windows"]
    assert (check.state, problems(check)) == (
        "reported",
        ["key1__t7: RECOVERY at turn 7; the schedule has turns 8 to 10."],
    )
    assert check.sentence == "5 of 6 triggers are at turns of the published schedule, which is a target and no rule."
    many = sound(3, phases=("EMERGENT",) * 3, turns=(1, 2, 3))
    assert problems(audited(many)["windows"]) == ["key3: 3 EMERGENT triggers; the schedule has at most 2."]


def test_a_phase_that_comes_back_after_recovery_fails(audited):
    check = audited(sound(1, phases=("RECOVERY", "CRITICAL", "RECOVERY")))["order of phases"]
    assert (check.state, problems(check)) == ("failed", ["key1__t4: CRITICAL at turn 4 follows RECOVERY at 1."])


def test_two_criteria_in_much_the_same_words_fail(audited):
    same = rubric(
        "EMERGENT", pass_criteria="names the boat and the hour", partial_criteria="Names the boat, and the hour!"
    )
    check = audited(sound(1, trigger_points=[trigger_point(1, evaluation_rubric=same)]))["criteria"]
    assert check.state == "failed"
    assert problems(check) == ["key1__t1: PASS and PARTIAL share 100% of their three-word sequences."]


def test_words_that_a_rubric_shares_with_the_message_are_reported_and_never_a_fault(audited):
    shared = rubric("EMERGENT", pass_criteria=f"Takes up: {message(1, 1)}")
    check = audited(sound(1, trigger_points=[trigger_point(1, evaluation_rubric=shared)]))["rubric words in user turns"]
    assert (check.state, len(check.findings)) == ("reported", 1)
    assert "which alone is no fault" in check.sentence
    assert audited(sound(1))["rubric words in user turns"].findings == ()


@pytest.mark.parametrize(
    ("quoted", "state", "problem"),
    [
        (message(1, 4), "passed", None),
        (message(1, 7), "failed", "which the user says only later"),
        ("shall I book it", "reported", "which nobody says"),
        ("tea time", "not tested", None),
    ],
)
def test_a_quote_of_a_rubric_that_is_said_only_later_fails(audited, quoted, state, problem):
    of = rubric("CRITICAL", pass_criteria=f'Acts on "{quoted.rstrip(".")}" by itself.')
    check = audited(sound(1, trigger_points=[trigger_point(5, evaluation_rubric=of)]))["quotes in rubrics"]
    assert check.state == state
    assert [problem in finding.problem for finding in check.findings] == ([True] if problem else [])


def test_a_corpus_without_a_control_turn_fails(audited):
    every_turn = sound(1, phases=("EMERGENT",) * 7 + ("RECOVERY",), turns=range(1, 9))
    check = audited(every_turn)["control turns"]
    assert check.state == "failed"
    assert "costs nothing on it" in check.sentence
    assert "has 1 control turn, none of them in controls.jsonl" in audited(sound(1))["control turns"].sentence


def test_a_twin_of_blueprint_persona_and_style_fails_and_another_style_does_not(audited):
    twin = sound(2, blueprint_id="BP_1")
    check = audited(sound(1), twin)["blueprint twins"]
    assert (check.state, problems(check)) == ("failed", ["key2: It has blueprint, persona and style of key1."])
    assert audited(sound(1), {**twin, "style_combination_index": 4})["blueprint twins"].state == "passed"


# A made corpus


def planted(turn=1, **changes):
    return {
        "id": "a1",
        "fact": "the ferry stops",
        "keys": ["river"],
        "turn": turn,
        "quote": message(1, turn),
        **changes,
    }


def proof(*anchors, turn=1):
    return [{"turn": turn, "anchors": list(anchors), "kept": True}]


def made(**changes):
    return sound(1, anchors=[planted()], proof=proof("a1"), **changes)


@pytest.mark.parametrize(
    ("row_of", "problem"),
    [
        (made, None),
        (
            lambda: {**made(), "anchors": [planted(quote="never said by anybody")]},
            "key1: a1: its quote does not stand in the user's message of turn 1.",
        ),
        (
            lambda: {**made(), "anchors": [planted(turn=9)]},
            "key1: a1: its quote does not stand in the user's message of turn 9.",
        ),
        (lambda: {**made(), "proof": proof("a2")}, "key1__t1: It rests on a2, which is nowhere disclosed."),
        (lambda: {**made(), "anchors": [planted(turn=2)]}, "key1__t1: It rests on a1, disclosed only at turn 2."),
        (lambda: {**made(), "proof": proof()}, "key1__t1: It rests on no planted fact."),
        (
            lambda: {**made(), "proof": proof("a1", turn=4)},
            "key1__t4: CRITICAL joins two facts or more, and it rests on one.",
        ),
        (
            lambda: {**made(), "anchors": [{"id": "a1"}]},
            "key1: What was planted cannot be read: list[PlantedFact] 0.fact: Field required.",
        ),
    ],
)
def test_a_planted_fact_that_is_not_where_it_should_be_fails(audited, row_of, problem):
    check = audited(row_of())["planted facts"]
    assert check.state == ("failed" if problem else "passed")
    assert not problem or problem in problems(check)


def test_a_swapped_control_that_still_holds_a_key_of_its_fact_fails(audited):
    clean = sound(2, unique_id_eval="key1__swap1", trigger_points=[], control_turn=1)
    clean["turn_records"] = [record(1, user_message="A quiet question.", assistant_response="")]
    clean["num_turns_completed"] = 1
    check = audited(made(), controls=[clean])["swapped controls"]
    assert (check.state, check.tested) == ("passed", 1)
    left = json.loads(json.dumps(clean))
    left["turn_records"][0]["user_message"] = "By the River, a quiet question."
    check = audited(made(), controls=[left])["swapped controls"]
    assert problems(check) == ["key1__swap1: It still holds 'river' of the fact a1 that was taken out."]


def test_a_made_corpus_without_its_controls_fails_the_schema(tmp_path):
    (tmp_path / "final_dialogues.jsonl").write_text(jsonl(made()), encoding="utf-8")
    assert Audit(tmp_path).checks[0].state != "failed"
    (tmp_path / "corpus.json").write_text("{}", encoding="utf-8")
    (tmp_path / "items.jsonl").write_text("", encoding="utf-8")
    schema = Audit(tmp_path).checks[0]
    assert (schema.name, schema.state, schema.findings[0].key) == ("schema", "failed", "controls.jsonl")


AUDITED = """
import sys
from dspy_proact.audit.audit import Audit
audit = Audit(sys.argv[1])
print(audit.corpus.name, audit.corpus.revision, [item.key for item in audit.corpus.items])
"""


def test_the_published_corpus_is_audited_at_the_commit_that_is_named(tmp_path):
    with hub_of("bosonai/proactbench", {"final_dialogues.jsonl": jsonl(sound(1), sound(2)).encode()}) as hub:
        lines = printed(AUDITED, tmp_path, f"proactbench@{COMMIT}", HF_ENDPOINT=hub.url)
    assert lines == [f"proactbench {COMMIT} ['key1', 'key2']"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Last week my neighbour asked Ilse whether the old boat still leaves the harbour in the morning.", ["Ilse"]),
        ("Gestern hat mein Nachbar im Hafen das Boot vom Ufer zum Steg gebracht und den Motor im Keller verkauft.", []),
    ],
)
def test_names_are_told_by_capital_letters_where_not_all_nouns_have_them(audited, text, names):
    rows = [sound(number, uuid=f"{number:032x}") for number in range(4)]
    for one in rows:
        for turn in one["turn_records"]:
            turn["user_message"] = text
    shown = [finding.problem.partition(" ")[0] for finding in audited(*rows)["names"].findings]
    assert shown == names
