"""Logs of conversations: how records become conversations, and what is left out; forms are in test_chat_records."""

import json

import pytest

from dspy_proact.files.chats import LoggedTurn, chats_in


@pytest.fixture
def log(tmp_path):
    """Writes records as a JSONL file and reads it as a log."""

    def read(*records, name="chats.jsonl"):
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
        return chats_in(path)

    return read


def messages(*texts, **fields):
    """A record of messages, of user and assistant in turn."""
    roles = ("user", "assistant") * len(texts)
    return {"messages": [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)], **fields}


def texts_of(chat):
    return [turn.text for turn in chat.turns]


def test_a_line_of_messages_is_a_conversation(log):
    (chat,) = log(messages("My oven is cold.", "Since when?", "Since Monday.", "Then reset it."))
    assert chat.turns[0] == LoggedTurn("user", "My oven is cold.")
    assert texts_of(chat) == ["My oven is cold.", "Since when?", "Since Monday.", "Then reset it."]
    assert (chat.answered, chat.time, chat.source.rpartition("/")[2]) == (2, None, "chats.jsonl on line 1")


def test_calls_that_repeat_the_history_are_joined_without_doubling_turns(log):
    (chat,) = log(
        messages("a", session_id="s") | {"response": "b"},
        messages("a", "b", "c", session_id="s") | {"response": "d"},
        messages("a", "b", "c", "d", "e", "f", session_id="s"),
    )
    assert texts_of(chat) == ["a", "b", "c", "d", "e", "f"]
