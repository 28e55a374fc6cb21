"""Requests sent by workers of a cluster, over HTTP, without Ray: workers in this process, with what travels pickled."""

import asyncio
from collections import Counter
from dataclasses import dataclass, replace

import pytest
from drivers.client import ASSISTANT, CLIENTS, ask
from fakes.cluster import gate_of, travelled, worker
from fakes.server import Answer, error, healthy

from dspy_proact import Evaluation, Gate, Limits, ModelSpec, RunFolder, Scope
from dspy_proact.call_observer import CallObserver
from dspy_proact.cli.views.progress import ProgressOnStderr
from dspy_proact.errors import (
    ContentError,
    Interrupted,
    LimitReached,
    ProviderDown,
    SetupFault,
    UsageError,
)
from dspy_proact.models import open_embedder, open_model
from dspy_proact.models.endpoint import EngineSetup, find_route
from dspy_proact.models.ray import cluster as ray_cluster
from dspy_proact.models.ray import ray_engine
from dspy_proact.models.ray.cluster import RayCluster, WorkerHandle
from dspy_proact.models.ray.ray_engine import WorkerChoice
from dspy_proact.models.ray.worker import RayWorker, RemoteModel
from dspy_proact.switch import Switch

EVERY_CLIENT = pytest.mark.parametrize(("name", "backend"), CLIENTS)
KEY = "sk-live-0123456789abcdefghij"


def model(gate, base, name="hosted_vllm/any", **params):
    return open_model(ModelSpec(name=name, api_base=base, params=params), ASSISTANT, gate)


def sample(server, gate):
    specs = (ModelSpec(name="hosted_vllm/any", api_base=base) for base in (server.assistant, server.judge))
    return Evaluation("sample", *specs, gate=gate)


@pytest.mark.usefixtures("proactbench")
def test_a_run_by_workers_equals_a_plain_one_call_for_call(server, monkeypatch, tmp_path):
    def results(path):
        events = RunFolder(path).events()
        calls = sorted((call.request, repr(call.response)) for call in RunFolder(path).calls())
        return sorted(repr((event.key, event.answer, event.grade, event.failure)) for event in events), calls

    gate = gate_of(monkeypatch)
    sample(server, gate).run(tmp_path / "cluster", Scope(limit=10))
    assert sorted(worker.calls for worker in gate.cluster.workers) == [10, 10]
    before = Counter(sent.wire for sent in server.sent)
    sample(server, Gate()).run(tmp_path / "plain", Scope(limit=10))
    assert Counter(sent.wire for sent in server.sent) == before + before
    assert results(tmp_path / "cluster") == results(tmp_path / "plain")
    # The engine is no part of what a run is: the same folder goes on without it.
    assert sample(server, Gate()).run(tmp_path / "cluster", Scope(limit=10)).path == tmp_path / "cluster"
    assert len(server.sent) == 40


FAILURES = {
    "a rate limit": error(429, "slow down", **{"Retry-After": "0"}),
    "a failure of the server": error(503),
    "a refused key": error(401, f"no such key {KEY}"),
    "no such model": error(404),
    "an account that cannot pay": error(402),
    "a refused parameter": error(400, "temperature is not supported"),
    "too long": error(400, "This model's maximum context length is 100 tokens. However, you requested 200 tokens"),
    "a filter": error(400, "flagged by moderation"),
    "a refusal": error(400, "I do not like it"),
    "a redirect": Answer(status=307, headers={"Location": "http://127.0.0.1:1/"}, raw=b""),
    "no JSON": Answer(raw=b"<html>"),
    "an error in an answer": Answer(raw=b'{"error": {"message": "upstream", "code": 502}}'),
    "an answer that is cut": Answer("You co", finish_reason="length"),
    "an answer": Answer("<think>hm</think>You could label the boxes today."),
}


@EVERY_CLIENT
@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
def test_what_a_worker_meets_is_what_this_process_would_have_met(server, monkeypatch, name, backend, answer):
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.script = lambda sent: answer

    def outcome(gate):
        come = ask(model(gate, server.assistant, name))
        calls = [(call.error, call.finish_reason, call.prompt_tokens, call.thoughts) for call in come.calls]
        return come.text, type(come.error), str(come.error), getattr(come.error, "change", None), calls

    plain = outcome(Gate(backend=backend, retries=1, backoff=0.0))
    assert outcome(gate_of(monkeypatch, backend=backend, retries=1)) == plain
    assert KEY not in repr(plain)


