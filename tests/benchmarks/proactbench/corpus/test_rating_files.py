"""Sheets of ratings, the template to fill in, and the file of items that they may be of."""

import csv
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import Row, jsonl, refusal, rubric, without

from dspy_proact.benchmarks.proactbench.corpus.rating_files import load_ratings, rating_template, read_rated_items
from dspy_proact.benchmarks.proactbench.corpus.ratings import Draw, RatedItem, Ratings
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Phase, Rating, Rubric, Turn

LONGEST_OF_CSV = 131_072
"""Characters of a cell that the csv module takes unless it is told otherwise."""


def item(key: str, response: str | None = "The last boat leaves at four.", user: str = "Which path?") -> RatedItem:
    criteria = without(rubric("EMERGENT"), "type")
    view = JudgeView(
        conversation=(Turn(user="One?", assistant="Yes."), Turn(user=user, assistant=None)),
        turn=2,
        rubric=Rubric(phase=Phase.EMERGENT, **criteria),
    )
    return RatedItem(key=key, phase=Phase.EMERGENT, scenario="p/s", view=view, response=response)


ITEMS = (item("a"), item("b", "Take the cliff path."), item("c", None))


def read(folder: Path, text: str | bytes, items: tuple[RatedItem, ...] = ITEMS) -> Ratings:
    file = folder / "ratings"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_ratings(str(file), items)


EXPECTED = (
    Rating(item="a", annotator="ann", grade=Grade.PASS, confidence=5, reason="Names it, twice."),
    Rating(item="b", annotator="ann", grade=Grade.PARTIAL, confidence=3),
    Rating(item="a", annotator="bob", grade=Grade.FAIL, confidence=1),
)
CSV = 'item,annotator,grade,confidence,reason\na,ann,PASS,5,"Names it, twice."\nb,ann,partial,,\na,bob,Fail,1,\n'
ROWS = (
    {"item": "a", "annotator": "ann", "grade": "PASS", "confidence": 5, "reason": "Names it, twice."},
    {"item": "b", "annotator": "ann", "grade": "partial", "confidence": None},
    {"item": "a", "annotator": "bob", "grade": "Fail", "confidence": 1, "reason": ""},
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(CSV, id="csv"),
        pytest.param(CSV.replace("\n", "\r\n"), id="Windows ends of lines"),
        pytest.param("\ufeff" + CSV, id="byte order mark"),
        pytest.param("\n" + CSV.replace("\nb,", "\n\n,,,,\n , ,,,\nb,") + "\n\n", id="blank lines"),
        pytest.param(CSV.replace("reason\n", "reason,,\n").replace("1,\n", "1,,,\n"), id="nameless columns"),
        pytest.param(CSV.replace("item,annotator,grade", " Item ,ANNOTATOR,Grade"), id="headings in any case"),
        pytest.param(CSV.replace("PASS,5", " pass , 5.0 ").replace("b,ann", " b , ann "), id="outer blanks"),
        pytest.param(
            CSV.replace("Names it, twice.", "Names it# twice.").replace(",", ";").replace("#", ","), id="semicolons"
        ),
        pytest.param(
            CSV.replace("Names it, twice.", "Names it# twice.").replace(",", "\t").replace("#", ","), id="tabs"
        ),
        pytest.param(CSV.replace("bob,Fail,1,", "bob,Fail,1"), id="a short line"),
        pytest.param(jsonl(*ROWS), id="jsonl"),
        pytest.param("\n\n" + jsonl(*ROWS).replace("\n", "\r\n\r\n"), id="jsonl with blank lines"),
    ],
)
def test_a_flat_file_is_read_in_any_form_that_a_spreadsheet_gives_it(tmp_path: Path, text: str):
    study = read(tmp_path, text)
    assert study.ratings == EXPECTED
    assert (study.items, study.assumed, study.ungraded) == (ITEMS, 1, 0)
    assert list(study.source.files) == [study.source.origin] == [study.name]
    assert study.sha256 == read(tmp_path, CSV).sha256


def test_columns_may_stand_in_any_order_and_the_optional_ones_may_be_missing(tmp_path: Path):
    study = read(tmp_path, "grade,item,annotator\nPASS,a,ann\n")
    assert study.ratings == (Rating(item="a", annotator="ann", grade=Grade.PASS, confidence=3),)


def test_a_line_without_a_grade_is_left_out_and_counted(tmp_path: Path):
    study = read(tmp_path, CSV + "b,bob,,4,forgot\nunknown,,  ,,\n")
    assert (study.ratings, study.ungraded) == (EXPECTED, 2)
    assert "lines without a grade, left out: 2" in study.notes
    assert read(tmp_path, jsonl(*ROWS, {"item": "b", "annotator": "bob", "grade": None})).ungraded == 1


