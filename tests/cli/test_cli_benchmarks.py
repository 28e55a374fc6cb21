"""Any benchmark on the command line: found, named, set, listed, and refused what it does not have.

The contest is registered here as another package registers one.
"""

import json
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from builders.benchmarks import COUNT, Rules, contestant, fields
from drivers.terminal import next_of
from fakes.server import Server

from dspy_proact import RunFolder, cli, leaderboard
from dspy_proact.evaluation import registry

SETTINGS = Rules().model_dump(mode="json")


def register(monkeypatch, *positions):
    """Have other packages register what stands at these places, and nothing else."""
    points = [EntryPoint(name="any", value=index, group=registry.GROUP) for index in positions]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else [])
    monkeypatch.setattr(registry, "_OWN", {})
    registry.benchmarks.cache_clear()


@pytest.fixture(autouse=True)
def contest(monkeypatch):
    register(monkeypatch, "builders.benchmarks:Contest")
    yield
    registry.benchmarks.cache_clear()


@pytest.fixture
def guessed(proact, server: Server):
    """Do a contest with some more options."""
    server.script = contestant

    def call(*more, out="run"):
        models = ["--model", "hosted_vllm/guesser", "--model-api-base", server.assistant, "--retries", 0]
        return proact("eval", "--benchmark", "contest", *models, "--out", out, *more)

    return call


def settings(path):
    return RunFolder(path).manifest().identity.settings


# The list


def test_each_is_listed_with_what_it_is_and_what_can_be_set(proactbench, probe, done):
    out = done("benchmarks", "--json")[0]
    ours, *_, theirs = json.loads(out)["benchmarks"]
    assert (ours["name"], ours["settings"]) == ("proactbench", [])
    assert {key: theirs[key] for key in theirs if key != "settings"} == {
        "name": "contest",
        "measures": "Whether riddles are seen through.",
        "size": "10 riddles in 5 places",
        "licence": "none",
        "data": "made by the tests",
        "best_published": "",
        "judge": None,
    }
    assert {setting["name"]: setting["default"] for setting in theirs["settings"]} == SETTINGS
    takes = [setting["takes"] for setting in theirs["settings"]]
    assert takes == ["int", "plain|rhymed", "true|false", "str|none", "float", "JSON"]
    assert theirs["settings"][2]["description"] == "Whether tricks are left out."


def test_the_best_published_score_is_the_leaderboards_first(proactbench, probe, proact, monkeypatch):
    register(monkeypatch, "builders.benchmarks:Refereed")
    ours, *_, theirs = json.loads(proact("benchmarks", "--json")[1])["benchmarks"]
    first = leaderboard().entries[0]
    assert ours["best_published"].startswith(f"{100 * first.scores['score'].value:.1f} % score: ")
    assert f": {first.name} (" in ours["best_published"]
    assert theirs["best_published"] == "90.0 % score: nobody"


# What is chosen


def test_another_benchmark_is_estimated_done_and_said_to_be_reported_next(proact, guessed, server):
    status, out, _ = guessed("--dry-run", "--limit", 2, "--json")
    assert (status, json.loads(out)["calls"], server.sent) == (0, 4, [])
    message = guessed()
    assert message[0] == 3, message[2]  # no guess was ventured at one riddle
    assert "10 riddles in 5 places" in message[1]
    words = next_of(message)
    assert (words[:3], words[-1]) == (["eval", "--benchmark", "contest"], "--retry-unscored")
    assert proact(*words)[0] == 3
    assert json.loads(proact("report", "run", "--json")[1])["riddles"]["scored"] == COUNT - 1
    assert settings("run") == SETTINGS


