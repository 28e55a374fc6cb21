"""`dspy-proact export`: where the file is, what is not in it, and what is refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from proact_run import PHASES, run_of, trigger

from dspy_proact.cli.runs import export

FORMS = {"official": ".jsonl", "csv": ".csv", "parquet": ".parquet"}
EACH = pytest.mark.parametrize(("form", "ending"), FORMS.items())


@pytest.fixture
def run(tmp_path):
    """A run of four triggers: a PASS, a PARTIAL, a FAIL and one without a response."""
    cases = [trigger(f"d{turn}", phase, turn=turn) for turn, phase in enumerate([*PHASES, "RECOVERY"], start=1)]
    return run_of(tmp_path / "run", zip(cases, ("PASS", "PARTIAL", "FAIL", None), strict=True)).path


@EACH
def test_the_file_stands_in_a_folder_of_its_own_or_where_it_is_asked_for(proact, run, tmp_path, form, ending):
    path = Path(f"exports/run{ending}")
    for given in ("run", "run/", f"../{tmp_path.name}/run"):  # it is called like the folder, however that is named
        status, out, err = proact("export", given, "--format", form)
        assert (status, out, path.is_file(), str(path) in err) == (0, f"{path}\n", True, True)
        path.unlink()
    assert proact("export", run, "--format", form, "--out", "named.txt")[:2] == (0, "named.txt\n")
    done = CliRunner().invoke(export, [str(run), "--format", form, "--out", "-"])
    assert (done.exception, done.stdout_bytes, Path("-").exists()) == (None, Path("named.txt").read_bytes(), False)


def test_what_cannot_be_is_refused_and_nothing_is_written(proact, run, tmp_path, monkeypatch):
    (tmp_path / "file.jsonl").write_text("{}")
    (tmp_path / "no_folder").mkdir()
    (tmp_path / "no_folder" / "exports").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for words, told in (
        ([run, "--out", run / "events.jsonl"], "lies in the folder of a run or a compile"),
        ([run, "--out", "nowhere/file"], "Error: nowhere/file: cannot be written"),
        ([run, "--out", tmp_path], "is a directory"),
        (["missing"], "no run here"),
        (["file.jsonl"], "no run here"),
        (["."], "no run here"),
    ):
        status, out, err = proact("export", *words, "--format", "csv")
        assert (status, out, told in err) == (2, "", True), err
    monkeypatch.chdir(tmp_path / "no_folder")
    status, out, err = proact("export", run, "--format", "csv")
    assert (status, out, err.startswith("Error: exports: cannot be made: "), "--out" in err) == (2, "", True, True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_from_within_its_folder_a_run_is_exported_too(proact, run, monkeypatch):
    monkeypatch.chdir(run)
    status, out, _ = proact("export", ".", "--format", "csv")
    assert (status, Path(out.strip()).name, Path(out.strip()).is_file()) == (0, "run.csv", True)


def test_what_the_official_format_cannot_hold_is_said_and_the_file_has_the_same_scores(proact, run):
    _, _, err = proact("export", run, "--format", "official")
    assert "Not in the file: 1 reasons of unscored triggers: response: empty 1\n" in err
    assert "Not in the file: judge, prompts" in err
    assert "Next: dspy-proact report exports/run.jsonl" in err
    of_run, of_file = (json.loads(proact("report", path, "--json")[1]) for path in (run, "exports/run.jsonl"))
    assert (of_file["phases"], of_file["overall"]) == (of_run["phases"], of_run["overall"])
    assert of_file["triggers"]["unscored_reasons"] == {"no_response": 1}


def test_a_form_must_be_named_and_be_one_of_three(proact, refused, run):
    assert proact("export", run)[0] == 2
    assert "official" in refused("export", run, "--format", "xlsx")
