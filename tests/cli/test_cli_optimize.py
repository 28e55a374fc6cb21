"""`dspy-proact optimize`, and the compiled judge in `eval`, `rejudge` and `compare`."""

import json
import re
from pathlib import Path

import pytest
from builders.judges import artefact, lasting, models, on_disk, proposer_base, study, taught
from builders.runs import run_of, trigger
from drivers.terminal import last
from fakes.server import Answer, verdict

from dspy_proact import RunFolder, summarize
from dspy_proact.programs.artefact import read_artefact, write_artefact


@pytest.fixture
def labels(tmp_path):
    """The options that name a small study."""
    return on_disk(tmp_path, study())


@pytest.fixture
def optimize(proact, labels):
    """Tune the embedded judge to a small study."""

    def call(*more, optimizer="labeled", out="out"):
        few = ["--optimizer", optimizer, "--trials", 2, "--max-demos", 2, "--folds", 2]
        return proact(*last("optimize", "judge", *labels, *few, "--out", out, *more))

    return call


@pytest.fixture
def program(tmp_path):
    """Write a compiled judge; its file."""

    def write(**of):
        write_artefact(tmp_path / "judge.json", artefact(**of))
        return "judge.json"

    return write


def at(server):
    """Judge and proposer at the server."""
    judge = ["--judge", "openai/any", "--judge-api-base", server.judge, "--retries", 0]
    return [*judge, "--proposer", "openai/any", "--proposer-api-base", proposer_base(server)]


def card_in(out):
    """The card that was printed as JSON, without what stands before it: a headline, and what one verdict costs."""
    document = json.loads(out)
    assert list(document)[:3] == ["headline", "claim", "cost_per_answer"]
    assert document.pop("headline").startswith("Demonstration with the embedded stand-in, no real model: ")
    assert document.pop("claim")["count"] == document["target"]["count"]
    usage, cost = document["usage_after"], document.pop("cost_per_answer")["after"]
    assert cost == {name: number / 1000 for name, number in usage.items()}
    return document


# Compiling


def test_a_limit_counts_rated_answers_and_too_few_of_them_are_refused_plainly(optimize):
    status, out, _ = optimize("--limit", 8, "--dry-run", "--json")
    assert (status, json.loads(out)["items"]) == (0, 8)
    status, _, err = optimize("--limit", 3, "--dry-run")
    assert (status, "cannot make 2 folds and leave two of them to learn from in each" in " ".join(err.split())) == (
        2,
        True,
    )


def test_with_no_model_the_embedded_judge_is_tuned_to_the_sample(proact, tmp_path):
    status, out, err = proact("optimize", "judge", "--optimizer", "labeled", "--folds", 2, "--max-demos", 1)
    text = " ".join(out.split())
    assert status == 0
    assert "judge of proactbench on embedded, tuned on sample: labeled, 20 trials, at most 1 demos, 2 folds" in text
    assert "embedded stand-in" in text
    assert "No improvement: no candidate beat the starting program" in text
    (folder,) = (tmp_path / "compiles").iterdir()
    assert folder.name.startswith("judge--")
    file = f"compiles/{folder.name}/judge.json"
    explained = " ".join(proact("optimize", "show", file, "--explain")[1].split())
    assert "compiled on everything and has no score of its own" in explained
    assert f"The program is in {file}. Next: dspy-proact eval --model embedded --corpus sample " in err
    assert err.endswith(f"--judge embedded --judge-program {file}\n")


def test_json_is_the_card_and_nothing_else_and_progress_is_told(optimize):
    status, out, err = optimize("--json", optimizer="miprov2")
    assert status == 0
    card = card_in(out)
    assert card["item_scores"] == json.loads(Path("out", "judge.json").read_text("utf-8"))["card"]["item_scores"]
    assert card["target"] == read_artefact("out").card.target.model_dump(mode="json")
    message = err.splitlines()
    few = "12 items in 4 scenarios are too few to show that tuning helped: a claim takes 60 items in 10 scenarios."
    assert message[0] == f"{few} They can show how good a program is."
    assert message[1].startswith("Expect a few hundredths: if 9 candidates are compared on 6 items, ")
    assert message[2].startswith("At most ")
    assert message[3].startswith("Time: ")
    assert message[4].startswith("New compile in out; ")
    assert message[5].startswith("The program is in out/judge.json.")
    assert len(message) == 6


