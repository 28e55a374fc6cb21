"""`dspy-proact export`: where the file is, what is not in it, and what is refused."""

import csv
import json
from pathlib import Path

import pyarrow.parquet
import pytest
from click.testing import CliRunner
from proact_run import PHASES, failed, manifest, run_of, trigger, written

from dspy_proact.cli.export import export

FORMS = {"proactbench": ".jsonl", "csv": ".csv", "parquet": ".parquet"}
EACH = pytest.mark.parametrize(("form", "ending"), FORMS.items())


@pytest.fixture
def run(tmp_path):
    """A run of four triggers: a PASS, a PARTIAL, a FAIL and one without a response."""
    cases = [trigger(f"d{turn}", phase, turn=turn) for turn, phase in enumerate([*PHASES, "RECOVERY"], start=1)]
    return run_of(tmp_path / "run", zip(cases, ("PASS", "PARTIAL", "FAIL", None), strict=True)).path


@EACH
def test_the_file_stands_in_a_folder_of_its_own_and_is_said(proact, run, form, ending):
    status, out, err = proact("export", run, "--format", form)
    path = Path(f"exports/run{ending}")
    assert (status, out) == (0, f"{path}\n")
    assert path.is_file()
    assert str(path) in err


@EACH
@pytest.mark.parametrize("given", ["run", "run/", "./run", "../{here}/run"])
def test_however_the_run_is_named_the_file_is_called_like_its_folder(proact, run, tmp_path, form, ending, given):
    assert proact("export", given.format(here=tmp_path.name), "--format", form)[0] == 0
    assert (tmp_path / "exports" / f"run{ending}").is_file()


@EACH
def test_from_within_its_folder_a_run_is_exported_too(proact, run, monkeypatch, form, ending):
    monkeypatch.chdir(run)
    status, out, _ = proact("export", ".", "--format", form)
    assert status == 0
    assert Path(out.strip()).name == f"run{ending}"
    assert Path(out.strip()).is_file()


@EACH
def test_the_file_can_be_named(proact, run, tmp_path, form, ending):
    status, out, _ = proact("export", run, "--format", form, "--out", "elsewhere.txt")
    assert (status, out) == (0, "elsewhere.txt\n")
    assert (tmp_path / "elsewhere.txt").is_file()


@EACH
def test_a_file_in_the_place_of_what_is_kept_is_refused(proact, run, form, ending):
    before = (Path(run) / "events.jsonl").read_bytes()
    status, _, err = proact("export", run, "--format", form, "--out", Path(run) / "events.jsonl")
    assert (status, "lies in the folder of a run or a compile" in err) == (2, True)
    assert (Path(run) / "events.jsonl").read_bytes() == before


@EACH
def test_it_can_be_written_to_standard_output(run, monkeypatch, tmp_path, form, ending):
    monkeypatch.chdir(tmp_path)
    outs = {out: CliRunner().invoke(export, [str(run), "--format", form, "--out", out]) for out in ("named", "-")}
    assert [done.exception for done in outs.values()] == [None, None]
    assert outs["-"].stdout_bytes == Path("named").read_bytes()
    assert not Path("-").exists()


def test_what_the_official_format_cannot_hold_is_said_line_by_line(proact, run):
    _, _, err = proact("export", run, "--format", "proactbench")
    assert "Not in the file: 1 reasons of unscored triggers: response: empty 1\n" in err
    assert "Not in the file: judge, prompts" in err
    assert "Next: dspy-proact report exports/run.jsonl" in err


def test_what_was_exported_is_reported_with_the_same_scores(proact, run):
    proact("export", run, "--format", "proactbench")
    of_run, of_file = (json.loads(proact("report", path, "--json")[1]) for path in (run, "exports/run.jsonl"))
    assert of_file["phases"] == of_run["phases"]
    assert of_file["overall"] == of_run["overall"]
    assert of_file["triggers"] == {
        "total": 4,
        "scored": 3,
        "unscored": 1,
        "pending": 0,
        "unscored_reasons": {"no_response": 1},
    }


