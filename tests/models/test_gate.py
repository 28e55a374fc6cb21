"""The gate over real HTTP, on both routes, with the asynchronous and the synchronous engine."""

import asyncio
import gc
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from types import NoneType

import dspy
import pytest
from drivers.client import (
    ASSISTANT,
    CLIENTS,
    EVERY_WAY,
    QUIET,
    ROUTES,
    ROUTES_AND_WAYS,
    WAYS,
    Chat,
    answers,
    ask,
    assistant,
    every_way,
    gate,
    in_turn,
)
from fakes.server import Answer, error

from dspy_proact.call_observer import CallObserver
from dspy_proact.errors import (
    ContentError,
    Interrupted,
    LimitReached,
    ProviderDown,
    ProviderError,
    SetupFault,
    UsageError,
)
from dspy_proact.models import Cost, Gate, Limits, ModelSpec, open_model
from dspy_proact.models.budget import Budget
from dspy_proact.switch import Switch

pytestmark = QUIET
WORDS = {429: "rate_limit", 408: "timeout", 504: "timeout", 500: "server", 503: "server"}


@pytest.mark.parametrize(
    "value", [{"concurrency": 0}, {"timeout": 0.0}, {"timeout": float("nan")}, {"retries": -1}], ids=repr
)
def test_a_gate_that_could_pass_no_call_is_refused(value):
    with pytest.raises(UsageError, match="concurrency must be 1 or more"):
        Gate(**value)


# Retries


@in_turn("status", list(WORDS))
def test_a_retry_heals(server, name, backend, way, status):
    answers(server, error(status), error(status), Answer("hello"))
    outcome = ask(assistant(server, name, gate(backend, retries=2)), way)
    assert outcome.text == "hello"
    assert outcome.words == [WORDS[status]] * 2 + [None]
    assert len(server.sent) == 3
    assert server.sent[0].body == server.sent[2].body


@in_turn("status", [429, 500])
def test_a_failure_that_outlasts_the_retries_is_the_providers_fault(server, name, backend, way, status):
    answers(server, error(status, "come back later"))
    outcome = ask(assistant(server, name, gate(backend, retries=3)), way)
    assert isinstance(outcome.error, ProviderError)
    assert outcome.error.reason == WORDS[status]
    assert "come back later" in outcome.error.detail
    assert outcome.words == [WORDS[status]] * 4
    assert len(server.sent) == 4


@ROUTES
@every_way("status", [401, 408, 409, 429, 503])  # a refusal, and what the vendors' clients retry
def test_no_client_retries_by_itself(server, name, backend, way, status):
    answers(server, error(status, **{"Retry-After": "0", "x-should-retry": "true"}))
    outcome = ask(assistant(server, name, gate(backend, retries=0)), way)
    assert outcome.error is not None
    assert len(server.sent) == len(outcome.calls) == 1


class Patient(Gate):
    """A gate that notes how long it should wait, and does not wait."""

    def __init__(self, **options):
        super().__init__(backoff=0.001, **options)
        self.waits = []

    def wait(self, attempt, retry_after):
        self.waits.append((attempt, retry_after))
        return 0.0


@ROUTES_AND_WAYS
def test_the_wait_that_a_provider_asks_for_reaches_the_gate(server, name, backend, way):
    through = Patient(backend=backend, retries=3)
    waits = [{"Retry-After": "7"}, {"retry-after": "900"}, {"Retry-After": "soon"}]
    answers(server, *(error(503, **header) for header in waits), Answer("hello"))
    assert ask(assistant(server, name, through), way).text == "hello"
    assert through.waits == [(0, 7.0), (1, 900.0), (2, None)]


@pytest.mark.parametrize(
    ("attempt", "retry_after", "least"),
    [*((attempt, None, 2.0**attempt) for attempt in range(6)), (0, 7.0, 7.0), (0, 3600.0, 60.0), (1000, None, 60.0)],
)
def test_the_wait_doubles_or_is_what_the_provider_asks_with_jitter_and_at_most_a_minute(attempt, retry_after, least):
    waits = [Gate(backoff=1.0).wait(attempt, retry_after) for _ in range(200)]
    assert least <= min(waits) <= max(waits) <= min(60.0, 1.25 * least)
    assert least == 60.0 or len(set(waits)) > 100
    assert Gate().wait(3, 0.0) == 0.0


# On a busy machine the time is over before litellm awaits what it has begun, of which Python warns.
@pytest.mark.filterwarnings("ignore:coroutine '.*completion' was never awaited:RuntimeWarning")
@ROUTES
@WAYS
def test_a_slow_answer_is_a_time_out(server, name, backend, way):
    server.script = lambda sent: Answer("never", delay=3600.0)
    outcome = ask(assistant(server, name, gate(backend, retries=1, timeout=0.1)), way)
    gc.collect()  # so that Python warns here, and not in another test
    assert isinstance(outcome.error, ProviderError)
    assert outcome.words == ["timeout", "timeout"]
    assert all(call.latency >= 0.1 for call in outcome.calls)


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


