"""What is named, and a folder in the layout of the published study."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import Row, jsonl, refusal, rubric, without

from dspy_proact import Grade, HumanGrade, JudgeView, ProactBench, Response, Rubric, Turn, load_ratings
from dspy_proact.benchmarks.proactbench.corpus.bundled import published_study
from dspy_proact.benchmarks.proactbench.corpus.rated_items import BALANCED, rated_item

PERSONA = "0123456789abcdef0123456789abcdef"
ITEM = f"{PERSONA}__TRAVEL_07__s3__Model-1__t2"
ANSWER = Response(text="The last boat leaves at four.")


@pytest.mark.parametrize("items", [[], "items.jsonl"])
@pytest.mark.parametrize("named", ["published", "sample", "proactbench"])
def test_a_study_that_comes_with_its_items_takes_no_others(named: str, items: Any):
    assert "leave the run or the items out" in str(refusal(lambda: load_ratings(named, items)))


def test_a_name_that_is_none_is_taken_for_a_path_and_told_what_there_is(tmp_path: Path):
    error = refusal(lambda: load_ratings(str(tmp_path / "pulbished"), []))
    assert "there is no such file; give published, sample, proactbench, or a CSV or JSONL file" in str(error)


# The official layout


def message(role: str, content: str) -> Row:
    return {"role": role, "content": content}


def official_item(**changes: Any) -> Row:
    """An item at turn 2 as the study has it; changes on top."""
    return {
        "item_id": ITEM,
        "dialogue_id": f"{PERSONA}__TRAVEL_07__s3",
        "trigger_type": "CRITICAL",
        "turn_index": 2,
        "evaluated_model": "Model-1",
        "judge_score": "Partial",
        "judge_rationale": "hidden rationale",
        "judge_evidence": "hidden evidence",
        "persona_category": "travel_persona",
        "communication_style": "hidden style",
        "dialogue_history": [message("user", "One?"), message("assistant", "Yes."), message("user", "Two?")],
        "user_message": "Two?",
        "anchors_disclosed": ["hidden anchor"],
        "model_response": "The last boat leaves at four.",
        "rubric": without(rubric("CRITICAL"), "type"),
        **changes,
    }


def official_rating(annotator: str = "A01", **changes: Any) -> Row:
    return {
        "annotator_id": annotator,
        "item_id": ITEM,
        "score": "Pass",
        "rationale": "It names the boat.",
        "confidence": 4,
        "time_spent_seconds": 12.5,
        "timestamp": "2026-05-01T18:00:36.668Z",
        "server_received_at": "2026-05-01T18:00:36.634046Z",
        **changes,
    }


def folder(path: Path, *items: Row, **results: str) -> Path:
    """A folder in the official layout."""
    (path / "results").mkdir()
    (path / "sample_items.json").write_text(json.dumps(items or [official_item()]), encoding="utf-8")
    for name, text in (results or {"A01": jsonl(official_rating())}).items():
        (path / "results" / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return path


def test_an_official_folder_is_read_in_our_words(tmp_path: Path):
    other = official_rating("A02", score="FAIL", rationale=None, time_spent_seconds=None)
    study = load_ratings(str(folder(tmp_path, A02=jsonl(other), A01=jsonl(official_rating()))))
    ratings = rubric("CRITICAL")
    view = JudgeView(
        conversation=(Turn(user="One?", assistant="Yes."), Turn(user="Two?", assistant=None)),
        turn=2,
        rubric=Rubric(phase=ratings.pop("type"), **ratings),
    )
    about = {"scenario": f"{PERSONA}/TRAVEL_07", "persona": PERSONA, "judge": Grade.PARTIAL, "model": "Model-1"}
    assert study.items == (rated_item(ITEM, view, ANSWER.text, **about),)
    assert study.grades == (
        HumanGrade(ITEM, ANSWER, "PASS", "A01", reason="It names the boat.", confidence=4, seconds=12.5),
        HumanGrade(ITEM, ANSWER, "FAIL", "A02", confidence=4),
    )
    assert (study.name, study.source.origin, study.source.commit) == (str(tmp_path), str(tmp_path), None)
    assert list(study.source.files) == ["sample_items.json", "results/A01.jsonl", "results/A02.jsonl"]
    assert study.ignored_fields == {}
    assert "hidden" not in repr(study.items)
    assert (study.judge, study.about) == ("", ()), "which are of the published items alone"


def test_fields_that_the_documentation_leaves_open_may_be_missing(tmp_path: Path):
    hidden = ("dialogue_id", "judge_rationale", "judge_evidence", "persona_category", "communication_style")
    item = official_item(rubric=rubric("CRITICAL"))
    for name in (*hidden, "user_message", "anchors_disclosed", "judge_score", "evaluated_model"):
        item = without(item, name)
    bare = {"annotator_id": "A01", "item_id": ITEM, "score": "pass"}
    study = load_ratings(str(folder(tmp_path, item, A01=jsonl(bare))))
    assert (study.items[0].judged, study.items[0].meta) == ({}, {"persona": PERSONA, "turn": 2})
    assert study.grades == (HumanGrade(ITEM, ANSWER, "PASS", "A01"),)


def test_a_history_may_end_before_the_message_at_the_trigger(tmp_path: Path):
    history = official_item()["dialogue_history"][:-1]
    (item,) = load_ratings(str(folder(tmp_path, official_item(dialogue_history=history)))).items
    assert isinstance(item.view, JudgeView)
    assert item.view.conversation[-1] == Turn(user="Two?", assistant=None)


def test_unknown_fields_are_counted(tmp_path: Path):
    item = official_item(mood="x", rubric={**rubric("CRITICAL"), "hint": "y"})
    study = load_ratings(str(folder(tmp_path, item, A01=jsonl(official_rating(device="phone")))))
    assert study.ignored_fields == {"device": 1, "mood": 1, "rubric.hint": 1}
    assert study.notes(ProactBench.nouns)[-1].endswith("'device' (1), 'mood' (1), 'rubric.hint' (1)")


def test_an_id_of_another_form_has_no_scenario(tmp_path: Path):
    ids = ["item-1", "a__b__c", "__b__s1__m__t2", "a__b__s__m__t2"]
    items = [official_item(item_id=item) for item in ids]
    study = load_ratings(str(folder(tmp_path, *items, A01=jsonl(official_rating(item_id="item-1")))))
    assert {(item.group, "persona" in item.meta) for item in study.items} == {("", False)}


def test_outer_blanks_of_an_id_do_not_count(tmp_path: Path):
    rating = official_rating(" A01", item_id="x ")
    (row,) = load_ratings(str(folder(tmp_path, official_item(item_id=" x"), A01=jsonl(rating)))).grades
    assert (row.key, row.rater) == (" x", "A01")


BAD_ITEMS = [
    (official_item(turn_index=3), "[1].turn_index", "3 disagrees with dialogue_history, which has 2 turns"),
    (official_item(trigger_type="LATE"), "[1].trigger_type", "a phase is EMERGENT, CRITICAL or RECOVERY, not 'LATE'"),
    (official_item(rubric=rubric("RECOVERY")), "[1].rubric.type", "RECOVERY disagrees with trigger_type"),
    (official_item(user_message="Three?"), "[1].user_message", "another message than the last of dialogue_history"),
    (
        official_item(dialogue_history=[], user_message=None),
        "[1].dialogue_history",
        "the user's message at the trigger is missing at its end",
    ),
    (
        official_item(dialogue_history=[message("user", "One?"), message("user", "Two?")]),
        "[1].dialogue_history[1].role",
        "user and assistant must alternate, not user here",
    ),
    (without(official_item(), "model_response"), "[1].model_response", "the field is missing"),
]


@pytest.mark.parametrize(("item", "field", "problem"), BAD_ITEMS)
def test_a_bad_item_is_named_with_its_place_in_the_list(tmp_path: Path, item: Row, field: str, problem: str):
    folder(tmp_path, official_item(item_id="first"), item)
    error = refusal(lambda: load_ratings(str(tmp_path)))
    assert (error.source, error.line, error.field) == (str(tmp_path / "sample_items.json"), None, field)
    assert problem in str(error)


@pytest.mark.parametrize(
    ("text", "line", "field", "problem"),
    [
        ("[\n{},\nx]", 3, None, "not JSON"),
        ('{"item_id": "x"}', None, None, "a list of items is expected, not an object"),
        ("[7]", None, "[0]", "an object is expected, not 7"),
        ('[{"item_id": NaN}]', None, "[0].item_id", "NaN is not JSON"),
        ("[]", 1, "item", "is none of the 0 items"),
    ],
)
def test_items_that_are_no_json_list_are_refused(
    tmp_path: Path, text: str, line: int | None, field: str | None, problem: str
):
    folder(tmp_path)
    (tmp_path / "sample_items.json").write_text(text, encoding="utf-8")
    error = refusal(lambda: load_ratings(str(tmp_path)))
    assert problem in str(error)
    assert (error.line, error.field) == (line, field)


BAD_RATINGS = [
    (jsonl(official_rating(score="Great")), 1, "score", "a grade is PASS, PARTIAL or FAIL, not 'Great'"),
    (jsonl(official_rating(score="")), 1, "score", "a rating needs a grade"),
    (jsonl(official_rating(confidence=6)), 1, "confidence", "confidence is 1, 2, 3, 4 or 5, not 6"),
    (jsonl(official_rating(time_spent_seconds=-1)), 1, "time_spent_seconds", "greater than or equal to 0"),
    (jsonl(without(official_rating(), "annotator_id")), 1, "annotator_id", "the field is missing"),
    ("\n" + jsonl(official_rating(), official_rating()), 3, "item", f"'A01' rated {ITEM[:60]!r}"[:-1]),
]


@pytest.mark.parametrize(("text", "line", "field", "problem"), BAD_RATINGS)
def test_a_bad_rating_is_named_with_file_line_and_field(
    tmp_path: Path, text: str, line: int, field: str | None, problem: str
):
    folder(tmp_path, A01=text)
    error = refusal(lambda: load_ratings(str(tmp_path)))
    assert (error.source, error.line, error.field) == (str(tmp_path / "results" / "A01.jsonl"), line, field)
    assert problem in str(error)


def test_a_folder_without_items_or_ratings_is_refused(tmp_path: Path):
    assert "there is no sample_items.json in this folder" in str(refusal(lambda: load_ratings(str(tmp_path))))
    (tmp_path / "sample_items.json").write_text("[]", encoding="utf-8")
    assert "there is no file of ratings in results" in str(refusal(lambda: load_ratings(str(tmp_path))))
    assert "there is no rating in it" in str(refusal(lambda: load_ratings(str(folder(tmp_path, A01="\n")))))


def test_the_real_items_are_read(tmp_path: Path, data: Path):
    text = (data / "human_items_with_text.json").read_text(encoding="utf-8")
    public = {item["item_id"]: item for item in json.loads(text)}
    folder(tmp_path, A01=jsonl(*(official_rating(item_id=key) for key in public)))
    (tmp_path / "sample_items.json").write_text(text, encoding="utf-8")
    study = load_ratings(str(tmp_path))
    bundled = {item.key: item for item in published_study(ProactBench()).items}
    assert [item.key for item in study.items] == list(public)
    for item in study.items:
        assert replace(item, view=None, answer=None, text=None) == bundled[item.key]
        assert isinstance(item.view, JudgeView)
        assert item.view.conversation == (Turn(user=public[item.key]["user_message"], assistant=None),)
        assert item.text == public[item.key]["model_response"]
    assert study.ignored_fields == {}


def test_a_folder_of_the_published_items_says_who_judged_them_and_how_they_were_drawn(tmp_path: Path):
    keys = [item.key for item in published_study(ProactBench()).items]
    rating = jsonl(official_rating(item_id=keys[0]))
    study = load_ratings(str(folder(tmp_path, *(official_item(item_id=key) for key in keys), A01=rating)))
    assert (study.judge, study.about) == ("GPT-5.4", (BALANCED,))
