"""Sheets of ratings of any benchmark: what is printed, what comes back in any form, and what is refused."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from builders.dialogues import jsonl, refusal, without
from builders.rated_paths import ITEMS, PATHS, TRAITS, cells, filled, item, read
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact import HumanGrade, load_ratings, rating_sheet
from dspy_proact.evaluation import registry
from dspy_proact.evaluation.ratings import Draw, RatedItem, Ratings, RatingsSource
from dspy_proact.files.sheets import guarded

LONGEST_OF_CSV = 131_072
"""Characters of a cell that the csv module takes unless it is told otherwise."""


@pytest.fixture(autouse=True, scope="module")
def forgotten() -> Iterator[None]:
    """A process remembers the benchmarks that it was given."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_OWN", {})
        yield


EXPECTED = (
    HumanGrade("a", ITEMS[0].answer, "GOOD", "ann", reason="Names it, twice.", confidence=5),
    HumanGrade("b", ITEMS[1].answer, "FAIR", "ann"),
    HumanGrade("a", ITEMS[0].answer, "POOR", "bob", confidence=1),
)
CSV = 'item,annotator,grade,confidence,reason\na,ann,GOOD,5,"Names it, twice."\nb,ann,fair,,\na,bob,Poor,1,\n'
ROWS = (
    {"item": "a", "annotator": "ann", "grade": "GOOD", "confidence": 5, "reason": "Names it, twice."},
    {"item": "b", "annotator": "ann", "grade": "fair", "confidence": None},
    {"item": "a", "annotator": "bob", "grade": "Poor", "confidence": 1, "reason": ""},
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
        pytest.param(CSV.replace("GOOD,5", " good , 5.0 ").replace("b,ann", " b , ann "), id="outer blanks"),
        pytest.param(CSV.replace("it, ", "it# ").replace(",", ";").replace("#", ","), id="semicolons"),
        pytest.param(CSV.replace("it, ", "it# ").replace(",", "\t").replace("#", ","), id="tabs"),
        pytest.param(CSV.replace("bob,Poor,1,", "bob,Poor,1"), id="a short line"),
        pytest.param(CSV.encode("utf-16"), id="what spreadsheets call Unicode text"),
        pytest.param("\ufeff\ufeff" + CSV, id="two byte order marks"),
        pytest.param("sep=;\r\n" + CSV.replace("it, ", "it# ").replace(",", ";").replace("#", ","), id="sep="),
        pytest.param('"sep=\t"\n' + CSV.replace("it, ", "it# ").replace(",", "\t").replace("#", ","), id="sep= a tab"),
        pytest.param(
            CSV.replace("5,", "5$0,").replace("it, ", "it# ").translate(str.maketrans(",$#", ";,,")),
            id="decimal commas",
        ),
        pytest.param(jsonl(*ROWS), id="jsonl"),
        pytest.param("\n\n" + jsonl(*ROWS).replace("\n", "\r\n\r\n"), id="jsonl with blank lines"),
    ],
)
def test_a_sheet_is_read_in_any_form_that_a_spreadsheet_gives_it(tmp_path: Path, text: str | bytes):
    study = read(tmp_path, text)
    assert study.grades == EXPECTED
    assert (study.items, study.ungraded, study.ignored_fields, study.benchmark) == (ITEMS, 0, {}, "paths")
    assert list(study.source.files) == [study.source.origin] == [study.name]
    assert study.sha256 == read(tmp_path, CSV).sha256


def test_columns_may_stand_in_any_order_and_others_are_left_out_and_counted(tmp_path: Path):
    study = read(tmp_path, "grade,mood,item,annotator\nGOOD,glad,a,ann\nFAIR,sad,b,ann\n")
    assert study.grades == (HumanGrade("a", ITEMS[0].answer, "GOOD", "ann"), EXPECTED[1])
    assert study.ignored_fields == {"mood": 2}
    assert "ignored fields that the format does not know: 'mood' (2)" in study.notes(PATHS.nouns)
    assert read(tmp_path, jsonl({**ROWS[0], "mood": "glad"}, ROWS[1])).ignored_fields == {"mood": 1}


