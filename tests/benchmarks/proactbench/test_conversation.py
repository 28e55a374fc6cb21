"""A conversation in each of its forms, from a file or as an assistant's history, and every refusal with its place."""

import asyncio
import json

import dspy
import pytest
from fakes.server import Answer
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact import ASSISTANT, Assistant, Gate, ModelSpec, Turn, open_model
from dspy_proact.benchmarks.proactbench.conversation import parse_transcript
from dspy_proact.errors import CorpusError, UsageError

TEXTS = ["My cat is ill.", "Poor cat.", "I travel tomorrow."]
TURNS = (Turn(user=TEXTS[0], assistant=TEXTS[1]), Turn(user=TEXTS[2], assistant=None))
ROLES = ("user", "assistant", "user")


def chat(*messages):
    return json.dumps([{"role": role, "content": content} for role, content in messages])


def read(text, source="talk.txt"):
    return parse_transcript(text if isinstance(text, bytes) else text.encode(), source)


def parsed(text, source="talk.txt"):
    return read(text, source).turns


def lines(*objects):
    return "".join(f"{json.dumps(item)}\n" for item in objects)


MESSAGES = [{"role": role, "content": text} for role, text in zip(ROLES, TEXTS, strict=True)]
OF_AN_API = {"refusal": None, "annotations": [], "audio": None, "tool_calls": None}
FORMS = {
    "chat messages": chat(*zip(ROLES, TEXTS, strict=True)),
    "turns": json.dumps([{"user": TEXTS[0], "assistant": TEXTS[1]}, {"user": TEXTS[2]}]),
    "turns with null": json.dumps([{"user": TEXTS[0], "assistant": TEXTS[1]}, {"user": TEXTS[2], "assistant": None}]),
    "plain text": f"User: {TEXTS[0]}\nAssistant: {TEXTS[1]}\nUser: {TEXTS[2]}\n",
    "plain text in other letters": f"\n\nUSER:{TEXTS[0]}\n\nassistant :\n{TEXTS[1]}\n\nuser:   {TEXTS[2]}",
    "ends of lines of another system": f"User: {TEXTS[0]}\r\nAssistant: {TEXTS[1]}\r\nUser: {TEXTS[2]}\r\n",
    "log of an API": json.dumps({"model": "gpt-4o", "messages": MESSAGES, "temperature": 1}),
    "log on one line among blank ones": "\n" + lines({"messages": MESSAGES}) + "\n",
    "log with what its messages might have had": json.dumps(
        {"messages": [message | OF_AN_API for message in MESSAGES]}
    ),
    "JSON lines of messages": lines(*MESSAGES),
    "JSON lines of turns": lines({"user": TEXTS[0], "assistant": TEXTS[1]}, {"user": TEXTS[2]}),
    "turns of DSPy's history": json.dumps(
        {"messages": [{"user_message": TEXTS[0], "response": TEXTS[1], "truncated": False}, {"user_message": TEXTS[2]}]}
    ),
    "text parts": json.dumps(
        [message | {"content": [{"type": "text", "text": message["content"]}]} for message in MESSAGES]
    ),
    "byte order mark": "\ufeff" + chat(*zip(ROLES, TEXTS, strict=True)),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_each_form_gives_the_same_turns(text):
    conversation = read(text)
    assert (conversation.turns, conversation.system) == (TURNS, None)


SYSTEM_MESSAGES = [{"role": "system", "content": "Be kind."}, {"role": "developer", "content": "Be brief."}]


WITH_SYSTEM = {
    "chat messages": (json.dumps([*SYSTEM_MESSAGES, *MESSAGES]), "Be kind.\n\nBe brief."),
    "log of an API": (json.dumps({"messages": [*SYSTEM_MESSAGES, *MESSAGES]}), "Be kind.\n\nBe brief."),
    "JSON lines": (lines(*SYSTEM_MESSAGES, *MESSAGES), "Be kind.\n\nBe brief."),
    "plain text": (f"\nsystem: Be kind.\n\nBe brief.\n{FORMS['plain text']}", "Be kind.\n\nBe brief."),
    "one that says nothing": (json.dumps([{"role": "system", "content": " "}, *MESSAGES]), None),
}


@pytest.mark.parametrize(("text", "system"), WITH_SYSTEM.values(), ids=WITH_SYSTEM)
def test_system_messages_before_the_others_are_kept_apart(text, system):
    conversation = read(text)
    assert (conversation.turns, conversation.system) == (TURNS, system)


SEVERAL = [
    # Parts of a message stand one below the other.
    (json.dumps([{"role": "user", "content": [{"text": text} for text in ("My cat", "is ill.")]}]), "My cat\nis ill."),
    # A separator of lines inside a text ends no line.
    (lines(*MESSAGES[:2]) + '{"role": "user", "content": "a\u2028b\x85d"}', "a\u2028b\x85d"),
    ("User: a\nAssistant: b\nUser: one\n\n  two\nSystem: Linux\n", "one\n\n  two\nSystem: Linux"),
]


@pytest.mark.parametrize(
    "text",
    [
        "Just this.",
        '{"a": 1}\nWhy is that?',
        "[urgent] My user: none",
        '{"a": 1} is what it prints. Why?',
        "42",
        '"quoted"',
        "a\n user: indented\nb",
        "[[[[",
    ],
)
def test_a_text_without_a_label_is_one_user_message(text):
    assert parsed(f"{text}\n") == (Turn(user=text, assistant=None),)


@pytest.mark.parametrize(("text", "user"), SEVERAL)
def test_a_message_keeps_its_lines(text, user):
    assert parsed(text)[-1].user == user


_LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1).filter(str.strip)