def test_an_address_in_the_environment_is_that_of_the_worker_and_no_secret(server, monkeypatch):
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", server.assistant)
    server.script = lambda sent: error(400, f"refused at {server.assistant}")
    assert server.assistant in str(ask(model(gate_of(monkeypatch), None)).error)


def test_a_worker_without_a_connection_says_so(monkeypatch):
    gate = gate_of(monkeypatch, retries=0)
    assert ask(model(gate, "http://127.0.0.1:1/v1")).words == ["network"]
    assert isinstance(gate.switch.halt, ProviderDown)
    assert "cannot be reached, network: no connection to http://127.0.0.1:1/v1" in str(gate.switch.halt)


def test_node_is_the_address_of_the_worker_and_nothing_but_the_worker_sees_it(server, monkeypatch):
    workers = worker("127.0.0.1"), worker("localhost")
    opened = model(gate_of(monkeypatch, *workers), server.assistant.replace("127.0.0.1", "{node}"))
    assert [ask(opened).error, ask(opened).error] == [None, None]
    assert {sent.headers["Host"].partition(":")[0] for sent in server.sent} <= {"127.0.0.1", "localhost"}
    assert opened.identity.endpoint == opened.endpoint == f"http://{{node}}:{server.port}/assistant/v1"
    assert server.visits == []  # what a server of a node says of itself would differ from node to node


def test_an_address_of_version_six_stands_in_brackets(monkeypatch):
    monkeypatch.setattr(EngineSetup, "engine", lambda setup: setup.api_base)
    opened = model(gate_of(monkeypatch), "http://{node}:8000/v1")
    route = find_route("hosted_vllm/any", "http://{node}:8000/v1")
    remote = RemoteModel.of(route, route.setup(connections=1, timeout=1.0), opened.caller, ())
    assert remote.opened("::1")[0] == "http://[::1]:8000/v1"


@EVERY_CLIENT
def test_keys_are_those_of_the_driver_and_stand_in_no_text(server, monkeypatch, name, backend):
    """The node has another key and another address, which count for nothing."""
    variable = f"{name.partition('/')[0].upper()}_API_KEY"
    monkeypatch.setenv(variable, KEY)
    gate = gate_of(monkeypatch, backend=backend)
    opened = model(gate, server.assistant, name)
    monkeypatch.setenv(variable, "the key of the node")
    monkeypatch.setenv(variable.replace("KEY", "BASE"), server.judge)
    assert ask(opened).error is None
    assert [(sent.role, sent.headers["Authorization"]) for sent in server.sent] == [("assistant", f"Bearer {KEY}")]
    route = find_route(name, server.assistant, backend)
    remote = RemoteModel.of(route, route.setup(connections=1, timeout=1.0), opened.caller, (KEY,))
    assert KEY not in repr(remote)
    assert travelled(remote) == remote


def test_a_parameter_that_may_be_a_secret_stands_in_no_fault(server, monkeypatch):
    server.script = lambda sent: error(400, "no such session: 0123456789-of-the-session")
    body = {"session": "0123456789-of-the-session"}
    come = ask(model(gate_of(monkeypatch), server.assistant, extra_body=body))
    assert isinstance(come.error, ContentError)
    assert "of-the-session" not in str(come.error)
    assert "of-the-session" not in repr(model(Gate(), server.assistant, extra_body=body).caller)


def test_a_client_that_cannot_be_made_on_a_node_is_a_fault_without_a_key(server, monkeypatch):
    def refuse(setup):
        raise ValueError(f"no client for {setup.key}")

    monkeypatch.setenv("HOSTED_VLLM_API_KEY", KEY)
    opened = model(gate_of(monkeypatch, retries=0), server.assistant)
    monkeypatch.setattr(EngineSetup, "engine", refuse)
    come = ask(opened)
    assert "no client for" in str(come.error)
    assert KEY not in repr((come.error, come.error.__cause__))


def test_a_call_whose_worker_ended_may_be_billed_and_is_sent_again(server, monkeypatch):
    """Of two calls at most, the first was sent by a worker that ended: a second is sent, and no third."""
    dying = worker(fate=lambda number: "lost")
    opened = model(gate_of(monkeypatch, dying, limits=Limits(calls=2)), server.assistant)
    come = ask(opened)
    assert isinstance(come.error, LimitReached)
    assert (come.words, len(server.sent)) == (["network", "network"], 2)


