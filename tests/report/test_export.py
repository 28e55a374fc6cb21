"""A run as tables, which no spreadsheet runs."""

import csv
import re
from pathlib import Path

import pyarrow.parquet
import pytest
from builders.results import TEXTS
from builders.runs import answered, failed, graded, manifest, trigger, written
from hypothesis import given, settings

from dspy_proact import (
    RunFolder,
    Summary,
    export_csv,
    export_every_eval_ever,
    export_inspect,
    export_parquet,
    export_results,
    read_results,
    summarize,
)
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.exchange.mlflow_rows import export_mlflow
from dspy_proact.report.export import columns, rows

TYPES = {"turn": "int64", "epoch": "int64", "judge_epoch": "int64", "score": "double", "truncated": "bool"}
TYPES |= {"verified": "bool"}
"""Of the columns of a run of ProactBench that are not text."""


def lines_of(path: Path) -> list[list[str]]:
    csv.field_size_limit(10**9)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file, strict=True))


def as_csv(summary: Summary, folder: Path) -> list[dict[str, str]]:
    export_csv(summary, folder / "out.csv")
    header, *body = lines_of(folder / "out.csv")
    assert header == [column.name for column in columns(summary)]
    return [dict(zip(header, line, strict=True)) for line in body]


# Tables.


BLANKS = "\u200b\ufeff" + "".join(char for char in map(chr, range(0x3001)) if char.isspace() and char not in "\t\r\n")


def cell_of(text: str | None) -> str:
    """What a text must be in a CSV file."""
    complete = before = ""
    for index, char in enumerate(text := (text or "").replace("\0", "\ufffd")):
        begins = not before or before in ";\t\r\n"
        first = text[index:].lstrip(BLANKS)[:1]
        runs = char in "\t\r" or (first and first in "=+-@\uff1d\uff0b\uff0d\uff20")
        complete += f"'{char}" if begins and runs else char
        before = char
    return complete


@settings(max_examples=30)
@given(
    response=TEXTS, reasoning=TEXTS, quote=TEXTS, user=TEXTS, dialogue=TEXTS, scenario=TEXTS, model=TEXTS, judge=TEXTS
)
def test_every_text_of_a_csv_file_reads_back_and_none_of_them_is_run(
    tmp_path_factory, response, reasoning, quote, user, dialogue, scenario, model, judge
):
    folder = tmp_path_factory.mktemp("x")
    case = trigger(dialogue, scenario=scenario, domain=scenario, user=user)
    verdict = graded(case, judge=judge, reasoning=reasoning, evidence=[quote], response=response)
    run = written(folder / "run", manifest(judge, model=model), [case], [answered(case, response), verdict])
    (row,) = as_csv(summarize(run), folder)
    assert verdict.grade is not None
    evidence = "\n".join(item["text"] for item in verdict.grade.detail["evidence"])
    texts = {
        "key": case.key,
        "dialogue": dialogue,
        "scenario": case.group,
        "life_domain": scenario,
        "model": model,
        "judge": judge,
        "user_message": user,
        "response": response,
        "reasoning": reasoning,
        "evidence": evidence,
    }
    assert {name: row[name] for name in texts} == {name: cell_of(text) for name, text in texts.items()}
    parted = [part.lstrip(BLANKS) for cell in row.values() for part in re.split("[;\t\r\n]", cell)]
    assert not any(part.startswith(("=", "+", "-", "@")) for part in parted)
    assert (folder / "out.csv").read_bytes().startswith(b'\xef\xbb\xbf"key","scenario"'), "spreadsheets need the mark"


def test_a_nul_character_becomes_a_replacement_character(tmp_path):
    case = trigger()
    run = written(tmp_path / "run", manifest(), [case], [answered(case, "a\0b"), graded(case, reasoning="\0=1")])
    (row,) = as_csv(summarize(run), tmp_path)
    assert (row["response"], row["reasoning"]) == ("a\ufffdb", "\ufffd=1")
    assert b"\0" not in (tmp_path / "out.csv").read_bytes()


def test_there_is_a_row_a_verdict_and_one_for_each_trigger_without(tmp_path):
    a, b, c = (trigger(name) for name in "abc")
    events = [
        answered(a),
        *(graded(a, grade, judge=judge) for judge, grade in (("openai/x", "PASS"), ("openai/y", "PARTIAL"))),
        failed(b, "empty"),
    ]
    run = written(tmp_path / "run", manifest("openai/x", "openai/y"), [a, b, c], events)
    read = as_csv(summarize(run), tmp_path)
    names = ("key", "judge", "state", "reason", "grade", "score", "verified", "truncated")
    assert [tuple(row[name] for name in names) for row in read] == [
        ("a__t2", "openai/x", "scored", "", "PASS", "1.0", "True", "False"),
        ("a__t2", "openai/y", "scored", "", "PARTIAL", "0.5", "True", "False"),
        ("b__t2", "", "unscored", "response: empty", "", "", "", ""),
        ("c__t2", "", "pending", "", "", "", "", ""),
    ]