@given(st.lists(_LINES, min_size=1, max_size=7).filter(lambda text: len(text) % 2 == 1))
def test_what_is_written_as_chat_messages_is_read_again(message):
    roles = [("user", "assistant")[number % 2] for number in range(len(message))]
    turns = parsed(chat(*zip(roles, message, strict=True)))
    assert [text for turn in turns for text in (turn.user, turn.assistant) if text is not None] == message


USER, ANSWER, SYSTEM = ("user", "Hello."), ("assistant", "Yes?"), ("system", "Be kind.")
REFUSED = {
    "empty": ("", ["empty"]),
    "ends with the assistant": (chat(USER, ANSWER), ["[1]", "ends with an assistant message", "leave it out"]),
    "a text ends with the assistant": ("User: a\nAssistant: b", ["line 2", "ends with"]),
    "begins with the assistant": (chat(ANSWER, USER), ["[0]", "begins with an assistant message"]),
    "two of the user": (chat(USER, USER), ["[1]", "two user messages in a row", "make them one"]),
    "two of the assistant": (chat(USER, ANSWER, ANSWER, USER), ["[2]", "two assistant messages"]),
    "a turn without a response": ('[{"user": "a"}, {"user": "b"}]', ["[1].user", "two user messages in a row"]),
    "a system message after another": (chat(USER, ANSWER, SYSTEM, USER), ["[2]", "system message", "put it first"]),
    "nothing but a system message": (chat(SYSTEM), ["empty"]),
    "a blank message after a system message": ("System: be kind\nUser:\n", ["line 2", "user message is blank"]),
    "text before the first message": ("Notes\nUser: a", ["line 1", "stands before the first message", "User:"]),
    "unknown role": (chat(("tool", "x")), ["[0].role", "'tool'", "user or assistant"]),
    "unknown key": ('[{"role": "user", "content": "a", "name": "b"}]', ["[0]", "'name'", "role and content"]),
    "mixed forms": ('[{"role": "user", "user": "a"}]', ["[0]", "'user'"]),
    "no content": ('[{"role": "user"}]', ["[0]", "'content'", "missing"]),
    "no user": ('[{"assistant": "a"}]', ["[0]", "'user'", "missing"]),
    "a part without a text": ('[{"role": "user", "content": [{"type": "text"}]}]', ["[0].content[0]", "text parts"]),
    "a call of a tool": ('[{"role": "user", "content": "a", "tool_calls": [{"id": "1"}]}]', ["[0]", "'tool_calls'"]),
    "blank content": (chat(("user", " \n")), ["[0].content", "blank"]),
    "blank message in a text": ("User: a\nAssistant:\nUser: b", ["line 2", "assistant message is blank"]),
    "a log that is none": ('{"messages": "a"}', ["messages", "a list of messages or of turns is expected", "'a'"]),
    "an object": ('{"a": 1}', ["the key 'a' is not known", "role and content"]),
    "several conversations": (lines({"messages": MESSAGES}, {"messages": []}), ["line 1", "2 lines", "give one"]),
    "a list of texts": ('["a"]', ["[0]", "an object is expected"]),
    "a message a line": ('{"role": "user", "content": "a"}\n{"role": "user"}', ["line 2", "'content'", "missing"]),
    "a broken line": (lines(MESSAGES[0]) + '{"role": "assistant",', ["line 2", "not JSON"]),
    "broken JSON": ('[{"role": "user",', ["line 1", "not JSON", "User:"]),
    "a number without end": (f'[{{"role": {"1" * 5000}}}]', ["[0].role", "at most 19 digits, not 5000"]),
    "too deep": (f'[{{"user": {"[" * 99999}', ["levels deep"]),
    "key twice": ('[{"user": "a", "user": "b"}]', ["twice"]),
    "lone surrogate": ('[{"role": "user", "content": "\\ud800"}]', ["[0].content", "lone surrogate"]),
    "NUL": ("User: a\nb\0c", ["line 2", "NUL"]),
    "another encoding": ("User: \u00e4".encode("latin-1"), ["UTF-8"]),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_responded_to_is_refused_with_its_place_and_its_mend(text, message):
    with pytest.raises(CorpusError) as error:
        parsed(text)
    assert str(error.value).startswith("talk.txt")
    assert not [words for words in message if words not in str(error.value)], str(error.value)


def test_a_file_is_read_by_its_name():
    for name in ("talk.json", "talk.jsonl"):
        with pytest.raises(CorpusError, match=r"not JSON.*another name"):
            parsed("User: a", name)


# The history of an assistant, over HTTP

PAIRS = [("My cat is ill.", "Poor cat."), ("I travel on Friday.", "")]
CHAT = [
    message
    for user, answer in PAIRS
    for message in ({"role": "user", "content": user}, {"role": "assistant", "content": answer})
]
PAST_TURNS = [{"user": user, "assistant": answer} for user, answer in PAIRS]
PREDICTED = [{"user_message": user, "response": answer, "truncated": False} for user, answer in PAIRS]
LAST = {"role": "user", "content": "Thanks!"}
HISTORIES = {
    "turns": [Turn(user=user, assistant=answer) for user, answer in PAIRS],
    "a tuple of turns": tuple(Turn(user=user, assistant=answer) for user, answer in PAIRS),
    "objects of turns": PAST_TURNS,
    "messages": CHAT,
    "messages in parts": [item | {"content": [{"type": "text", "text": item["content"]}]} for item in CHAT],
    "a log": {"messages": CHAT, "model": "gpt-4o"},
    "a log from JSON": json.loads(json.dumps({"messages": CHAT})),
    "DSPy's history of messages": dspy.History(messages=CHAT),
    "DSPy's history of turns": dspy.History(messages=PAST_TURNS),
    "DSPy's history of predictions": dspy.History(messages=PREDICTED),
    "mixed": [PAST_TURNS[0], *CHAT[2:]],
}


def opened(server):
    server.script = lambda sent: Answer("Bon voyage.")
    spec = ModelSpec(name="hosted_vllm/any", api_base=server.assistant)
    return open_model(spec, ASSISTANT, Gate(retries=0, backoff=0.001))


def messages_of(server, history, assistant=None):
    with dspy.context(lm=opened(server).lm):
        (assistant or Assistant())(history=history, user_message=LAST["content"])
    return server.sent[-1].messages


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_each_form_of_a_history_is_sent_as_the_same_chat(server, history):
    assert messages_of(server, history) == [*CHAT, LAST]


@pytest.mark.parametrize("history", [None, [], (), {"messages": []}, dspy.History(messages=[])], ids=repr)
def test_no_history_is_none(server, history):
    assert messages_of(server, history) == [LAST]


def test_each_way_to_ask_takes_them_and_an_answer_is_history_of_the_next_question(server):
    model, question = opened(server), "I travel on Friday."

    async def all_ways():
        with dspy.context(lm=model.lm):
            first = await Assistant().acall(history=None, user_message=question)
            history = dspy.History(messages=[{"user_message": question, **first}])
            await Assistant().acall(history=history, user_message="Thanks!")
            assert [piece async for piece in Assistant().stream(history, "Thanks!")]
        await model.aclose()

    asyncio.run(all_ways())
    texts = [question, "Bon voyage.", "Thanks!"]
    assert [[message["content"] for message in sent.messages] for sent in server.sent[1:]] == [texts] * 2


def test_a_system_message_comes_after_the_prompt_of_the_assistant(server):
    bare = Assistant()
    fields = {"role": "system", "content": "Be kind.\n\nBe brief."}
    assert messages_of(server, [*SYSTEM_MESSAGES, *CHAT], bare) == [fields, *CHAT, LAST]
    assert messages_of(server, {"messages": SYSTEM_MESSAGES}, bare) == [fields, LAST]
    assert messages_of(server, CHAT, bare) == [*CHAT, LAST], "it is of that call alone"
    sent = messages_of(server, [*SYSTEM_MESSAGES, *CHAT], Assistant("Look ahead."))
    assert sent == [{"role": "system", "content": "Look ahead.\n\nBe kind.\n\nBe brief."}, *CHAT, LAST]


NO_HISTORIES = {
    "a text": ("Hello.", ["history: a list of messages or of turns is expected, not 'Hello.'"]),
    "a list of texts": (["Hello."], ["history[0]: an object is expected, not 'Hello.'"]),
    "no user": ([{"assistant": "b"}], ["history[0]: the key 'user' is missing"]),
    "not a text": ([{"user": 3, "assistant": "b"}], ["history[0].user: must be a text, not 3"]),
    "an image": ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, ["history.messages[0].content"]),
    "the last message in it": ([*CHAT, LAST], ["history: a turn awaits its response", "`user_message`"]),
    "a turn that awaits its response": ([Turn(user="a", assistant=None)], ["awaits its response"]),
}


@pytest.mark.parametrize(("history", "text"), NO_HISTORIES.values(), ids=NO_HISTORIES)
def test_what_is_none_is_refused_in_a_sentence(server, history, text):
    with pytest.raises(UsageError) as caught:
        messages_of(server, history)
    assert not [words for words in text if words not in str(caught.value)], str(caught.value)
    assert not server.sent
