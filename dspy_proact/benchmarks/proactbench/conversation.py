"""A conversation in any of the field's forms, by one reader for programs and files.

What programs take for the turns before a message:

    Turn(user=..., assistant=...)            ours, also as an object with these keys
    {"user_message": ..., "response": ...}   a turn as `dspy.History` keeps it for the assistant's signature
    {"role": ..., "content": ...}            a chat message; its content is a text or a list of text parts
    {"messages": [...]}                      a list of any of these, as in a request of a chat API or a `dspy.History`

What is read from a file, as UTF-8, whose last user message awaits its response:

    JSON          a list of chat messages or of turns, or an object with such a list under `messages`, as a log of a
                  chat API has it
    JSON lines    a message or a turn a line; or one line with all of them under `messages`
    plain text    a line that begins with `User:` or `Assistant:`, in any case, begins a message, and `System:` one
                  before the first of these; a text without any such line is one user message

Messages alternate, and the user's is the first. System messages stand before them.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, cast

from pydantic import BaseModel

from dspy_proact.benchmarks.proactbench.types import Turn
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.files.rows import Line, lines_in, strict_json, text_of
from dspy_proact.plain_text import shown

History = Sequence[Turn | Mapping[str, Any]] | Mapping[str, Any] | BaseModel | None
"""The turns before a message: a list in one of the forms above, an object that holds one, or None."""
Fault = Callable[[str, str], UsageError]
"""Makes an error out of a problem and the path of its field, which is empty for the whole."""
_LABEL = re.compile(r"^(user|assistant)[ \t]*:", re.IGNORECASE | re.MULTILINE)
_SYSTEM_LABEL = re.compile(r"\s*(system|developer)[ \t]*:", re.IGNORECASE)
_JSON_LOOK = re.compile(r'\s*(\[\s*[{\]]|\{\s*"(role|user|messages)")')
_IGNORED_KEY = "truncated"
"""Of a turn that was made of the assistant's prediction."""


@dataclass(frozen=True)
class Message:
    """One message, and where it stands."""

    role: str
    """`system`, `user` or `assistant`."""
    text: str
    error: Callable[[str], UsageError]
    """Makes an error out of a problem with it."""


@dataclass(frozen=True)
class Conversation:
    """What was said, and the assistant's instructions before it."""

    turns: tuple[Turn, ...]
    """Of the last one alone the response may be missing."""
    system: str | None
    """The system messages; None where there are none that say anything."""


def history_of(history: History) -> Conversation:
    """The turns before a message; raises `UsageError` for none of the forms, or where the last message is a user's."""

    def fault(problem: str, path: str) -> UsageError:
        return UsageError(f"history{path if path.startswith('[') else path and f'.{path}'}: {problem}")

    if isinstance(history, list | tuple) and all(isinstance(turn, Turn) for turn in history):
        conversation = Conversation(tuple(cast("Sequence[Turn]", history)), None)  # as runs give it, thousands of times
    else:
        conversation = _conversation_of(_messages_of([] if history is None else history, fault))
    if any(turn.assistant is None for turn in conversation.turns):
        raise UsageError("history: a turn awaits its response; the last message goes into `user_message`")
    return conversation


def turns_of(texts: Sequence[str]) -> tuple[Turn, ...]:
    """The turns of texts that alternate, the user's first; where the user's is the last it awaits its response."""
    return tuple(Turn(user=user, assistant=answer) for user, answer in zip_longest(texts[::2], texts[1::2]))


def parse_transcript(data: bytes, source: str) -> Conversation:
    """A conversation in one of the forms of files, whose last turn has no response yet.

    Raises a `CorpusError` where it is empty, not UTF-8 or not JSON, has other roles or keys, blank messages, two
    messages of one role in a row, does not begin and end with the user, or is several conversations.
    """
    text = text_of(data, source)
    empty = CorpusError("empty: there is no message in it; write at least the user's", source=source)
    if not text.strip():
        raise empty
    if "\0" in text:
        line = 1 + text.count("\n", 0, text.index("\0"))
        raise CorpusError("holds a NUL character; give a text or JSON", source=source, line=line)
    messages = list(_in_text(text, source))
    for message in messages:
        if not message.text.strip() and message.role != "system":
            raise message.error(f"the {message.role} message is blank; write it, or leave it out")
    conversation = _conversation_of(messages)
    if not conversation.turns:
        raise empty
    if conversation.turns[-1].assistant is not None:
        raise messages[-1].error(
            "ends with an assistant message, so that there is nothing to respond to; "
            "leave it out, or add the user's next message"
        )
    return conversation


def _conversation_of(messages: Iterable[Message]) -> Conversation:
    """The turns of messages; raises the error of a message that does not stand where it may."""
    system, rest = list[str](), list[Message]()
    for message in messages:
        if message.role == "system":
            if rest:
                raise message.error("a system message after the first of the others; put it first, or leave it out")
            system += [message.text] if message.text.strip() else []
            continue
        if not rest and message.role == "assistant":
            raise message.error("begins with an assistant message; put the user's before it, or leave it out")
        if rest and rest[-1].role == message.role:
            other = "assistant" if message.role == "user" else "user"
            two = f"two {message.role} messages in a row; make them one, or put the {other}'s between them"
            raise message.error(two)
        rest.append(message)
    return Conversation(turns_of([message.text for message in rest]), "\n\n".join(system) or None)


