"""One model in several event loops and for several questions at once."""

import asyncio
import gc

import dspy
from asking import ROUTES, answers, ask, assistant, gate
from server import Answer, error

from dspy_proact.benchmarks.proactbench.programs import Assistant
from dspy_proact.calls import collect_calls


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


def test_nothing_of_litellms_is_dropped_while_it_waits_when_the_loop_changes(server, caplog):
    """It keeps a task for the loop that called it last, and forgets it when another one calls."""
    for way in ("sync", "async", "sync", "async"):
        assert ask(assistant(server, "hosted_vllm/any", gate("litellm")), way).error is None
        gc.collect()
    assert "destroyed" not in caplog.text