def test_a_limit_stops_it_and_the_same_command_goes_on(optimize, server):
    server.script = models
    status, out, err = optimize(*at(server), "--max-calls", 15)
    assert (status, out, len(server.sent)) == (4, "", 15)
    assert re.search(r"^Stopped at call 15 of at most \d", err, re.MULTILINE)
    assert "Results so far are kept in out. Repeat the command to go on." in err
    assert not Path("out", "judge.json").exists()
    assert optimize(*at(server))[0] == 0
    calls, kept = len(server.sent), lasting(Path("out", "judge.json"))
    assert optimize(*at(server), out="other")[0] == 0
    assert len(server.sent) == 2 * calls
    assert lasting(Path("other", "judge.json")) == kept
    assert "Nothing to do: every answer is in the record; no calls were made." in optimize(*at(server))[2]
    assert (len(server.sent), lasting(Path("out", "judge.json"))) == (2 * calls, kept)


@pytest.mark.parametrize(
    ("judge", "proposal", "why"),
    [
        (models, "  ", r"No instruction of the proposer's was compared: 0 of (\d+) answers .*; \1 could not be read\."),
        (
            lambda _: Answer(verdict()),
            "Look ahead.",
            r"In the compile on all items no new instruction .*; the proposer wrote \d+, those for the folds",
        ),
        (taught(study()), "Be strict: when in doubt give the lower.", ""),
    ],
    ids=["unusable", "no better", "better"],
)
def test_what_became_of_a_proposers_instructions_is_said_where_it_is_so(optimize, server, judge, proposal, why):
    server.script = lambda sent: Answer(proposal) if sent.role == "proposer" else judge(sent)
    status, _, err = optimize(*at(server), optimizer="search")
    assert status == 0
    assert re.search(why, " ".join(err.split()))
    assert why or "the start's" not in err


def test_a_dry_run_says_what_it_takes_and_does_nothing(optimize, server):
    status, out, _ = optimize(*at(server), "--dry-run", "--json", optimizer="search")
    assert status == 0
    document = json.loads(out)
    assert document["calls"] == document["roles"]["judge"]["calls"] + document["roles"]["proposer"]["calls"] > 0
    assert (document["items"], document["concurrency"], document["detectable_gain"]) == (12, 32, None)
    # Two trials are the start and a candidate, among which nothing is selected.
    assert (document["candidates"], document["selected_gain"], document["gains_in"]) == (1, None, "kappa")
    status, out, _ = optimize(*at(server), "--dry-run", "--trials", 20, optimizer="search")
    assert "Expect a few hundredths: if 19 candidates are compared on 6 items, and" in out  # two folds of 12
    assert "in kappa are 0.02 on average (standard deviation 0.05; both assumed), the chosen one gains 0.0" in out
    status, out, _ = optimize(*at(server), "--dry-run", "--concurrency", 5)
    assert "\nAt most " in out
    assert "5 calls in flight" in out
    limited = optimize(*at(server), "--dry-run", "--max-calls", document["calls"] // 4)[1]
    assert re.search(rf"--max-calls {document['calls'] // 4} may stop it after \d+%: it could take ", limited)
    assert out.endswith("\n")
    assert server.sent == []
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--start", "missing.json"], "missing.json: cannot be read"),
        (["--start", "spoilt.json"], "spoilt.json: not a compiled program of ours"),
        (["--ratings", "published"], "leave the run or the items out"),
        (["--trials", 0], "--trials"),
        (["--max-usd", 1, "--judge", "openai/any", "--judge-api-base", "http://127.0.0.1:9/v1"], "needs a price"),
        (["--proposer", "openai/gpt-5.4"], "--proposer openai/gpt-5.4: no key"),
    ],
)
def test_what_cannot_be_compiled_is_a_sentence(optimize, tmp_path, more, text):
    (tmp_path / "spoilt.json").write_text("{", encoding="utf-8")
    status, out, err = optimize(*more)
    assert (status, out) == (2, "")
    assert text in err
    assert not Path("out", "calls.jsonl").exists() or Path("out", "calls.jsonl").read_bytes() == b""


