"""What is recorded of a call, and what the clients of every provider do with keys, bodies and event loops."""

import asyncio
import gc
import json

import dspy
import pytest
from drivers.client import ASSISTANT, QUIET, ROUTES, USAGE, WAYS, Chat, answers, ask, assistant, gate, in_turn
from fakes.server import Answer, error
from support.provider import Scripted, SimulatedProvider

from dspy_proact.calls import Call, Price, collect_calls
from dspy_proact.errors import ProviderError, SetupFault
from dspy_proact.models import Cost, Limits, ModelSpec, clients, open_model

pytestmark = QUIET
EVERY_CLIENT = pytest.mark.parametrize(
    ("name", "backend"),
    [
        (name, backend)
        for name in ("hosted_vllm/any", "openai/any", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash")
        for backend in ("auto", "litellm")
    ],
)
KEY = "sk-canary-wren"


@pytest.fixture
def key(monkeypatch):
    for provider in ("OPENAI", "HOSTED_VLLM", "ANTHROPIC", "GEMINI", "XAI"):
        monkeypatch.setenv(f"{provider}_API_KEY", KEY)


# Usage


@in_turn("reason", ["stop", "length"] * 2)
def test_a_call_is_recorded_with_its_usage_and_finish_reason(server, name, backend, way, reason):
    through = gate(backend)
    answers(server, Answer("hello", finish_reason=reason, usage=USAGE))
    (call,) = ask(assistant(server, name, through), way).calls
    assert (through.budget.spent, through.budget.reserved) == (Cost(calls=1, tokens=137), Cost())
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (100, 37, 64)
    assert (call.role, call.finish_reason, call.error) == ("assistant", reason, None)
    assert call.started > 1.7e9
    assert call.latency > 0


@ROUTES
@pytest.mark.parametrize(
    ("way", "answer", "word"), [("async", Answer("hello", usage=None), None), ("sync", error(500), "server")]
)
def test_usage_that_the_provider_does_not_give_is_none(server, name, backend, way, answer, word):
    answers(server, answer)
    (call,) = ask(assistant(server, name, gate(backend, retries=0)), way).calls
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (None, None, None)
    assert (call.error, call.finish_reason) == (word, None if word else "stop")


NO_COUNTS = [
    {"prompt_tokens": 10**30, "completion_tokens": 4},
    "none",
    ["none"],
    11,
    {"prompt_tokens": 11.5, "completion_tokens": 4},
    {"prompt_tokens": {"all": 1}},
]
COUNTS = [
    {"prompt_tokens": "11", "completion_tokens": 4},
    {"prompt_tokens": 11.0, "completion_tokens": "4", "prompt_tokens_details": "none"},
    {"prompt_tokens": 11, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": "few"}},
]


@pytest.mark.parametrize("usage", [*NO_COUNTS, *COUNTS], ids=repr)
@ROUTES
def test_usage_that_is_no_count_costs_no_answer(server, name, backend, usage):
    answers(server, Answer("hello", usage=usage))
    through = gate(backend, retries=0, limits=Limits(tokens=10**6))
    outcome = ask(assistant(server, name, through))
    assert (outcome.text, outcome.words) == ("hello", [None])
    (call,) = outcome.calls
    counted = usage in COUNTS
    assert (call.prompt_tokens, call.completion_tokens) == ((11, 4) if counted else (None, call.completion_tokens))
    assert (through.budget.spent.tokens == 15) == counted  # an unknown count is the most that it can be


ANTHROPIC = {
    "id": "x",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 37},
}
GEMINI = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {
        "promptTokenCount": 105,
        "cachedContentTokenCount": 90,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 30,
        "totalTokenCount": 142,
    },
    "modelVersion": "m",
    "responseId": "x",
}


XAI = {
    "prompt_tokens": 105,
    "completion_tokens": 7,
    "total_tokens": 142,
    "prompt_tokens_details": {"cached_tokens": 90},
    "completion_tokens_details": {"reasoning_tokens": 30},
}


