"""PROBE on the command line: every verb that it has, on the bundled sample and the stand-in."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
from probe_files import files, in_folder, right, steps
from server import Answer, Sent

from dspy_proact.runs import RunFolder


@pytest.fixture
def run(proact) -> Path:
    """A run of the published setting on the sample."""
    assert proact("eval", "--benchmark", "probe", "--out", "run")[0] == 0
    return Path("run")


def constant(sent: Sent) -> Answer:
    """A judge that finds everything right."""
    if "who_blocked" in str(sent.messages[0]["content"]):
        facets = ("who_blocked", "who_blocker", "what_task", "why_root_cause")
        further = ("when_deadline", "where_system", "how_mechanism", "impact_scope")
        said = {"reasoning": "so", **dict.fromkeys((*facets, *further), "correct")}
    else:
        said = {"reasoning": "so", "missing": [], "incorrect": [], "semantic_matches": [], "would_resolve": "yes"}
    return Answer(json.dumps({**said, "judgment": "CORRECT"}))


def test_without_a_key_the_sample_is_worked_by_the_stand_in_and_says_so(proact):
    status, out, _ = proact("eval", "--benchmark", "probe", "--out", "run")
    assert (status, " ".join(out.split()).startswith("The embedded stand-in measures nothing")) == (0, True)
    assert "of 6 tasks of the corpus sample" in " ".join(out.split())
    assert RunFolder(Path("run")).manifest().corpus.name == "sample"


def test_the_same_again_makes_no_call(proact, run):
    assert "no calls were made" in proact("eval", "--benchmark", "probe", "--out", run)[2]


def test_a_report_shows_the_stages_and_the_rest_on_demand(proact, run):
    short, whole = (proact("report", run, *more)[1] for more in ((), ("--explain",)))
    assert "identification" in short
    assert "returned F1" not in short
    assert "returned F1" in whole
    assert "the paper's overall" in whole


def test_two_agents_are_compared_by_person(proact, run):
    proact("eval", "--benchmark", "probe", "--set", "agent=stages", "--out", "stages")
    status, out, _ = proact("compare", run, "stages")
    assert (status, "3 people are too few" in " ".join(out.split())) == (0, True)


def test_the_leaderboard_says_first_what_it_carries(proact, run):
    status, out, err = proact("leaderboard", "--benchmark", "probe")
    first = "GPT-5 and Claude Opus 4.1 rank first of 9 (task 40.0 %)"
    assert (status, " ".join(out.split()).startswith(first)) == (0, True)
    assert "stands beside them" in err
    own = " ".join(proact("leaderboard", run)[1].split())
    assert "is not ranked among the 16 published rows" in own
    assert "14.90 % is no mean" not in own
    assert "14.90 % is no mean" in " ".join(proact("leaderboard", run, "--explain")[1].split())


def test_what_the_leaderboard_says_to_type_next_is_a_command(proact):
    words = shlex.split(proact("leaderboard", "--benchmark", "probe")[2].partition("Next: dspy-proact ")[2])
    status, out, _ = proact(*words, "--corpus", "sample", "--dry-run")
    assert (status, "6 calls" in out) == (0, True)


def test_a_run_is_read_task_by_task_with_its_own_labels(proact, run):
    listed = proact("show", run, "--grade", "failed", "--stratum", "Hard", "--json")[1]
    assert [(each["grade"], each["difficulty"]) for each in json.loads(listed)] == [("FAILED", "hard")]
    status, _, err = proact("show", run, "--phase", "hard")
    assert (status, "--phase: run has no phases; use --stratum, which names its difficulties" in err) == (2, True), err
    status, _, err = proact("show", run, "--grade", "pass")
    assert (status, "none of SOLVED, PARTIAL, FAILED" in err) == (2, True)
    whole = proact("show", run, "--trigger", "bottleneck_002_02_ruben_castellet")[1]
    assert "photometer lamp" in whole


def test_a_run_is_exported_as_a_table_and_not_in_another_format(proact, run):
    assert proact("export", run, "--format", "csv", "--out", "run.csv")[0] == 0
    with Path("run.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert (len(rows), {row["failure_modes"] for row in rows}) == (
        6,
        {"deadline", "person deadline", "root_cause deadline"},
    )
    status, _, err = proact("export", run, "--format", "proactbench")
    assert (status, "a run of 'probe'" in err) == (2, True)


def test_answers_are_judged_again_by_another_rule_and_by_no_other_setting(proact, run):
    assert proact("rejudge", run, "--set", "upstream_rule=true", "--out", "again")[0] == 0
    assert RunFolder(Path("again")).manifest().identity.settings["upstream_rule"] is True
    status, _, err = proact("rejudge", run, "--set", "agent=react", "--out", "other")
    assert (status, "would change the answers" in err) == (2, True)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["turns=3"], "--set turns: has no effect with agent=single; these do: calls, agent, sanitize,"),
        (
            ["agent=react", "trials=3"],
            "--set trials: has no effect with agent=react; these do: turns,",
        ),
        (
            ["agent=react", "embedder_price=1"],
            "--set embedder_price: has no effect with embedder=none; these do:",
        ),
        (["take=3"], "--set take: has no effect with baseline=none; these do: calls,"),
        (
            ["baseline=kind", "take=3"],
            "--set take: has no effect with baseline=kind; these do: sanitize, ",
        ),
        (
            ["baseline=bm25", "agent=react"],
            "--set agent: has no effect with baseline=bm25; these do: sanitize, baseline, take,",
        ),
        (["sanitize=false", "seed=3"], "--set seed: has no effect with sanitize=false; these do: calls,"),
        (["oracle=bottleneck", "upstream_rule=true"], "--set upstream_rule: has no effect with oracle=bottleneck;"),
    ],
)
@pytest.mark.parametrize("verb", [["eval"], ["optimize", "assistant"]])
def test_what_decides_nothing_beside_the_other_settings_is_refused(proact, verb, given, told):
    words = [word for each in given for word in ("--set", each)]
    status, _, err = proact(*verb, "--benchmark", "probe", *words, "--dry-run")
    assert (status, told in err) == (2, True), err


@pytest.mark.parametrize(
    "given", [["agent=reflexion", "trials=3"], ["agent=rewoo", "rows=3"], ["baseline=urgent", "take=3"]]
)
def test_what_decides_something_is_taken(proact, given):
    words = [word for each in given for word in ("--set", each)]
    assert proact("eval", "--benchmark", "probe", *words, "--dry-run")[0] == 0


def test_agreement_with_people_reads_no_setting(proact):
    status, _, err = proact("agree", "--benchmark", "probe", "--set", "agent=react")
    assert (status, "--set agent: agree reads no setting of probe;" in err, Path("runs").exists()) == (2, True, False)


def test_a_run_knows_its_corpus(proact, run):
    status, _, err = proact("rejudge", run, "--benchmark", "probe", "--corpus", "nonsense", "--out", "again")
    assert (status, Path("again").exists()) == (2, False)
    assert "--corpus is for results files; a run knows its corpus" in err


@pytest.mark.parametrize("tuned", ["assistant", "judge"])
def test_worked_examples_that_its_programs_cannot_have_are_not_bounded(proact, tuned):
    status, _, err = proact("optimize", tuned, "--benchmark", "probe", "--max-demos", 9, "--dry-run")
    assert (status, "--max-demos: probe has no worked examples; leave it out" in err) == (2, True)


def test_an_oracle_that_tells_the_bottleneck_leaves_a_rejudging_no_rule_of_it(proact):
    evaluated = ("eval", "--benchmark", "probe", "--set", "oracle=bottleneck", "--limit", 1, "--out", "told")
    assert proact(*evaluated)[0] == 0
    status, _, err = proact("rejudge", "told", "--set", "upstream_rule=true", "--out", "again")
    assert (status, "--set upstream_rule: has no effect with oracle=bottleneck" in err) == (2, True)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("turns=0", "turns takes a whole number from 1 to 200, by default 20: Uses of a tool"),
        ("threshold=2", "threshold takes a number from 0 to 1, by default 0.8: "),
        ("seed=-1", "seed takes a whole number of at least 0, by default 0: "),
        ("sanitize=maybe", "sanitize takes true or false, by default true: "),
        ("agent=all", "agent takes single, stages, react, reflexion or rewoo, by default single: "),
        ("embedder_price=dear", "embedder_price takes a number from 0 to 1000000 or none, by default none: "),
    ],
)
def test_a_value_that_is_not_taken_is_told_what_is(proact, typed, told):
    status, _, err = proact("eval", "--benchmark", "probe", "--set", typed)
    assert (status, f"--set {typed}: {told}" in err) == (2, True), err


def test_a_baseline_asks_nobody(proact):
    status, out, _ = proact("eval", "--benchmark", "probe", "--set", "baseline=bm25", "--out", "blind", "--json")
    assert (status, json.loads(out)["usage"]["assistant"]["calls"]) == (0, 0)


def test_a_stratum_is_named_in_any_case_of_letters(proact):
    status, out, _ = proact("eval", "--benchmark", "probe", "--stratum", "HARD", "--out", "hard", "--json")
    assert (status, [each["total"] for each in json.loads(out)["difficulties"].values()]) == (0, [0, 0, 2])
    status, _, err = proact("eval", "--benchmark", "probe", "--phase", "hard")
    assert (status, "--phase: probe has no phases; use --stratum" in err) == (2, True)
    status, _, err = proact("eval", "--benchmark", "probe", "--stratum", "brutal", "--dry-run")
    assert (status, "--stratum brutal: is none of easy, " in err) == (2, True), err


@pytest.mark.parametrize("option", ["--system-prompt", "--judge-prompt", "--min-kappa", "--phase"])
def test_what_it_does_not_have_is_refused(proact, option):
    value = {"--judge-prompt": "official", "--min-kappa": "0.1", "--phase": "RECOVERY"}.get(option, "x")
    status, _, err = proact("eval", "--benchmark", "probe", option, value)
    assert (status, "probe has no" in err) == (2, True)


def test_a_judge_that_finds_everything_right_agrees_with_what_is_and_not_beyond_chance(proact, server):
    server.script = constant
    judge = ("--judge", "hosted_vllm/any", "--judge-api-base", server.judge, "--retries", 0, "--out", "graded")
    status, out, _ = proact("agree", "--benchmark", "probe", *judge, "--json")
    (found,) = json.loads(out)["judges"]
    rows = {row["part"]: row for row in found["rows"]}
    # Of four descriptions a task one is whole; of four sets of parameters two are as they should be.
    told = [rows[part] for part in ("description", "parameters")]
    assert (status, [(row["same"], row["graded"], row["asked"]) for row in told]) == (0, [(6, 24, 24), (12, 24, 24)])
    assert [row["kappa"]["value"] for row in told] == [0, 0]
    assert "no calls were made" in proact("agree", "--benchmark", "probe", *judge)[2]
    assert len(server.sent) == 48


def test_why_a_share_and_a_kappa_have_no_interval_is_said_once(proact, server):
    server.script = constant
    judge = ("--judge", "hosted_vllm/any", "--judge-api-base", server.judge, "--retries", 0, "--out", "graded")
    told = " ".join(proact("agree", "--benchmark", "probe", *judge)[1].split())
    # A judge that says one thing of everything has kappa 0, and is right of the same share of each person's answers.
    (names,) = re.findall(r"(kappa of [^:]*): no variance between people\.", told)
    assert names.startswith("kappa of who_blocker, ")
    assert names.endswith(", parameters, would_resolve")


def test_agreement_is_priced_and_limited_before_a_call(proact, server):
    judge = ("--judge", "openai/gpt-4o-mini", "--judge-api-base", server.judge, "--out", "graded")
    status, out, _ = proact("agree", "--benchmark", "probe", *judge, "--dry-run")
    assert (status, "judge: 48 calls" in out, server.sent) == (0, True, [])
    server.script = constant
    assert proact("agree", "--benchmark", "probe", *judge, "--max-calls", 10)[0] == 4
    assert len(server.sent) == 10


def test_a_verdict_that_cannot_be_read_is_counted_and_no_disagreement(proact, server):
    server.script = lambda sent: constant(sent) if "who_blocked" in str(sent.messages[0]["content"]) else Answer("Yes!")
    judge = ("--judge", "hosted_vllm/any", "--judge-api-base", server.judge, "--retries", 0, "--out", "graded")
    status, out, _ = proact("agree", "--benchmark", "probe", *judge)
    assert (status, "parameters: 24 of 24 left out" in " ".join(out.split())) == (3, True)


def test_an_answer_is_read_as_text_and_found_by_what_it_says(proact, run):
    (found,) = json.loads(proact("show", run, "--limit", 1, "--json")[1])
    solution = json.loads(found["response"])
    shown = proact("show", run, "--trigger", found["task"])[1]
    told = " ".join(shown.split())
    assert f"evidence: {', '.join(solution['evidence'])}" in told
    assert " ".join(solution["bottleneck"].split()) in told
    assert '"parameters":' not in shown


def test_what_is_judged_again_without_quotes_has_no_line_on_them(proact, run):
    out = proact("rejudge", run, "--set", "upstream_rule=true", "--out", "again")[1]
    assert "same grade" in out
    assert "verdicts with a quote" not in out


def test_a_rule_that_asks_nobody_is_planned_without_a_tokenizer(proact):
    out = proact("eval", "--benchmark", "probe", "--set", "baseline=bm25", "--dry-run")[1]
    assert "judge: 0 calls, 0 tokens in, 0 to 0 out" in out


def test_a_task_that_is_left_out_is_said_counted_and_in_no_score(proact):
    strange = right(checklist={"required_steps": steps(correct_parameters={"whom": "Bo"})})
    folder = in_folder(Path("tasks"), {**files(), **files(outputs=strange, key="strange")})
    status, out, err = proact("eval", "--benchmark", "probe", "--corpus", folder, "--out", "run")
    assert (status, "1 of 2 rows is left out: the right parameters" in " ".join(err.split())) == (0, True)
    told = "1 of 2 samples left out: the right parameters are not those of the right action."
    assert told in " ".join(out.split())
    assert json.loads(proact("report", "run", "--json")[1])["run"]["corpus"]["left_out"]
