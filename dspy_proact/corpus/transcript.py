"""A conversation of a person's own, whose last user message awaits its response.

Three forms are read:

    JSON list of chat messages   [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}, ...]
    JSON list of turns           [{"user": "...", "assistant": "..."}, {"user": "..."}]
    plain text                   a line that begins with `User:` or `Assistant:`, in any case, begins a message;
                                 a text without any such line is one user message

Messages alternate, and a user message is the first and the last.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dspy_proact.corpus.line import shown
from dspy_proact.corpus.ratings.json_list import Element, elements
from dspy_proact.corpus.text_file import lines_of, read_bytes
from dspy_proact.errors import CorpusError
from dspy_proact.types import Turn

_LABEL = re.compile(r"^(user|assistant)[ \t]*:", re.IGNORECASE | re.MULTILINE)
_SYSTEM_LABEL = re.compile(r"\s*(system|developer)[ \t]*:", re.IGNORECASE)
_JSON_LOOK = re.compile(r'\s*(\[\s*[{\]]|\{\s*"(role|user|messages)")')
_SYSTEM_ROLES = ("system", "developer")
_TO_THE_PROMPT = "a conversation holds no system message; leave it out, and give the prompt as TEXT or @FILE"


@dataclass(frozen=True)
class _Message:
    """One message, and where it stands."""

    role: str
    """`user` or `assistant`."""
    text: str
    source: str
    line: int | None = None
    field: str | None = None

    def error(self, problem: str) -> CorpusError:
        """The error to raise for a problem with this message."""
        return CorpusError(problem, source=self.source, line=self.line, field=self.field)


def read_transcript(path: str) -> tuple[Turn, ...]:
    """The conversation in a file; raises as `parse_transcript`, and `CorpusError` where it cannot be read."""
    return parse_transcript(read_bytes(path, "the path of a conversation, or - for standard input"), path)


def parse_transcript(data: bytes, source: str) -> tuple[Turn, ...]:
    """The turns of a conversation, the last of which has no response yet.

    Args:
        data: In one of the three forms, as UTF-8.
        source: Where it is from, for messages.

    Raises:
        CorpusError: It is empty, not UTF-8 or not JSON, has other roles or keys, blank messages, two messages of one
            role in a row, or does not begin and end with the user.
    """
    text = "".join(lines_of(data, source)).removeprefix("\ufeff")
    if not text.strip():
        raise _empty(source)
    if "\0" in text:
        line = 1 + text.count("\n", 0, text.index("\0"))
        raise CorpusError("holds a NUL character; give a text or JSON", source=source, line=line)
    messages = list(_listed(text, source) if _is_json(text, source) else _labelled(text, source))
    _require_order(messages, source)
    said = [message.text for message in messages]
    return tuple(
        Turn(user=user, assistant=said[at + 1] if at + 1 < len(said) else None)
        for at, user in zip(range(0, len(said), 2), said[::2], strict=True)
    )


def _is_json(text: str, source: str) -> bool:
    """Whether it is meant as JSON: by its name, its first characters, or because it is a list or an object."""
    if _named_json(source) or _JSON_LOOK.match(text):
        return True
    try:
        return isinstance(json.loads(text), list | dict)
    except (ValueError, RecursionError):
        return False


def _named_json(source: str) -> bool:
    return source.lower().endswith(".json")


def _listed(text: str, source: str) -> Iterator[_Message]:
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        mend = "give plain text another name" if _named_json(source) else "plain text that looks like it needs `User:`"
        problem = f"not JSON: {error.msg}, at column {error.colno}; {mend}"
        raise CorpusError(problem, source=source, line=error.lineno) from None
    except ValueError as error:
        raise CorpusError(f"not JSON that can be read: {error}", source=source) from None
    except RecursionError:
        whole = []  # what follows says where
    if not isinstance(whole, list):
        raise CorpusError(
            f"a list of messages or of turns is expected, not {shown(whole)}; put them in [ ]", source=source
        )
    for element in elements(text, source):
        yield from [_chat_message(element)] if "role" in element.fields else _turn_messages(element)


def _chat_message(element: Element) -> _Message:
    role = element.fields["role"]
    if role in _SYSTEM_ROLES:
        raise element.error(_TO_THE_PROMPT)
    if role not in ("user", "assistant"):
        raise element.error(f"must be user or assistant, not {shown(role)}", "role")
    _require_keys(element, {"role", "content"})
    return _message(element, str(role), "content")


def _turn_messages(element: Element) -> Iterator[_Message]:
    _require_keys(element, {"user", "assistant"})
    yield _message(element, "user", "user")
    if element.fields.get("assistant") is not None:
        yield _message(element, "assistant", "assistant")


def _require_keys(element: Element, known: set[str]) -> None:
    if unknown := [key for key in element.fields if key not in known]:
        raise element.error(
            f"the key {shown(unknown[0])} is not known; a message has role and content, a turn user and assistant"
        )


def _message(element: Element, role: str, key: str) -> _Message:
    if key not in element.fields:
        raise element.error(f"the key {key!r} is missing")
    text = element.fields[key]
    if not isinstance(text, str):
        raise element.error(f"must be a text, not {shown(text)}", key)
    return _Message(role, text, element.source, field=f"[{element.number}].{key}")


def _labelled(text: str, source: str) -> Iterator[_Message]:
    labels = list(_LABEL.finditer(text))
    if not labels:
        yield _Message("user", text.strip(), source, line=1)
        return
    before = text[: labels[0].start()]
    if _SYSTEM_LABEL.match(before):
        raise CorpusError(_TO_THE_PROMPT, source=source, line=1 + _blank_lines(before))
    if before.strip():
        raise CorpusError(
            "stands before the first message; begin it with `User:`", source=source, line=1 + _blank_lines(before)
        )
    ends = [label.start() for label in labels[1:]] + [len(text)]
    for label, end in zip(labels, ends, strict=True):
        line = 1 + text.count("\n", 0, label.start())
        yield _Message(label.group(1).lower(), text[label.end() : end].strip(), source, line=line)


def _blank_lines(text: str) -> int:
    """How many lines come before the first that is not blank."""
    return text[: len(text) - len(text.lstrip())].count("\n")


def _require_order(messages: Iterable[_Message], source: str) -> None:
    """Raise a `CorpusError` unless the messages alternate, from the user to the user, and none is blank."""
    last = None
    for message in messages:
        if not message.text.strip():
            raise message.error(f"the {message.role} message is blank; write it, or leave it out")
        if last is None and message.role == "assistant":
            raise message.error("begins with an assistant message; put the user's before it, or leave it out")
        if last is not None and last.role == message.role:
            other = "assistant" if message.role == "user" else "user"
            raise message.error(
                f"two {message.role} messages in a row; make them one, or put the {other}'s between them"
            )
        last = message
    if last is None:
        raise _empty(source)
    if last.role == "assistant":
        raise last.error(
            "ends with an assistant message, so that there is nothing to respond to; "
            "leave it out, or add the user's next message"
        )


def _empty(source: str) -> CorpusError:
    return CorpusError("empty: there is no message in it; write at least the user's", source=source)
