"""The gate over real HTTP, on both routes, with the asynchronous and the synchronous engine."""

import asyncio
import gc
import json
import socket

import dspy
import pytest
from asking import ROUTES, WAYS, answers, ask, assistant, gate
from server import Answer, error

from dspy_proact.calls import CallObserver, collect_calls
from dspy_proact.errors import ContentError, Interrupted, ProviderDown, ProviderError, SetupFault
from dspy_proact.models import Gate, ModelSpec, open_model
from dspy_proact.models.budget import Limits
from dspy_proact.programs import ASSISTANT, JUDGE, Assistant
from dspy_proact.switch import Switch


class Patient(Gate):
    """A gate that notes what it is asked to wait, and does not wait."""

    def __init__(self, **options):
        super().__init__(backoff=0.001, **options)
        self.asked = []

    def wait(self, attempt, retry_after):
        self.asked.append((attempt, retry_after))
        return 0.0


WORDS = {429: "rate_limit", 408: "timeout", 504: "timeout", 500: "server", 503: "server"}


@ROUTES
@WAYS
@pytest.mark.parametrize("status", WORDS)
def test_a_retry_heals(server, name, backend, way, status):
    answers(server, error(status), error(status), Answer("hello"))
    outcome = ask(assistant(server, name, gate(backend, retries=2)), way)
    assert outcome.text == "hello"
    assert outcome.words == [WORDS[status]] * 2 + [None]
    assert len(server.sent) == 3
    assert server.sent[0].body == server.sent[2].body


@ROUTES
@WAYS
@pytest.mark.parametrize("status", [429, 500])  # each of the words was heard where a retry heals
def test_what_outlasts_the_retries_is_the_providers_fault(server, name, backend, way, status):
    answers(server, error(status, "come back later"))
    outcome = ask(assistant(server, name, gate(backend, retries=3)), way)
    assert isinstance(outcome.error, ProviderError)
    assert outcome.error.reason == WORDS[status]
    assert "come back later" in outcome.error.detail
    assert outcome.words == [WORDS[status]] * 4
    assert len(server.sent) == 4


@ROUTES
@WAYS
@pytest.mark.parametrize("status", [401, 408, 409, 429, 503])  # a refusal, and what the vendors' clients try again
def test_no_client_tries_again_by_itself(server, name, backend, way, status):
    answers(server, error(status, **{"Retry-After": "0", "x-should-retry": "true"}))
    outcome = ask(assistant(server, name, gate(backend, retries=0)), way)
    assert outcome.error is not None
    assert len(server.sent) == len(outcome.calls) == 1


@ROUTES
@WAYS
def test_what_the_provider_asks_to_wait_reaches_the_gate(server, name, backend, way):
    through = Patient(backend=backend, retries=2)
    answers(server, error(429, **{"Retry-After": "7"}), error(503, **{"retry-after": "900"}), Answer("hello"))
    assert ask(assistant(server, name, through), way).text == "hello"
    assert through.asked == [(0, 7.0), (1, 900.0)]


@ROUTES
def test_without_a_request_of_the_provider_the_gate_decides(server, name, backend):
    through = Patient(backend=backend, retries=1)
    answers(server, error(429, **{"Retry-After": "soon"}), Answer("hello"))
    assert ask(assistant(server, name, through)).text == "hello"
    assert through.asked == [(0, None)]


@pytest.mark.parametrize("attempt", range(6))
def test_the_wait_doubles_with_a_quarter_of_jitter(attempt):
    waits = [Gate(backoff=1.0).wait(attempt, None) for _ in range(200)]
    assert min(waits) >= 2**attempt
    assert max(waits) <= min(60.0, 1.25 * 2**attempt)
    assert len(set(waits)) > 100


def test_the_wait_is_what_the_provider_asks_or_a_little_more():
    assert all(7.0 <= Gate().wait(0, 7.0) <= 8.75 for _ in range(200))
    assert Gate().wait(3, 0.0) == 0.0


@pytest.mark.parametrize(("attempt", "retry_after"), [(0, 60.0), (0, 3600.0), (0, 1e12), (30, None), (1000, None)])
def test_no_wait_is_longer_than_a_minute(attempt, retry_after):
    assert max(Gate(backoff=1.0).wait(attempt, retry_after) for _ in range(200)) <= 60.0


