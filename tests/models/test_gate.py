"""The gate over real HTTP, on both routes, with the asynchronous and the synchronous engine."""

import socket

import pytest
from asking import ROUTES, WAYS, answers, ask, assistant, gate
from server import Answer, error

from dspy_proact.benchmarks.proactbench.programs import ASSISTANT, JUDGE
from dspy_proact.errors import ContentError, Interrupted, ProviderError, SetupFault
from dspy_proact.models import Gate, ModelSpec, open_model


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
    assert f"Did you mean --model-api-base {base}/v1?" in str(outcome.error)
    assert "Did you mean" not in str(ask(assistant(server, name, gate(backend))).error)


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
