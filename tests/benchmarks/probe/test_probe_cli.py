"""PROBE on the command line: every verb that it has, on the bundled sample and the stand-in."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from builders.studies import rows_of, sheet_with
from fakes.server import Answer, Sent
from probe_files import files, in_folder, right, steps
from probe_task import identified, resolved

from dspy_proact import Evaluation, RunFolder
from dspy_proact.benchmarks.probe.corpus import load_tasks


@pytest.fixture(scope="module")
def sample_run(tmp_path_factory) -> Path:
    return Evaluation(load_tasks("sample"), benchmark="probe").run(tmp_path_factory.mktemp("sample") / "run").path


@pytest.fixture
def run(proact, sample_run) -> Path:
    """A run of the published setting on the sample, in the folder of the test."""
    return Path(shutil.copytree(sample_run, "run"))


JUDGED = ("agree", "--benchmark", "probe", "--judge", "hosted_vllm/any", "--retries", 0, "--out", "graded")


def constant(sent: Sent) -> Answer:
    """A judge that finds everything right."""
    right = identified() if "who_blocked" in str(sent.messages[0]["content"]) else resolved()
    text = right.model_dump()
    return Answer(json.dumps(text | text.pop("facets", {})))


def test_the_leaderboard_says_first_what_it_carries_and_what_to_type_next(proact, run):
    status, out, err = proact("leaderboard", "--benchmark", "probe")
    first = "GPT-5 and Claude Opus 4.1 rank first of 9 (task 40.0 %)"
    assert (status, " ".join(out.split()).startswith(first)) == (0, True)
    assert "stands beside them" in err
    words = shlex.split(err.partition("Next: dspy-proact ")[2])
    assert "6 calls" in proact(*words, "--corpus", "sample", "--dry-run")[1]
    own = " ".join(proact("leaderboard", run)[1].split())
    assert "was measured otherwise than the 16 published rows, and is not ranked" in own
    assert "14.90 % is no mean" not in own
    assert "14.90 % is no mean" in " ".join(proact("leaderboard", run, "--explain")[1].split())


def test_a_run_is_read_task_by_task_with_its_own_labels(proact, run):
    listed = proact("show", run, "--grade", "failed", "--stratum", "Easy", "--json")[1]
    assert [(entry["grade"], entry["difficulty"]) for entry in json.loads(listed)] == [("FAILED", "easy")]
    for option, word, problem in (
        ("--phase", "hard", "--phase: run has no phases; use --stratum, which names its difficulties"),
        ("--grade", "pass", "none of SOLVED, PARTIAL, FAILED"),
    ):
        status, _, err = proact("show", run, option, word)
        assert (status, problem in err) == (2, True), err
    complete = proact("show", run, "--trigger", "bottleneck_002_02_ruben_castellet")[1]
    assert "photometer lamp" in complete
    assert '"parameters":' not in complete
    document = json.loads(proact("show", run, "--json")[1])
    solution = next(json.loads(item["response"]) for item in document if item["task"].startswith("bottleneck_002_02"))
    text = " ".join(complete.split())
    assert f"evidence: {', '.join(solution['evidence'])}" in text
    assert " ".join(solution["bottleneck"].split()) in text


def test_answers_are_judged_again_by_another_rule_and_by_no_other_setting(proact, run):
    status, out, _ = proact("rejudge", run, "--set", "upstream_rule=true", "--out", "again")
    assert (status, "same grade" in out, "verdicts with a quote" in out) == (0, True, False)
    assert RunFolder(Path("again")).manifest().identity.settings["upstream_rule"] is True
    evaluated = ("eval", "--benchmark", "probe", "--set", "oracle=bottleneck", "--limit", 1, "--out", "given")
    assert proact(*evaluated)[0] == 0
    for command, problem in (
        ((run, "--set", "agent=react"), "would change the answers"),
        ((run, "--benchmark", "probe", "--corpus", "no"), "--corpus is for results files; a run knows its corpus"),
        (("given", "--set", "upstream_rule=true"), "--set upstream_rule: has no effect with oracle=bottleneck"),
    ):
        status, _, err = proact("rejudge", *command, "--out", "other")
        assert (status, problem in err, Path("other").exists()) == (2, True, False), err


def test_a_task_that_is_left_out_is_said_counted_and_in_no_score(proact):
    strange = right(checklist={"required_steps": steps(correct_parameters=["Bo"])})
    folder = in_folder(Path("tasks"), {**files(), **files(outputs=strange, key="strange")})
    status, out, err = proact("eval", "--benchmark", "probe", "--corpus", folder, "--out", "run")
    why = "correct_parameters: input should be a valid dictionary, not a list."
    assert (status, "1 of 2 rows is left out: " in err, why in err) == (0, True, True), err
    assert "1 of 2 samples left out: " in " ".join(out.split())
    assert [*json.loads(proact("report", "run", "--json")[1])["run"]["corpus"]["left_out"].values()] == [1]
    strict = proact("eval", "--benchmark", "probe", "--corpus", folder, "--out", "strict", "--set", "strict=true")
    assert (strict[0], "strange_output.json" in strict[2]) == (2, True)


def test_scores_are_broken_down_by_the_model_that_wrote_the_tasks(proact):
    written = [right(metadata={"model": name}) for name in ("writer-1", "writer-1", "writer-2")]
    contents = {}
    for number, outputs in enumerate(written):
        contents |= files(outputs=outputs, key=f"task_{number}")
    proact("eval", "--benchmark", "probe", "--corpus", in_folder(Path("tasks"), contents), "--out", "run")
    rows = json.loads(proact("report", "run", "--by", "generator", "--json")[1])["breakdowns"]["generator"]
    assert {name: row["total"] for name, row in rows.items()} == {"writer-1": 2, "writer-2": 1}


# Agreement with the sample's authors


def test_a_judge_that_finds_everything_right_agrees_with_what_is_and_not_beyond_chance(proact, server):
    server.script, judged = constant, (*JUDGED, "--judge-api-base", server.judge)
    status, out, _ = proact(*judged, "--json")
    # Of four descriptions a task one is whole; of four sets of parameters two are as they should be.
    words = [json.loads(out)["parts"][part]["pooled"] for part in ("description", "parameters")]
    assert (status, [(row["exact"]["value"], row["judged"]) for row in words]) == (0, [(6 / 24, 24), (12 / 24, 24)])
    assert [row["kappa_quadratic"]["value"] for row in words] == [0, 0]
    _, out, err = proact(*judged)
    assert "no calls were made" in err
    assert len(server.sent) == 48
    # A judge that says one thing of everything has kappa 0, and is right of the same share of each person's answers.
    (names,) = re.findall(r"(description, [^:]*): no variance between people\.", " ".join(out.split()))
    assert names.endswith(", parameters, would_resolve")
    assert "agreement with them says nothing of people" in " ".join(out.split())


def test_a_rater_fills_in_a_sheet_of_a_run_and_the_judge_is_compared_part_by_part(proact, done, run):
    assert proact("label", "sheet", run, "--out", "sheet.csv")[0] == 0
    rows = rows_of(Path("sheet.csv"))
    assert len(rows) == 6 * 11  # tasks, parts
    for row in rows:
        row["annotator"], row["grade"] = "ann", "correct" if row["part"] == "who_blocked" else ""
    sheet_with(Path("filled.csv"), rows)
    out, err = done("agree", "--run", run, "--ratings", "filled.csv", "--json")
    assert json.loads(out)["pooled"]["items"] == 6
    assert "who_blocked" in out
    assert "authors" not in out
    status, _, err = proact("agree", "--benchmark", "probe", "--ratings", "filled.csv")
    assert (status, "filled.csv: a file of ratings does not hold what was rated; give its run" in err) == (2, True), err
    # No score follows from a part, so that a draw leads to no report.
    _, _, err = proact("label", "sheet", run, "--draw", 6, "--out", "drawn.csv")
    assert ("corrected score" in err, "Next: dspy-proact agree" in err) == (False, True)
    tuned = ("optimize", "judge", "--run", run, "--ratings", "filled.csv", "--benchmark", "probe", "--folds", 3)
    status, out, err = proact(*tuned, "--optimizer", "search", "--trials", 1, "--dry-run")
    assert (status, "6 items in 3 people" in " ".join((out + err).split())) == (0, True), out + err
