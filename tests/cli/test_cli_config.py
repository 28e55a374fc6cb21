"""Options in a file, runs in a list, and a score that a pipeline of CI requires."""

import json
import re
from pathlib import Path

import pytest
from mine import write_mine
from proact_run import run_of, trigger

pytestmark = pytest.mark.usefixtures("proactbench")


def config(text, folder="there"):
    path = Path(folder, "run.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gives_every_kind_of_option_and_what_is_typed_comes_first(proact, server):
    path = config(
        f"""
        model = "hosted_vllm/ann"
        model-api-base = "{server.assistant}"
        judge = ["hosted_vllm/j", "hosted_vllm/k"]
        judge-api-base = "{server.judge}"
        corpus = "sample"
        limit = 2
        phase = ["EMERGENT"]
        system-prompt = "@prompt.txt"
        retry-unscored = true
        dry-run = false
        [model-param]
        seed = 7
        top_p = "none"
        """
    )
    path.with_name("prompt.txt").write_text("Look ahead.", encoding="utf-8")
    assert proact("eval", "--config", path, "--limit", 1, "--out", "run")[0] == 0
    (asked,) = server.of("assistant")
    assert (asked.body["seed"], "top_p" in asked.body, asked.messages[0]["content"]) == (7, False, "Look ahead.")
    assert {sent.body["model"] for sent in server.of("judge")} == {"j", "k"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modle = 'x'", "'modle' is no option of eval; did you mean 'model'?"),
        ("limit = 'many'", "'many' is not a valid integer"),
        ("limit =", "Invalid value"),
        ("config = 'other.toml'", "'config' is no option of eval"),
        (None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_what_is_wrong(proact, text, said):
    status, _, err = proact("eval", "--config", config(text) if text else "nowhere.toml")
    assert (status, said in " ".join(err.split())) == (2, True), err


@pytest.mark.parametrize(("least", "status"), [(0, 0), (100, 2)])
def test_a_score_under_the_required_one_ends_with_two(proact, least, status):
    done = proact("eval", "--limit", 4, "--fail-under", least, "--out", "run")
    assert (done[0], "is under --fail-under 100" in done[2]) == (status, bool(status))


def test_runs_are_listed_the_latest_first_and_a_damaged_one_says_so(proact):
    proact("eval", "--limit", 3)
    proact("eval", "--benchmark", write_mine(Path()))
    run_of(Path("runs", "zero"), [(trigger(), "FAIL")])
    broken = Path("runs", "broken")
    broken.mkdir()
    (broken / "manifest.json").write_text("{", encoding="utf-8")
    listed = json.loads(proact("runs", "--json")[1])
    assert sorted(row["benchmark"] or "" for row in listed) == ["", "next-step", "proactbench", "proactbench"]
    assert (listed[-1]["state"], "manifest.json" in listed[-1]["reason"]) == ("cannot be read", True)
    (mine,) = [row for row in listed if row["model"] == "embedded" and row["benchmark"] == "proactbench"]
    assert (mine["state"], Path(mine["path"]).name.partition("--")[0]) == ("complete", "proactbench")
    assert mine["score"] == round(
        100 * json.loads(proact("report", mine["path"], "--json")[1])["overall"]["micro"]["weighted"]["value"], 1
    )
    text = proact("runs")[1]
    assert all(word in text for word in ("proactbench", "next-step", "complete"))
    ids = [Path(row["path"]).name.rpartition("--")[2] for row in listed]
    assert re.search(r"zero +proactbench .* 0\.0 +complete", text)
    for part in text.split("\n\n"):  # too wide for 80 columns: several tables, each with the ids of the runs
        assert [line.split()[0] for line in part.splitlines()[2:]] == ids
    assert proact("runs", "nowhere")[0] == 2


@pytest.mark.parametrize(
    "verb", [["report", "--html", "page.html"], ["show", "--beside"], ["compare"], ["leaderboard"]]
)
def test_runs_of_two_benchmarks_are_refused_by_name(proact, verb):
    proact("eval", "--limit", 1, "--out", "one")
    proact("eval", "--benchmark", write_mine(Path()), "--out", "two")
    first, *rest = verb
    given = ["one", *rest, "two"] if first == "show" else ["one", "two", *rest]
    status, _, err = proact(first, *given)
    told = " ".join(err.split())
    assert (status, "two" in told, "next-step" in told) == (2, True, True)