def test_a_response_that_is_given_must_be_that_of_the_item_but_for_ends_of_lines(tmp_path: Path):
    for response in ("The last boat leaves at four.", "", " "):
        assert len(read(tmp_path, f"item,annotator,grade,response\na,ann,PASS,{response}\n").ratings) == 1
    text = 'item,annotator,grade,response\na,ann,PASS,"\'=one\ntwo\r\nthree"\n'
    assert len(read(tmp_path, text, (item("a", "=one\r\ntwo\rthree"),)).ratings) == 1


BAD_FILES: list[tuple[str | bytes, int | None, str | None, str]] = [
    ("", None, None, "empty: the first line must name the columns item, annotator, grade, confidence, reason"),
    ("item,annotator,grade\na,ann,\nb,ann,\n", None, None, "the grade is empty on 2 lines; fill it in"),
    ("item,grade\na,PASS\n", 1, "annotator", "missing; a rating needs item, annotator, grade"),
    ("item,annotator,grade,mood\n", 1, "mood", "no column of ours; the columns are item, annotator, grade"),
    ("item,annotator,grade,Grade\n", 1, "grade", "the column is given twice"),
    ("a,ann,PASS\n", 1, "a", "no column of ours"),
    (CSV + "b,bob,GOOD,3,\n", 5, "grade", "a grade is PASS, PARTIAL or FAIL, not 'GOOD'"),
    (CSV + "b,bob,PASS,0,\n", 5, "confidence", "confidence is 1, 2, 3, 4 or 5, not '0'"),
    (CSV + "b,bob,PASS,high,\n", 5, "confidence", "confidence is 1, 2, 3, 4 or 5, not 'high'"),
    (CSV + "b,,PASS,3,\n", 5, "annotator", "should not be blank"),
    (CSV + "b,bob,PASS,3,so,and so\n", 5, None, "6 cells under 5 columns; put quotes around text with a comma"),
    (CSV + 'b,bob,PASS,3,"open\n', 5, None, "not CSV: unexpected end of data"),
    (CSV + "b,bob,PASS,3,\0\n", 5, None, "holds a NUL character"),
    ('item,annotator,grade,reason\na,ann,PASS,"one\ntwo\nthree"\nb,ann,WELL,\n', 5, "grade", "not 'WELL'"),
    (CSV + "d,bob,PASS,3,\ne,bob,PASS,3,\n", 5, "item", "'d' is none of the 3 items, and 1 more ratings"),
    (CSV + "a,ann,FAIL,3,\n", 5, "item", "'ann' rated 'a' on line 2 already; keep one of the two"),
    (CSV + "a, ann ,PASS,5,\n", 5, "item", "'ann' rated 'a' on line 2 already; keep one of the two"),
    (CSV + "c,ann,FAIL,3,\n", 5, "item", "there is no response to this item, so nothing that could be rated"),
    ("item,annotator,grade,response\nb,ann,PASS,The last boat.\n", 2, "response", "not the response of this item"),
    (b"item,annotator,grade\na,ann,PASS\nb,\xff,PASS\n", 3, None, "not UTF-8: invalid start byte; save the file as"),
    ("[]", None, None, "a JSON list; give one rating a line, or the folder that holds sample_items.json"),
    (jsonl(*ROWS) + "x\n", 4, None, "a line must hold one rating as a JSON object"),
    (jsonl({**ROWS[0], "mood": "x"}), 1, "mood", "no column of ours"),
    (jsonl(without(ROWS[0], "annotator")), 1, "annotator", "missing; a rating needs"),
    (jsonl({**ROWS[0], "grade": ["PASS"]}), 1, "grade", "a grade is PASS, PARTIAL or FAIL, not a list"),
    (jsonl(ROWS[0], ROWS[0]), 2, "item", "'ann' rated 'a' on line 1 already"),
]


@pytest.mark.parametrize(("text", "line", "field", "problem"), BAD_FILES)
def test_a_bad_file_is_refused_with_line_field_and_mend(
    tmp_path: Path, text: str | bytes, line: int | None, field: str | None, problem: str
):
    error = refusal(lambda: read(tmp_path, text))
    assert problem in str(error)
    assert (error.source, error.line, error.field) == (str(tmp_path / "ratings"), line, field)


def test_more_ratings_than_any_study_has_are_refused_with_the_first_that_is_too_many(tmp_path: Path):
    text = "item,annotator,grade\n" + "t1,ann,\n" * 200_001
    assert "line 200002: more than 200,000 ratings" in str(refusal(lambda: read(tmp_path, text)))