def test_tables_have_a_row_a_verdict(proact, run):
    proact("export", run, "--format", "csv")
    proact("export", run, "--format", "parquet")
    with Path("exports/run.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file, strict=True))
    assert [line["grade"] for line in lines] == ["PASS", "PARTIAL", "FAIL", ""]
    table = pyarrow.parquet.read_table("exports/run.parquet").to_pylist()
    assert [row["grade"] for row in table] == ["PASS", "PARTIAL", "FAIL", None]


def test_an_unfinished_run_is_exported_as_far_as_it_is(proact, tmp_path):
    tried, owed = trigger("a"), trigger("b")
    written(tmp_path / "run", manifest(), [tried, owed], [failed(tried, "empty")])
    status, _, err = proact("export", "run", "--format", "proactbench")
    assert status == 0
    assert "1 pending triggers, which are left out" in err
    assert len((tmp_path / "exports" / "run.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_a_run_in_which_nothing_was_tried_is_refused_in_the_official_form(proact, tmp_path):
    written(tmp_path / "run", manifest(), [trigger()])
    status, out, err = proact("export", "run", "--format", "proactbench")
    assert (status, out) == (2, "")
    assert "nothing in it was tried yet" in err
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


@EACH
def test_a_folder_that_is_not_there_is_a_sentence(proact, run, tmp_path, form, ending):
    status, out, err = proact("export", run, "--format", form, "--out", "nowhere/file")
    assert (status, out) == (2, "")
    assert err.startswith("Error: nowhere/file: cannot be written")
    assert not (tmp_path / "nowhere").exists()


@EACH
def test_a_folder_is_no_file_to_write(proact, run, tmp_path, form, ending):
    status, _, err = proact("export", run, "--format", form, "--out", tmp_path)
    assert status == 2
    assert "is a directory" in err


@EACH
@pytest.mark.parametrize("name", ["missing", "file.jsonl", "."])
def test_what_is_no_run_is_refused(proact, tmp_path, form, ending, name):
    (tmp_path / "file.jsonl").write_text("{}")
    status, out, err = proact("export", name, "--format", form)
    assert (status, out) == (2, "")
    assert "no run here" in err
    assert {path.name for path in tmp_path.iterdir()} == {"file.jsonl"}


@EACH
def test_a_pattern_of_runs_stays_one_after_an_export(proact, tmp_path, form, ending):
    for model in "AB":
        run_of(tmp_path / "two" / f"{model}--judge", [(trigger(), "PASS")], model=model)
        assert proact("export", f"two/{model}--judge", "--format", form)[0] == 0
    given = [*Path("two").glob("A--*"), *Path("two").glob("B--*")]
    assert proact("compare", *given)[0] == 0


def test_where_no_folder_of_exports_can_be_the_mend_is_said(proact, run, tmp_path):
    (tmp_path / "exports").write_text("mine")
    status, out, err = proact("export", run, "--format", "csv")
    assert (status, out) == (2, "")
    assert err.startswith("Error: exports: cannot be made: ")
    assert "--out" in err


def test_rows_hold_the_rubric_the_earlier_turns_and_who_graded(proact, run):
    proact("export", run, "--format", "parquet")
    row = pyarrow.parquet.read_table("exports/run.parquet").to_pylist()[0]
    assert json.loads(row["earlier_turns"]) == [{"user": "I move on Friday.", "assistant": "Good luck."}]
    assert row["user_message"] == "Any boxes?"
    assert [row[f"rubric_{grade}"] for grade in ("pass", "partial", "fail")] == ["Plans.", "Hints.", "Does nothing."]
    names = ("model", "program", "judge", "judge_program")
    assert [row[name] for name in names] == ["openai/m", "bare", "openai/j", "default"]


def test_a_form_must_be_named_and_be_one_of_three(proact, run):
    assert proact("export", run)[0] == 2
    status, _, err = proact("export", run, "--format", "xlsx")
    assert status == 2
    assert "proactbench" in err


def test_names_that_a_spreadsheet_would_run_are_text_in_the_csv_file(proact, tmp_path):
    run_of(tmp_path / "run", [(trigger("=cmd|' /C calc'!A0", scenario="@S"), "PASS")], "+judge", model="-model")
    proact("export", "run", "--format", "csv")
    with (tmp_path / "exports" / "run.csv").open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file, strict=True)
    assert [line[name] for name in ("key", "dialogue", "model", "judge")] == [
        "'=cmd|' /C calc'!A0__t2",
        "'=cmd|' /C calc'!A0",
        "'-model",
        "'+judge",
    ]
