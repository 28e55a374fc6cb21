"""Streams behind the gate over real HTTP, on both routes, with the asynchronous and the synchronous engine.

What holds for every call, streams included, is tested with the gate.
"""

import asyncio
from contextlib import aclosing

import pytest
from drivers.client import ASSISTANT, INPUTS, QUIET, STREAMS, Chat, answers, ask, assistant, awaited, gate, read
from dspy.lm15 import Message, Request
from fakes.server import Answer

from dspy_proact.calls import collect_calls
from dspy_proact.errors import LimitReached, ProactError, ProviderError
from dspy_proact.models import Gate, Limits
from dspy_proact.models.budget import Cost, most_of
from dspy_proact.models.engine import GatedEngine
from dspy_proact.models.faults import Caller
from dspy_proact.models.model import EmbeddedEngine
from dspy_proact.programs.streaming import streamed

pytestmark = QUIET
ROUTES = pytest.mark.parametrize(("name", "backend"), [("hosted_vllm/any", "auto"), ("openai/any", "litellm")])
NATIVE = pytest.mark.parametrize(("name", "backend"), [("hosted_vllm/any", "auto")])
EMBEDDED_CALLER = Caller(role="assistant", argument="model", model="embedded")
COMPLETE = " The last  boat\n\nleaves at five. \n"


class Impatient(Gate):
    """A gate that waits for the first attempt only so many seconds."""

    def __init__(self, seconds, **options):
        super().__init__(backoff=0.0, **options)
        self.seconds, self.waited = seconds, False

    def patiently(self, server, name):
        """A model whose client knows nothing of the time limit."""
        model, self.timeout = assistant(server, name, self), self.seconds
        return model

    def wait(self, attempt, retry_after):
        self.timeout, self.waited = 60.0, True
        return 0.0


AMPLE = Limits(tokens=10**9)
"""What a call may cost is computed only where there is a limit."""


@ROUTES
@STREAMS
def test_the_answer_is_passed_through_in_the_providers_pieces(server, name, backend, way):
    answers(server, Answer(pieces=(" The", " last  boat\n", "\n", "leaves at five.", " \n")))
    outcome = ask(assistant(server, name, gate(backend)), way)
    assert outcome.error is None
    assert outcome.pieces == [" The", " last  boat\n", "\n", "leaves at five.", " \n"]
    (sent,) = server.sent
    assert sent.body["stream"] is True
    assert sent.body["max_tokens"] == 8192


@NATIVE
@STREAMS
def test_a_usage_that_the_provider_did_not_give_is_none(server, name, backend, way):
    through = gate(backend, limits=AMPLE)
    answers(server, Answer(COMPLETE, usage=None))
    (call,) = ask(assistant(server, name, through), way).calls
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (None, None, None)
    assert through.budget.spent.tokens > 8192  # the completion limit and every byte of the request


@ROUTES
@STREAMS
@pytest.mark.parametrize("broken", ["lost", "silent"])
def test_a_stream_that_breaks_off_before_the_first_piece_is_tried_again(server, name, backend, way, broken):
    through = Impatient(0.1 if broken == "silent" else 60.0, backend=backend, retries=1)
    server.script = lambda sent: Answer(COMPLETE) if through.waited else Answer(pieces=(), broken=broken)
    outcome = ask(through.patiently(server, name), way)
    assert outcome.text == COMPLETE
    assert outcome.words[0] in ("network", "server", "timeout")  # as litellm calls a lost connection
    assert len(outcome.calls) == 2


@ROUTES
@STREAMS
def test_a_break_after_a_piece_is_not_tried_again(server, name, backend, way):
    through = gate(backend, retries=5, limits=AMPLE)
    answers(server, Answer(COMPLETE, broken="lost"))
    outcome = ask(assistant(server, name, through), way)
    assert isinstance(outcome.error, ProviderError)
    assert COMPLETE.startswith(outcome.text)
    assert outcome.words == [outcome.error.reason]
    assert outcome.error.reason in ("network", "server")  # litellm calls a lost connection a server's error
    assert len(server.sent) == 1
    assert through.budget.spent.tokens > 8192  # it may be billed whole
    assert through.budget.reserved == Cost()


BEGUN = b'data: {"choices": [{"index": 0, "delta": {"content": "The "}}]}\n\n'
FAILED = b'data: {"error": {"code": "server_error", "message": "out of memory"}}\n\n'


@NATIVE
@STREAMS
@pytest.mark.parametrize(
    ("answer", "part"),
    [(Answer(COMPLETE, broken="ended"), ""), (Answer(raw=BEGUN + FAILED), "out of memory")],
    ids=["no finish reason", "an error in the middle"],
)
def test_a_stream_without_its_end_is_a_break(server, name, backend, way, answer, part):
    answers(server, answer)
    outcome = ask(assistant(server, name, gate(backend, retries=5)), way)
    assert isinstance(outcome.error, ProviderError)
    assert part in outcome.error.detail
    assert (outcome.words, len(server.sent)) == (["server"], 1)