def test_an_epoch_and_a_further_verdict_have_rows_of_their_own(tmp_path):
    case = trigger()
    events = [
        event
        for epoch in (1, 2)
        for event in (answered(case, epoch=epoch), *(graded(case, epoch=epoch, judge_epoch=n) for n in (1, 2)))
    ]
    run = written(tmp_path / "run", manifest(epochs=2, judge_epochs=2), [case], events)
    read = as_csv(summarize(run), tmp_path)
    assert [(row["epoch"], row["judge_epoch"]) for row in read] == [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")]


def test_several_quotes_stand_one_a_line(tmp_path):
    case = trigger()
    run = written(
        tmp_path / "run", manifest(), [case], [answered(case), graded(case, evidence=["Label the boxes", "call Ann"])]
    )
    assert as_csv(summarize(run), tmp_path)[0]["evidence"] == "Label the boxes\ncall Ann"


def test_parquet_reads_back_as_the_rows_with_text_as_it_is(tmp_path):
    hostile = ["=1+1", "\0nul", "", "a\r\nb\u2028c", "é\U0001f600", "'", ","]
    cases = [trigger(f"d{number}", user=text or "x") for number, text in enumerate(hostile)]
    events = [
        event
        for case, text in zip(cases, hostile, strict=True)
        for event in (answered(case, text), graded(case, "FAIL", reasoning=text, evidence=[text], response=text))
    ]
    pending = trigger("pending")
    summary = summarize(written(tmp_path / "run", manifest(), [*cases, pending], events))
    export_parquet(summary, tmp_path / "out.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert table.to_pylist() == list(rows(summary))
    assert {field.name: str(field.type) for field in table.schema if field.type != "string"} == TYPES
    assert table.column("response").to_pylist() == [*hostile, None]


def test_parquet_leaves_the_progress_bars_of_datasets_as_they_were(tmp_path):
    import datasets

    summary = summarize(written(tmp_path / "run", manifest(), [trigger()]))
    for disabled in (False, True):
        (datasets.utils.disable_progress_bars if disabled else datasets.utils.enable_progress_bars)()
        export_parquet(summary, tmp_path / "out.parquet")
        assert datasets.utils.are_progress_bars_disabled() is disabled
    datasets.utils.enable_progress_bars()


def test_an_empty_run_makes_a_table_with_its_header(tmp_path):
    summary = summarize(written(tmp_path / "run", manifest()))
    assert as_csv(summary, tmp_path) == []
    export_parquet(summary, tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").column_names == [
        column.name for column in columns(summary)
    ]


def test_a_line_of_a_megabyte_is_written_and_read_in_every_form(tmp_path):
    long = "=" + "boats " * 200_000  # 1.2 MB
    case = trigger()
    run = written(tmp_path / "run", manifest(), [case], [answered(case, long), graded(case, reasoning=long)])
    export_results(run, summarize(run), tmp_path / "out.jsonl")
    (only,) = read_results(tmp_path / "out.jsonl").triggers
    assert (only.response, only.reasoning) == (long, long)
    summary = summarize(run)
    assert as_csv(summary, tmp_path)[0]["response"] == f"'{long}"
    export_parquet(summary, tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").column("response").to_pylist() == [long]


# The file.

WRITERS = {
    "proactbench": export_results,
    "csv": lambda _, summary, path: export_csv(summary, path),
    "parquet": lambda _, summary, path: export_parquet(summary, path),
    "eval": export_inspect,
    "every-eval-ever": export_every_eval_ever,
    "mlflow": export_mlflow,
}
FORMS = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


@pytest.fixture
def finished(tmp_path: Path) -> RunFolder:
    return written(tmp_path / "run", manifest(), [trigger()], [answered(trigger()), graded(trigger())])


@FORMS
def test_where_a_folder_stands_nothing_is_written_and_nothing_left_behind(tmp_path, finished, write):
    (tmp_path / "taken").mkdir()
    with pytest.raises((UsageError, CorpusError), match="cannot be written"):
        write(finished, summarize(finished), tmp_path / "taken")
    assert {path.name for path in tmp_path.iterdir()} == {"run", "taken"}
