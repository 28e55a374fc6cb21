"""Tables of one's own as rows: which column is what, labels wide and long, the scale, and cells that are refused."""

import csv
import json
from pathlib import Path

import pytest

from dspy_proact.benchmarks.rows.levels import Message, RowSettings
from dspy_proact.benchmarks.rows.table import case_set_of, known_ratings, read_table, responses_in
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.evaluation.registry import benchmark_as_set

FOUR = ("bad", "ok", "good", "great")
ALL = ["input", "response", "grade"]


def table(path: Path, columns: str, *rows: list) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns.split(), *rows])
    return path


def settings(*columns: tuple[str, str], scale=FOUR, **more) -> RowSettings:
    return RowSettings(scale=scale, columns=columns, **more)


def ratings(path: Path, wanted: RowSettings):
    declared = benchmark_as_set("rows", wanted.model_dump(mode="json"))
    return known_ratings(declared, str(path), wanted)


@pytest.fixture
def wide(tmp_path):
    rows = ["Where is it?", "On its way.", "good", "ok"], ["It broke.", "Sorry.", "bad", ""]
    return table(tmp_path / "wide.csv", "prompt reply label_ann label_bob", *rows)


def test_usual_names_are_columns_and_those_with_a_prefix_are_of_the_rater_after_it(wide):
    read = ratings(wide, settings())
    assert [(row.key, row.rater, row.grade) for row in read.grades] == [
        ("row-1", "ann", "good"),
        ("row-1", "bob", "ok"),
        ("row-2", "ann", "bad"),
    ]
    assert [(item.key, item.group, item.text) for item in read.items] == [
        ("row-1", "row-1", "On its way."),
        ("row-2", "row-2", "Sorry."),
    ]
    assert read.ungraded == 1
    assert any("every row is its own group" in sentence.lower() for sentence in read.about)


def test_a_line_for_each_label_makes_one_row_of_equal_input_and_response_or_of_one_key(tmp_path):
    lines = ["Hi", "Hello.", "Good ", "ann"], ["Hi", "Hello.", "BAD", "bob"], ["Hi", "Go away.", "bad", "ann"]
    long = ratings(table(tmp_path / "long.csv", "prompt reply label annotator", *lines), settings())
    assert [(len(rows), {row.grade for row in rows}) for rows in long.by_item.values()] == [
        (2, {"good", "bad"}),
        (1, {"bad"}),
    ]
    keyed = table(tmp_path / "keyed.csv", "id prompt reply label annotator", *([7, *line] for line in lines[:2]))
    assert [item.key for item in ratings(keyed, settings()).items] == ["7"]


def test_columns_are_named_and_order_and_form_of_the_file_change_nothing(tmp_path):
    names = ["customer", "c1", "note", "b", "a", "text"]
    rows = [["c1", "x", "a note", "ok", "good", "Hi"], ["c2", "y", "", "bad", None, "=1+1 is what?"]]
    table(tmp_path / "one.csv", " ".join(names), *rows)
    order = [5, 4, 3, 2, 1, 0]
    lines = (json.dumps({names[i]: row[i] for i in order}) for row in rows)
    (tmp_path / "two.jsonl").write_text("\n".join(lines))
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(
        pyarrow.Table.from_pylist([dict(zip(names, r, strict=True)) for r in rows]), tmp_path / "3.parquet"
    )
    roles = {"input": "text", "response": "c1", "group": "customer", "context": "note"}
    wanted = settings(*roles.items(), ("grade", "a"), ("grade", "b"))
    read = [ratings(tmp_path / name, wanted) for name in ("one.csv", "two.jsonl", "3.parquet")]
    assert len({one.sha256 for one in read}) == 1
    assert len({responses_in(tmp_path / one.name.split("/")[-1], None, wanted)[0].parent for one in read}) == 1
    assert len({case_set_of(one.source.origin, wanted).sha256 for one in read}) == 1
    first, second = read[0].items
    assert [(shown.name, shown.text) for shown in first.view.context] == [("note", "a note")]
    assert (second.view.context, second.group) == ((), "c2")
    assert not read[0].about
    assert read[0].raters == ("a", "b")


def test_messages_are_read_from_json_and_a_prompt_that_looks_like_it_is_a_prompt(tmp_path):
    chat = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
        {"role": "user", "content": "Where is it?"},
    ]
    rows = [[json.dumps(chat), "There.", "ok"], ["[1, 2] is a list?", "Yes.", "ok"], ["[urgent] call me", "Now.", "ok"]]
    read = read_table(str(table(tmp_path / "a.csv", "messages reply label", *rows)), settings(), ALL)
    roles = [[message.role for message in row.view.conversation] for row in read.rows]
    assert roles == [["system", "user", "assistant", "user"], ["user"], ["user"]]
    assert read.rows[0].view.conversation[2] == Message(role="assistant", content="Hello.")
    assert read.rows[2].view.conversation[0].content == "[urgent] call me"


