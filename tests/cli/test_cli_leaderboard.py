"""`dspy-proact leaderboard`: the published figures, a run beside them, and what it refuses."""

import json
import sys

import pytest
from results_rows import result_row
from rows import jsonl, row

from dspy_proact import cli
from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.proactbench.corpus import read_jsonl


@pytest.fixture
def leaderboard(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys, "argv", ["dspy-proact", "leaderboard", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, *capsys.readouterr()

    return call


@pytest.fixture
def run(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(jsonl(row()), encoding="utf-8")
    return Evaluation(read_jsonl(tmp_path / "corpus.jsonl")).run(tmp_path / "run").path


def test_json_has_the_published_scores_in_the_published_order_and_the_strict_ones(leaderboard):
    status, out, _ = leaderboard("--json")
    models = json.loads(out)["rows"]
    assert status == 0
    assert [round(model["scores"]["score"]["value"], 4) for model in models] == [
        0.6979, 0.6064, 0.6058, 0.5829, 0.5701, 0.5428, 0.5353, 0.5281,
        0.5032, 0.4736, 0.4423, 0.3133, 0.2252, 0.2204, 0.2163, 0.2051,
    ]  # fmt: skip
    assert [round(model["scores"]["strict"]["value"], 4) for model in models] == [
        0.6979, 0.5938, 0.6058, 0.5801, 0.4760, 0.5288, 0.5345, 0.5272,
        0.5032, 0.4736, 0.4423, 0.3133, 0.2252, 0.2204, 0.2163, 0.2051,
    ]  # fmt: skip
    assert all(model["published"] and model["differences"] == [] for model in models)


def test_the_table_fits_in_80_columns_and_says_what_to_type_next(leaderboard):
    status, out, err = leaderboard()
    assert (status, "gpt-5.5" in out) == (0, True)
    assert max(map(len, out.splitlines())) <= 80
    assert "Next: dspy-proact eval --model openai/gpt-4o --judge-prompt official" in err


def test_a_run_otherwise_made_stands_below_with_what_is_otherwise(leaderboard, run):
    status, out, err = leaderboard(run)
    said = " ".join(out.split())
    assert status == 0
    assert "embedded stand-in" in said
    assert "not ranked: graded by embedded, not by gpt-5.4" in said
    assert "not ranked: the judge's prompt is 'default', not the official one" in said
    assert f"Next: dspy-proact report {run}" in err
    entry = json.loads(leaderboard(run, "--json")[1])["rows"][-1]
    assert (entry["published"], entry["rank"], entry["embedded"]) == (False, None, True)
    assert sum(counts["total"] for counts in entry["counts"].values()) == 3


def test_a_results_file_stands_below_too(leaderboard, tmp_path):
    (tmp_path / "results.jsonl").write_text(jsonl(result_row()), encoding="utf-8")
    status, out, _ = leaderboard(tmp_path / "results.jsonl", "--json")
    entry = json.loads(out)["rows"][-1]
    assert (status, entry["published"], entry["rank_range"]) == (0, False, None)
    assert entry["differences"] == ["a results file does not say which judge, prompt and decoding made it"]


@pytest.mark.parametrize("kind", ["missing", "a file", "empty"])
def test_what_is_no_run_is_refused_with_a_sentence(leaderboard, tmp_path, kind):
    path = tmp_path / "there"
    if kind == "a file":
        path.write_text("x")
    elif kind == "empty":
        path.mkdir()
    status, out, err = leaderboard(path, "--json")
    assert (status, out) == (2, "")
    assert str(path) in err
    assert "Traceback" not in err


def test_one_run_twice_is_refused(leaderboard, run):
    status, out, err = leaderboard(run, run.parent / "." / "run")
    assert (status, out) == (2, "")
    assert "given twice; name each run once" in err


def test_a_damaged_manifest_is_named(leaderboard, run):
    (run / "manifest.json").write_text("{}", encoding="utf-8")
    status, out, err = leaderboard(run)
    assert (status, out) == (2, "")
    assert "manifest.json" in err