@ROUTES
@WAYS
@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_refusal_for_good_pulls_the_switch(server, name, backend, way, status):
    through = gate(backend, retries=5)
    answers(server, error(status, "go away"), Answer("hello"))
    model = assistant(server, name, through)
    first, second = ask(model, way), ask(model, way)
    assert isinstance(first.error, SetupFault)
    assert str(first.error).startswith(f"--model {name}: ")
    assert f"HTTP {status}" in str(first.error)
    assert "go away" in str(first.error)
    assert through.switch.halt is first.error
    assert second.error is first.error
    assert (first.words, second.words) == (["setup"], [])
    assert len(server.sent) == 1


@ROUTES
def test_a_refused_key_names_flag_and_variable(server, monkeypatch, name, backend):
    variable = "OPENAI_API_KEY" if name == "openai/any" else "HOSTED_VLLM_API_KEY"
    monkeypatch.setenv(variable, "sk-secret")
    answers(server, error(401, "bad key"))
    model = open_model(ModelSpec(name=name, api_base=server.assistant), JUDGE, gate(backend))
    message = str(ask(model).error)
    assert message.startswith(f"--judge {name}: the key was refused (HTTP 401). Check {variable}.")


@ROUTES
def test_an_endpoint_that_lacks_its_version_is_asked_about(server, name, backend):
    base = server.assistant.removesuffix("/v1")
    server.script = lambda sent: error(404)
    outcome = ask(open_model(ModelSpec(name=name, api_base=base), ASSISTANT, gate(backend)))
    assert f"Do you mean --model-api-base {base}/v1?" in str(outcome.error)
    assert "Do you mean" not in str(ask(assistant(server, name, gate(backend))).error)


@ROUTES
@WAYS
def test_a_refused_parameter_says_how_to_leave_it_out(server, name, backend, way):
    answers(server, error(400, "Unsupported value: 'temperature' does not support 0.7 with this model."))
    outcome = ask(assistant(server, name, gate(backend)), way)
    assert isinstance(outcome.error, SetupFault)
    assert "--model-param temperature=none" in str(outcome.error)
    assert len(server.sent) == 1


@ROUTES
@WAYS
def test_refused_content_is_not_tried_again_and_ends_nothing(server, name, backend, way):
    through = gate(backend, retries=5)
    answers(server, error(400, "the prompt was blocked by the content_policy"), Answer("hello"))
    model = assistant(server, name, through)
    outcome = ask(model, way)
    assert isinstance(outcome.error, ContentError)
    assert (outcome.error.reason, outcome.words) == ("filtered", ["filtered"])
    assert ask(model, way).text == "hello"


@ROUTES
@WAYS
def test_nothing_is_sent_once_the_switch_is_pulled(server, name, backend, way):
    through = gate(backend)
    through.switch.pull(Interrupted("stop"))
    outcome = ask(assistant(server, name, through), way)
    assert isinstance(outcome.error, Interrupted)
    assert (server.sent, outcome.calls) == ([], [])


@ROUTES
def test_a_pull_ends_the_wait_between_two_attempts(server, name, backend):
    through = Gate(backend=backend, backoff=3600.0)

    def refuse(sent):
        through.switch.pull(Interrupted("stop"))
        return error(500)

    server.script = refuse
    outcome = ask(assistant(server, name, through))
    assert isinstance(outcome.error, Interrupted)
    assert len(server.sent) == 1


@ROUTES
@WAYS
def test_a_slow_answer_is_a_time_out(server, name, backend, way):
    assert ask(assistant(server, name, gate(backend)), way).error is None  # clients load what they need
    server.sent.clear()
    server.script = lambda sent: Answer("late", delay=1.0)
    outcome = ask(assistant(server, name, gate(backend, retries=1, timeout=0.25)), way)
    assert isinstance(outcome.error, ProviderError)
    assert outcome.error.reason == "timeout"
    assert outcome.words == ["timeout", "timeout"]
    assert len(server.sent) == 2
    assert all(call.latency >= 0.25 for call in outcome.calls)


@ROUTES
@WAYS
def test_a_closed_port_is_the_networks_fault(name, backend, way):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        model = open_model(ModelSpec(name=name, api_base=base), ASSISTANT, gate(backend, retries=1))
        outcome = ask(model, way)
    assert isinstance(outcome.error, ProviderError)
    assert outcome.words == ["network", "network"]