def test_a_setting_is_read_as_what_it_takes_and_kept_with_the_run_whose_identity_it_is(guessed):
    several = {
        "longest=9": 9,
        "style=rhymed": "rhymed",
        "fair=false": False,
        "bonus=1": 1.0,
        'barred=["echo"]': ["echo"],
    }
    for out, values in (
        ("run", several | {"hint=7": "7"}),
        ("none", {"hint=none": None}),
        ("equals", {"hint=a=b": "a=b"}),
    ):
        typed = [word for value in values for word in ("--set", value)]
        assert guessed(*typed, "--limit", 1, out=out)[0] == 0
        assert settings(out) == SETTINGS | {item.partition("=")[0]: value for item, value in values.items()}
    status, _, err = guessed("--limit", 1, out="run")
    assert (status, "differs in settings." in err) == (2, True)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["longer=9"], "contest has no setting 'longer'; did you mean longest? It has longest=3, style=plain, fair=tr"),
        (["longest=many"], "--set longest=many: longest takes a whole number, by default 3: Words that a guess"),
        (["bonus=nan"], "--set bonus=nan: bonus takes a number, by default 0.5: Points"),
        (["longest=none"], "--set longest=none: longest takes a whole number"),
        (["barred=echo"], "--set barred=echo: barred takes JSON, by default []: Words"),
        (["longest=1", "longest=2"], "--set longest: given twice"),
        (["longest"], "'longest' is not NAME=VALUE"),
        (["=3"], "'=3' is not NAME=VALUE"),
    ],
)
def test_what_cannot_be_set_is_refused_with_what_can(guessed, server, typed, message):
    status, _, err = guessed(*(word for item in typed for word in ("--set", item)))
    assert (status, message in err) == (2, True), err
    assert (server.sent, Path("run").exists()) == ([], False)


def test_an_unknown_benchmark_is_refused_with_those_that_there_are(
    proactbench, probe, proactiveagent, proactivebench, proagentbench, refused
):
    names = "proactbench, proactiveagent, proactivebench, proagentbench, probe, rows, contest"
    assert f"there are {names}." in refused("leaderboard", "--benchmark", "xyz")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--phase", "RECOVERY"], "--phase: contest has no phases; use --stratum"),
        (["--system-prompt", "x"], "--system-prompt: contest has no system prompt"),
    ],
)
def test_what_it_does_not_have_is_not_asked_for(guessed, server, more, message):
    status, _, err = guessed(*more)
    assert (status, message in err, server.sent) == (2, True, []), err


# Runs say what they are of


def test_a_run_says_its_benchmark_and_another_is_not_read_as_it(proactbench, proact, refused, guessed):
    guessed("--limit", 2)
    for command in (["report", "run"], ["compare", "run", "run"], ["rejudge", "run", "--dry-run"]):
        assert [proact(*command, *more)[0] for more in ([], ["--benchmark", "contest"])] == [0, 0]
        assert "--benchmark proactbench: run is of contest" in refused(*command, "--benchmark", "proactbench")


# Graded again


def test_another_judge_grades_guesses_by_the_settings_of_the_run(proact, refused, guessed, server, monkeypatch):
    """The referee lets every guess pass, so that only the one of four words is not solved."""
    guessed("--set", "hint=look up")
    server.sent.clear()
    server.script = lambda _: fields(right=True)
    register(monkeypatch, "builders.benchmarks:Refereed")
    judge = ["--judge", "hosted_vllm/referee", "--judge-api-base", server.judge]
    status, _, err = proact("rejudge", "run", *judge, "--out", "again")
    assert status == 3, err
    assert {sent.role for sent in server.sent} == {"judge"}
    assert settings("again") == SETTINGS | {"hint": "look up"}
    assert json.loads(proact("report", "again", "--json")[1])["riddles"]["scored"] == COUNT - 1
    assert "contest declares no judge of a real model; name one with --judge" in refused("rejudge", "run")


# What not every benchmark has


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["leaderboard"], "contest: it has no leaderboard"),
        (["agree"], "contest: there are no people's ratings to agree with"),
        (["optimize", "assistant"], "there is no stand-in of the assistant; name a model with --model"),
        (["optimize", "judge"], "contest is graded without a judge; there is none to tune"),
    ],
)
def test_a_verb_that_it_does_not_know_says_so(refused, command, message):
    assert message in refused(*command, "--benchmark", "contest")


def test_a_shell_completes_its_name(monkeypatch, capsys):
    monkeypatch.setenv("COMP_WORDS", "dspy-proact eval --benchmark con")
    monkeypatch.setenv("COMP_CWORD", "3")
    monkeypatch.setenv("_DSPY_PROACT_COMPLETE", "bash_complete")
    with pytest.raises(SystemExit):
        cli.proact.main(prog_name="dspy-proact")
    assert capsys.readouterr().out.split() == ["plain,contest"]