@pytest.mark.parametrize("backend", ["auto", "litellm"])
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("anthropic/claude-sonnet-4-5", Answer(raw=json.dumps(ANTHROPIC).encode())),
        ("gemini/gemini-2.5-flash", Answer(raw=json.dumps(GEMINI).encode())),
        ("xai/grok-4", Answer("hello", usage=XAI)),
    ],
    ids=["anthropic", "gemini", "xai"],
)
def test_tokens_that_a_provider_counts_separately_are_added(server, name, answer, backend):
    answers(server, answer)
    outcome = ask(assistant(server, name, gate(backend, retries=0)))
    assert outcome.text == "hello"
    (call,) = outcome.calls
    # Anthropic: 10 new + 90 read + 5 written. Gemini and xAI: 7 of the answer + 30 of reasoning.
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (105, 37, 90)


def test_a_limit_in_dollars_counts_what_is_read_from_and_written_to_a_cache_at_its_own_price(server):
    price = Price(prompt=1e-6, completion=2e-6, cached=1e-7, written=5e-6)
    through = gate(retries=0, limits=Limits(usd=1.0))
    answers(server, Answer(raw=json.dumps(ANTHROPIC).encode()))
    spec = ModelSpec(name="anthropic/claude-sonnet-4-5", api_base=server.assistant, price=price)
    assert ask(open_model(spec, ASSISTANT, through)).text == "hello"
    # 10 new, 90 read, 5 written and 37 of the answer.
    assert through.budget.spent.usd == pytest.approx(10e-6 + 9e-6 + 25e-6 + 74e-6)


def test_more_cached_tokens_than_a_prompt_has_make_no_call_cheaper_than_a_cached_prompt(server):
    price = Price(prompt=1e-6, completion=2e-6, cached=1e-7)
    through = gate(retries=0, limits=Limits(usd=1.0))
    fields = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 10**6}}
    answers(server, Answer("hello", usage=fields))
    spec = ModelSpec(name="hosted_vllm/any", api_base=server.assistant, price=price)
    assert ask(open_model(spec, ASSISTANT, through)).text == "hello"
    assert through.budget.spent.usd == pytest.approx(100e-7 + 20e-6)


# Keys


@ROUTES
@WAYS
def test_the_key_is_sent_and_recorded_nowhere_even_if_the_server_repeats_it(server, key, name, backend, way):
    answers(server, error(500, f"cannot serve the caller {KEY}"), Answer("hello"))
    model = assistant(server, name, gate(backend, retries=0))
    failed, answered = ask(model, way), ask(model, way)
    assert {sent.headers["Authorization"] for sent in server.sent} == {f"Bearer {KEY}"}
    assert answered.text == "hello"
    assert "canary" not in failed.error.detail  # which a run writes down
    assert not [call for call in (*failed.calls, *answered.calls) if "canary" in call.model_dump_json()]
    assert "canary" not in f"{model}{vars(model.lm)}"


# Bodies


class Base:
    """The endpoint of a simulated provider, as `assistant` takes it."""

    def __init__(self, provider):
        self.assistant = provider.base("assistant")


@EVERY_CLIENT
@pytest.mark.parametrize(("way", "status"), [("async", 302), ("async", 308), ("sync", 307)])
def test_a_redirect_is_not_followed(server, key, name, backend, way, status):
    with SimulatedProvider(lambda received: Scripted("a stranger's answer")) as stranger:
        answers(server, Answer(status=status, raw=b"", headers={"Location": f"{stranger.base('stranger')}/x"}))
        outcome = ask(assistant(server, name, gate(backend, retries=3)), way)
        assert not stranger.received
    assert isinstance(outcome.error, SetupFault)
    for part in (f"HTTP {status}", "redirect", "`model.api_base`"):
        assert part in str(outcome.error)
    assert len(server.sent) == len(outcome.calls) == 1