def body(choice):
    """An answer with something more in its choice."""
    return b'{"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "x"}, %s}]}' % choice


BROKEN = {
    "not JSON": b"<html>busy</html>",
    "cut": b'{"choices": [{"index": 0, "mess',
    "nothing": b"",
    "null": b"null",
    "another type": b"[]",
    "not UTF-8": b'{"choices": [{"message": {"content": "\xe9"}}]}',
    "brackets without end": b"[" * 100_000,
    "a number that no float holds": body(b'"logprobs": {"content": [{"token": "a", "logprob": 1%s}]}' % (b"1" * 400)),
    "a number of too many digits": body(b'"index": 1%s' % (b"1" * 5000)),
}


@ROUTES
@WAYS
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_body_is_tried_again(server, name, backend, way, broken):
    answers(server, Answer(raw=broken), Answer("hello"))
    outcome = ask(assistant(server, name, gate(backend, retries=1)), way)
    assert outcome.text == "hello"
    assert len(outcome.calls) == len(server.sent) == 2
    answers(server, Answer(raw=broken))
    assert isinstance(ask(assistant(server, name, gate(backend, retries=0)), way).error, ProviderError)


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


@WAYS
@pytest.mark.parametrize("usage", [*NO_COUNTS, *COUNTS], ids=repr)
@ROUTES
def test_usage_that_is_no_count_costs_no_answer(server, name, backend, way, usage):
    answers(server, Answer("hello", usage=usage))
    through = gate(backend, retries=0, limits=Limits(tokens=10**6))
    outcome = ask(assistant(server, name, through), way)
    assert (outcome.text, outcome.words) == ("hello", [None])
    (call,) = outcome.calls
    counted = usage in COUNTS
    assert (call.prompt_tokens, call.completion_tokens) == ((11, 4) if counted else (None, call.completion_tokens))
    assert (through.budget.spent.tokens == 15) == counted  # what is not known counts as the most that it can be


USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 37,
    "total_tokens": 137,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 30},
}


@ROUTES
@WAYS
def test_a_call_is_recorded_with_its_usage(server, name, backend, way):
    answers(server, Answer("hello", usage=USAGE))
    (call,) = ask(assistant(server, name, gate(backend)), way).calls
    # Cached tokens are among those of the prompt, reasoning among those of the completion.
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (100, 37, 64)
    assert (call.role, call.finish_reason, call.error) == ("assistant", "stop", None)
    assert call.started > 1.7e9
    assert call.latency > 0


@ROUTES
@WAYS
def test_a_usage_that_the_provider_did_not_give_is_none(server, name, backend, way):
    answers(server, Answer("hello", usage=None))
    (call,) = ask(assistant(server, name, gate(backend)), way).calls
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (None, None, None)


@ROUTES
@WAYS
def test_a_failed_call_is_recorded_with_a_word(server, name, backend, way):
    answers(server, error(500))
    (call,) = ask(assistant(server, name, gate(backend, retries=0)), way).calls
    assert (call.error, call.finish_reason) == ("server", None)
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (None, None, None)
    assert call.latency > 0


@ROUTES
@WAYS
@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
def test_the_finish_reason_is_recorded(server, name, backend, way, reason):
    answers(server, Answer("hello", finish_reason=reason))
    (call,) = ask(assistant(server, name, gate(backend)), way).calls
    assert call.finish_reason == reason


ANTHROPIC = {
    "id": "x",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": 5,
        "output_tokens": 37,
    },
}
GEMINI = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "hello"}]}, "finishReason": "STOP", "index": 0},
    ],
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
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
    "usage": {
        "prompt_tokens": 105,
        "completion_tokens": 7,
        "total_tokens": 142,
        "prompt_tokens_details": {"cached_tokens": 90},
        "completion_tokens_details": {"reasoning_tokens": 30},
    },
}


