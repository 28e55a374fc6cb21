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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from dspy_proact.corpus.line import Element, Line, elements, shown
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
    line: Line
    field: str | None = None

    def error(self, problem: str) -> CorpusError:
        """The error to raise for a problem with this message."""
        return self.line.error(problem, self.field)


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
    return turns_of([message.text for message in messages])


def turns_of(said: Sequence[str]) -> tuple[Turn, ...]:
    """The turns of messages that alternate, the user's first and last; the last turn awaits its response."""
    return tuple(Turn(user=user, assistant=answer) for user, answer in zip_longest(said[::2], said[1::2]))


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
        yield from _messages(element)


def _messages(element: Element) -> Iterator[_Message]:
    """The chat message, or the one or two messages of a turn, that an element of a list is."""
    fields = element.parse()
    role, of_chat = fields.get("role"), "role" in fields
    if role in _SYSTEM_ROLES:
        raise element.error(_TO_THE_PROMPT)
    if of_chat and role not in ("user", "assistant"):
        raise element.error(f"must be user or assistant, not {shown(role)}", "role")
    for key in fields:
        if key not in (("role", "content") if of_chat else ("user", "assistant")):
            known = "a message has role and content, a turn user and assistant"
            raise element.error(f"the key {shown(key)} is not known; {known}")
    for key in ("content",) if of_chat else ("user", "assistant"):
        if key == "assistant" and fields.get(key) is None:
            continue
        if key not in fields:
            raise element.error(f"the key {key!r} is missing")
        said = fields[key]
        if not isinstance(said, str):
            raise element.error(f"must be a text, not {shown(said)}", key)
        yield _Message(str(role) if of_chat else key, said, element, key)


def _labelled(text: str, source: str) -> Iterator[_Message]:
    labels = list(_LABEL.finditer(text))
    if not labels:
        yield _Message("user", text.strip(), Line(source, 1, ""))
        return
    before = text[: labels[0].start()]
    if before.strip():
        stray = "stands before the first message; begin it with `User:`"
        line = 1 + before[: -len(before.lstrip())].count("\n")
        raise CorpusError(_TO_THE_PROMPT if _SYSTEM_LABEL.match(before) else stray, source=source, line=line)
    ends = [label.start() for label in labels[1:]] + [len(text)]
    for label, end in zip(labels, ends, strict=True):
        line = Line(source, 1 + text.count("\n", 0, label.start()), "")
        yield _Message(label.group(1).lower(), text[label.end() : end].strip(), line)


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
