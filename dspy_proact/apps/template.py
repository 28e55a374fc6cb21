"""How a service is asked and where its answer stands, as a person writes it in a JSON file.

    {
      "headers": {"Authorization": "Bearer $BOT_KEY"},
      "body": {"question": "{{last}}", "history": "{{history}}"},
      "reply": "data.answer[0].text",
      "usd": "meta.cost"
    }

A text that is one placeholder becomes a JSON value; in a longer text, a placeholder becomes text. The request is put
together as values and written as JSON afterwards, so that nothing in a conversation can end the text it stands in. Each
text of the template is filled once: what looks like a placeholder in a conversation is never one.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from dspy_proact.errors import SetupFault
from dspy_proact.files.rows import JsonFile, OwnPart
from dspy_proact.files.toml import read_text
from dspy_proact.plain_text import shown
from dspy_proact.types import Message

LISTS = ("messages", "history")
"""Placeholders of lists, which stand in no longer text."""
TEXTS = ("last", "system", "transcript", "conversation")
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SECRET_NAME = re.compile(r"(?i)auth|cookie|key|token|secret|password")
_STEP = re.compile(r"(?:^|\.)([^.\[\]]+)|\[(-?\d+|\*)\]")
_MOST_NAMES = 8
"""Names of fields that a message shows."""


@dataclass(frozen=True)
class ReplyPath:
    """Where a value stands in an answer, such as `data.answer[0].text`; a blank one is all of it.

    `[-1]` is the last entry of a list. `[*]` is every entry in which the rest of the path fits.
    """

    text: str
    steps: tuple[str | int, ...] = ()

    @classmethod
    def of(cls, text: str) -> "ReplyPath":
        """That of its text; raises a `ValueError` where it is none."""
        steps, end = list[str | int](), 0
        while end < len(text):
            match = _STEP.match(text, end)
            if match is None:
                raise ValueError(f"no path, from {shown(text[end:])} on; such as data.answer[0].text")
            index, end = match[2], match.end()
            steps.append(match[1] if index is None else "[*]" if index == "*" else int(index))
        return cls(text, tuple(steps))

    def value(self, document: object) -> Any:
        """The value there; with `[*]` a list of values. Raises a `LookupError` that says where the path ends."""
        at = "the answer"
        for number, step in enumerate(self.steps):
            if isinstance(step, int) or step == "[*]":
                if not isinstance(document, list):
                    raise LookupError(f"{at} is {shown(document)}, not a list")
                entries = cast("list[object]", document)
                if not isinstance(step, int):
                    return list(ReplyPath("", self.steps[number + 1 :])._values(entries))
                if not -len(entries) <= step < len(entries):
                    raise LookupError(f"{at} has {len(entries)} entries, and no [{step}]")
                document, at = entries[step], f"{'' if number == 0 else at}[{step}]"
            else:
                if not isinstance(document, dict):
                    raise LookupError(f"{at} is {shown(document)}, not an object")
                fields = cast("dict[str, object]", document)
                if step not in fields:
                    names = ", ".join(map(shown, list(fields)[:_MOST_NAMES])) or "none"
                    raise LookupError(f"{at} has no field {step!r}; its fields: {names}")
                document, at = fields[step], step if number == 0 else f"{at}.{step}"
        return document

    def _values(self, entries: Sequence[object]) -> Iterator[Any]:
        """The value at the path in each entry that has one."""
        for entry in entries:
            with suppress(LookupError):
                value = self.value(entry)
                yield from value if "[*]" in self.steps else (value,)


class Template(OwnPart):
    """A request to a service, and where in its answer the values stand."""

    headers: dict[str, str] = Field(default_factory=dict[str, str])
    """By name; `$NAME` in a value is a variable of the environment, so that no key stands in a file."""
    query: dict[str, str] = Field(default_factory=dict[str, str])
    """Parameters behind the URL, likewise; they are in no file of a run."""
    body: Any
    """JSON with placeholders in its texts; it is sent by POST."""
    reply: str
    """The path of the text that is graded, or of a list of texts, which become its lines."""
    steps: str | None = None
    """The path of a list of what the application did before it replied; kept in the transcript, not graded."""
    prompt_tokens: str | None = None
    completion_tokens: str | None = None
    usd: str | None = None
    """The path of what the answer cost, in US dollars."""
    stateful: bool = False
    """Whether the service keeps the conversation: the user's turns are then sent one by one."""
    conversation: str | None = None
    """The path of the id that the service gives a conversation; None where it takes an id of ours."""

    @classmethod
    def read(cls, path: Path) -> "Template":
        """That of a file; raises a `CorpusError` that names the field at fault."""
        return cls.of(JsonFile.of(str(path), read_text(path, "a template of an application in JSON")))

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever the template cannot work."""
        for name, text in {"body": self.body, "query": self.query, "headers": self.headers}.items():
            yield from _placeholder_faults(name, text)
        for name in ("reply", "steps", "prompt_tokens", "completion_tokens", "usd", "conversation"):
            try:
                ReplyPath.of(getattr(self, name) or "")
            except ValueError as error:
                yield name, str(error)
        yield from self._parameter_faults()
        if self.conversation is not None and not self.stateful:
            yield "conversation", 'has no effect without "stateful": true'
        sent = self.placeholders
        if not sent & {"messages", "history", "transcript", "last"}:
            yield "body", "sends nothing of the conversation: it has none of {{messages}}, {{transcript}} and {{last}}"
        if self.stateful and (resent := sorted(sent & {"messages", "history", "transcript"})):
            yield "stateful", f"the service keeps the conversation: send {{{{last}}}} in place of {{{{{resent[0]}}}}}"

    def _parameter_faults(self) -> Iterator[tuple[str, str]]:
        for name, value in self.headers.items():
            if not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
                yield f"headers.{name}", "no header: a name is letters, digits and hyphens, a value printable ASCII"
            if name.lower() in ("content-length", "transfer-encoding"):
                yield f"headers.{name}", "is set for each request by what it sends"
            if set(_placeholders(value)) - {"conversation"}:
                yield f"headers.{name}", "a header takes no placeholder but {{conversation}}"
        for part, named in (("headers", self.headers), ("query", self.query)):
            for name, value in named.items():
                if _SECRET_NAME.search(name) and not _VARIABLE.search(value):
                    yield f"{part}.{name}", "a key stands in no file: set it in the environment, and give $NAME here"

    @property
    def placeholders(self) -> set[str]:
        """The placeholders in body, query and headers."""
        return set(_placeholders([self.body, self.query, self.headers]))

    @property
    def variables(self) -> set[str]:
        """The variables of the environment that it names."""
        values = (*self.headers.values(), *self.query.values())
        return {name for value in values for name in _VARIABLE.findall(value)}

    def lost_of(self, messages: Sequence[Message], sent: set[str]) -> str | None:
        """What of a conversation the service would miss, since no placeholder sends it, in a sentence; None if none."""
        earlier = any(message["role"] != "system" for message in messages[:-1])
        if earlier and not self.stateful and not sent & {"messages", "history", "transcript"}:
            return (
                "the template sends the last message alone, and this conversation has earlier ones: add {{history}}, "
                '{{messages}} or {{transcript}}, or "stateful": true where the service keeps the conversation'
            )
        if messages[0]["role"] == "system" and not sent & {"messages", "system"}:
            return "the template leaves the system text out, which this program sends: add {{system}}"
        return None


OPENAI = Template(
    body={"model": "default", "messages": "{{messages}}", "stream": False},
    reply="choices[0].message.content",
    steps="choices[0].message.tool_calls",
    prompt_tokens="usage.prompt_tokens",
    completion_tokens="usage.completion_tokens",
    usd="usage.cost",
)
"""OpenAI's chat completions, for a service that is given without a template."""


