"""The programs in eval/ run, on the embedded model."""

import json

import pytest
from rows import jsonl, row
from script import ROOT, run

PROGRAMS = ROOT / "eval"


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.name)
def test_a_program_is_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 115


def test_proactbench_scores_a_corpus(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(jsonl(row()), encoding="utf-8")
    arguments = ["embedded", "--judge", "embedded", "--corpus", "corpus.jsonl", "--out", "run"]
    done = run(PROGRAMS / "proactbench.py", *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3/3" in done.stdout
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["embedded"] is True


def test_proactbench_says_what_is_missing(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(jsonl(row()), encoding="utf-8")
    done = run(PROGRAMS / "proactbench.py", "openai/gpt-4o", "--corpus", "corpus.jsonl", folder=tmp_path)
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr
    assert "Traceback" not in done.stderr