@pytest.fixture
def without_collector():
    """Where brackets have used the stack up, nothing could warn of garbage that is found just then."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
@ROUTES
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_body_is_tried_again(server, name, backend, broken):
    answers(server, Answer(raw=broken), Answer("hello"))
    outcome = ask(assistant(server, name, gate(backend, retries=1)))
    assert outcome.text == "hello"
    assert len(outcome.calls) == len(server.sent) == 2
    answers(server, Answer(raw=broken))
    assert isinstance(ask(assistant(server, name, gate(backend, retries=0))).error, ProviderError)


# Refusals, and the switch


@in_turn("status", [401, 402, 403, 404])
def test_a_refusal_for_good_pulls_the_switch(server, name, backend, way, status):
    through = gate(backend, retries=5)
    answers(server, error(status, "go away"), Answer("hello"))
    model = assistant(server, name, through)
    first, second = ask(model, way), ask(model, way)
    assert isinstance(first.error, SetupFault)
    assert str(first.error).startswith(f"`model` {name}: ")
    assert f"HTTP {status}" in str(first.error)
    assert "go away" in str(first.error)
    assert second.error is through.switch.halt is first.error
    assert (first.words, second.words) == (["setup"], [])
    assert len(server.sent) == 1


@ROUTES
def test_an_endpoint_without_a_version_gets_a_hint(server, name, backend):
    base = server.assistant.removesuffix("/v1")
    server.script = lambda sent: error(404)
    outcome = ask(open_model(ModelSpec(name=name, api_base=base), ASSISTANT, gate(backend)))
    assert f"Did you mean `model.api_base={base}/v1`?" in str(outcome.error)
    assert "Did you mean" not in str(ask(assistant(server, name, gate(backend))).error)


@ROUTES_AND_WAYS
def test_refused_content_is_not_tried_again_and_ends_nothing(server, name, backend, way):
    through = gate(backend, retries=5, patience=1)
    answers(server, error(400, "the prompt was blocked by the content_policy"), Answer("one"), Answer("two"))
    model = assistant(server, name, through)
    outcome = ask(model, way)
    assert isinstance(outcome.error, ContentError)
    assert (outcome.error.reason, outcome.words) == ("filtered", ["filtered"])
    # Nor is an answer remembered.
    assert [ask(model, way).text, ask(model, way).text] == ["one", "two"]


def test_a_call_that_waits_for_room_under_a_limit_is_not_made_once_the_switch_is_pulled():
    async def scene() -> None:
        budget, switch, most = Budget(Limits(calls=1)), Switch(), Cost(calls=1)
        await budget.reserve(most, switch)
        waiting = asyncio.create_task(budget.reserve(most, switch))
        await asyncio.sleep(0)
        switch.pull(Interrupted("stop"))
        budget.settle(most, Cost())
        with pytest.raises(Interrupted):
            await waiting
        assert budget.reserved == Cost()

    asyncio.run(scene())


def ended(limits: Limits, *cases: tuple[Sequence[Cost] | None, Sequence[Cost]]) -> tuple[list[object], Cost]:
    """How cases that begin at once end, each with the calls that are expected of it and those that it makes."""

    async def scene() -> tuple[list[object], Cost]:
        budget, switch = Budget(limits), Switch()

        async def make(expected: Sequence[Cost] | None, calls: Sequence[Cost]) -> None:
            async with budget.case(expected and [(None, most) for most in expected], switch):
                await asyncio.sleep(0)
                for most in calls:
                    await budget.reserve(most, switch)
                    budget.settle(most, most)

        return await asyncio.gather(*(make(*case) for case in cases), return_exceptions=True), budget.spent

    return asyncio.run(scene())


ONE = Cost(calls=1)


def test_a_call_more_than_expected_takes_nothing_that_a_case_which_was_begun_needs():
    """Of four calls, two are the other's: the case that needs four makes two."""
    (halted, finished), spent = ended(Limits(calls=4), ([ONE] * 2, [ONE] * 4), ([ONE] * 2, [ONE] * 2))
    assert isinstance(halted, LimitReached)
    assert (finished, spent) == (None, Cost(calls=4))


def test_a_case_that_can_never_fit_lets_those_that_were_begun_end():
    small, large = Cost(calls=1, tokens=5), Cost(calls=1, tokens=11)
    (finished, halted), spent = ended(Limits(tokens=10), ([small] * 2, [small] * 2), ([large], [large]))
    assert isinstance(halted, LimitReached)
    assert (finished, spent) == (None, Cost(calls=2, tokens=10))


def test_a_case_whose_calls_are_not_known_is_begun_while_as_many_fit_as_the_most_that_one_has_made():
    """The first is done alone and makes three calls; of eight, a second fits beside it, and no third."""
    outcomes, spent = ended(Limits(calls=8), *[(None, [ONE] * 3)] * 3)
    assert [type(outcome) for outcome in outcomes] == [NoneType, NoneType, LimitReached]
    assert spent == Cost(calls=6)