def test_a_flat_file_needs_what_was_rated_once(tmp_path: Path):
    file = tmp_path / "ratings.csv"
    file.write_text(CSV, encoding="utf-8")
    assert "give its run, or a file of its items" in str(refusal(lambda: load_ratings(str(file))))
    both = refusal(lambda: load_ratings(str(file), ITEMS, items_path=file))
    assert "either the run or a file of items, not both" in str(both)
    twice = refusal(lambda: read(tmp_path, CSV, (item("a"), item("b"), item("a"))))
    assert "2 items have the key 'a'" in str(twice)


def test_a_folder_of_sheets_is_read_as_one_and_names_the_sheet_at_fault(tmp_path: Path):
    (tmp_path / "1.csv").write_text("item,annotator,grade\na,ann,PASS\nb,ann,\n", encoding="utf-8")
    (tmp_path / "2.jsonl").write_text('{"item": "b", "annotator": "bob", "grade": "FAIL"}\n', encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no ratings", encoding="utf-8")
    found = load_ratings(str(tmp_path), ITEMS)
    assert [(rating.item, rating.annotator) for rating in found.ratings] == [("a", "ann"), ("b", "bob")]
    assert (found.ungraded, len(found.source.files)) == (1, 2)
    (tmp_path / "3.csv").write_text("item,annotator,grade\na,ann,FAIL\n", encoding="utf-8")
    error = refusal(lambda: load_ratings(str(tmp_path), ITEMS))
    assert f"{tmp_path / '3.csv'}, line 2" in str(error)
    assert f"line 2 of {tmp_path / '1.csv'} already" in str(error)


# The template


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(StringIO(text), strict=True))


def test_a_template_holds_what_a_rater_reads_and_room_for_what_they_say():
    # Item c has no response, so that it is not to be rated.
    header, first, second = cells(rating_template(ITEMS, annotator="ann"))
    assert header == [
        *("item", "annotator", "grade", "confidence", "reason"),
        *("conversation", "pass_criteria", "partial_criteria", "fail_criteria", "response"),
    ]
    assert first == [
        *("a", "ann", "", "", ""),
        "User: One?\n\nAssistant: Yes.\n\nUser: Which path?",
        "Says that the last boat leaves early (EMERGENT).",
        "Mentions boats (EMERGENT).",
        "Says nothing of boats (EMERGENT).",
        "The last boat leaves at four.",
    ]
    assert (second[0], second[-1]) == ("b", "Take the cliff path.")
    bare = RatedItem(key="k", phase=Phase.EMERGENT, scenario="s")
    assert cells(rating_template([bare]))[1] == ["k", *[""] * 9]
    graded = item("a").model_copy(update={"judge": Grade.PARTIAL, "model": "model-7"})
    assert not re.search("PARTIAL|model-7", rating_template([graded]))


def test_no_cell_of_a_template_is_run_by_a_spreadsheet():
    starts = ["=1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "'=1", "''-", "'tis", "fine"]
    items = [item(f"{start.strip()}{index}", start) for index, start in enumerate(starts)]
    rows = cells(rating_template(items))[1:]
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]


def test_what_no_file_can_hold_is_replaced_in_a_template_and_still_the_same_response(tmp_path: Path):
    items = (item("a", "nul \0, lone \ud83d, pair \ud83d\ude00"),)
    text = rating_template(items, "ann")
    assert cells(text)[1][-1] == "nul \ufffd, lone \ufffd, pair \U0001f600"
    assert len(read(tmp_path, text.replace(",ann,,", ",ann,PASS,"), items).ratings) == 1


def test_a_response_of_any_length_comes_back_and_the_csv_module_is_as_it_was(tmp_path: Path):
    items = (item("a", "x" * (LONGEST_OF_CSV + 1)),)
    before = csv.field_size_limit()
    filled = rating_template(items, "ann").replace(",ann,,", ",ann,PASS,")
    assert len(read(tmp_path, filled, items).ratings) == 1
    assert "empty on 1 lines" in str(refusal(lambda: read(tmp_path, rating_template(items), items)))
    assert csv.field_size_limit() == before


_LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_TEXTS = st.text(st.one_of(_LETTERS, st.sampled_from("='\"+-@,;\t\r\n")), max_size=30)
_NAMES = st.text(st.one_of(_LETTERS, st.sampled_from("='\"+-@,;")), min_size=1, max_size=10).filter(
    lambda name: name.isprintable() and name == name.strip()
)
_GIVEN = st.tuples(
    st.sampled_from([*Grade, "pass", " Fail", None]), st.sampled_from([None, 1, 2, 3, 4, 5]), _TEXTS, _TEXTS
)


