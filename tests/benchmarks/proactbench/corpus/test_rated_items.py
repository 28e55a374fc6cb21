"""The file of items to be rated: what it holds, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import Row, jsonl, refusal, rubric, without

from dspy_proact import Grade, JudgeView, Phase, Rubric, Turn, load_ratings
from dspy_proact.benchmarks.proactbench.corpus.rated_items import items_in, rated_item


def item_row(**changes: Any) -> Row:
    criteria = rubric("EMERGENT")
    return {
        "item": "a",
        "rubric": {"phase": criteria.pop("type"), **criteria},
        "conversation": [{"user": "One?", "assistant": "Yes."}, {"user": "Which path?"}],
        "turn": 2,
        "response": "The last boat leaves at four.",
        "judge": "Partial",
        "scenario": "p/s",
        "persona": "p",
        "model": "model-7",
        **changes,
    }


def test_items_are_read_from_a_file_of_ours():
    bare = item_row(item="b", rubric=item_row()["rubric"] | {"phase": "emergent"})
    for name in ("turn", "judge", "scenario", "persona", "model"):
        bare = without(bare, name)
    view = JudgeView(
        conversation=(Turn(user="One?", assistant="Yes."), Turn(user="Which path?", assistant=None)),
        turn=2,
        rubric=Rubric(phase=Phase.EMERGENT, **without(rubric("EMERGENT"), "type")),
    )
    known = {"scenario": "p/s", "persona": "p", "judge": Grade.PARTIAL, "model": "model-7"}
    assert items_in(jsonl(item_row(), bare).encode(), "items.jsonl") == (
        rated_item("a", view, "The last boat leaves at four.", **known),
        rated_item("b", view, "The last boat leaves at four."),
    )


def test_ratings_are_of_the_items_in_the_file(tmp_path: Path):
    items, ratings = tmp_path / "items.jsonl", tmp_path / "ratings.csv"
    items.write_text(jsonl(item_row(), item_row(item="b")), encoding="utf-8")
    ratings.write_text("item,annotator,grade\nb,ann,partial\n", encoding="utf-8")
    study = load_ratings(str(ratings), items)
    assert [(row.key, row.grade) for row in study.grades] == [("b", "PARTIAL")]
    assert ([item.key for item in study.items], list(study.source.files)) == (["a", "b"], [str(ratings), str(items)])
    missing = refusal(lambda: load_ratings(str(ratings), tmp_path / "none"))
    assert "there is no such file; give a file of items" in str(missing)


def rubric_with(**changes: Any) -> Row:
    return item_row(rubric=item_row()["rubric"] | changes)


BAD_ITEMS = [
    (item_row(turn=3), "turn", "3 disagrees with conversation, which has 2 turns"),
    (rubric_with(phase="LATE"), "rubric.phase", "a phase is EMERGENT, CRITICAL or RECOVERY, not 'LATE'"),
    (item_row(conversation=[]), "conversation", "the list should not be empty"),
    (item_row(conversation=[{"user": "?"}, {"user": "?"}]), "conversation[0].assistant", "only the last turn awaits"),
    (
        item_row(conversation=[{"user": "?", "assistant": "!"}], turn=1),
        "conversation[0].assistant",
        "the last turn awaits its response, which stands in response; leave it out",
    ),
    (item_row(grade="PASS"), "grade", "no field of ours"),
    (item_row(item="first"), "item", "the same item stands on line 1; keep one of the two"),
]


@pytest.mark.parametrize(("row", "field", "problem"), BAD_ITEMS)
def test_a_bad_row_of_items_is_named_with_line_and_field(row: Row, field: str, problem: str):
    error = refusal(lambda: items_in(jsonl(item_row(item="first"), row).encode(), "items.jsonl"))
    assert (error.source, error.line, error.field) == ("items.jsonl", 2, field)
    assert problem in str(error)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty: there is no item in it"),
        (json.dumps([item_row()]), "line 1: a line must hold one item as a JSON object"),
        ("{\n", "line 1: not JSON"),
    ],
)
def test_a_file_that_holds_no_items_is_refused(text: str, problem: str):
    assert problem in str(refusal(lambda: items_in(text.encode(), "items.jsonl")))