@pytest.mark.parametrize("backend", ["auto", "litellm"])
@pytest.mark.parametrize(
    ("name", "body"),
    [("anthropic/claude-sonnet-4-5", ANTHROPIC), ("gemini/gemini-2.5-flash", GEMINI), ("xai/grok-4", XAI)],
    ids=["anthropic", "gemini", "xai"],
)
def test_tokens_that_a_provider_counts_apart_are_added(server, name, body, backend):
    answers(server, Answer(raw=json.dumps(body).encode()))
    outcome = ask(assistant(server, name, gate(backend, retries=0)))
    assert outcome.text == "hello"
    (call,) = outcome.calls
    # Anthropic: 10 new + 90 read + 5 written. Gemini and xAI: 7 of the answer + 30 of reasoning.
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (105, 37, 90)


@ROUTES
def test_one_model_works_in_one_event_loop_after_another(server, name, backend):
    model = assistant(server, name, gate(backend, retries=0))
    answers(server, Answer("hello"))
    assert [ask(model).text for _ in range(3)] == ["hello"] * 3
    assert len(server.sent) == 3


@ROUTES
def test_one_model_retries_in_one_event_loop_after_another(server, name, backend):
    model = assistant(server, name, gate(backend, retries=1))
    texts = []
    for _ in range(3):
        answers(server, error(429), Answer("hello"))
        texts.append(ask(model).text)
    assert texts == ["hello"] * 3
    assert len(server.sent) == 6


def open_connections(port):
    """Transports of asyncio that are connected to a port of this machine."""
    transports = [each for each in gc.get_objects() if isinstance(each, asyncio.Transport) and not each.is_closing()]
    peers = [transport.get_extra_info("peername") for transport in transports]
    return sum(peer is not None and peer[1] == port for peer in peers)


@ROUTES
def test_a_closed_model_leaves_no_connection_open(server, name, backend):
    answers(server, Answer("hello"))
    assert ask(assistant(server, name, gate(backend))).text == "hello"
    assert open_connections(server.port) == 0


@ROUTES
def test_concurrent_questions_collect_their_own_calls(server, name, backend):
    model = assistant(server, name, gate(backend, retries=1))
    server.script = lambda sent: Answer(sent.messages[0]["content"], usage={"prompt_tokens": 1, "completion_tokens": 1})

    async def stage(number):
        with collect_calls() as calls:
            asked = await Assistant().acall(history=[], user_message=f"question {number}")
        return asked.response, len(calls)

    async def run():
        try:
            with dspy.context(lm=model.lm):
                return await asyncio.gather(*map(stage, range(8)))
        finally:
            await model.aclose()

    assert asyncio.run(run()) == [(f"question {number}", 1) for number in range(8)]


@ROUTES
@WAYS
def test_the_same_question_is_asked_anew(server, name, backend, way):
    model = assistant(server, name, gate(backend))
    answers(server, Answer("one"), Answer("two"))
    assert [ask(model, way).text, ask(model, way).text] == ["one", "two"]


@ROUTES
@WAYS
def test_the_key_is_sent_and_recorded_nowhere(server, monkeypatch, name, backend, way):
    monkeypatch.setenv("OPENAI_API_KEY" if name == "openai/any" else "HOSTED_VLLM_API_KEY", "sk-canary-wren")
    answers(server, error(500, "no"), Answer("hello"))
    model = assistant(server, name, gate(backend, retries=1))
    outcome = ask(model, way)
    assert {sent.headers["Authorization"] for sent in server.sent} == {"Bearer sk-canary-wren"}
    assert outcome.text == "hello"
    assert not [call for call in outcome.calls if "canary" in call.model_dump_json()]
    assert "canary" not in f"{model}{vars(model.lm)}"


@ROUTES
def test_a_key_that_the_server_repeats_reaches_no_record(server, monkeypatch, name, backend):
    monkeypatch.setenv("OPENAI_API_KEY" if name == "openai/any" else "HOSTED_VLLM_API_KEY", "sk-canary-wren")
    answers(server, error(500, "cannot serve the caller sk-canary-wren"))
    outcome = ask(assistant(server, name, gate(backend, retries=0)))
    assert not [call for call in outcome.calls if "canary" in call.model_dump_json()]
    assert "canary" not in outcome.error.detail  # which a run writes down


@ROUTES
@WAYS
def test_without_a_key_no_client_refuses_to_ask_a_server_of_ones_own(server, name, backend, way):
    answers(server, Answer("hello"))
    assert ask(assistant(server, name, gate(backend)), way).text == "hello"


