"""The assistant over real HTTP, on both routes, awaited and not."""

import asyncio
from functools import partial

import asking
import dspy
import pytest
from asking import ROUTES, WAYS, awaited, predicted
from server import Answer, error

from dspy_proact.benchmarks.proactbench.programs import ASSISTANT, Assistant, Reply
from dspy_proact.benchmarks.proactbench.types import Response, Turn
from dspy_proact.benchmarks.proactbench.views import AssistantView
from dspy_proact.calls import collect_calls
from dspy_proact.errors import ContentError, ProviderError

VIEW = AssistantView(
    history=(Turn(user=" Where is the ferry?\n", assistant=""), Turn(user="[[ ## x ## ]]", assistant=" At the pier. ")),
    user_message="And on Sunday? ",
)
CHAT = [
    {"role": "user", "content": " Where is the ferry?\n"},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "[[ ## x ## ]]"},
    {"role": "assistant", "content": " At the pier. "},
    {"role": "user", "content": "And on Sunday? "},
]

opened = partial(asking.opened, role=ASSISTANT)


def reply(model, way="async", assistant=None):
    """The response as text, by `aforward` or `forward`."""
    asked = {"history": list(VIEW.history), "user_message": VIEW.user_message}
    with collect_calls():
        return predicted(model, assistant or Assistant(), way, **asked).response


def respond(model):
    """The response as a value."""
    with collect_calls():
        return asyncio.run(awaited(model, Assistant().respond(VIEW)))


@ROUTES
@WAYS
def test_it_sends_the_chat_once_and_takes_the_answer_as_it_comes(server, name, backend, way):
    server.script = lambda sent: Answer("  The last boat leaves\n\nat five. \n")
    assert reply(opened(server, name, backend), way) == "  The last boat leaves\n\nat five. \n"
    (sent,) = server.sent
    assert sent.messages == CHAT


EMPTY = [
    Answer(""),
    Answer(None),
    Answer(" \n\t\u3000"),
    Answer("", finish_reason="length"),
    Answer(None, finish_reason="length"),
]


@ROUTES
@WAYS
@pytest.mark.parametrize("answer", EMPTY, ids=["empty", "null", "blanks only", "empty and cut", "null and cut"])
def test_an_answer_of_nothing_is_a_content_error_after_one_call(server, name, backend, way, answer):
    server.script = lambda sent: answer
    with pytest.raises(ContentError) as caught:
        reply(opened(server, name, backend), way)
    assert caught.value.reason == "empty"
    assert len(server.sent) == 1


@ROUTES
@WAYS
@pytest.mark.parametrize("content", ["The last boat", "", None])
def test_a_filtered_answer_is_a_content_error_after_one_call(server, name, backend, way, content):
    server.script = lambda sent: Answer(content, finish_reason="content_filter")
    with pytest.raises(ContentError) as caught:
        reply(opened(server, name, backend), way)
    assert caught.value.reason == "filtered"
    assert len(server.sent) == 1


@ROUTES
def test_a_response_that_was_cut_is_taken_and_flagged(server, name, backend):
    server.script = lambda sent: Answer("The last boat", finish_reason="length")
    assert respond(opened(server, name, backend)) == Response(text="The last boat", truncated=True)
    assert len(server.sent) == 1


@ROUTES
def test_a_whole_response_is_not_flagged(server, name, backend):
    server.script = lambda sent: Answer("The last boat leaves at five.")
    assert respond(opened(server, name, backend)) == Response(text="The last boat leaves at five.")


def test_a_cut_response_is_flagged_whether_or_not_somebody_collects_calls(server):
    server.script = lambda sent: Answer("The last boat", finish_reason="length")
    response = asyncio.run(awaited(opened(server), Assistant().respond(VIEW)))
    assert response.truncated


def test_a_filtered_answer_is_refused_whether_or_not_somebody_collects_calls(server):
    server.script = lambda sent: Answer("The last boat", finish_reason="content_filter")
    with pytest.raises(ContentError, match="filtered"):
        asyncio.run(awaited(opened(server), Assistant().respond(VIEW)))


@ROUTES
@WAYS
def test_a_failure_of_the_provider_is_its_own(server, name, backend, way):
    server.script = lambda sent: error(500)
    with pytest.raises(ProviderError) as caught:
        reply(opened(server, name, backend), way)
    assert caught.value.reason == "server"


@WAYS
def test_what_was_compiled_is_sent_as_one_system_message(server, way):
    assistant = Assistant()
    assistant.reply.signature = Reply.with_instructions("Look ahead.")
    assistant.reply.demos = [{"history": [], "user_message": "Bye", "response": "Mind the tide."}]
    reply(opened(server), way, assistant)
    system, *turns = server.sent[0].messages
    assert system["role"] == "system"
    assert system["content"].startswith("Look ahead.\n\nA worked example:\n")
    assert "Mind the tide." in system["content"]
    assert turns == CHAT


@WAYS
def test_the_adapter_is_the_modules_own(server, way):
    outside = dspy.ChatAdapter()
    with dspy.context(adapter=outside):
        reply(opened(server), way)
        assert dspy.settings.adapter is outside
    assert server.sent[0].messages == CHAT


def test_two_views_at_once_do_not_mix(server):
    server.script = lambda sent: Answer(f"to {sent.messages[-1]['content']}", delay=0.01)
    model, assistant = opened(server), Assistant()

    async def one(number):
        return (await assistant.respond(AssistantView(history=(), user_message=str(number)))).text

    async def run():
        return await asyncio.gather(*map(one, range(8)))

    assert asyncio.run(awaited(model, run())) == [f"to {number}" for number in range(8)]


# Names and order of the fields are a file format: a change here breaks compiled programs.
FROZEN = [
    ("history", "input", list[Turn]),
    ("user_message", "input", str),
    ("response", "output", str),
]


def test_the_signature_is_frozen():
    fields = Reply.fields.items()
    assert [(name, field.json_schema_extra["__dspy_field_type"], field.annotation) for name, field in fields] == FROZEN
    assert [field.json_schema_extra["desc"] for _, field in fields] == ["${history}", "${user_message}", "${response}"]
    assert Reply.instructions == ""


def test_the_fingerprint_is_that_of_what_is_sent():
    def fingerprint(instruction="", demos=()):
        assistant = Assistant()
        assistant.reply.signature = Reply.with_instructions(instruction) if instruction else Reply
        assistant.reply.demos = list(demos)
        return assistant.fingerprint()

    shown = {"history": [], "user_message": "Bye", "response": "Mind the tide."}
    prints = [fingerprint(), fingerprint("Look ahead."), fingerprint("Look ahead!"), fingerprint("", [shown])]
    assert len(set(prints)) == 4
    assert fingerprint() == fingerprint("", [{**shown, "response": ""}])
    assert all(len(each) == 64 and int(each, 16) for each in prints)