def test_a_line_without_a_grade_is_left_out_and_counted(tmp_path: Path):
    study = read(tmp_path, CSV + "b,bob,,4,forgot\nunknown,,  ,,\n")
    assert (study.grades, study.ungraded) == (EXPECTED, 2)
    assert "lines without a grade, left out: 2" in study.notes(PATHS.nouns)
    assert read(tmp_path, jsonl(*ROWS, {"item": "b", "annotator": "bob", "grade": None})).ungraded == 1


def test_what_a_labelling_tool_does_not_count_is_left_out_and_counted_and_a_name_may_be_a_number(tmp_path: Path):
    responses = [("GOOD", 7, "submitted"), ("FAIR", 8, "draft"), ("POOR", 9, "discarded"), (None, 10, None)]
    answers = [{"value": value, "user_id": user, "status": status} for value, user, status in responses]
    record = {"id": 1, "fields": {}, "responses": {"grade": answers}}
    study = read(tmp_path, json.dumps([{"id": "a", "fields": {}, "responses": None}, record]), (item("1"),))
    assert [(row.rater, row.grade) for row in study.grades] == [("argilla 7", "GOOD")]
    assert study.left_out == {"discarded": 1, "draft": 1}
    assert "answers that the labelling tool does not count: discarded (1), draft (1)" in study.notes(PATHS.nouns)
    assert [row.rater for row in read(tmp_path, jsonl({**ROWS[0], "annotator": 3})).grades] == ["3"]
    made = {"completed_by": 1, "result": [{"from_name": "grade", "value": {"choices": ["GOOD"]}}]}
    twice = json.dumps([{"data": {"item": "a"}, "annotations": [made, made]}])
    assert "'label-studio 1' rated 'a' in [0] already" in str(refusal(lambda: read(tmp_path, twice)))


def test_a_response_that_is_given_must_be_that_of_the_item_but_for_ends_of_lines(tmp_path: Path):
    for response in ("The last boat leaves at four.", "", " "):
        assert len(read(tmp_path, f"item,annotator,grade,response\na,ann,GOOD,{response}\n").grades) == 1
    text = 'item,annotator,grade,response\na,ann,GOOD,"\'=one\ntwo\r\nthree"\n'
    assert len(read(tmp_path, text, (item("a", "=one\r\ntwo\rthree"),)).grades) == 1