def test_the_embedded_model_goes_through_the_gate_too():
    through = gate()
    model = open_model("embedded", ASSISTANT, through)
    for way in ("async", "sync"):
        outcome = ask(model, way)
        assert outcome.text
        assert [call.finish_reason for call in outcome.calls] == ["stop"]
    through.switch.pull(Interrupted("stop"))
    assert isinstance(ask(model).error, Interrupted)


@WAYS
def test_a_provider_that_fails_one_call_after_another_is_down(server, way):
    through = gate(retries=1, patience=3)
    model = assistant(server, "hosted_vllm/any", through)
    answers(server, error(500))
    assert [ask(model, way).error.reason for _ in range(3)] == ["server"] * 3
    assert isinstance(through.switch.halt, ProviderDown)
    assert str(through.switch.halt).startswith("--model hosted_vllm/any: down. 3 calls in a row failed for good")
    assert isinstance(ask(model, way).error, ProviderDown)
    assert len(server.sent) == 6  # 3 calls of 2 attempts


@ROUTES
def test_where_nothing_listens_the_model_is_down_at_once_and_says_where_and_why(name, backend):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        through = gate(backend, retries=1)
        seen = Watching()
        through.open(Switch(), observer=seen)
        outcome = ask(open_model(ModelSpec(name=name, api_base=base), ASSISTANT, through))
    assert isinstance(outcome.error, ProviderError)
    assert isinstance(through.switch.halt, ProviderDown)
    assert str(through.switch.halt).startswith(f"--model {name}: cannot be reached, network: ")
    assert [(call.who, call.word, call.number, call.attempts) for call in seen.calls] == [
        (f"--model {name}", "network", 1, 2),
        (f"--model {name}", "network", 2, 2),
    ]
    assert [call.wait is None for call in seen.calls] == [False, True]


class Watching(CallObserver):
    def __init__(self):
        self.calls = []

    def failed(self, call):
        self.calls.append(call)


@ROUTES
def test_the_first_call_to_a_model_is_made_alone(server, name, backend):
    """The others wait for its end, whatever that is, and are then made at once."""
    waiting = asyncio.Event()

    async def script(sent):
        if len(server.sent) == 1:
            await asyncio.sleep(0)
            assert server.in_flight == 1
            return error(500)
        if len(server.sent) == 8:
            waiting.set()
        await waiting.wait()
        return Answer("hello")

    server.script = script
    model = assistant(server, name, gate(backend, retries=0))

    async def run():
        try:
            with dspy.context(lm=model.lm):
                asked = [Assistant().acall(history=[], user_message=f"question {number}") for number in range(8)]
                return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.aclose()

    told = asyncio.run(run())
    assert [isinstance(each, ProviderError) for each in told].count(True) == 1
    assert server.most_in_flight == 7


@WAYS
def test_one_answer_shows_that_the_provider_is_up(server, way):
    through = gate(retries=0, patience=2)
    model = assistant(server, "hosted_vllm/any", through)
    answers(server, error(500), Answer("hello"), error(500), Answer("hello"))
    assert [ask(model, way).text for _ in range(4)] == [None, "hello", None, "hello"]
    assert through.switch.halt is None


def test_refused_content_says_nothing_about_the_provider(server):
    through = gate(retries=0, patience=1)
    answers(server, error(400, "no"))
    assert isinstance(ask(assistant(server, "hosted_vllm/any", through)).error, ContentError)
    assert through.switch.halt is None


def test_a_gate_that_is_opened_anew_has_a_switch_of_its_own_and_forgets_failures(server):
    through = gate(retries=0, patience=2)
    model = assistant(server, "hosted_vllm/any", through)
    answers(server, error(500))
    ask(model)
    through.switch.pull(Interrupted("stop"))
    switch = Switch()
    through.open(switch)
    assert isinstance(ask(model).error, ProviderError)
    assert through.switch is switch
    assert switch.halt is None


def test_nothing_of_litellms_is_dropped_while_it_waits_when_the_loop_changes(server, caplog):
    """It keeps a task for the loop that called it last, and forgets it when another one calls."""
    for way in ("sync", "async", "sync", "async"):
        assert ask(assistant(server, "hosted_vllm/any", gate("litellm")), way).error is None
        gc.collect()
    assert "destroyed" not in caplog.text
