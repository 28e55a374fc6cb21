"""The programs in eval/ run, on the embedded model."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rows import jsonl, row

PROGRAMS = Path(__file__).parents[2] / "eval"


def program(name, *arguments, folder):
    command = [sys.executable, PROGRAMS / name, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.name)
def test_a_program_is_at_most_a_hundred_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 100


def test_proactbench_scores_a_corpus(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(jsonl(row()), encoding="utf-8")
    arguments = ["embedded", "--judge", "embedded", "--corpus", "corpus.jsonl", "--out", "run"]
    done = program("proactbench.py", *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3/3" in done.stdout
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["embedded"] is True


def test_proactbench_says_what_is_missing(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(jsonl(row()), encoding="utf-8")
    done = program("proactbench.py", "openai/gpt-4o", "--corpus", "corpus.jsonl", folder=tmp_path)
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr
    assert "Traceback" not in done.stderr