@pytest.mark.parametrize(
    ("columns", "rows", "problem"),
    [
        ("text reply label", [["Hi", "x", "ok"]], "line 2: no column is called input, prompt, question or messages; "),
        ("prompt text label", [["Hi", "x", "ok"]], "the columns are prompt, text, label; say which is the response: "),
        ("prompt reply text", [["Hi", "x", "ok"]], "say which has the labels (or name one for each rater): "),
        ("prompt reply answer label", [["Hi", "x", "y", "ok"]], "which column is the response, 'reply' or 'answer'?"),
        ("prompt reply label", [["Hi", "x", "ok"], ["", "x", "ok"]], "line 3, field 'prompt': the input is missing"),
        (
            "prompt reply label",
            [["Hi", "x", "meh"], ["Yo", "x", "fine"]],
            "line 2, field 'label': the label 'meh' is not on",
        ),
        (
            "id prompt reply label",
            [[1, "Hi", "x", "ok"], [1, "Yo", "x", "ok"]],
            "line 3, field 'id': the key '1' stands on line 2",
        ),
        ("id prompt reply label", [["", "Hi", "x", "ok"]], "field 'id': the key is missing"),
        ("prompt reply label rater", [["Hi", "x", "ok", ""]], "field 'rater': the rater is missing"),
        (
            "prompt reply label rater",
            [["Hi", "x", "ok", "a"], ["Hi", "x", "ok", "a"]],
            "'a' labelled this row on line 2 already",
        ),
        (
            "id prompt reply label rater",
            [[1, "Hi", "x", "ok", "a"], [1, "Hi", "y", "ok", "b"]],
            "another input, response or group",
        ),
        ("prompt reply label_a label_b rater", [["Hi", "x", "ok", "ok", "a"]], "labels in several columns"),
        ("prompt reply label customer", [["Hi", "x", "ok", ""]], "field 'customer': the group is missing"),
        ("id prompt reply label", [["\x1b[31m", "Hi", "x", "ok"]], "none of them a control character"),
        (
            "messages reply label",
            [['[{"role": "tool", "content": "x"}]', "x", "ok"]],
            "messages[0].role': must be system, user",
        ),
        ("messages reply label", [['[{"role": "assistant", "content": "x"}]', "x", "ok"]], "the user's first and last"),
        (
            "messages reply label",
            [['[{"role": "user", "content": " "}]', "x", "ok"]],
            "content': must be a text that is not",
        ),
    ],
)
def test_what_is_at_fault_is_named_by_row_and_column(tmp_path, columns, rows, problem):
    with pytest.raises(CorpusError) as raised:
        ratings(table(tmp_path / "a.csv", columns, *rows), settings())
    assert problem in str(raised.value)


def test_a_column_is_named_once_and_must_be_there(wide):
    with pytest.raises(
        CorpusError, match="there is no column 'text', which is to be the input; the columns are prompt, reply"
    ):
        ratings(wide, settings(("input", "text")))
    with pytest.raises(UsageError, match="a column is one of input, response, grade, rater, key, group, context"):
        ratings(wide, settings(("colour", "prompt")))
    with pytest.raises(UsageError, match="the input is one column, named once"):
        ratings(wide, settings(("input", "prompt"), ("input", "reply")))


def test_without_a_scale_the_labels_that_occur_are_listed_and_numbers_in_their_order(tmp_path):
    rows = [["Hi", "x", label] for label in (10, 2, 1, 2)]
    with pytest.raises(CorpusError) as raised:
        ratings(table(tmp_path / "a.csv", "prompt reply label", *rows), RowSettings())
    assert "the labels are 1 (1), 2 (2), 10 (1); put them in order" in str(raised.value)
    assert "`settings.scale=1,2,10`" in str(raised.value)


@pytest.mark.parametrize(
    ("scale", "problem"),
    [
        ("good", "two levels or more"),
        ("bad,,good", "one of these is empty"),
        ("bad,Bad", "given twice"),
        (",".join(map(str, range(21))), "at most 20"),
        ("[bad", "or a JSON list"),
        ("bad,go\nod", "on one line"),
    ],
)
def test_a_scale_that_is_none_is_refused(scale, problem):
    with pytest.raises(ValueError, match=problem):
        RowSettings(scale=scale)


def test_a_level_with_a_comma_is_given_in_json_and_scores_are_equal_steps():
    assert RowSettings(scale='["no", "yes, partly", "yes"]').levels == ("no", "yes, partly", "yes")
    four = RowSettings(scale="bad, ok,good,great")
    assert [four.score_of(level) for level in four.levels] == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_a_blank_response_is_there_and_cannot_be_graded(tmp_path):
    rows = ["Hi", " ", "bad"], ["Yo", "x", "ok"]
    path = table(tmp_path / "a.csv", "prompt reply label", *rows)
    assert [row.key for row in ratings(path, settings()).grades] == ["row-2"]
    failures = [stage.failure and stage.failure.reason for stage in responses_in(path, None, settings())[0].stages]
    assert failures == ["empty", None]


def test_a_filled_in_sheet_is_no_table_of_rows(tmp_path):
    sheet = table(tmp_path / "sheet.csv", "item annotator grade response", ["row-1", "ann", "ok", "x"])
    assert ratings(sheet, settings()) is None
