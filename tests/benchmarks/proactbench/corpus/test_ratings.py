"""The published study, a folder in the official layout, and what a study says of itself."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from rows import Row, jsonl, refusal, rubric, without

from dspy_proact.benchmarks.proactbench.corpus.bundled import published_ratings
from dspy_proact.benchmarks.proactbench.corpus.rating_files import load_ratings
from dspy_proact.benchmarks.proactbench.corpus.ratings import RatedItem, Ratings, RatingsSource, TimedRating
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Phase, Rating, Rubric, Turn

PERSONA = "0123456789abcdef0123456789abcdef"
ITEM = f"{PERSONA}__TRAVEL_07__s3__Model-1__t2"


# What a study says of itself


def rated(key: str, *, phase: str = "EMERGENT", scenario: str = "p/s") -> RatedItem:
    return RatedItem(key=key, phase=Phase(phase), scenario=scenario)


def test_what_weakens_a_study_is_noted():
    items = (rated("a", scenario=""), rated("b", phase="CRITICAL"))
    ratings = (Rating(item="a", annotator="x", grade=Grade.PASS, confidence=5),)
    assert Ratings("s", items, ratings, RatingsSource(origin="s", files={})).notes == (
        "items without a rating: 1 of 2",
        "items with one rating (not usable for agreement): 1",
        "phases without a rating: CRITICAL",
        "items without a scenario, so that nobody knows which belong together: 1",
    )


def test_the_hash_is_of_items_and_ratings_and_not_of_where_they_are_from():
    items = (rated("a"),)
    ratings = (Rating(item="a", annotator="x", grade=Grade.PASS, confidence=5),)
    others = (Rating(item="a", annotator="x", grade=Grade.FAIL, confidence=5),)
    here, there = RatingsSource(origin="here", files={}), RatingsSource(origin="there", files={})
    study = Ratings("s", items, ratings, here)
    assert len(study.sha256) == 64
    assert study.sha256 == Ratings("t", items, ratings, there).sha256
    assert study.sha256 != Ratings("s", items, others, here).sha256


def test_an_item_and_its_view_are_of_one_trigger():
    view = JudgeView(
        conversation=(Turn(user="Hello", assistant=None),),
        turn=1,
        rubric=Rubric(phase=Phase.EMERGENT, pass_criteria="p", partial_criteria="q", fail_criteria="f"),
    )
    RatedItem(key="a", phase=Phase.EMERGENT, scenario="s", view=view)
    for changes in ({"phase": Phase.CRITICAL}, {"turn": 2}):
        with pytest.raises(ValidationError, match="another trigger than the view's"):
            RatedItem(**{"key": "a", "phase": Phase.EMERGENT, "scenario": "s", "view": view, **changes})


@pytest.mark.parametrize("path", [None, "items.jsonl"])
@pytest.mark.parametrize("spec", ["published", "sample", "proactbench", "folder"])
def test_a_study_that_comes_with_its_items_takes_no_others(tmp_path: Path, spec: str, path: str | None):
    spec = str(tmp_path) if spec == "folder" else spec
    items = [rated("a")] if path is None else None
    assert "leave the run or the items out" in str(refusal(lambda: load_ratings(spec, items, items_path=path)))


def test_a_name_that_is_none_is_taken_for_a_path_and_told_what_there_is(tmp_path: Path):
    error = refusal(lambda: load_ratings(str(tmp_path / "pulbished"), []))
    assert "there is no such file; give published, sample, proactbench, a folder" in str(error)


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
    given = rubric("CRITICAL")
    assert study.items == (
        RatedItem(
            key=ITEM,
            phase=Phase.CRITICAL,
            scenario=f"{PERSONA}/TRAVEL_07",
            persona=PERSONA,
            judge=Grade.PARTIAL,
            view=JudgeView(
                conversation=(Turn(user="One?", assistant="Yes."), Turn(user="Two?", assistant=None)),
                turn=2,
                rubric=Rubric(phase=given.pop("type"), **given),
            ),
            response="The last boat leaves at four.",
            turn=2,
            model="Model-1",
        ),
    )
    assert study.ratings == (
        TimedRating(
            item=ITEM, annotator="A01", grade=Grade.PASS, confidence=4, reason="It names the boat.", seconds=12.5
        ),
        Rating(item=ITEM, annotator="A02", grade=Grade.FAIL, confidence=4),
    )
    assert (study.name, study.source.origin, study.source.commit) == (str(tmp_path), str(tmp_path), None)
    assert list(study.source.files) == ["sample_items.json", "results/A01.jsonl", "results/A02.jsonl"]
    assert study.ignored_fields == {}
    assert "hidden" not in study.items[0].model_dump_json()


def test_fields_that_the_documentation_leaves_open_may_be_missing(tmp_path: Path):
    hidden = ("dialogue_id", "judge_rationale", "judge_evidence", "persona_category", "communication_style")
    item = official_item(rubric=rubric("CRITICAL"))
    for name in (*hidden, "user_message", "anchors_disclosed", "judge_score", "evaluated_model"):
        item = without(item, name)
    bare = {"annotator_id": "A01", "item_id": ITEM, "score": "pass"}
    study = load_ratings(str(folder(tmp_path, item, A01=jsonl(bare))))
    assert (study.items[0].judge, study.items[0].model) == (None, "")
    assert study.ratings == (Rating(item=ITEM, annotator="A01", grade=Grade.PASS, confidence=3),)
    assert (study.assumed, study.notes[-1]) == (1, "ratings without a confidence, taken as 3: 1")


def test_a_history_may_end_before_the_message_at_the_trigger(tmp_path: Path):
    history = official_item()["dialogue_history"][:-1]
    (item,) = load_ratings(str(folder(tmp_path, official_item(dialogue_history=history)))).items
    assert item.view is not None
    assert item.view.conversation[-1] == Turn(user="Two?", assistant=None)


def test_unknown_fields_are_counted(tmp_path: Path):
    item = official_item(mood="x", rubric={**rubric("CRITICAL"), "hint": "y"})
    study = load_ratings(str(folder(tmp_path, item, A01=jsonl(official_rating(device="phone")))))
    assert study.ignored_fields == {"device": 1, "mood": 1, "rubric.hint": 1}
    assert study.notes[-1].endswith("'device' (1), 'mood' (1), 'rubric.hint' (1)")


def test_an_id_of_another_form_has_no_scenario(tmp_path: Path):
    ids = ["item-1", "a__b__c", "__b__s1__m__t2", "a__b__s__m__t2"]
    items = [official_item(item_id=each) for each in ids]
    study = load_ratings(str(folder(tmp_path, *items, A01=jsonl(official_rating(item_id="item-1")))))
    assert {(item.scenario, item.persona) for item in study.items} == {("", "")}


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
        ("[{]", 1, None, "not JSON"),
        ("[\n{},\nx]", 3, None, "not JSON"),
        ('{"item_id": "x"}', None, None, "a list of items is expected, not an object"),
        ("[7]", None, "[0]", "an object is expected, not 7"),
        ('[{"item_id": NaN}]', None, "[0].item_id", "NaN is not JSON"),
        ("[" * 5000 + "]" * 5000, None, None, "nested more than"),
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
    if "nested" not in problem:
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
    bundled = {item.key: item for item in published_ratings().items}
    assert [item.key for item in study.items] == list(public)
    for item in study.items:
        assert item.model_copy(update={"view": None, "response": None}) == bundled[item.key]
        assert item.view is not None
        assert item.view.conversation == (Turn(user=public[item.key]["user_message"], assistant=None),)
        assert item.response == public[item.key]["model_response"]
    assert study.ignored_fields == {}
