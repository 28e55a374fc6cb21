"""Whole runs of each agent against a server that plays it: what is sent, what a kill costs, what a limit does."""

import threading
from pathlib import Path
from typing import get_args

import pytest
from child import Child, command_line
from embedding import vectors
from probe_player import SECRET, planted, played, token
from server import Answer, Sent, Server
from support.probe_tasks import Size, write_synthetic

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.settings import AgentName, ProbeSettings
from dspy_proact.errors import LimitReached, UsageError
from dspy_proact.models import Gate, Limits, ModelSpec
from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder

AGENTS = get_args(AgentName)
SMALL = Size(items=10, words=30, actions=4)


@pytest.fixture
def playing(server: Server) -> Server:
    server.script = played
    return server


def evaluation(server: Server, agent: str, tasks=None, of_search=None, **limits) -> Evaluation:
    """An agent and a judge at a server; with limits."""
    model, judge = (ModelSpec(name="hosted_vllm/any", api_base=base) for base in (server.assistant, server.judge))
    gate = Gate(retries=0, concurrency=2, limits=Limits(**limits))
    settings = ProbeSettings(agent=agent, **(of_search or {}))
    return Evaluation(tasks or planted(), model, judge, settings=settings, gate=gate, benchmark="probe")


def stages(path: Path) -> list[tuple[str, str]]:
    return sorted((event.key.case, event.key.stage) for event in RunFolder(path).events())


def found(path: Path) -> list[tuple[str, float | None, str | None]]:
    return [(each.key, each.score, each.response) for each in summarize(RunFolder(path)).outcomes]


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_right_and_whose_task_it_is_reach_no_agent(playing, tmp_path, agent):
    evaluation(playing, agent).run(tmp_path / "run")
    assert all(outcome.state == "scored" for outcome in summarize(RunFolder(tmp_path / "run")).outcomes)
    asked = [sent.text for sent in playing.of("assistant")]
    assert all(any(token(person) in text for text in asked) for person in range(4))
    assert not [text for text in asked if SECRET in text]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_that_was_killed_goes_on_and_comes_to_the_same(playing, tmp_path, agent):
    write_synthetic(tmp_path, 0, 4, SMALL)
    options = {"--corpus": tmp_path, "--set": f"agent={agent}", "--retries": 0, "--concurrency": 1}
    for flag in ("assistant", "judge"):
        name = "--model" if flag == "assistant" else "--judge"
        options |= {name: "hosted_vllm/any", f"{name}-api-base": getattr(playing, flag)}
    command = ["eval", "--benchmark", "probe", *(str(part) for pair in options.items() for part in pair), "--out"]
    judged, killed = 0, threading.Event()

    def until(sent: Sent) -> Answer:
        nonlocal judged
        judged += sent.role == "judge"
        if judged == 2 and not killed.is_set():
            killed.set()
            child.kill()
        return played(sent)

    playing.script = until
    child = Child(command_line, *command, "run", folder=tmp_path)
    assert child.wait() == -9
    assert stages(tmp_path / "run")
    playing.script = played
    for out in ("run", "whole"):
        again = Child(command_line, *command, out, folder=tmp_path).ended()
        assert again.returncode == 0, again.stderr
    assert stages(tmp_path / "run") == stages(tmp_path / "whole")
    assert found(tmp_path / "run") == found(tmp_path / "whole")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_limit_of_calls_is_kept_and_the_run_goes_on(playing, tmp_path, agent):
    with pytest.raises(LimitReached):
        evaluation(playing, agent, calls=5).run(tmp_path / "run")
    assert len(playing.sent) <= 5
    evaluation(playing, agent).run(tmp_path / "run")
    assert summarize(RunFolder(tmp_path / "run")).complete


@pytest.mark.parametrize(("sanitize", "told"), [(True, 0.0), (False, 1.0)])
def test_the_ids_of_a_corpus_with_leaks_tell_all_evidence_unless_it_is_sanitized(tmp_path, sanitize, told):
    write_synthetic(tmp_path, 0, 6, SMALL, leaks=True)
    tasks, settings = load_tasks(str(tmp_path), sanitize=sanitize), ProbeSettings(baseline="id", sanitize=sanitize)
    Evaluation(tasks, settings=settings, benchmark="probe").run(tmp_path / "run")
    summary = summarize(RunFolder(tmp_path / "run"))
    assert summary.measured(summary.outcomes)["f1"].value == told


@pytest.mark.parametrize("agent", AGENTS)
def test_no_id_and_no_order_that_tells_is_sent(playing, tmp_path, agent):
    write_synthetic(tmp_path, 0, 4, SMALL, leaks=True)
    raw = load_tasks(str(tmp_path), sanitize=False)
    evaluation(playing, agent, load_tasks(str(tmp_path))).run(tmp_path / "run")
    asked = "".join(sent.text for sent in playing.of("assistant"))
    leaks = {item.id for task in raw for item in task.items} | {"created_at", "updated_at"}
    assert not [leak for leak in leaks if leak in asked]


def test_what_an_embedder_used_is_told_beside_the_others(playing, tmp_path, monkeypatch):
    playing.script = lambda sent: vectors(sent) if "input" in sent.body else played(sent)
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", playing.assistant)
    evaluation(playing, "react", of_search={"embedder": "hosted_vllm/any"}).run(tmp_path / "run")
    usage = summarize(RunFolder(tmp_path / "run")).usage
    settings = RunFolder(tmp_path / "run").manifest().identity.settings
    assert settings["embedder_api_base"] == playing.assistant
    asked = [sent for sent in playing.sent if "input" in sent.body]
    assert (list(usage), usage["embedder"].calls) == (["assistant", "judge", "embedder"], len(asked))
    # 7 tokens a request of texts, as the server counts them.
    assert (usage["embedder"].prompt_tokens, usage["embedder"].usd) == (7 * len(asked), None)


def test_an_embedder_has_its_endpoint_and_its_price_and_another_price_is_the_same_run(playing, tmp_path):
    playing.script = lambda sent: vectors(sent) if "input" in sent.body else played(sent)
    of_search = {"embedder": "hosted_vllm/any", "embedder_api_base": playing.assistant, "embedder_price": 2.0}
    evaluation(playing, "react", of_search=of_search).run(tmp_path / "run")
    used = summarize(RunFolder(tmp_path / "run")).usage["embedder"]
    assert used.usd == pytest.approx(2e-6 * used.prompt_tokens)
    before = len(playing.sent)
    evaluation(playing, "react", of_search=of_search | {"embedder_price": 3.0}).run(tmp_path / "run")
    assert len(playing.sent) == before


def test_a_limit_in_dollars_asks_for_the_price_of_an_embedder(playing, tmp_path):
    of_search = {"embedder": "hosted_vllm/any", "embedder_api_base": playing.assistant}
    with pytest.raises(UsageError, match="give --set embedder_price=N"):
        evaluation(playing, "react", of_search=of_search, usd=1.0)