def test_it_is_sent_again_by_another_worker(server, monkeypatch):
    dying, other = worker(fate=lambda number: "lost"), worker()
    opened = model(gate_of(monkeypatch, dying, other, comes_back=False), server.assistant)
    outcomes = [ask(opened) for _ in range(30)]  # by chance the first worker gets none once in a billion times
    assert [come.error for come in outcomes] == [None] * 30
    assert (dying.calls, sum(len(come.calls) for come in outcomes)) == (1, 31)


def test_where_no_worker_is_there_for_a_minute_a_run_ends_as_where_a_provider_is_down(server, monkeypatch):
    monkeypatch.setattr(ray_engine, "_AWAY", 0.0)
    dying = worker(fate=lambda number: "lost")
    gate = gate_of(monkeypatch, dying, comes_back=False)
    come = ask(model(gate, server.assistant))
    assert come.words == ["network", "network"]
    assert isinstance(come.error, ProviderDown)
    assert str(gate.switch.halt) == "`gate.engine` ray: no worker has been there for 0 seconds"


def test_a_call_that_takes_too_long_is_cancelled_at_its_worker(server, monkeypatch):
    server.script = lambda sent: replace(healthy(sent), delay=100)
    one = worker()
    come = ask(model(gate_of(monkeypatch, one, timeout=0.05, retries=0), server.assistant))
    assert (come.words, one.in_flight) == (["timeout"], 0)


def test_answers_are_not_streamed(server, monkeypatch):
    come = ask(model(gate_of(monkeypatch), server.assistant), "stream")
    assert isinstance(come.error, SetupFault)
    assert "not streamed" in str(come.error)
    assert server.sent == []


# Which worker gets a request


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self):
        return self.now


def handles(*nodes):
    return [WorkerHandle(None, node, node, up=True) for node in nodes]


def test_the_worker_with_the_fewest_in_flight_gets_a_request_and_equals_get_about_as_many():
    one, two = workers = handles("a", "b")
    choice = WorkerChoice(by_node=False, seed=0)
    assert {choice.pick(workers), choice.pick(workers)} == {one, two}
    choice.ended(two, failed=False)
    assert choice.pick(workers) is two
    picks = Counter(WorkerChoice(by_node=False, seed=seed).pick(workers) for seed in range(100))
    assert 30 < picks[one] < 70  # 50, and 4 of its deviations


def test_by_node_those_in_flight_on_the_whole_node_count_first():
    """Three workers on one node, and one on another: each node gets half."""
    workers = handles("a", "a", "a", "b")
    picks = Counter()
    for choice in [WorkerChoice(by_node=True, seed=0)]:
        picks.update(choice.pick(workers).node for _ in range(12))
    assert picks == {"a": 6, "b": 6}
    plain = WorkerChoice(by_node=False, seed=0)
    assert Counter(plain.pick(workers).node for _ in range(12)) == {"a": 9, "b": 3}


def test_a_worker_at_which_requests_fail_gets_one_after_a_pause_until_one_is_answered():
    bad, good = workers = handles("a", "b")
    clock = Clock()
    choice = WorkerChoice(by_node=False, clock=clock, seed=0)
    assert {choice.pick(workers), choice.pick(workers)} == {bad, good}
    choice.ended(bad, failed=True)
    assert [choice.pick(workers) for _ in range(5)] == [good] * 5
    clock.now = 1.0
    assert [choice.pick(workers) for _ in range(3)] == [bad, good, good]
    choice.ended(bad, failed=True)
    clock.now = 2.9  # 1 + 2 seconds are not over
    assert choice.pick(workers) is good
    clock.now = 3.0
    assert choice.pick(workers) is bad
    choice.ended(bad, failed=False)
    assert [choice.pick(workers) for _ in range(3)] == [bad] * 3


def test_where_all_fail_all_are_used_and_one_that_is_away_is_not():
    one, two, away = workers = handles("a", "b", "c")
    away.up = False
    choice = WorkerChoice(by_node=False, clock=Clock(), seed=0)
    for _ in workers[:2]:
        choice.ended(choice.pick(workers), failed=True)
    assert {choice.pick(workers), choice.pick(workers)} == {one, two}
    one.up = two.up = False
    assert choice.pick(workers) is None