@EVERY_CLIENT
def test_a_lost_connection_is_one_request(key, name, backend):
    with SimulatedProvider(lambda received: Scripted(cut=0)) as lost:
        outcome = ask(assistant(Base(lost), name, gate(backend, retries=1)))
        assert isinstance(outcome.error, ProviderError)
        assert len(outcome.calls) == lost.received.total() == 2


@EVERY_CLIENT
@WAYS
def test_a_body_is_read_up_to_a_bound(key, monkeypatch, name, backend, way):
    monkeypatch.setattr(clients, "LONGEST", 2**20)
    with SimulatedProvider(lambda received: Scripted("x" * (2**20 + 1))) as endless:
        outcome = ask(assistant(Base(endless), name, gate(backend, retries=0)), way)
    assert isinstance(outcome.error, ProviderError)
    assert "1 MiB" in outcome.error.detail


# Event loops


def open_connections(port):
    """Transports of asyncio that are connected to a port of this machine."""
    transports = [value for value in gc.get_objects() if isinstance(value, asyncio.Transport)]
    peers = [transport.get_extra_info("peername") for transport in transports if not transport.is_closing()]
    return sum(peer is not None and peer[1] == port for peer in peers)


@ROUTES
def test_one_model_works_in_one_event_loop_after_another_and_leaves_no_connection_open(server, name, backend):
    model = assistant(server, name, gate(backend, retries=1))
    texts = []
    for _ in range(3):
        answers(server, error(429), Answer("hello"))
        texts.append(ask(model).text)
        assert open_connections(server.port) == 0
    assert texts == ["hello"] * 3
    assert len(server.sent) == 6


@ROUTES
def test_concurrent_questions_collect_their_own_calls(server, name, backend):
    model = assistant(server, name, gate(backend, retries=1))
    server.script = lambda sent: Answer(sent.messages[0]["content"], usage={"prompt_tokens": 1, "completion_tokens": 1})

    async def stage(number):
        with collect_calls() as calls:
            prediction = await Chat().acall(user_message=f"question {number}")
        return prediction.response, len(calls)

    async def run():
        try:
            with dspy.context(lm=model.lm):
                return await asyncio.gather(*map(stage, range(8)))
        finally:
            await model.aclose()

    assert asyncio.run(run()) == [(f"question {number}", 1) for number in range(8)]


def test_no_task_of_litellms_is_dropped_while_it_waits_when_the_loop_changes(server, caplog):
    """It keeps a task for the loop that called it last, and forgets it when another one calls."""
    for way in ("sync", "async", "sync", "async"):
        assert ask(assistant(server, "hosted_vllm/any", gate("litellm")), way).error is None
        gc.collect()
    assert "destroyed" not in caplog.text


def test_a_request_leaves_in_one_write(server, monkeypatch):
    written, write = list[bytes](), asyncio.StreamWriter.write
    monkeypatch.setattr(asyncio.StreamWriter, "write", lambda self, data: written.append(data) or write(self, data))
    answers(server, Answer("hello"))
    assert ask(assistant(server, "openai/any", gate("auto"))).text == "hello"
    ((head, _, body),) = (data.partition(b"\r\n\r\n") for data in written)
    assert head.startswith(b"POST ")
    assert json.loads(body)["model"] == "any"


def test_a_line_of_a_log_has_no_field_that_older_logs_lack_unless_it_says_something():
    """The mark of a line is made of its fields: with a further one, no older run could be read."""
    fields = ["role", "started", "latency", "prompt_tokens", "completion_tokens", "cached_tokens", "written_tokens"]
    call = Call(role="judge", started=1.0, latency=2.0)
    assert list(json.loads(call.model_dump_json())) == [*fields, "finish_reason", "error"]
    assert json.loads(call.model_copy(update={"thoughts": True}).model_dump_json())["thoughts"] is True