@dataclass(frozen=True)
class TemplateValues:
    """What the placeholders stand for in one request."""

    messages: Sequence[Message]
    conversation: str | int | None
    """None before the service has named its conversation."""

    def value(self, name: str) -> Any:
        """That of a placeholder; raises a `SetupFault` where it would be a text and has an image."""
        system = [message for message in self.messages if message["role"] == "system"]
        others = [message for message in self.messages if message["role"] != "system"]
        match name:
            case "messages":
                return list(self.messages)
            case "history":
                return others[:-1]
            case "last":
                return _plain(others[-1]["content"])
            case "system":
                return "\n\n".join(_plain(message["content"]) for message in system)
            case "transcript":
                return "\n\n".join(
                    f"{message['role'].capitalize()}: {_plain(message['content'])}" for message in others
                )
            case _:
                return self.conversation

    def fill(self, form: Any) -> Any:
        """A JSON value with its placeholders replaced; what they become is not read again."""
        if isinstance(form, dict):
            return {name: self.fill(inner) for name, inner in cast("dict[str, Any]", form).items()}
        if isinstance(form, list):
            return [self.fill(inner) for inner in cast("list[Any]", form)]
        if not isinstance(form, str):
            return form
        if single := _PLACEHOLDER.fullmatch(form):
            return self.value(single[1])
        return self.filled_text(form)

    def filled_text(self, form: str) -> str:
        """A text with the texts of its placeholders."""
        return _PLACEHOLDER.sub(lambda match: self.text(match[1]), form)

    def text(self, name: str) -> str:
        """What a placeholder stands for as a text."""
        value = self.value(name)
        return "" if value is None else str(value)


