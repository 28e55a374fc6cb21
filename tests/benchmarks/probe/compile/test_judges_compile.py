"""PROBE's judges are compiled to the graded answers: what comes of it, and what no request holds."""

import json
import shutil
from pathlib import Path

import pytest
from dspy_proact.benchmarks.probe.compile.judges_compile import JudgesCompile
from parts import Parts
from probe_task import played
from script import ended
from server import Answer, Server

from dspy_proact import cli
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, ModelSpec
from dspy_proact.programs import Recipe
from dspy_proact.programs.artefact import read_judges
from dspy_proact.runs import RunFolder

COMPILE = ("optimize", "judge", "--benchmark", "probe", "--trials", 3)
PEOPLE = ("Tamsin Okell", "Ruben Castellet", "Maren Dussault")


def compile_at(server: Server, **changes) -> JudgesCompile:
    """A small compile whose models are at a server."""
    named = {"openai/judge": server.judge, "openai/proposer": server.proposer}
    judge, proposer = (ModelSpec(name=name, api_base=base) for name, base in named.items())
    return JudgesCompile(judge, proposer, **{"recipe": Recipe(trials=2, folds=3), "gate": Gate(retries=0)} | changes)


@pytest.mark.parametrize("optimizer", ["search", "gepa"])
def test_the_card_has_both_judges_before_and_after_and_claims_nothing_of_three_people(proact, optimizer):
    status, out, _ = proact(*COMPILE, "--optimizer", optimizer, "--out", "made", "--json")
    card = json.loads(out)
    counts = {name: row["count"] for name, row in card["stages"].items()}
    assert (status, counts) == (0, {"facets": 24, "word of descriptions": 24, "word of parameters": 24})
    assert (card["target"]["count"], card["shown"]) == (48, False)
    assert "48 answers of 3 people are too few for a claim" in card["headline"]
    assert list(read_judges("made").states) == ["identification.grade", "resolution.grade"]


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A folder in which the command is done once."""
    folder = tmp_path_factory.mktemp("searched")
    done = ended(cli.main, Path("dspy-proact"), *COMPILE, "--out", "made", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def made(proact, searched):
    """The command line, in a folder in which that compile is `made`."""
    shutil.copytree(searched / "made", "made")
    return proact


def test_compiled_judges_grade_runs_and_their_agreement_on_what_they_learned_from_is_no_test(made):
    assert made("eval", "--benchmark", "probe", "--judge-program", "made", "--out", "run")[0] == 0
    (judge,) = RunFolder("run").manifest().identity.judges
    assert judge.program.startswith("compiled:")
    out = made("agree", "--benchmark", "probe", "--judge-program", "made", "--out", "graded")[1]
    assert "compiled on 48 of these answers, so that this is no test of it" in " ".join(out.split())


def test_answers_whose_verdicts_cannot_be_read_count_at_their_worst(server, tmp_path):
    def unread(sent):
        return Answer("no object") if sent.role == "judge" and PEOPLE[0] in sent.text else played(sent)

    server.script = unread
    target = compile_at(server).run(tmp_path / "made").artefact.card.target
    assert (target.count, target.total) == (32, 48)
    assert target.low98_unread is not None
    assert target.low98_unread < (target.low98 or 0)


def test_nothing_of_a_folds_test_people_is_sent_but_to_test_them(server):
    server.script = played
    for fold, sent in Parts.of(compile_at(server), server).folds:
        (unseen,) = [name for name in PEOPLE if name == fold.test[0].view.world.person]
        # Every answer of a test person is graded once: four descriptions and four sets of parameters a task.
        assert sum(unseen in each.text for each in sent if each.role == "judge") == len(fold.test) == 16
        proposed = [each.text for each in sent if each.role == "proposer"]
        assert proposed
        assert not any(unseen in text for text in proposed)


def test_compiled_judges_are_compared_with_ours(made):
    whole = json.loads(made("optimize", "show", "made", "--diff", "--json")[1])
    assert list(whole["before"]) == list(whole["now"]) == ["identification.grade", "resolution.grade"]
    assert "no system prompt" in made("optimize", "show", "made", "--as-prompt")[2]


def test_what_cannot_be_done_is_refused(made):
    assert "one verdict on an answer" in made(*COMPILE, "--votes", 3)[2]
    assert "--set seed: optimize judge reads no setting of probe;" in made(*COMPILE, "--set", "seed=3")[2]
    assert "works by worked examples" in made(*COMPILE, "--optimizer", "labeled")[2]
    status, _, err = made("eval", "--judge-program", "made")
    assert (status, "where a judge is asked for; judges are used by --judge-program on their own" in err) == (2, True)
    with pytest.raises(UsageError, match="was compiled on 6 of the tasks"):
        JudgesCompile(start="made")
