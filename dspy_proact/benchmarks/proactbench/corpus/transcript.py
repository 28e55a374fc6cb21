"""A conversation of a person's own, whose last user message awaits its response.

What is read, as UTF-8:

    JSON          a list of chat messages or of turns, or an object with such a list under `messages`, as a log of a
                  chat API has it; `conversation` has the forms
    JSON lines    a message or a turn a line; or one line with all of them under `messages`
    plain text    a line that begins with `User:` or `Assistant:`, in any case, begins a message, and `System:` one
                  before the first of these; a text without any such line is one user message

Messages alternate, and a user message is the first and the last; system messages stand before them.
"""

import json
import re
from collections.abc import Iterator, Sequence

from dspy_proact.benchmarks.proactbench.conversation import Conversation, Message, conversation_of, messages_of
from dspy_proact.errors import CorpusError
from dspy_proact.files.line import Line, lines_in, strict_json
from dspy_proact.files.text_file import lines_of, read_bytes

_LABEL = re.compile(r"^(user|assistant)[ \t]*:", re.IGNORECASE | re.MULTILINE)
_SYSTEM_LABEL = re.compile(r"\s*(system|developer)[ \t]*:", re.IGNORECASE)
_JSON_LOOK = re.compile(r'\s*(\[\s*[{\]]|\{\s*"(role|user|messages)")')


def read_transcript(path: str) -> Conversation:
    """The conversation in a file; raises as `parse_transcript`, and `CorpusError` where it cannot be read."""
    return parse_transcript(read_bytes(path, "the path of a conversation, or - for standard input"), path)


def parse_transcript(data: bytes, source: str) -> Conversation:
    """A conversation, the last turn of which has no response yet.

    Args:
        data: In one of the forms.
        source: Where it is from, for messages.

    Raises:
        CorpusError: It is empty, not UTF-8 or not JSON, has other roles or keys, blank messages, two messages of one
            role in a row, does not begin and end with the user, or is several conversations.
    """
    text = "".join(lines_of(data, source)).removeprefix("\ufeff")
    if not text.strip():
        raise _empty(source)
    if "\0" in text:
        line = 1 + text.count("\n", 0, text.index("\0"))
        raise CorpusError("holds a NUL character; give a text or JSON", source=source, line=line)
    messages = list(_messages(text, source))
    for message in messages:
        if not message.text.strip() and message.role != "system":
            raise message.error(f"the {message.role} message is blank; write it, or leave it out")
    conversation = conversation_of(messages)
    if not conversation.turns:
        raise _empty(source)
    if conversation.turns[-1].assistant is not None:
        raise messages[-1].error(
            "ends with an assistant message, so that there is nothing to respond to; "
            "leave it out, or add the user's next message"
        )
    return conversation


def _messages(text: str, source: str) -> Iterator[Message]:
    if lines := _json_lines(text, source):
        return _of_lines(lines)
    return _of_json(text, source) if _is_json(text, source) else _labelled(text, source)


def _json_lines(text: str, source: str) -> Sequence[Line]:
    """The lines of JSON lines: two or more that all begin as objects, of which the first is whole; else none."""
    lines = list(lines_in(text.split("\n"), source))
    if len(lines) < 2 or not all(line.text.lstrip().startswith("{") for line in lines):
        return ()
    return lines if _is_object(lines[0].text) else ()


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _of_lines(lines: Sequence[Line]) -> Iterator[Message]:
    for line in lines:
        fields = line.parse()
        if "messages" in fields:
            raise line.error(
                f"a conversation a line, and there are {len(lines)} lines; one is tried at a time: give one of them"
            )
        yield from messages_of(fields, line.error)


def _is_json(text: str, source: str) -> bool:
    """Whether it is meant as JSON: by its name, its first characters, or because it is a list or an object."""
    if _named_json(source) or _JSON_LOOK.match(text):
        return True
    try:
        return isinstance(json.loads(text), list | dict)
    except (ValueError, RecursionError):
        return False


def _named_json(source: str) -> bool:
    return source.lower().endswith((".json", ".jsonl"))


def _of_json(text: str, source: str) -> Iterator[Message]:
    def fault(problem: str, path: str | None) -> CorpusError:
        return CorpusError(problem, source=source, field=path)

    try:
        whole = strict_json(text, fault)
    except json.JSONDecodeError as error:
        mend = "give plain text another name" if _named_json(source) else "plain text that looks like it needs `User:`"
        problem = f"not JSON: {error.msg}, at column {error.colno}; {mend}"
        raise CorpusError(problem, source=source, line=error.lineno) from None
    yield from messages_of(whole, fault)


def _labelled(text: str, source: str) -> Iterator[Message]:
    def message(role: str, said: str, start: int) -> Message:
        line = Line(source, 1 + text.count("\n", 0, start), "")
        return Message(role, said.strip(), line.error)

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


def _empty(source: str) -> CorpusError:
    return CorpusError("empty: there is no message in it; write at least the user's", source=source)