@ROUTES_AND_WAYS
def test_further_attempts_count_against_a_limit_of_calls(server, name, backend, way):
    through = gate(backend, retries=5, limits=Limits(calls=2))
    answers(server, error(500))
    outcome = ask(assistant(server, name, through), way)
    assert isinstance(outcome.error, LimitReached)
    assert through.switch.halt is outcome.error
    assert len(server.sent) == 2


# Providers that are down


@EVERY_WAY
def test_a_provider_is_down_after_several_failed_calls_in_a_row(server, way):
    through = gate(retries=1, patience=3)
    model = assistant(server, "hosted_vllm/any", through)
    answers(server, *[error(500)] * 4, Answer("hello"), error(500))  # two calls of two attempts, then an answer
    assert [ask(model, way).text for _ in range(3)] == [None, None, "hello"]
    assert [ask(model, way).error.reason for _ in range(3)] == ["server"] * 3
    message = "`model` hosted_vllm/any: down. 3 calls in a row failed after all retries"
    assert isinstance(through.switch.halt, ProviderDown)
    assert str(through.switch.halt).startswith(message)
    assert isinstance(ask(model, way).error, ProviderDown)
    assert len(server.sent) == 11


class Watching(CallObserver):
    def __init__(self):
        self.calls = []

    def failed(self, call):
        self.calls.append(call)


@ROUTES_AND_WAYS
def test_a_model_is_down_at_once_where_nothing_listens(name, backend, way):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        through = gate(backend, retries=1)
        seen = Watching()
        through.open(Switch(), observer=seen)
        outcome = ask(open_model(ModelSpec(name=name, api_base=base), ASSISTANT, through), way)
    assert isinstance(outcome.error, ProviderError)
    assert outcome.words == ["network", "network"]
    assert isinstance(through.switch.halt, ProviderDown)
    reason = f"network: no connection to {base}: Connection refused"
    assert str(through.switch.halt) == f"`model` {name}: cannot be reached, {reason}"
    assert [(call.who, call.word, call.number, call.attempts, call.wait is None) for call in seen.calls] == [
        (f"`model` {name}", "network", 1, 2, False),
        (f"`model` {name}", "network", 2, 2, True),
    ]


@ROUTES
def test_a_server_that_does_not_take_a_connection_is_not_waited_for_with_the_time_of_an_answer(
    monkeypatch, name, backend
):
    for module in ("clients", "endpoint"):
        monkeypatch.setattr(f"dspy_proact.models.{module}.CONNECT", 0.05)
    with ExitStack() as stack:
        full, *others = (stack.enter_context(socket.socket()) for _ in range(4))
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for other in others:  # more than its queue has room for
            other.setblocking(False)
            other.connect_ex(full.getsockname())
        base = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        through = gate(backend, retries=0)
        ask(open_model(ModelSpec(name=name, api_base=base), ASSISTANT, through))
    assert str(through.switch.halt).endswith(f"no connection to {base}: it took too long")


def test_attempts_to_connect_end_soon_but_to_a_model_that_has_answered_before(monkeypatch):
    monkeypatch.setattr("dspy_proact.models.engine._PATIENCE_TO_CONNECT", 0.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        spec = ModelSpec(name="hosted_vllm/any", api_base=f"http://127.0.0.1:{free.getsockname()[1]}/v1")
        through = gate(retries=2)
        model = open_model(spec, ASSISTANT, through)
        through.health(model.caller).succeeded()
        assert ask(model).words == ["network"] * 3
        through.open(Switch())
        assert ask(model).words == ["network"]


@pytest.mark.parametrize(
    ("name", "backend", "status"), [(*client, status) for client, status in zip(CLIENTS, (401, 404, 400), strict=True)]
)
def test_calls_begin_at_full_width_and_what_cannot_mend_ends_them_with_one_width_of_calls(
    server, name, backend, status
):
    waiting = asyncio.Event()

    async def script(sent):
        if server.in_flight == 4:
            waiting.set()
        await waiting.wait()
        return error(status, "top_p is not supported")

    server.script = script
    model = assistant(server, name, gate(backend, retries=3, concurrency=4))

    async def run():
        try:
            with dspy.context(lm=model.lm):
                questions = [Chat().acall(user_message=f"question {number}") for number in range(12)]
                return await asyncio.gather(*questions, return_exceptions=True)
        finally:
            await model.aclose()

    assert all(isinstance(outcome, SetupFault) for outcome in asyncio.run(run()))
    assert (server.most_in_flight, len(server.sent)) == (4, 4)


def test_a_gate_that_is_opened_again_has_another_switch_and_forgets_failures(server):
    through = gate(retries=0, patience=2)
    model = assistant(server, "hosted_vllm/any", through)
    answers(server, error(500))
    ask(model)
    through.switch.pull(Interrupted("stop"))
    through.open(switch := Switch())
    assert isinstance(ask(model).error, ProviderError)
    assert through.switch is switch
    assert switch.halt is None
