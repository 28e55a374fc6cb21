"""A conversation in any of the field's forms, by one reader for programs and files.

    Turn(user=..., assistant=...)            ours, also as an object with these keys
    {"user_message": ..., "response": ...}   a turn as `dspy.History` keeps it for the assistant's signature
    {"role": ..., "content": ...}            a chat message; its content is a text or a list of text parts
    {"messages": [...]}                      a list of any of these, as in a request of a chat API or a `dspy.History`

Messages alternate, and the user's is the first. System messages stand before them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, cast

from pydantic import BaseModel

from dspy_proact.benchmarks.proactbench.types import Turn
from dspy_proact.errors import UsageError
from dspy_proact.plain_text import shown

History = Sequence[Turn | Mapping[str, Any]] | Mapping[str, Any] | BaseModel | None
"""What is taken for the turns before a message: a list in one of the forms above, what holds one, or None for none."""
Fault = Callable[[str, str], UsageError]
"""Makes the error to raise out of a problem and the path of its field, which is empty for the whole."""
_SYSTEM = ("system", "developer")
_TURNS = (("user", "assistant"), ("user_message", "response"))
_OF_A_PREDICTION = "truncated"
"""Of a turn that was made of the assistant's prediction."""


@dataclass(frozen=True)
class Message:
    """One message, and where it stands."""

    role: str
    """`system`, `user` or `assistant`."""
    text: str
    error: Callable[[str], UsageError]
    """Makes the error to raise for a problem with it."""


@dataclass(frozen=True)
class Conversation:
    """What was said, and what the assistant was told before."""

    turns: tuple[Turn, ...]
    """Of the last one alone the response may be missing."""
    system: str | None
    """The system messages; None where there are none that say anything."""


def conversation_of(messages: Iterable[Message]) -> Conversation:
    """The turns of messages; raises the error of a message that does not stand where it may."""
    system, said = list[str](), list[Message]()
    for message in messages:
        if message.role == "system":
            if said:
                raise message.error("a system message after the first of the others; put it first, or leave it out")
            system += [message.text] if message.text.strip() else []
            continue
        if not said and message.role == "assistant":
            raise message.error("begins with an assistant message; put the user's before it, or leave it out")
        if said and said[-1].role == message.role:
            other = "assistant" if message.role == "user" else "user"
            two = f"two {message.role} messages in a row; make them one, or put the {other}'s between them"
            raise message.error(two)
        said.append(message)
    return Conversation(turns_of([message.text for message in said]), "\n\n".join(system) or None)


def history_of(given: History) -> Conversation:
    """The turns before a message.

    Raises:
        UsageError: It is in none of the forms, or ends with a message of the user.
    """
    if isinstance(given, list | tuple) and all(isinstance(turn, Turn) for turn in given):
        conversation = Conversation(tuple(cast("Sequence[Turn]", given)), None)  # as a run gives it, thousands of times
    else:
        conversation = conversation_of(messages_of([] if given is None else given, _of_a_history))
    if any(turn.assistant is None for turn in conversation.turns):
        raise UsageError("history: a turn awaits its response; the last message goes into `user_message`")
    return conversation


def turns_of(said: Sequence[str]) -> tuple[Turn, ...]:
    """The turns of texts that alternate, the user's first; where the user's is the last it awaits its response."""
    return tuple(Turn(user=user, assistant=answer) for user, answer in zip_longest(said[::2], said[1::2]))


def messages_of(given: object, fault: Fault, path: str = "") -> Iterator[Message]:
    """The messages of a value in any of the forms, in their order; a missing response of a turn is none.

    Args:
        given: Of JSON, or of objects that pydantic can dump.
        fault: For what is wrong with it.
        path: Of the value.
    """
    given = _plain(given)
    if isinstance(given, Mapping):
        if "messages" not in given:
            yield from _said(cast("Mapping[str, Any]", given), fault, path)
            return
        given, path = cast("Mapping[str, Any]", given)["messages"], f"{path}.messages".lstrip(".")
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise fault(f"a list of messages or of turns is expected, not {shown(given)}", path)
    for place, element in enumerate(cast("Iterable[object]", given)):
        fields = _plain(element)
        if not isinstance(fields, Mapping):
            raise fault(f"an object is expected, not {shown(fields)}", f"{path}[{place}]")
        yield from _said(cast("Mapping[str, Any]", fields), fault, f"{path}[{place}]")


def _plain(given: object) -> object:
    return given.model_dump() if isinstance(given, BaseModel) else given


def _of_a_history(problem: str, path: str) -> UsageError:
    return UsageError(f"history{path if path.startswith('[') else path and f'.{path}'}: {problem}")


def _said(fields: Mapping[str, Any], fault: Fault, path: str) -> Iterator[Message]:
    """The chat message, or the one or two messages of a turn, that an object is."""
    of_chat = "role" in fields
    names = ("role", "content") if of_chat else _TURNS["user_message" in fields]
    for key, value in fields.items():
        # What is null or empty says nothing: a message of a log carries a key for whatever it might have had.
        if key not in names and value not in (None, "", [], {}) and key != _OF_A_PREDICTION:
            known = "a message has role and content, a turn user and assistant"
            raise fault(f"the key {shown(key)} is not known; {known}", path)

    def message(role: str, key: str) -> Message:
        where = f"{path}.{key}".lstrip(".")
        if key not in fields:
            raise fault(f"the key {key!r} is missing", path)
        return Message(role, _text(fields[key], fault, where), lambda problem: fault(problem, where))

    if of_chat:
        yield message(_role(fields["role"], fault, f"{path}.role".lstrip(".")), "content")
        return
    yield message("user", names[0])
    if fields.get(names[1]) is not None:
        yield message("assistant", names[1])


def _role(role: object, fault: Fault, path: str) -> str:
    if role in _SYSTEM:
        return "system"
    if role not in ("user", "assistant"):
        raise fault(f"must be user or assistant, or system before them, not {shown(role)}", path)
    return str(role)


def _text(content: object, fault: Fault, path: str) -> str:
    """A text, or the texts of a list of parts, one below the other."""
    if isinstance(content, str):
        return content
    parts = cast("list[object]", content) if isinstance(content, list) else []
    if not parts:
        raise fault(f"must be a text, not {shown(cast('object', content))}", path)
    texts = list[str]()
    for place, part in enumerate(parts):
        text = cast("dict[str, object]", part).get("text") if isinstance(part, dict) else None
        if not isinstance(text, str):
            raise fault("must be a text or a list of text parts; leave images and files out", f"{path}[{place}]")
        texts.append(text)
    return "\n".join(texts)