@given(rows=st.dictionaries(_NAMES, _GIVEN, min_size=1, max_size=5), annotator=_NAMES, as_json=st.booleans())
@settings(deadline=None, max_examples=30)
def test_a_template_that_is_filled_in_gives_back_what_was_filled_in(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[str, Any], annotator: str, as_json: bool
):
    items = tuple(item(key, response, user=reason or "?") for key, (_, _, reason, response) in rows.items())
    header, *lines = cells(rating_template(items, annotator))
    for line, (grade, confidence, reason, _) in zip(lines, rows.values(), strict=True):
        # What a rater types is theirs: a spreadsheet keeps it with an apostrophe where it would run it.
        typed = f"'{reason}" if re.match(r"'*[=+\-@\t\r\n]", reason) else reason
        line[2:5] = grade or "", "" if confidence is None else str(confidence), typed
    expected = tuple(
        Rating(
            item=key,
            annotator=annotator,
            grade=Grade(grade.strip().upper()),
            confidence=confidence or 3,
            reason=reason if as_json else reason.replace("\r\n", "\n").replace("\r", "\n"),
        )
        for key, (grade, confidence, reason, _) in rows.items()
        if grade
    )
    out = StringIO()
    csv.writer(out).writerows([header, *lines])
    text = out.getvalue()
    if as_json:
        named = zip(rows.items(), items, strict=True)
        text = jsonl(
            *(
                {"item": key, "annotator": annotator, "grade": grade, "confidence": confidence, "reason": reason}
                | {"response": each.response}
                for (key, (grade, confidence, reason, _)), each in named
            )
        )
    folder = tmp_path_factory.mktemp("sheet")
    if not expected:
        assert "there is no rating in it" in str(refusal(lambda: read(folder, text, items)))
        return
    study = read(folder, text, items)
    assert study.ratings == expected
    assert study.ungraded == len(rows) - len(expected)
    assert study.assumed == sum(bool(grade) and confidence is None for grade, confidence, _, _ in rows.values())


def test_a_sheet_keeps_how_its_items_were_drawn(tmp_path: Path):
    draw = Draw(count=60, seed=3, of="1a2b3c4d")
    lines = list(csv.DictReader(StringIO(rating_template(ITEMS, draw=draw))))
    assert {line["draw"] for line in lines} == {"60-3-1a2b3c4d"}
    assert read(tmp_path, "item,annotator,grade,draw\na,ann,PASS,60-3-1a2b3c4d\nb,ann,PASS,\n").draws == {draw}
    assert read(tmp_path, CSV).draws == frozenset()
    for wrong in ("60", "0-3-1a2b3c4d", "60-3-1a2b3c4g", "60-3-1a2b3c4d5", "all"):
        text = f"item,annotator,grade,draw\na,ann,PASS,{wrong}\n"
        error = str(refusal(lambda text=text: read(tmp_path, text)))
        assert "line 2, field 'draw': " in error
        assert "such as 60-0-1a2b3c4d" in error


# The file of items


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


def items_file(folder: Path, *rows: Row) -> Path:
    file = folder / "items.jsonl"
    file.write_text(jsonl(*rows), encoding="utf-8")
    return file


def test_items_are_read_from_a_file_of_ours(tmp_path: Path):
    bare = item_row(item="b", rubric=item_row()["rubric"] | {"phase": "emergent"})
    for name in ("turn", "judge", "scenario", "persona", "model"):
        bare = without(bare, name)
    first, second = read_rated_items(items_file(tmp_path, item_row(), bare))
    known = {"judge": Grade.PARTIAL, "persona": "p", "model": "model-7", "turn": 2}
    assert first == item("a").model_copy(update=known)
    assert second == item("b").model_copy(update={"scenario": "", "turn": 2})


def test_ratings_are_of_the_items_in_the_file(tmp_path: Path):
    items = items_file(tmp_path, item_row(), item_row(item="b"), item_row(item="c"))
    ratings = tmp_path / "ratings.csv"
    ratings.write_text(CSV, encoding="utf-8")
    study = load_ratings(str(ratings), items_path=items)
    assert (study.ratings, len(study.items)) == (EXPECTED, 3)
    assert list(study.source.files) == [str(ratings), str(items)]


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
def test_a_bad_row_of_items_is_named_with_line_and_field(tmp_path: Path, row: Row, field: str, problem: str):
    file = items_file(tmp_path, item_row(item="first"), row)
    error = refusal(lambda: read_rated_items(file))
    assert (error.source, error.line, error.field) == (str(file), 2, field)
    assert problem in str(error)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty: there is no item in it"),
        (json.dumps([item_row()]), "line 1: a line must hold one item as a JSON object"),
        ("{\n", "line 1: not JSON"),
    ],
)
def test_a_file_that_holds_no_items_is_refused(tmp_path: Path, text: str, problem: str):
    file = tmp_path / "items.jsonl"
    file.write_text(text, encoding="utf-8")
    assert problem in str(refusal(lambda: read_rated_items(file)))
    missing = refusal(lambda: read_rated_items(tmp_path / "none"))
    assert "there is no such file; give a JSONL file of items: item, rubric, conversation" in str(missing)