def with_variables(text: str, values: Mapping[str, str]) -> str:
    """A text of a header or a query with the values of the variables that it names."""
    return _VARIABLE.sub(lambda match: values[match[1]], text)


def _plain(content: Any) -> str:
    """The text of a message; raises a `SetupFault` where it has an image, which only `{{messages}}` carries."""
    if isinstance(content, str):
        return content
    if any(part.get("type") != "text" for part in content or ()):
        raise SetupFault("the template sends text, and this conversation has images: send {{messages}}")
    return "\n".join(part["text"] for part in content or ())


def text_at(value: Any) -> str | None:
    """The text that a reply's path leads to, of a list its texts as lines; None where it is no text."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    entries = cast("list[Any]", value)
    texts = [cast("dict[str, Any]", entry).get("text") if isinstance(entry, dict) else entry for entry in entries]
    lines = [text for text in texts if isinstance(text, str)]
    return "\n".join(lines) if lines and len(lines) == len(texts) else None


def step_of(entry: Any) -> Message:
    """An entry of `steps` as a message: itself where it has a role, a call of a tool, or else its JSON."""
    if isinstance(entry, dict) and isinstance(cast("dict[str, Any]", entry).get("role"), str):
        return cast("dict[str, Any]", entry)
    if isinstance(entry, dict) and "function" in entry:
        return {"role": "assistant", "content": "", "tool_calls": [entry]}
    return {"role": "assistant", "content": entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False)}


def _placeholders(form: Any) -> Iterator[str]:
    if isinstance(form, Mapping):
        form = list(cast("Mapping[str, Any]", form).values())
    if isinstance(form, list):
        for inner in cast("list[Any]", form):
            yield from _placeholders(inner)
    elif isinstance(form, str):
        yield from _PLACEHOLDER.findall(form)


def _placeholder_faults(path: str, form: Any) -> Iterator[tuple[str, str]]:
    """Field and problem of every placeholder that does not fit where it stands."""
    if isinstance(form, dict):
        for name, inner in cast("dict[str, Any]", form).items():
            yield from _placeholder_faults(f"{path}.{name}", inner)
    elif isinstance(form, list):
        for index, inner in enumerate(cast("list[Any]", form)):
            yield from _placeholder_faults(f"{path}[{index}]", inner)
    elif isinstance(form, str):
        for name in _PLACEHOLDER.findall(form):
            if name not in (*LISTS, *TEXTS):
                near = get_close_matches(name, (*LISTS, *TEXTS), n=1)
                known = f"did you mean {{{{{near[0]}}}}}?" if near else f"there are {', '.join((*LISTS, *TEXTS))}"
                yield path, f"{{{{{name}}}}} is no placeholder; {known}"
            elif name in LISTS and (not _PLACEHOLDER.fullmatch(form) or not path.startswith("body")):
                yield path, f"{{{{{name}}}}} is a list, which is all of a value in the body, and no part of a text"
