"""The history that an assistant is given, in every form that the field has, over real HTTP."""

import asyncio
import json

import dspy
import pytest
from server import Answer

from dspy_proact.benchmarks.proactbench.programs import ASSISTANT, Assistant
from dspy_proact.benchmarks.proactbench.types import Turn
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, ModelSpec, open_model

SAID = [("My cat is ill.", "Poor cat."), ("I travel on Friday.", "")]
CHAT = [
    message
    for user, answer in SAID
    for message in ({"role": "user", "content": user}, {"role": "assistant", "content": answer})
]
TURNS = [{"user": user, "assistant": answer} for user, answer in SAID]
PREDICTED = [{"user_message": user, "response": answer, "truncated": False} for user, answer in SAID]
LAST = {"role": "user", "content": "Thanks!"}
FORMS = {
    "turns": [Turn(user=user, assistant=answer) for user, answer in SAID],
    "a tuple of turns": tuple(Turn(user=user, assistant=answer) for user, answer in SAID),
    "objects of turns": TURNS,
    "messages": CHAT,
    "messages in parts": [each | {"content": [{"type": "text", "text": each["content"]}]} for each in CHAT],
    "a log": {"messages": CHAT, "model": "gpt-4o"},
    "a log from JSON": json.loads(json.dumps({"messages": CHAT})),
    "DSPy's history of messages": dspy.History(messages=CHAT),
    "DSPy's history of turns": dspy.History(messages=TURNS),
    "DSPy's history of predictions": dspy.History(messages=PREDICTED),
    "mixed": [TURNS[0], *CHAT[2:]],
}


def opened(server):
    server.script = lambda sent: Answer("Bon voyage.")
    spec = ModelSpec(name="hosted_vllm/any", api_base=server.assistant)
    return open_model(spec, ASSISTANT, Gate(retries=0, backoff=0.001))


def asked(server, history, assistant=None):
    with dspy.context(lm=opened(server).lm):
        (assistant or Assistant())(history=history, user_message=LAST["content"])
    return server.sent[-1].messages


@pytest.mark.parametrize("history", FORMS.values(), ids=FORMS)
def test_each_form_is_sent_as_the_same_chat(server, history):
    assert asked(server, history) == [*CHAT, LAST]


@pytest.mark.parametrize("history", [None, [], (), {"messages": []}, dspy.History(messages=[])], ids=repr)
def test_no_history_is_none(server, history):
    assert asked(server, history) == [LAST]


def test_each_way_to_ask_takes_them(server):
    model = opened(server)

    async def all_ways():
        history = dspy.History(messages=CHAT)
        with dspy.context(lm=model.lm):
            await Assistant().acall(history=history, user_message="Thanks!")
            assert [piece async for piece in Assistant().stream(history, "Thanks!")]
        await model.aclose()

    asyncio.run(all_ways())
    assert [sent.messages for sent in server.sent] == [[*CHAT, LAST]] * 2


def test_what_an_assistant_answered_is_history_of_the_next_question(server):
    with dspy.context(lm=opened(server).lm):
        assistant = Assistant()
        first = assistant(history=None, user_message="I travel on Friday.")
        history = dspy.History(messages=[{"user_message": "I travel on Friday.", **first}])
        assistant(history=history, user_message="Thanks!")
    said = ["I travel on Friday.", "Bon voyage.", "Thanks!"]
    assert [message["content"] for message in server.sent[-1].messages] == said


SYSTEM = [{"role": "system", "content": "Be kind."}, {"role": "developer", "content": "Be brief."}]


def test_a_system_message_is_the_prompt_of_an_assistant_without_one(server):
    bare = Assistant()
    told = {"role": "system", "content": "Be kind.\n\nBe brief."}
    assert asked(server, [*SYSTEM, *CHAT], bare) == [told, *CHAT, LAST]
    assert asked(server, {"messages": SYSTEM}, bare) == [told, LAST]
    assert asked(server, CHAT, bare) == [*CHAT, LAST], "it is of that call alone"


def test_a_system_message_is_left_out_with_a_warning_where_there_is_a_prompt(server):
    with pytest.warns(UserWarning, match="its system message is left out"):
        sent = asked(server, [*SYSTEM, *CHAT], Assistant("Look ahead."))
    assert sent == [{"role": "system", "content": "Look ahead."}, *CHAT, LAST]


REFUSED = {
    "a text": ("Hello.", ["history: a list of messages or of turns is expected, not 'Hello.'"]),
    "a number": (3, ["not 3"]),
    "a list of texts": (["Hello."], ["history[0]: an object is expected, not 'Hello.'"]),
    "other keys": ([{"question": "a", "answer": "b"}], ["history[0]", "'question'", "role and content"]),
    "no user": ([{"assistant": "b"}], ["history[0]: the key 'user' is missing"]),
    "not a text": ([{"user": 3, "assistant": "b"}], ["history[0].user: must be a text, not 3"]),
    "another role": ([{"role": "tool", "content": "x"}], ["history[0].role", "'tool'"]),
    "an image": ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, ["history.messages[0].content"]),
    "two in a row": ([CHAT[0], CHAT[0]], ["history[1].content: two user messages in a row"]),
    "begins with the assistant": (CHAT[1:], ["history[0].content: begins with an assistant message"]),
    "the last message in it": ([*CHAT, LAST], ["history: a turn awaits its response", "`user_message`"]),
    "a turn that awaits its response": ([Turn(user="a", assistant=None)], ["awaits its response"]),
}


@pytest.mark.parametrize(("history", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_none_is_refused_in_a_sentence(server, history, said):
    with pytest.raises(UsageError) as caught:
        asked(server, history)
    assert not [words for words in said if words not in str(caught.value)], str(caught.value)
    assert not server.sent
