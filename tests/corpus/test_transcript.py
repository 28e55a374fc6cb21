"""A conversation of a person's own: three forms, and every refusal with its place and its mend."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.corpus import parse_transcript, read_transcript
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.types import Turn

SAID = ["My cat is ill.", "Poor cat.", "I travel tomorrow."]
TURNS = (Turn(user=SAID[0], assistant=SAID[1]), Turn(user=SAID[2], assistant=None))
ROLES = ("user", "assistant", "user")


def chat(*messages):
    return json.dumps([{"role": role, "content": content} for role, content in messages])


def parsed(text, source="talk.txt"):
    return parse_transcript(text if isinstance(text, bytes) else text.encode(), source)


FORMS = {
    "chat messages": chat(*zip(ROLES, SAID, strict=True)),
    "turns": json.dumps([{"user": SAID[0], "assistant": SAID[1]}, {"user": SAID[2]}]),
    "turns with null": json.dumps([{"user": SAID[0], "assistant": SAID[1]}, {"user": SAID[2], "assistant": None}]),
    "plain text": f"User: {SAID[0]}\nAssistant: {SAID[1]}\nUser: {SAID[2]}\n",
    "plain text in other letters": f"\n\nUSER:{SAID[0]}\n\nassistant :\n{SAID[1]}\n\nuser:   {SAID[2]}",
    "ends of lines of another system": f"User: {SAID[0]}\r\nAssistant: {SAID[1]}\r\nUser: {SAID[2]}\r\n",
    "byte order mark": "\ufeff" + chat(*zip(ROLES, SAID, strict=True)),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_each_form_gives_the_same_turns(text):
    assert parsed(text) == TURNS


@pytest.mark.parametrize(
    "text",
    [
        "Just this.",
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
    assert read_transcript(str(path)) == TURNS


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
    "system message": (chat(SYSTEM, USER), ["[0]", "system message", "TEXT"]),
    "developer message": (chat(("developer", "Be kind."), USER), ["[0]", "system message", "TEXT"]),
    "system message in a text": ("\nSystem: be kind\nUser: a", ["line 2", "system message", "TEXT"]),
    "text before the first message": ("Notes\nUser: a", ["line 1", "stands before the first message", "User:"]),
    "unknown role": (chat(("tool", "x")), ["[0].role", "'tool'", "user or assistant"]),
    "role that is no text": ('[{"role": ["user"], "content": "x"}]', ["[0].role", "a list"]),
    "unknown key": ('[{"role": "user", "content": "a", "name": "b"}]', ["[0]", "'name'", "role and content"]),
    "unknown key of a turn": ('[{"user": "a", "time": 1}]', ["[0]", "'time'"]),
    "mixed forms": ('[{"role": "user", "user": "a"}]', ["[0]", "'user'"]),
    "no content": ('[{"role": "user"}]', ["[0]", "'content'", "missing"]),
    "no user": ('[{"assistant": "a"}]', ["[0]", "'user'", "missing"]),
    "content in parts": ('[{"role": "user", "content": [{"type": "text"}]}]', ["[0].content", "a list"]),
    "content is null": ('[{"role": "user", "content": null}]', ["[0].content", "null"]),
    "blank content": (chat(("user", " \n")), ["[0].content", "blank"]),
    "blank message in a text": ("User: a\nAssistant:\nUser: b", ["line 2", "assistant message is blank"]),
    "an object": ('{"messages": []}', ["a list of messages or of turns is expected", "[ ]"]),
    "a list of texts": ('["a"]', ["[0]", "an object is expected"]),
    "a message a line": ('{"role": "user", "content": "a"}\n{"role": "user"}', ["line 2", "not JSON"]),
    "broken JSON": ('[{"role": "user",', ["line 1", "not JSON", "User:"]),
    "a number without end": (f'[{{"role": {"1" * 5000}}}]', ["not JSON"]),
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


@pytest.mark.parametrize("name", ["missing.txt", "."])
def test_what_is_no_file_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"no such file|folder"):
        read_transcript(name)