def test_a_guard_of_worked_cases_says_how_many_are_right_and_that_none_is_lost(optimize):
    status, out, err = optimize("--guard", "cases")
    assert status == 0
    counts = read_artefact("out").card.counts
    before, after = counts["cases before"][0], counts["cases after"][0]
    message = f"worked cases of the judge's rules: {before} of 40 right before, {after} after, none lost"
    assert message in " ".join(out.split())
    assert "--guard cases: the embedded stand-in reads no rules, so the cases measure nothing." in err


# The compiled judge at work


def test_rejudge_by_a_compiled_judge_counts_its_votes_among_its_cuts_and_compare_shows_both(
    proact, done, refused, program, tmp_path, server
):
    run_of(tmp_path / "parent", [(trigger(f"d{number}", scenario=f"S{number}"), "PASS") for number in range(3)])
    grades = iter(["PASS", "PASS", "PARTIAL"] * 3)
    server.script = lambda sent: Answer(verdict(next(grades), ["Label the boxes today."]))
    judge = ["--judge", "openai/any", "--judge-api-base", server.judge, "--retries", 0, "--concurrency", 1]
    compiled = [*judge, "--judge-program", program(votes=3, cuts=(0.5, 1.8))]
    err = done("rejudge", "parent", *compiled, "--out", "child")[1]
    assert len(server.sent) == 9
    # Mean level (2 + 2 + 1) / 3 = 1.67, below the cut of PASS, though two of three verdicts are PASS.
    assert [(outcome.label, outcome.score) for outcome in summarize(RunFolder("child")).outcomes] == [
        ("PARTIAL", 0.5)
    ] * 3
    assert "dspy-proact compare parent child" in err
    out = proact("compare", "parent", "child", "--json")[1]
    document = json.loads(out)
    named = f"openai/any ({RunFolder('child').manifest().identity.judges[0].program})"
    assert named.startswith("openai/any (compiled:")
    assert (document["judges"]["first"], document["judges"]["second"]) == ("openai/j", named)
    changed = {change["field"]: change["b"] for change in document["changed"]}
    assert changed["judge.program"].startswith("compiled:")
    # The same again does nothing; another program is another run.
    assert proact("rejudge", "parent", *compiled, "--out", "child")[0] == 0
    assert len(server.sent) == 9
    err = refused("rejudge", "parent", *judge, "--judge-program", program(votes=3), "--out", "child")
    assert "holds another run, which differs in" in err


def test_a_judge_whose_card_promises_too_little_is_refused_naming_statistic_reference_and_phase(
    proact, refused, program
):
    low = program(errors={"RECOVERY": 8})  # of 20; none in the other phases
    bound = artefact(errors={"RECOVERY": 8}).card["recovery"].after.low
    assert (
        "judge.json: --min-kappa 0.6 is not met in RECOVERY: kappa out of fold, against the shares of "
        f"people's grades in 'a study', is at least {bound:.2f} at 95 %"
    ) in refused("eval", "--judge-program", low, "--min-kappa", 0.6, "--out", "run")
    assert not Path("run").exists()
    assert proact("eval", "--judge-program", low, "--min-kappa", bound, "--limit", 1, "--out", "run")[0] == 0
    # One without a lower bound promises nothing.
    without = ["--judge-program", program(alike="CRITICAL"), "--min-kappa", -1]
    assert "--min-kappa -1 is not met in CRITICAL" in refused("eval", *without)


def test_fewer_folds_than_were_asked_for_are_said(proact):
    status, _, err = proact("optimize", "judge", "--folds", 99, "--dry-run")
    assert (status, "sample: 12 independent scenarios make 12 folds." in err) == (0, True)