@NATIVE
@STREAMS
@pytest.mark.parametrize("usage", ["none", {"prompt_tokens": 11.5, "completion_tokens": 4}], ids=repr)
def test_usage_that_is_no_count_costs_no_stream(server, name, backend, way, usage):
    answers(server, Answer(COMPLETE, usage=usage))
    outcome = ask(assistant(server, name, gate(backend, retries=0)), way)
    assert (outcome.text, outcome.error, outcome.words) == (COMPLETE, None, [None])


@ROUTES
@STREAMS
@pytest.mark.parametrize("body", [b"<html>busy</html>", b"", b"data: [[[\n\n"], ids=["no stream", "nothing", "no JSON"])
def test_a_body_that_is_no_stream_is_no_answer(server, name, backend, way, body):
    answers(server, Answer(raw=body))
    outcome = ask(assistant(server, name, gate(backend, retries=0)), way)
    assert isinstance(outcome.error, ProactError)
    assert (outcome.pieces, len(outcome.calls), len(server.sent)) == ([], 1, 1)


@ROUTES
@pytest.mark.parametrize("broken", ["silent", "idle"])
def test_silence_after_a_piece_is_a_time_out(server, name, backend, broken):
    through = gate(backend, retries=5)
    model = assistant(server, name, through)
    answers(server, Answer(COMPLETE, broken=broken))

    async def run():
        async with aclosing(streamed(Chat(), **INPUTS)) as pieces:
            async for _ in pieces:
                through.timeout = 0.1

    with collect_calls() as calls, pytest.raises(ProviderError):
        asyncio.run(awaited(model, run()))
    assert len(server.sent) == len(calls) == 1
    assert through.budget.reserved == Cost()


@ROUTES
def test_a_stream_that_is_closed_early_may_have_cost_the_most(server, name, backend):
    through = gate(backend, limits=AMPLE)
    answers(server, Answer(COMPLETE, broken="silent"))
    outcome = ask(assistant(server, name, through), "stream", most=1)
    assert (outcome.pieces, outcome.error, outcome.calls) == ([" "], None, [])
    assert through.budget.spent.calls == 1
    assert through.budget.spent.tokens > 8192
    assert through.budget.reserved == Cost()


def test_a_stream_that_is_closed_at_its_last_event_has_cost_what_it_says():
    through = gate()
    engine = GatedEngine(lambda: EmbeddedEngine(ASSISTANT.stand_in), through, EMBEDDED_CALLER)
    request = Request(model="embedded", messages=(Message.user("Where does the ferry leave?"),))

    async def run():
        async with aclosing(engine.stream(request)) as events:
            async for event in events:
                if event.type == "end":
                    return event.usage
        raise AssertionError("no end")

    with collect_calls() as calls:
        usage = asyncio.run(run())
    assert [call.prompt_tokens for call in calls] == [usage.input_tokens]
    assert through.budget.spent == Cost(calls=1, tokens=usage.input_tokens + usage.output_tokens)
    assert through.budget.reserved == Cost()


class Grudging:
    """An engine whose connections cannot be left without an error, as litellm's now and then."""

    async def stream(self, request):
        async with aclosing(EmbeddedEngine(ASSISTANT.stand_in).stream(request)) as events:
            async for event in events:
                try:
                    yield event
                except GeneratorExit:
                    raise ConnectionError("Connection closed") from None

    async def complete(self, request):
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            raise ConnectionError("Connection closed") from None


@pytest.mark.parametrize("full", [True, False], ids=["whole", "in pieces"])
def test_a_client_that_fails_over_being_left_is_no_failed_call(full):
    through = gate(limits=AMPLE)
    engine = GatedEngine(Grudging, through, EMBEDDED_CALLER)
    request = Request(model="embedded", messages=(Message.user("Where does the ferry leave?"),))

    async def left():
        if full:
            asking = asyncio.create_task(engine.complete(request))
            await asyncio.sleep(0.01)
            asking.cancel()
            await asking
        else:
            async with aclosing(engine.stream(request)) as events:
                await anext(events)

    with collect_calls() as calls, pytest.raises(ConnectionError):
        asyncio.run(left())
    assert calls == []
    assert through.budget.spent == most_of(request, EMBEDDED_CALLER.completion_limit, EMBEDDED_CALLER.price)
    assert through.budget.reserved == Cost()
    assert through.silent() is None


@ROUTES
def test_a_limit_of_calls_is_never_exceeded(server, name, backend):
    through = gate(backend, limits=Limits(calls=3))
    answers(server, Answer(COMPLETE))
    model = assistant(server, name, through)

    async def eight():
        return await asyncio.gather(*(read() for _ in range(8)))

    outcomes = asyncio.run(awaited(model, eight()))
    assert len(server.sent) == 3
    assert ["".join(pieces) for pieces, failure in outcomes if failure is None] == [COMPLETE] * 3
    assert [type(failure) for _, failure in outcomes if failure] == [LimitReached] * 5