def _messages_of(value: object, fault: Fault) -> Iterator[Message]:
    """The messages of a value in any of the forms, in their order; a missing response of a turn is none."""
    value, path = _plain(value), ""
    if isinstance(value, Mapping):
        if "messages" not in value:
            yield from _of_object(cast("Mapping[str, Any]", value), fault, path)
            return
        value, path = cast("Mapping[str, Any]", value)["messages"], "messages"
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise fault(f"a list of messages or of turns is expected, not {shown(value)}", path)
    for index, element in enumerate(cast("Iterable[object]", value)):
        fields = _plain(element)
        if not isinstance(fields, Mapping):
            raise fault(f"an object is expected, not {shown(fields)}", f"{path}[{index}]")
        yield from _of_object(cast("Mapping[str, Any]", fields), fault, f"{path}[{index}]")


def _plain(value: object) -> object:
    return value.model_dump() if isinstance(value, BaseModel) else value


def _of_object(fields: Mapping[str, Any], fault: Fault, path: str) -> Iterator[Message]:
    """The chat message, or the one or two messages of a turn, that an object is."""
    prefix = f"{path}." if path else ""
    if "role" in fields:
        role = "system" if fields["role"] == "developer" else fields["role"]
        names, roles = ("role", "content"), {"content": role}
        if role not in ("system", "user", "assistant"):
            problem = f"must be user or assistant, or system before them, not {shown(role)}"
            raise fault(problem, f"{prefix}role")
    else:
        names = ("user_message", "response") if "user_message" in fields else ("user", "assistant")
        roles = {names[0]: "user"} | ({} if fields.get(names[1]) is None else {names[1]: "assistant"})
    for key, value in fields.items():
        # What is null or empty says nothing: a message of a log carries a key for whatever it might have had.
        if key not in names and value not in (None, "", [], {}) and key != _IGNORED_KEY:
            known = "a message has role and content, a turn user and assistant"
            raise fault(f"the key {shown(key)} is not known; {known}", path)
    for key, role in roles.items():
        if key not in fields:
            raise fault(f"the key {key!r} is missing", path)
        where = f"{prefix}{key}"
        yield Message(role, _text(fields[key], fault, where), lambda problem, where=where: fault(problem, where))


def _text(content: object, fault: Fault, path: str) -> str:
    """A text, or the texts of a list of parts, one below the other."""
    if isinstance(content, str):
        return content
    parts = cast("list[object]", content) if isinstance(content, list) else []
    if not parts:
        raise fault(f"must be a text, not {shown(cast('object', content))}", path)
    texts = list[str]()
    for index, part in enumerate(parts):
        text = cast("dict[str, object]", part).get("text") if isinstance(part, dict) else None
        if not isinstance(text, str):
            raise fault("must be a text or a list of text parts; leave images and files out", f"{path}[{index}]")
        texts.append(text)
    return "\n".join(texts)


def _in_text(text: str, source: str) -> Iterator[Message]:

    def fault(problem: str, path: str | None) -> CorpusError:
        return CorpusError(problem, source=source, field=path)

    lines = list(lines_in(text.split("\n"), source))
    if len(lines) > 1 and all(line.text.lstrip().startswith("{") for line in lines) and _is_json(lines[0].text, dict):
        for line in lines:
            fields = line.parse()
            if "messages" in fields:
                raise line.error(
                    f"a conversation a line, and there are {len(lines)} lines; one is tried at a time: give one of them"
                )
            yield from _messages_of(fields, line.error)
        return
    named_json = source.lower().endswith((".json", ".jsonl"))
    if not (named_json or _JSON_LOOK.match(text) or _is_json(text, list | dict)):
        yield from _labelled(text, source)
        return
    try:
        value = strict_json(text, fault)
    except json.JSONDecodeError as error:
        mend = "give plain text another name" if named_json else "plain text that looks like it needs `User:`"
        problem = f"not JSON: {error.msg}, at column {error.colno}; {mend}"
        raise CorpusError(problem, source=source, line=error.lineno) from None
    yield from _messages_of(value, fault)


def _is_json(text: str, kind: Any) -> bool:
    try:
        return isinstance(json.loads(text), kind)
    except (ValueError, RecursionError):
        return False


def _labelled(text: str, source: str) -> Iterator[Message]:

    def message(role: str, content: str, start: int) -> Message:
        line = Line(source, 1 + text.count("\n", 0, start), "")
        return Message(role, content.strip(), line.error)

    labels = list(_LABEL.finditer(text))
    before = text[: labels[0].start()] if labels else ""
    if system := _SYSTEM_LABEL.match(before):
        yield message("system", before[system.end() :], 0)
    elif before.strip():
        stray = "stands before the first message; begin it with `User:`, or with `System:` where it is the prompt"
        raise message("", "", len(before) - len(before.lstrip())).error(stray)
    if not labels:
        yield message("user", text, 0)
    ends = [label.start() for label in labels[1:]] + [len(text)]
    for label, end in zip(labels, ends, strict=False):
        yield message(label.group(1).lower(), text[label.end() : end], label.start())
