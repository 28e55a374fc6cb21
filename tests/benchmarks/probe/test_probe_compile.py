"""PROBE's agents and judges are compiled: what comes of it, what no request holds, and what is refused."""

import json
import re
import shutil
from pathlib import Path

import pytest
from drivers.compiles import Parts
from drivers.script import ended
from fakes.server import Answer, Sent, Server
from probe_task import SECRET, planted, played

from dspy_proact import AssistantTarget, Compile, Gate, JudgeTarget, ModelSpec, Recipe, RunFolder, cli
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.errors import UsageError
from dspy_proact.programs.artefact import read_artefact, write_artefact

STAGES = ProbeSettings(agent="stages")
JUDGES = ("optimize", "judge", "--benchmark", "probe", "--trials", 3)
COMPILE = ("optimize", "assistant", "--benchmark", "probe", "--set", "agent=stages", "--trials", 3)


def compile_at(server: Server, optimizer: str = "search", **changes) -> Compile:
    """A small compile whose four models are at a server."""
    named = {"openai/agent": server.assistant, "openai/judge": server.judge, "openai/proposer": server.proposer}
    agent, judge, proposer = (ModelSpec(name=name, api_base=base) for name, base in named.items())
    recipe = Recipe(optimizer=optimizer, trials=3, folds=4)
    named = {"benchmark": "probe", "settings": STAGES} | changes
    target = AssistantTarget(planted(), agent, judge, judge, proposer, **named)
    return Compile(target, recipe, Gate(retries=0, concurrency=8))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder in which an agent and the judges are compiled once."""
    folder = tmp_path_factory.mktemp("compiled")
    for words, name in ((COMPILE, "made"), (JUDGES, "judges")):
        assert ended(cli.main, Path("dspy-proact"), *words, "--out", name, folder=folder).returncode == 0
    return folder


@pytest.fixture
def made(proact, compiled):
    """The command line, in a folder in which the agent is `made`."""
    shutil.copytree(compiled / "made", "made")
    return proact


@pytest.fixture
def judges(proact, compiled):
    """The command line, in a folder in which the judges are `judges`."""
    shutil.copytree(compiled / "judges", "judges")
    return proact


def test_a_compile_ends_with_an_agent_that_a_run_takes(made):
    artefact = read_artefact("made")
    assert (artefact.program, list(artefact.states)) == ("Stages", ["search", "identify", "resolve"])
    evaluate = ("eval", "--benchmark", "probe", "--set", "agent=stages", "--program", "made", "--out", "run")
    assert made(*evaluate)[0] == 0
    assert RunFolder("run").manifest().learned_on == 6
    assert "Compiled on 6 of these 6 samples" in " ".join(made("report", "run")[1].split())
    assert "No improvement is claimed in score" in " ".join(made("optimize", "show", "made")[1].split())


def reworded(path: Path) -> None:
    """Give the second question of a compiled agent another instruction."""
    artefact = read_artefact(path)
    identify = artefact.states["identify"]
    signature = identify.signature.model_copy(update={"instructions": "Name it."})
    states = artefact.states | {"identify": identify.model_copy(update={"signature": signature})}
    card = artefact.card.model_copy(update={"unchanged": False})
    write_artefact(path, artefact.model_copy(update={"states": states, "card": card}))


def test_what_changed_in_one_of_several_questions_is_shown_with_its_name(made):
    reworded(Path("made/assistant.json"))
    status, out, err = made("optimize", "show", "made", "--diff")
    assert (status, err) == (0, "")
    assert " # identify" in out.splitlines()
    assert "+Name it." in out.splitlines()
    assert "-Say what the bottleneck is." in out.splitlines()
    complete = json.loads(made("optimize", "show", "made", "--diff", "--json")[1])
    assert list(complete["before"]) == ["search", "identify", "resolve"]
    assert complete["now"]["identify"] == {"instruction": "Name it.", "demos": []}


def gossip(sent: Sent) -> Answer:
    """Models that play their roles; judges put what is right into every text of a verdict, names included."""
    answer, shown = played(sent), json.dumps(sent.messages)
    if sent.role != "judge" or SECRET not in shown:
        return answer
    document, complete = json.loads(answer.content or ""), re.findall(rf"[^\"]*{SECRET}[^\"]*", shown)
    lists = {name: complete for name, value in document.items() if isinstance(value, list)}
    return Answer(json.dumps({**document, **lists, "reasoning": " ".join(complete)}))


@pytest.mark.parametrize("compiled", ["search", "gepa", "judges"])
def test_what_is_right_and_test_people_of_a_fold_stay_hidden(server, compiled):
    server.script = gossip
    judged = compiled == "judges"
    # Each test task is searched, identified and resolved once, its judges never see the person's words; each answer
    # that people graded is judged once.
    role, calls = ("judge", 1) if judged else ("assistant", 3)
    for fold, sent in Parts.of(judges_at(server) if judged else compile_at(server, compiled), server).folds:
        world = fold.test[0].view.world
        unseen = world.person if judged else world.about.split()[-1]
        assert sum(unseen in item.text for item in sent if item.role == role) == calls * len(fold.test)
        proposed = [item.text for item in sent if item.role == "proposer"]
        assert proposed
        assert not any(unseen in text for text in proposed)
        # What is right reaches neither agent nor proposer.
        assert {item.role for item in sent if SECRET in item.text} == (set() if judged else {"judge"})


def test_what_cannot_be_tuned_is_refused_before_a_call(server):
    with pytest.raises(UsageError, match=r"`settings.embedder`: a compile embeds nothing"):
        compile_at(server, settings=ProbeSettings(agent="react", embedder="hosted_vllm/e"))
    with pytest.raises(UsageError, match="has no worked examples"):
        compile_at(server, "bootstrap")
    assert not server.sent


def test_a_file_of_another_agent_is_refused(made):
    status, _, err = made("eval", "--benchmark", "probe", "--program", "made")
    assert (status, "name it with --set agent=stages" in err) == (2, True)
    status, _, err = made("eval", "--program", "made")
    assert (status, "compiled for probe, where proactbench is asked for" in err) == (2, True)


# The judges


def judges_at(server: Server, **changes) -> Compile:
    """A small compile whose models are at a server."""
    named = {"openai/judge": server.judge, "openai/proposer": server.proposer}
    judge, proposer = (ModelSpec(name=name, api_base=base) for name, base in named.items())
    target = JudgeTarget(None, judge, proposer, **{"benchmark": "probe"} | changes)
    return Compile(target, Recipe(trials=2, folds=3), Gate(retries=0))


def test_compiled_judges_grade_runs_and_their_agreement_on_what_they_learned_from_is_no_test(judges):
    assert judges("eval", "--benchmark", "probe", "--judge-program", "judges", "--out", "run")[0] == 0
    (judge,) = RunFolder("run").manifest().identity.judges
    assert judge.program.startswith("compiled:")
    out = judges(
        "agree", "--benchmark", "probe", "--judge", "embedded", "--judge-program", "judges", "--out", "graded"
    )[1]
    assert "The judge was compiled on 48 of these items: this is no test of it." in " ".join(out.split())


def test_what_cannot_be_done_with_judges_is_refused(judges):
    complete = json.loads(judges("optimize", "show", "judges", "--diff", "--json")[1])
    assert list(complete["before"]) == list(complete["now"]) == ["identification.question", "resolution.question"]
    assert "no candidate beat the starting program, which is kept unchanged" in " ".join(
        judges("optimize", "show", "judges")[1].split()
    )
    assert "no system prompt" in judges("optimize", "show", "judges", "--as-prompt")[2]
    assert "--set seed: a compile of the judge reads no setting of probe;" in judges(*JUDGES, "--set", "seed=3")[2]
    assert "has no worked examples" in judges(*JUDGES, "--optimizer", "labeled")[2]
    status, _, err = judges("eval", "--judge-program", "judges")
    assert (status, "compiled for probe, where proactbench is asked for" in err) == (2, True)
    with pytest.raises(UsageError, match="was compiled on 6 of the samples"):
        JudgeTarget(benchmark="probe", start=Path("judges"))
