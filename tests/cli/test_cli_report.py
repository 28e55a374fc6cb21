"""`dspy-proact report`: what it breaks down, what it refuses, and how it says what is next."""

import json

import pytest
from rows import jsonl, row, trigger_point
from toy import as_format_one

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.proactbench.corpus import read_jsonl


@pytest.fixture
def report(proact):
    return lambda *arguments: proact("report", *arguments)


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
    assert "repeat the command that began it to go on" in err


@pytest.mark.parametrize("kind", ["missing", "empty"])
def test_what_is_no_run_is_refused_with_a_sentence(report, tmp_path, kind):
    path = tmp_path / "there"
    if kind == "empty":
        path.mkdir()
    status, out, err = report(path)
    assert (status, out) == (2, "")
    assert f"{path}: no run here" in err


def test_a_file_is_read_as_results_and_refused_with_its_line_when_it_is_none(report, tmp_path):
    path = tmp_path / "there"
    path.write_text("x")
    status, out, err = report(path)
    assert (status, out) == (2, "")
    assert f"{path}, line 1: not JSON" in err
    assert err.count("Error:") == 1


def test_a_damaged_line_is_named(report, run):
    events = (run / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "events.jsonl").write_text("".join([events[0], "rubbish\n", *events[1:]]), encoding="utf-8")
    status, _, err = report(run)
    assert status == 2
    assert "events.jsonl, line 2" in err


def test_a_run_of_an_older_format_is_refused_with_a_sentence_by_every_command(proact, run):
    raw = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    (run / "manifest.json").write_text(json.dumps(as_format_one(raw)), encoding="utf-8")
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    for command in (["report", run], ["report", run, "--json"], ["eval", "--out", run], ["compare", run, run]):
        status, out, err = proact(*command)
        assert (status, out) == (2, "")
        assert err.startswith(f"Error: {run / 'manifest.json'}: field 'format': ")
        assert err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


@pytest.fixture
def domains(tmp_path):
    """A finished run: twelve triggers of travel in four scenarios, and one of cooking."""
    rows = [row(unique_id_eval=f"d{number}", scenario_id=f"TRAVEL_{number:02d}") for number in range(4)]
    lone = row(unique_id_eval="soup", category_key="cooking_persona", trigger_points=[trigger_point(2)])
    (tmp_path / "corpus.jsonl").write_text(jsonl(*rows, lone), encoding="utf-8")
    return Evaluation(read_jsonl(tmp_path / "corpus.jsonl")).run(tmp_path / "run").path


def test_a_report_is_broken_down_by_each_key_with_small_groups_marked(report, domains):
    status, out, _ = report(domains, "--by", "life_domain", "--by", "turn")
    rows = [line.split()[:2] for line in out.splitlines()]
    assert status == 0
    assert ["travel", "12/12"] in rows
    assert ["cooking*", "1/1"] in rows
    # Turns 2, 3 and 5 of the four, and turn 2 of the soup; in the order of numbers.
    assert [each for each in rows if each and each[0].rstrip("*").isdigit()][:3] == [
        ["2*", "5/5"],
        ["3*", "4/4"],
        ["5*", "4/4"],
    ]
    assert "* fewer than 10 triggers" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_breakdown_in_json_has_the_counts_and_scores_of_a_phase_for_each_group(report, domains):
    _, out, _ = report(domains, "--by", "life_domain", "--by", "turn", "--json")
    found = json.loads(out)
    assert list(found)[-1] == "breakdowns"
    assert list(found["breakdowns"]) == ["life_domain", "turn"]
    domain, turn = found["breakdowns"].values()
    assert (list(domain), list(turn)) == (["cooking", "travel"], ["2", "3", "5"])
    assert [group["total"] for group in (*domain.values(), *turn.values())] == [1, 12, 5, 4, 4]
    for group in (*domain.values(), *turn.values()):
        assert [*found["phases"]["EMERGENT"], "small"] == [*group] or group["total"] == 12
        assert group.get("small", False) is (group["total"] < 10)
    assert list(domain["travel"]) == list(found["phases"]["EMERGENT"])
    _, plain, _ = report(domains, "--json")
    assert json.loads(plain) == {name: value for name, value in found.items() if name != "breakdowns"}


@pytest.mark.parametrize("flags", [[], ["--json"], ["--by", "turn"]], ids=["terminal", "JSON", "after another"])
@pytest.mark.parametrize("key", ["colour", "curated_response", "Turn", ""])
def test_a_key_that_groups_nothing_is_refused_naming_those_that_do(report, domains, key, flags):
    status, out, err = report(domains, *flags, "--by", key)
    assert (status, out) == (2, "")
    keys = "blueprint, dialogue, life_domain, persona, scenario_id, source_model, style, turn"
    assert f"nothing to group by {key!r}; the keys are {keys}" in err
