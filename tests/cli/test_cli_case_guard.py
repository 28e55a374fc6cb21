"""`dspy-proact optimize judge --guard cases` as a person meets it."""

import json
from pathlib import Path

import pytest
from tuning import on_disk, study


@pytest.fixture
def optimize(proact, tmp_path):
    """Tune the embedded judge to a small study."""
    labels = on_disk(tmp_path, study())

    def call(*more):
        return proact("optimize", "judge", *labels, "--optimizer", "labeled", "--folds", 2, *more)

    return call


def test_the_card_says_how_many_cases_were_right_and_that_none_is_lost(optimize):
    status, out, err = optimize("--guard", "cases", "--out", "out")
    assert status == 0
    counts = json.loads(Path("out", "judge.json").read_text(encoding="utf-8"))["card"]["counts"]
    before, after = counts["cases before"][0], counts["cases after"][0]
    told = f"worked cases of the judge's rules: {before} of 40 right before, {after} after, none lost"
    assert told in " ".join(out.split())
    assert "--guard cases: the embedded stand-in reads no rules, so that the cases measure nothing of it." in err


def test_without_the_guard_the_cases_are_not_asked_about(optimize):
    _, out, err = optimize("--out", "out")
    assert "worked cases" not in out
    assert "reads no rules" not in err
    assert "cases before" not in json.loads(Path("out", "judge.json").read_text(encoding="utf-8"))["card"]["counts"]


def test_a_folder_of_a_compile_without_the_guard_is_another_compiles(optimize):
    optimize("--out", "out")
    status, _, err = optimize("--guard", "cases", "--out", "out")
    assert status == 2
    assert "settings" in err


def test_a_benchmark_whose_judge_has_other_rules_refuses_it(probe, proact):
    status, _, err = proact("optimize", "judge", "--benchmark", "probe", "--guard", "cases")
    assert status == 2
    assert "--guard cases: probe declares no worked cases; leave it out" in err