# What is refused


@pytest.mark.parametrize(
    ("engine", "sentence"),
    [
        ("spark", "must be ray, or ray=ADDRESS"),
        ("ray=", "must be ray, or ray=ADDRESS"),
        ("ray=ray://head:10001", "Ray's client is not supported"),
    ],
)
def test_another_engine_is_refused(engine, sentence):
    with pytest.raises(UsageError, match=sentence):
        Gate(engine=engine)


def test_without_ray_it_is_refused_with_how_to_install_it(refused, monkeypatch):
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: None)
    assert "--engine 'ray': Ray is not installed: pip install 'ray" in refused("eval", "--engine", "ray")


def test_batches_and_an_engine_are_mutually_exclusive(refused):
    assert "--engine and --batch are mutually exclusive" in refused("eval", "--engine", "ray", "--batch")


def test_node_is_refused_without_an_engine(refused, monkeypatch):
    message = refused(
        *("eval", "--corpus", "sample", "--judge", "embedded"),
        *("--model", "hosted_vllm/a", "--model-api-base", "http://{node}:8000/v1"),
    )
    assert (
        "--model-api-base http://{node}:8000/v1: {node} is the machine of a worker; --engine ray has workers" in message
    )
    with pytest.raises(UsageError, match="an embedder is asked by this process"):
        open_embedder(ModelSpec(name="openai/any", api_base="http://{node}:1/v1"), gate_of(monkeypatch), "embedder")


@pytest.mark.usefixtures("proactbench")
def test_a_dry_run_begins_no_cluster(monkeypatch):
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: name)
    monkeypatch.setattr(RayCluster, "_begin", lambda *_: pytest.fail("begun"))
    specs = [ModelSpec(name="hosted_vllm/any", api_base="http://{node}:8000/v1")] * 2
    assert Evaluation("sample", *specs, gate=Gate(engine="ray")).forecast().calls


@pytest.mark.parametrize("error", [ValueError("a\nno cluster"), SystemExit("no cluster")], ids=type)
def test_a_cluster_that_cannot_begin_ends_a_run_with_the_reason(server, monkeypatch, error):
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: name)
    monkeypatch.setattr(ray_cluster, "_connect", lambda address, done: done.set_exception(error))
    gate = Gate(engine="ray=auto")
    come = ask(model(gate, server.assistant))
    assert (str(come.error), gate.switch.halt) == ("`gate.engine` ray=auto: no cluster", come.error)
    assert come.calls == []


def test_who_sends_requests_is_printed_once(monkeypatch, capsys):
    def begin(cluster, begun):
        cluster.workers = handles("a", "a", "b")
        begun.set_result(None)

    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: name)
    monkeypatch.setattr(RayCluster, "_begin", begin)
    cluster, progress = RayCluster("ray", 1), ProgressOnStderr("")

    async def several():
        await asyncio.gather(*(cluster.ready(Switch(), progress) for _ in range(3)))

    asyncio.run(several())
    assert capsys.readouterr().err == "Requests are sent by 3 workers on 2 nodes of a Ray cluster.\n"


def test_a_run_that_ends_waits_for_no_cluster(monkeypatch):
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: name)
    monkeypatch.setattr(RayCluster, "_begin", lambda *_: None)
    switch = Switch()
    switch.pull(Interrupted("interrupted"))
    with pytest.raises(Interrupted):
        asyncio.run(RayCluster("ray", 1).ready(switch, CallObserver()))


def test_an_address_at_which_nothing_listens_ends_a_run(server, monkeypatch):
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: name)
    come = ask(model(Gate(engine="ray=127.0.0.1:1"), server.assistant))
    assert "no cluster of Ray can be reached at 127.0.0.1:1: " in str(come.error)


def test_a_worker_of_other_versions_is_refused(monkeypatch):
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: name)
    (other,) = handles("10.0.0.7")
    there = asyncio.run(RayWorker("").hello())
    cluster = RayCluster("ray", 1)
    with pytest.raises(SetupFault, match=r"node 10\.0\.0\.7 has dspy-proact 9\.9 with DSPy .*; install the same"):
        cluster._admit(other, replace(there, package="9.9"))
    assert cluster.workers == []
    cluster._admit(other, there)
    assert cluster.workers == [other]
