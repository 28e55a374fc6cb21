"""`dspy-proact report` and `leaderboard`: runs and results files, pages, published scores, and every refusal."""

import json
import re

import pytest
from proact_run import run_of, trigger
from results_rows import corpus_with, file_with
from rows import jsonl, row, trigger_point
from toy import as_format_one

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.proactbench.corpus.dialogues import read_jsonl


def evaluated(folder, *rows):
    """The path of a finished run of the stand-in."""
    (folder / "corpus.jsonl").write_text(jsonl(*rows), encoding="utf-8")
    return Evaluation(read_jsonl(folder / "corpus.jsonl")).run(folder / "run").path


@pytest.fixture
def run(tmp_path):
    return evaluated(tmp_path, row())


@pytest.fixture
def domains(tmp_path):
    """Twelve triggers of travel in four scenarios, and one of cooking."""
    rows = [row(unique_id_eval=f"d{number}", scenario_id=f"TRAVEL_{number:02d}") for number in range(4)]
    lone = row(unique_id_eval="soup", category_key="cooking_persona", trigger_points=[trigger_point(2)])
    return evaluated(tmp_path, *rows, lone)


# Runs


def test_a_run_is_reported_with_what_to_type_next_and_an_unfinished_one_with_what_is_pending(proact, run):
    status, out, err = proact("report", run)
    assert (status, "3/3" in out) == (0, True)
    assert f"Next: dspy-proact report {run} --html page.html" in err
    events = (run / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "events.jsonl").write_text("".join(events[:3]) + events[3][:40], encoding="utf-8")
    status, out, err = proact("report", run)
    assert (status, "pending " in out) == (0, True)
    assert "repeat the command that began it to go on" in err


def test_a_report_is_broken_down_by_each_key_with_small_groups_marked(proact, domains):
    status, out, _ = proact("report", domains, "--by", "life_domain", "--by", "turn")
    rows = [line.split()[:2] for line in out.splitlines()]
    assert status == 0
    assert ["travel", "12/12"] in rows
    assert ["cooking*", "1/1"] in rows
    # Turns 2, 3 and 5 of the four, and turn 2 of the soup; in the order of numbers.
    turns = [each for each in rows if each and re.fullmatch(r"\d+\*", each[0])]
    assert turns[:3] == [["2*", "5/5"], ["3*", "4/4"], ["5*", "4/4"]]
    assert "* fewer than 10 triggers" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_run_of_an_older_format_is_refused_with_a_sentence_by_every_command(proact, run):
    raw = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    (run / "manifest.json").write_text(json.dumps(as_format_one(raw)), encoding="utf-8")
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    for command in (["report", run], ["leaderboard", run], ["eval", "--out", run], ["compare", run, run]):
        status, out, err = proact(*command)
        assert (status, out) == (2, "")
        assert err.startswith(f"Error: {run / 'manifest.json'}: field 'format': ")
        assert err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


# Results files


def test_scores_and_faults_of_a_results_file_are_printed_with_the_next_step(proact, tmp_path):
    status, out, err = proact("report", file_with(tmp_path))
    assert status == 0
    assert "dropped triggers: cannot be known (name the corpus that it answers with --corpus)." in " ".join(out.split())
    assert "Next: dspy-proact rejudge results.jsonl --corpus" in err
    document = json.loads(proact("report", "results.jsonl", "--json", "--by", "turn")[1])
    assert list(document["breakdowns"]["turn"]) == ["2", "3", "5"]
    assert document["results"]["dropped"]["reason"] == "name the corpus that it answers with --corpus"


# Pages


@pytest.fixture
def pair(tmp_path):
    """Two runs of one trigger, and a results file."""
    for name, grade in (("a", "PASS"), ("b", "FAIL")):
        run_of(tmp_path / name, [(trigger(), grade)], model=f"openai/{name}")
    file_with(tmp_path)
    corpus_with(tmp_path, row(unique_id_eval="other"))


@pytest.mark.parametrize(("runs", "following"), [(["a"], "show a"), (["a", "b"], "compare a b")])
def test_a_page_is_written_and_said_where(proact, pair, tmp_path, runs, following):
    status, out, err = proact("report", *runs, "--html", "page.html", "--by", "style")
    assert (status, out) == (0, "")
    assert err == f"The page is in page.html; open it in a browser.\nNext: dspy-proact {following}\n"
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert all(f"openai/{name}" in text for name in runs)
    before = sorted(tmp_path.iterdir())
    status, out, err = proact("report", *runs, "--html", "-")
    assert (status, err, sorted(tmp_path.iterdir())) == (0, "", before)
    assert out.rstrip().endswith("</html>")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a", "b"], "2 RUNs are given; several are reported on a page: --html FILE"),
        (["a", "--html", "page.html", "--json"], "--html and --json are mutually exclusive"),
        (["a", "--html", "page.html", "--explain"], "--html and --explain are mutually exclusive"),
        (["a", "--html", "page.html", "--corpus", "sample"], "--html and --corpus are mutually exclusive"),
        (["a", "--html", "page.html", "--by", "colour"], "nothing to group by 'colour'"),
        (["a", "a", "--html", "page.html"], "a: given twice; name each run once"),
        (["a", "--html", "gone/page.html"], "there is no folder 'gone'; create it first"),
        (["a", "--html", "b"], "b: cannot be written"),
        (["c", "--html", "page.html"], "c: no run here"),
        (["c", "--html", "old.html"], "c: no run here"),
        (["a", "--html", "a/events.jsonl"], "a/events.jsonl: lies in the folder of a run or a compile"),
        (["a", "--html", "b/page.html"], "b/page.html: lies in the folder of a run or a compile"),
        (["a", "--html", "notes.txt"], "notes.txt: exists and is not a page; name another file"),
        (["results.jsonl", "--html", "./results.jsonl"], "results.jsonl: is the input; name another file"),
        (["a", "--corpus", "sample"], "--corpus is for results files"),
        (["results.jsonl", "--corpus", "corpus.jsonl"], "3 of its 3 triggers are not in the corpus 'corpus.jsonl'"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(refused, pair, tmp_path, words, told):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "old.html").write_text("<!doctype html>")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert told in refused("report", *words)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


# The leaderboard
