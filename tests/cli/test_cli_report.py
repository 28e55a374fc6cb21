"""`dspy-proact report`: what it refuses, and how it says what is next."""

import sys

import pytest
from rows import jsonl, row

from dspy_proact import cli
from dspy_proact.benchmarks import Evaluation
from dspy_proact.corpus import read_jsonl


@pytest.fixture
def report(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dspy-proact", "report", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, *capsys.readouterr()

    return call


@pytest.fixture
def run(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(jsonl(row()), encoding="utf-8")
    return Evaluation(read_jsonl(tmp_path / "corpus.jsonl")).run(tmp_path / "run").path


def test_a_complete_run_says_what_to_type_next(report, run):
    status, out, err = report(run)
    assert (status, "3/3" in out) == (0, True)
    assert f"Next: dspy-proact report {run} --json" in err


def test_an_unfinished_run_is_reported_with_what_is_pending(report, run):
    events = (run / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "events.jsonl").write_text("".join(events[:3]) + events[3][:40], encoding="utf-8")
    status, out, err = report(run)
    assert (status, "pending " in out) == (0, True)
    assert "the command that began it goes on" in err


@pytest.mark.parametrize("kind", ["missing", "a file", "empty"])
def test_what_is_no_run_is_refused_with_a_sentence(report, tmp_path, kind):
    path = tmp_path / "there"
    if kind == "a file":
        path.write_text("x")
    elif kind == "empty":
        path.mkdir()
    status, out, err = report(path)
    assert (status, out) == (2, "")
    assert f"{path}: no run here" in err


def test_a_damaged_line_is_named(report, run):
    events = (run / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "events.jsonl").write_text("".join([events[0], "rubbish\n", *events[1:]]), encoding="utf-8")
    status, _, err = report(run)
    assert status == 2
    assert "events.jsonl, line 2" in err
