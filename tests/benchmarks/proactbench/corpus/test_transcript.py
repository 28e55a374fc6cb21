"""A conversation of a person's own: its forms, and every refusal with its place and its mend."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.benchmarks.proactbench.conversation import parse_transcript, read_transcript
from dspy_proact.benchmarks.proactbench.types import Turn
from dspy_proact.errors import CorpusError, UsageError

SAID = ["My cat is ill.", "Poor cat.", "I travel tomorrow."]
TURNS = (Turn(user=SAID[0], assistant=SAID[1]), Turn(user=SAID[2], assistant=None))
ROLES = ("user", "assistant", "user")


def chat(*messages):
    return json.dumps([{"role": role, "content": content} for role, content in messages])


def read(text, source="talk.txt"):
    return parse_transcript(text if isinstance(text, bytes) else text.encode(), source)


def parsed(text, source="talk.txt"):
    return read(text, source).turns


def lines(*objects):
    return "".join(f"{json.dumps(each)}\n" for each in objects)


MESSAGES = [{"role": role, "content": text} for role, text in zip(ROLES, SAID, strict=True)]
OF_AN_API = {"refusal": None, "annotations": [], "audio": None, "tool_calls": None}


FORMS = {
    "chat messages": chat(*zip(ROLES, SAID, strict=True)),
    "turns": json.dumps([{"user": SAID[0], "assistant": SAID[1]}, {"user": SAID[2]}]),
    "turns with null": json.dumps([{"user": SAID[0], "assistant": SAID[1]}, {"user": SAID[2], "assistant": None}]),
    "plain text": f"User: {SAID[0]}\nAssistant: {SAID[1]}\nUser: {SAID[2]}\n",
    "plain text in other letters": f"\n\nUSER:{SAID[0]}\n\nassistant :\n{SAID[1]}\n\nuser:   {SAID[2]}",
    "ends of lines of another system": f"User: {SAID[0]}\r\nAssistant: {SAID[1]}\r\nUser: {SAID[2]}\r\n",
    "log of an API": json.dumps({"model": "gpt-4o", "messages": MESSAGES, "temperature": 1}),
    "log on one line among blank ones": "\n" + lines({"messages": MESSAGES}) + "\n",
    "log with what its messages might have had": json.dumps({"messages": [each | OF_AN_API for each in MESSAGES]}),
    "JSON lines of messages": lines(*MESSAGES),
    "JSON lines of turns": lines({"user": SAID[0], "assistant": SAID[1]}, {"user": SAID[2]}),
    "turns of DSPy's history": json.dumps(
        {"messages": [{"user_message": SAID[0], "response": SAID[1], "truncated": False}, {"user_message": SAID[2]}]}
    ),
    "text parts": json.dumps(
        [each | {"content": [{"type": "text", "text": each["content"]}]} for each in MESSAGES],
    ),
    "byte order mark": "\ufeff" + chat(*zip(ROLES, SAID, strict=True)),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_each_form_gives_the_same_turns(text):
    assert parsed(text) == TURNS


SYSTEM_MESSAGES = [{"role": "system", "content": "Be kind."}, {"role": "developer", "content": "Be brief."}]
TOLD = {
    "chat messages": json.dumps([*SYSTEM_MESSAGES, *MESSAGES]),
    "log of an API": json.dumps({"messages": [*SYSTEM_MESSAGES, *MESSAGES]}),
    "JSON lines": lines(*SYSTEM_MESSAGES, *MESSAGES),
    "plain text": f"\nsystem: Be kind.\n\nBe brief.\n{FORMS['plain text']}",
}


@pytest.mark.parametrize("text", TOLD.values(), ids=TOLD)
def test_system_messages_before_the_others_are_kept_apart(text):
    conversation = read(text)
    assert (conversation.turns, conversation.system) == (TURNS, "Be kind.\n\nBe brief.")


def test_a_system_message_that_says_nothing_is_none():
    assert read(json.dumps([{"role": "system", "content": " "}, *MESSAGES])).system is None
    assert read(FORMS["chat messages"]).system is None


def test_parts_of_a_message_stand_one_below_the_other():
    parts = [{"type": "text", "text": text} for text in ("My cat", "is ill.")]
    assert parsed(json.dumps([{"role": "user", "content": parts}])) == (Turn(user="My cat\nis ill.", assistant=None),)


def test_a_separator_of_lines_inside_a_text_ends_no_line():
    said = [message | {"content": "a\u2028b\x0cc\x85d"} for message in MESSAGES]
    text = "\n".join(json.dumps(each, ensure_ascii=False) for each in said)
    assert [turn.user for turn in parsed(text)] == ["a\u2028b\x0cc\x85d"] * 2


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


def test_a_message_keeps_its_lines():
    assert parsed("User: one\n\n  two\nSystem: Linux\nAssistant: three\nUser: four") == (
        Turn(user="one\n\n  two\nSystem: Linux", assistant="three"),
        Turn(user="four", assistant=None),
    )


def test_a_file_is_read(tmp_path):
    path = tmp_path / "talk.json"
    path.write_text(FORMS["turns"], encoding="utf-8")
    assert read_transcript(str(path)).turns == TURNS


_LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1).filter(str.strip)


@given(st.lists(_LINES, min_size=1, max_size=7).filter(lambda said: len(said) % 2 == 1))
def test_what_is_written_as_chat_messages_is_read_again(said):
    roles = [("user", "assistant")[number % 2] for number in range(len(said))]
    turns = parsed(chat(*zip(roles, said, strict=True)))
    assert [text for turn in turns for text in (turn.user, turn.assistant) if text is not None] == said


USER, ASSISTANT, SYSTEM = ("user", "Hello."), ("assistant", "Yes?"), ("system", "Be kind.")
REFUSED = {
    "empty": ("", ["empty"]),
    "blank": (" \n\t\n", ["empty"]),
    "empty list": ("[]", ["empty"]),
    "ends with the assistant": (chat(USER, ASSISTANT), ["[1]", "ends with an assistant message", "leave it out"]),
    "a turn ends with the assistant": ('[{"user": "a", "assistant": "b"}]', ["[0].assistant", "ends with"]),
    "a text ends with the assistant": ("User: a\nAssistant: b", ["line 2", "ends with"]),
    "begins with the assistant": (chat(ASSISTANT, USER), ["[0]", "begins with an assistant message"]),
    "a text begins with the assistant": ("Assistant: b\nUser: a", ["line 1", "begins with"]),
    "two of the user": (chat(USER, USER), ["[1]", "two user messages in a row", "make them one"]),
    "two of the user in a text": ("User: a\nb\nUser: c", ["line 3", "two user messages in a row"]),
    "two of the assistant": (chat(USER, ASSISTANT, ASSISTANT, USER), ["[2]", "two assistant messages"]),
    "a turn without a response": ('[{"user": "a"}, {"user": "b"}]', ["[1].user", "two user messages in a row"]),
    "a system message after another": (chat(USER, ASSISTANT, SYSTEM, USER), ["[2]", "system message", "put it first"]),
    "nothing but a system message": (chat(SYSTEM), ["empty"]),
    "a blank message after a system message": ("System: be kind\nUser:\n", ["line 2", "user message is blank"]),
    "text before the first message": ("Notes\nUser: a", ["line 1", "stands before the first message", "User:"]),
    "unknown role": (chat(("tool", "x")), ["[0].role", "'tool'", "user or assistant"]),
    "role that is no text": ('[{"role": ["user"], "content": "x"}]', ["[0].role", "a list"]),
    "unknown key": ('[{"role": "user", "content": "a", "name": "b"}]', ["[0]", "'name'", "role and content"]),
    "unknown key of a turn": ('[{"user": "a", "time": 1}]', ["[0]", "'time'"]),
    "mixed forms": ('[{"role": "user", "user": "a"}]', ["[0]", "'user'"]),
    "no content": ('[{"role": "user"}]', ["[0]", "'content'", "missing"]),
    "no user": ('[{"assistant": "a"}]', ["[0]", "'user'", "missing"]),
    "a part without a text": ('[{"role": "user", "content": [{"type": "text"}]}]', ["[0].content[0]", "text parts"]),
    "an image": (
        '{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}',
        ["messages[0].content[0]", "leave images and files out"],
    ),
    "no parts": ('[{"role": "user", "content": []}]', ["[0].content", "a list"]),
    "a call of a tool": ('[{"role": "user", "content": "a", "tool_calls": [{"id": "1"}]}]', ["[0]", "'tool_calls'"]),
    "content is null": ('[{"role": "user", "content": null}]', ["[0].content", "null"]),
    "blank content": (chat(("user", " \n")), ["[0].content", "blank"]),
    "blank message in a text": ("User: a\nAssistant:\nUser: b", ["line 2", "assistant message is blank"]),
    "a log without a message": ('{"messages": []}', ["empty"]),
    "a log that is none": ('{"messages": "a"}', ["messages", "a list of messages or of turns is expected", "'a'"]),
    "an object": ('{"a": 1}', ["the key 'a' is not known", "role and content"]),
    "turns of another signature": ('{"messages": [{"question": "a", "answer": "b"}]}', ["messages[0]", "'question'"]),
    "several conversations": (lines({"messages": MESSAGES}, {"messages": []}), ["line 1", "2 lines", "give one"]),
    "a list of texts": ('["a"]', ["[0]", "an object is expected"]),
    "a message a line": ('{"role": "user", "content": "a"}\n{"role": "user"}', ["line 2", "'content'", "missing"]),
    "a broken line": (lines(MESSAGES[0]) + '{"role": "assistant",', ["line 2", "not JSON"]),
    "broken JSON": ('[{"role": "user",', ["line 1", "not JSON", "User:"]),
    "a number without end": (f'[{{"role": {"1" * 5000}}}]', ["[0].role", "at most 18 digits, not 5000"]),
    "too deep": (f'[{{"user": {"[" * 99999}', ["levels deep"]),
    "key twice": ('[{"user": "a", "user": "b"}]', ["twice"]),
    "lone surrogate": ('[{"role": "user", "content": "\\ud800"}]', ["[0].content", "lone surrogate"]),
    "NUL": ("User: a\nb\0c", ["line 2", "NUL"]),
    "not UTF-8": (b"User: a\n\xff", ["line 2", "UTF-8"]),
    "another encoding": ("User: a".encode("utf-16"), ["UTF-8"]),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_responded_to_is_refused_with_its_place_and_its_mend(text, said):
    with pytest.raises(CorpusError) as error:
        parsed(text)
    assert str(error.value).startswith("talk.txt")
    assert not [words for words in said if words not in str(error.value)], str(error.value)


def test_a_file_called_json_is_json():
    with pytest.raises(CorpusError, match=r"not JSON.*another name"):
        parsed("User: a", "talk.json")
    with pytest.raises(CorpusError, match=r"not JSON.*another name"):
        parsed("User: a", "talk.jsonl")


@pytest.mark.parametrize("name", ["missing.txt", "."])
def test_what_is_no_file_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"no such file|folder"):
        read_transcript(name)