BAD_FILES: list[tuple[str | bytes, int | None, str | None, str]] = [
    ("", None, None, "empty: the first line must name the columns item, annotator, grade, confidence, reason"),
    ("item,annotator,grade\n", None, None, "there is no grade in it; what holds one is called grade"),
    ("item,annotator,grade\na,ann,\nb,ann,\n", None, None, "the grade is empty on 2 lines; fill it in"),
    ("item,grade\na,GOOD\n", 1, "annotator", "missing; a rating needs item, annotator, grade"),
    ("item,annotator,grade,Grade\n", 1, "grade", "the column is given twice"),
    ("a,ann,GOOD\n", 1, "item", "missing; a rating needs item, annotator, grade"),
    (CSV + "b,bob,WELL,3,\n", 5, "grade", "a grade is GOOD, FAIR or POOR, not 'WELL'"),
    (CSV + "b,bob,GOOD,0,\n", 5, "confidence", "confidence is 1, 2, 3, 4 or 5, not '0'"),
    (CSV + "b,bob,GOOD,high,\n", 5, "confidence", "confidence is 1, 2, 3, 4 or 5, not 'high'"),
    (CSV + "b,,GOOD,3,\n", 5, "annotator", "should not be blank"),
    (CSV + "b,bob,GOOD,3,so,and so\n", 5, None, "6 cells under 5 columns; put quotes around text with a comma"),
    (CSV + 'b,bob,GOOD,3,"open\n', 5, None, "not CSV: unexpected end of data"),
    (CSV + "b,bob,GOOD,3,\0\n", 5, "reason", "holds a NUL character"),
    ('item,annotator,grade,reason\na,ann,GOOD,"one\ntwo\nthree"\nb,ann,WELL,\n', 5, "grade", "not 'WELL'"),
    (CSV + "d,bob,GOOD,3,\ne,bob,GOOD,3,\n", 5, "item", "'d' is none of the 3 items, and 1 more ratings"),
    (CSV + "a,ann,POOR,3,\n", 5, "item", "'ann' rated 'a' on line 2 already; keep one of the two"),
    (CSV + "a, ann ,GOOD,5,\n", 5, "item", "'ann' rated 'a' on line 2 already; keep one of the two"),
    (CSV + "c,ann,POOR,3,\n", 5, "item", "there is no response to this item, so nothing that could be rated"),
    ("item,annotator,grade,response\nb,ann,GOOD,The last boat.\n", 2, "response", "not the response of this item"),
    ("item,annotator,grade,seconds\na,ann,GOOD,-1\n", 2, "seconds", "should be greater than or equal to 0, not '-1'"),
    ("item,annotator,grade,part\na,ann,GOOD,tone\n", 2, "part", "'tone' is no part of the grading"),
    (
        b"item,annotator,grade\na,ann,GOOD\nb,\xff,GOOD\n",
        3,
        None,
        "which in Windows-1252 is '\xff'; save the file as UTF-8",
    ),
    ("[]", None, None, "give other ratings as CSV, or as JSON with one a line"),
    (jsonl(*ROWS) + "x\n", 4, None, "a line must hold one rating as a JSON object"),
    (jsonl(without(ROWS[0], "annotator")), 1, "annotator", "missing; a rating needs"),
    (jsonl({**ROWS[0], "grade": ["GOOD"]}), 1, "grade", "should be a valid string, not a list"),
    (jsonl({**ROWS[0], "item": 7}), 1, "item", "'7' is none of the 3 items"),
    (jsonl({**ROWS[0], "annotator": True}), 1, "annotator", "should be a valid string, not true"),
    (jsonl({**ROWS[0], "grade": 0}), 1, "grade", "should be a valid string, not 0"),
    (jsonl(ROWS[0], ROWS[0]), 2, "item", "'ann' rated 'a' on line 1 already"),
    *(
        (f"item,annotator,grade,draw\na,ann,GOOD,{wrong}\n", 2, "draw", f"such as 60-0-1a2b3c4d, not {wrong!r}")
        for wrong in ("60", "0-3-1a2b3c4d", "60-3-1a2b3c4g", "60-3-1a2b3c4d5", "all")
    ),
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


def test_a_file_of_labels_needs_what_was_rated_once(tmp_path: Path):
    file = tmp_path / "ratings.csv"
    file.write_text(CSV, encoding="utf-8")
    alone = refusal(lambda: load_ratings(str(file), benchmark=PATHS))
    assert "give its run, or a file of its items" in str(alone)
    for same in ("a", " a"):
        twice = refusal(lambda same=same: read(tmp_path, CSV, (item("a"), item("b"), item(same))))
        assert "2 items have the key 'a'" in str(twice)


def test_a_folder_of_sheets_is_read_as_one_and_names_the_sheet_at_fault(tmp_path: Path):
    (tmp_path / "1.csv").write_text("item,annotator,grade\na,ann,GOOD\nb,ann,\n", encoding="utf-8")
    (tmp_path / "2.jsonl").write_text('{"item": "b", "annotator": "bob", "grade": "POOR"}\n', encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no ratings", encoding="utf-8")
    result = load_ratings(str(tmp_path), ITEMS, benchmark=PATHS)
    assert [(row.key, row.rater) for row in result.grades] == [("a", "ann"), ("b", "bob")]
    assert (result.ungraded, len(result.source.files)) == (1, 2)
    (tmp_path / "3.csv").write_text("item,annotator,grade\na,ann,POOR\n", encoding="utf-8")
    error = refusal(lambda: load_ratings(str(tmp_path), ITEMS, benchmark=PATHS))
    assert f"{tmp_path / '3.csv'}, line 2" in str(error)
    assert f"line 2 of {tmp_path / '1.csv'} already" in str(error)


# The sheet to fill in


def test_a_sheet_holds_what_a_rater_reads_and_room_for_what_they_say():
    # Item c has no response, so that it is not to be rated.
    header, first, second = cells(rating_sheet(ITEMS, PATHS))
    assert header == ["item", "annotator", "grade", "confidence", "reason", "grades", "case", "response"]
    case = "question: Which path?\n\nhint: Ask a shepherd."
    assert first == ["a", "", "", "", "", "GOOD | FAIR | POOR", case, "The last boat leaves at four."]
    assert (second[0], second[-1]) == ("b", "Take the cliff path.")
    bare = RatedItem("k", "v", "DAWN")
    assert cells(rating_sheet([bare], PATHS))[1] == ["k", *[""] * 4, "GOOD | FAIR | POOR", "", ""]
    swaying = item("a", judged={"": "FAIR"}, meta={"response_model": "model-7"})
    assert rating_sheet([swaying], PATHS) == rating_sheet([item("a")], PATHS)


SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"


def test_no_cell_of_a_sheet_is_run_by_a_spreadsheet():
    starts = ["=1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "'=1", "''-", "'tis", "fine"]
    starts += [f"{blank}{sign}1" for blank in (" ", "\xa0", "\u3000", "\u200b", " \ufeff ") for sign in SIGNS]
    items = [item(f"{start.strip()}{index}", start) for index, start in enumerate(starts)]
    rows = cells(rating_sheet(items, PATHS))[1:]
    starting = {cell.lstrip(" \xa0\u3000\u200b\ufeff")[:1] for row in rows for cell in row}
    assert not starting & {*SIGNS, "\t", "\r", "\n"}


def test_what_no_file_can_hold_is_replaced_in_a_sheet_and_still_the_same_response(tmp_path: Path):
    items = (item("a", "nul \0, lone \ud83d, pair \ud83d\ude00"),)
    text = rating_sheet(items, PATHS)
    assert cells(text)[1][-1] == "nul \ufffd, lone \ufffd, pair \U0001f600"
    assert len(read(tmp_path, filled(text), items).grades) == 1


def test_a_response_of_any_length_comes_back_and_the_csv_module_is_as_it_was(tmp_path: Path):
    items = (item("a", "x" * (LONGEST_OF_CSV + 1)),)
    text, before = rating_sheet(items, PATHS), csv.field_size_limit()
    # Not `filled`, since the csv module refuses so long a cell here.
    assert len(read(tmp_path, text.replace("a,,,", "a,ann,GOOD,", 1), items).grades) == 1
    assert "empty on 1 lines" in str(refusal(lambda: read(tmp_path, text, items)))
    assert csv.field_size_limit() == before


def test_a_response_that_is_json_comes_back(tmp_path: Path):
    items = (item("a", '{"reply": "Take the cliff path."}'),)
    assert len(read(tmp_path, filled(rating_sheet(items, PATHS)), items).grades) == 1


_LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_TEXTS = st.text(st.one_of(_LETTERS, st.sampled_from("='\"+-@,;\t\r\n")), max_size=30)
_NAMES = st.text(st.one_of(_LETTERS, st.sampled_from("='\"+-@,;")), min_size=1, max_size=10).filter(
    lambda name: name.isprintable() and name == name.strip()
)
_ROWS = st.tuples(
    st.sampled_from([*PATHS.labels, "good", " Poor", None]), st.sampled_from([None, 1, 2, 3, 4, 5]), _TEXTS, _TEXTS
)


@given(rows=st.dictionaries(_NAMES, _ROWS, min_size=1, max_size=5), annotator=_NAMES, as_json=st.booleans())
@settings(deadline=None, max_examples=30)
def test_a_sheet_that_is_filled_in_gives_back_what_was_filled_in(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[str, Any], annotator: str, as_json: bool
):
    items = tuple(item(key, response, question=reason) for key, (_, _, reason, response) in rows.items())
    header, *lines = cells(rating_sheet(items, PATHS))
    named: list[dict[str, Any]] = []
    for line, entry, (grade, confidence, reason, _) in zip(lines, items, rows.values(), strict=True):
        # What a rater types is theirs: a spreadsheet keeps it with an apostrophe where it would run it.
        line[1:5] = guarded(annotator), grade or "", "" if confidence is None else str(confidence), guarded(reason)
        fields = {"grade": grade, "confidence": confidence, "reason": reason, "response": entry.text}
        named.append({"item": entry.key, "annotator": annotator, **fields})
    expected = tuple(
        HumanGrade(
            element.key,
            element.answer,
            grade.strip().upper(),
            normalize("NFC", annotator),
            reason=reason if as_json else reason.replace("\r\n", "\n").replace("\r", "\n"),
            confidence=confidence,
        )
        for element, (grade, confidence, reason, _) in zip(items, rows.values(), strict=True)
        if grade
    )
    out = StringIO()
    csv.writer(out).writerows([header, *lines])
    folder, text = tmp_path_factory.mktemp("sheet"), jsonl(*named) if as_json else out.getvalue()
    if not expected:
        assert "there is no rating in it" in str(refusal(lambda: read(folder, text, items)))
        return
    study = read(folder, text, items)
    assert (study.grades, study.ungraded) == (expected, len(rows) - len(expected))


def test_a_sheet_of_parts_has_a_row_a_part_and_keeps_times_and_the_draw(tmp_path: Path):
    draw = Draw(count=60, seed=3, mark="1a2b3c4d")
    empty = list(csv.DictReader(StringIO(rating_sheet(ITEMS[:1], TRAITS, draw=draw))))
    rows = [(row["item"], row["part"], row["grades"], row["draw"]) for row in empty]
    assert rows == [("a", "tone", "KIND | RUDE", "60-3-1a2b3c4d"), ("a", "topic", "WORK | HOME", "60-3-1a2b3c4d")]
    grades = tuple(
        HumanGrade("a", ITEMS[0].answer, grade, "ann", part, "=so", confidence=4, seconds=seconds)
        for grade, part, seconds in (("KIND", "tone", 12.5), ("HOME", "topic", None))
    )
    study = read(tmp_path, rating_sheet(ITEMS, TRAITS, draw=draw, grades={"a": grades}), declared=TRAITS)
    assert (study.grades, study.draws, study.ignored_fields) == (grades, {draw}, {})
    assert {item.key: item.grades["topic"] for item in study.rated} == {"a": list(grades[1:])}
    error = refusal(lambda: read(tmp_path, "item,annotator,part,grade\na,ann,tone,HOME\n", declared=TRAITS))
    assert "line 2, field 'grade': a grade is KIND or RUDE, not 'HOME'" in str(error)
    assert read(tmp_path, CSV).draws == frozenset()


# What a study says of itself


HERE = RatingsSource(origin="here", files={})


def test_what_weakens_a_study_is_noted_in_the_words_of_its_benchmark():
    items = (RatedItem("a", "", "DAWN"), RatedItem("b", "v", "DUSK"))
    # One rater who grades two parts is one.
    grades = (HumanGrade("a", None, "KIND", "x", "tone"), HumanGrade("a", None, "HOME", "x", "topic"))
    assert Ratings("s", "traits", items, grades, HERE).notes(TRAITS.nouns) == (
        "items without a rating: 1 of 2",
        "items with one rater (not usable for agreement): 1",
        "hours without a rating: DUSK",
        "items without a valley, so that nobody knows which belong together: 1",
    )


def test_the_hash_is_of_items_and_grades_and_not_of_where_they_are_from():
    items, there = (RatedItem("a", "v", "DAWN"),), RatingsSource(origin="there", files={})
    grades, others = ((HumanGrade("a", None, grade, "x"),) for grade in ("GOOD", "POOR"))
    study = Ratings("s", "paths", items, grades, HERE)
    assert len(study.sha256) == 64
    assert study.sha256 == Ratings("t", "paths", items, grades, there).sha256
    assert study.sha256 != Ratings("s", "paths", items, others, HERE).sha256
