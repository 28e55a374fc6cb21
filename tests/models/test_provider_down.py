"""A provider that is down is told from one that fails now and then, and found out by one call."""

import asyncio
import socket

import dspy
from asking import ROUTES, WAYS, answers, ask, assistant, gate
from server import Answer, error

from dspy_proact.benchmarks.proactbench.programs import ASSISTANT, Assistant
from dspy_proact.calls import CallObserver
from dspy_proact.errors import ContentError, Interrupted, ProviderDown, ProviderError
from dspy_proact.models import ModelSpec, open_model
from dspy_proact.switch import Switch


@WAYS
def test_a_provider_that_fails_one_call_after_another_is_down(server, way):
    through = gate(retries=1, patience=3)
    model = assistant(server, "hosted_vllm/any", through)
    answers(server, error(500))
    assert [ask(model, way).error.reason for _ in range(3)] == ["server"] * 3
    assert isinstance(through.switch.halt, ProviderDown)
    assert str(through.switch.halt).startswith(
        "--model hosted_vllm/any: down. 3 calls in a row failed after all retries"
    )
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
