"""One message of a log of conversations, in the forms in which tools keep it.

The forms, recognised by their fields:

- OpenAI's chat API: `role`, and `content` as a text or a list of parts; `tool_calls`, or `function_call` before them.
- OpenAI's Responses API: items of a `type` such as `message`, `function_call`, `function_call_output`, `reasoning`.
- ShareGPT: `from` and `value`; LLaMA-Factory adds the speakers `function_call` and `observation`.
- LangChain, serialised in each of its ways: `dumpd` (`lc`, `id`, `kwargs`), `messages_to_dict` (`type`, `data`), fields
  of the message itself (`type`, `content`), and pairs of a role and a text.
- Anthropic's and Inspect's parts of content and calls of tools, which the others hold as well.

Texts of a log are data: nothing in them is obeyed, fetched or executed. What a terminal or a reader's eye would obey is
taken out of them by `plain_text.cleaned`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import Line, strict_json
from dspy_proact.plain_text import cleaned, shown

Role = Literal["user", "assistant", "system", "tool"]
"""Who speaks: `system` is whoever set the assistant up, `tool` what a tool returned."""
_ROLES: dict[str, Role] = {
    **dict.fromkeys(("user", "human", "humanmessage", "humanmessagechunk", "customer", "client", "visitor"), "user"),
    **dict.fromkeys(("assistant", "ai", "aimessage", "aimessagechunk", "gpt", "model", "bot", "agent"), "assistant"),
    **dict.fromkeys(("chatgpt", "bing", "bard", "function_call"), "assistant"),
    **dict.fromkeys(("system", "developer", "systemmessage", "systemmessagechunk"), "system"),
    **dict.fromkeys(("tool", "function", "observation", "toolmessage", "toolmessagechunk", "ipython"), "tool"),
    **dict.fromkeys(("functionmessage", "functionmessagechunk", "function_response"), "tool"),
}
"""Names of speakers in lower case: OpenAI's, LangChain's, ShareGPT's, Gemini's, and those of support desks."""
_TEXTS = frozenset({"text", "input_text", "output_text", "refusal"})
_IMAGES = frozenset({"image", "image_url", "input_image", "image_file", "output_image"})
_THOUGHTS = frozenset({"thinking", "reasoning", "redacted_thinking", "thought", "reasoning_content"})
"""Parts that a model wrote for itself; they are no part of a response."""
_CALLS = frozenset({"tool_use", "tool_call", "server_tool_use", "server_tool_call", "function_call"})
_RESULTS = frozenset({"tool_result", "web_search_tool_result", "server_tool_result", "function_call_output"})
IMAGE, ATTACHMENT = "[image]", "[attachment]"
"""What stands in a text where an image stood, and where anything else did that is no text."""
_DEEPEST = 3
"""JSON within a text within JSON: tables and spans hold it once, a table of spans twice."""


@dataclass(frozen=True)
class Node:
    """A value in a record, and where it stands there, so that a fault can name its field."""

    line: Line
    path: str
    value: object

    def error(self, problem: str) -> CorpusError:
        """The error to raise for a problem with this value."""
        return self.line.error(problem, self.path or None)

    @property
    def is_object(self) -> bool:
        """Whether it is an object of JSON."""
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return isinstance(self.value, list | tuple)

    def at(self, *names: str) -> "Node | None":
        """The first field of these names that holds something; None where none does, or this is no object."""
        if isinstance(self.value, dict):
            fields = cast("dict[str, object]", self.value)
            for name in names:
                value = fields.get(name)
                if value or isinstance(value, int | float):
                    return Node(self.line, f"{self.path}.{name}" if self.path else name, value).decoded()
        return None

    def within(self, *names: str) -> "Node | None":
        """The field at the end of a path of names; None where it holds nothing."""
        node: Node | None = self
        for name in names:
            node = node.at(name) if node else None
        return node

    def elements(self) -> "Iterator[Node]":
        """The elements of a list; raises a `CorpusError` where it is none."""
        if not isinstance(self.value, list | tuple):
            raise self.error(f"a list is expected, not {shown(self.value)}")
        for index, value in enumerate(cast("list[object]", self.value)):
            yield Node(self.line, f"{self.path}[{index}]", value)

    def text(self) -> str:
        """The text; raises a `CorpusError` where it is none."""
        if not isinstance(self.value, str):
            raise self.error(f"a text is expected, not {shown(self.value)}")
        return self.value

    def name(self) -> str:
        """A text or a number, as identifiers are; raises a `CorpusError` where it is neither."""
        if isinstance(self.value, bool) or not isinstance(self.value, str | int | float):
            raise self.error(f"a text or a number is expected, not {shown(self.value)}")
        return str(self.value)

    def decoded(self) -> "Node":
        """What a text holds as JSON, where it is that of an object or a list; else the value as it is.

        Spans of MLflow, exports of Langfuse and cells of tables hold JSON as a text.
        """
        if not isinstance(self.value, str) or not self.value.lstrip().startswith(("{", "[", '"{')):
            return self
        node = self
        for _ in range(_DEEPEST):
            text = node.value.strip() if isinstance(node.value, str) else ""
            if not text.startswith(("{", "[", '"{')) or not text.endswith(("}", "]", '}"')):
                break
            node = Node(self.line, self.path, node.parsed())
        return node if node.is_object or node.is_list else self

    def parsed(self) -> object:
        """What a text holds as JSON; the value as it is where it is no text, or none that is JSON."""
        try:
            return (
                strict_json(self.value, lambda problem, _: self.error(problem))
                if isinstance(self.value, str)
                else self.value
            )
        except json.JSONDecodeError:
            return self.value


@dataclass(frozen=True)
class LoggedMessage:
    """One message, whoever wrote it."""

    role: Role
    text: str
    """Empty where it has none, such as a message that only calls tools."""
    images: int = 0
    """How many it held; each stands in the text as `[image]`."""
    tools: tuple[str, ...] = ()
    """Names of the tools that it calls, in their order."""
    speaker: str = ""
    """Name of who wrote it, where the log has one."""


class UnknownRole(Exception):  # noqa: N818  -- not an error of a file: the conversation is left out
    """A message of a speaker who is neither user, assistant, system nor tool; the message is the role's name."""


def is_message(node: Node) -> bool:
    """Whether a value has the form of a message."""
    if node.is_list:
        pair = list(node.elements())
        return len(pair) == 2 and all(isinstance(one.value, str) for one in pair) and pair[0].value in _ROLES
    if not isinstance(node.value, dict):
        return False
    names = {name for name, value in cast("dict[str, object]", node.value).items() if value is not None}
    if "role" in names and names & {"content", "tool_calls", "function_call", "parts", "contents"}:
        return True
    if "type" in names and (names & {"content", "data"} or _is_item(node)):
        return True
    return names >= {"from", "value"} or names >= {"lc", "kwargs"}


def _is_item(node: Node) -> bool:
    """Whether it is an item of the Responses API beside its messages, such as a call of a tool."""
    kind = node.at("type")
    name = kind.value if kind else None
    return isinstance(name, str) and (name == "reasoning" or name.endswith(("_call", "_call_output")))


def messages_of(node: Node) -> tuple[LoggedMessage, ...]:
    """The messages of a list; raises a `CorpusError` at what is no message, and `UnknownRole`."""
    return tuple(message_of(element) for element in node.elements())


def message_of(node: Node) -> LoggedMessage:
    """A message in one of the forms that the module's docstring lists; raises as `messages_of`."""
    if node.is_list and is_message(node):
        role, text = list(node.elements())
        return LoggedMessage(_role(role), cleaned(text.text()))
    if not node.is_object:
        raise node.error(f"a message is expected, an object with role and content, not {shown(node.value)}")
    if _is_item(node):
        return _item(node)
    body, kind = _body_of(node)
    if kind.value == "function_call":  # ShareGPT: the text is the call
        return LoggedMessage("assistant", "", tools=(_tool(body.at("value") or kind),))
    text, images, tools, returned = _content(body.at("content", "value", "parts", "contents"))
    calls = body.at("tool_calls") or body.within("additional_kwargs", "tool_calls")
    if calls and calls.is_list:
        tools += tuple(_tool(call) for call in calls.elements())
    elif call := body.at("function_call"):
        tools += (_tool(call),)
    speaker = body.at("name")
    name = cleaned(speaker.name()) if speaker else ""
    return LoggedMessage("tool" if returned and not text else _role(kind), cleaned(text), images, tools, name)


def _body_of(node: Node) -> tuple[Node, Node]:
    """The object that holds the content of a message, and its role or type."""
    if body := node.at("kwargs"):  # LangChain's dumpd
        names = node.at("id")
        kind = body.at("type") or (list(names.elements())[-1] if names and names.is_list else None)
    else:
        body = node.at("data") or node
        kind = body.at("role") or node.at("role", "from", "type")
    if kind and kind.value == "chat":  # LangChain's ChatMessage, which names its role
        kind = body.at("role") or kind
    if kind is None:
        raise node.error("has no role; a message has `role` and `content`, or `from` and `value`")
    return body, kind


def _item(node: Node) -> LoggedMessage:
    """An item of the Responses API that is no message."""
    kind = node.at("type")
    name = kind.text() if kind else ""
    if name.endswith("_output"):
        return LoggedMessage("tool", "")
    if name == "reasoning":
        return LoggedMessage("assistant", "")
    tool = node.at("name")
    return LoggedMessage("assistant", "", tools=(tool.name() if tool else name.removesuffix("_call"),))


def _role(node: Node) -> Role:
    name = node.text()
    if role := _ROLES.get(name.lower()):
        return role
    raise UnknownRole(name)


def _content(node: Node | None) -> tuple[str, int, tuple[str, ...], bool]:
    """The text of a content, its images, the tools that it calls, and whether it holds what a tool returned."""
    if node is None:
        return "", 0, (), False
    if isinstance(node.value, str):
        return node.value, 0, (), False
    texts, images, tools, returned = list[str](), 0, list[str](), False
    for part in [node] if node.is_object else node.elements():
        name, text = _part(part)
        if name in _CALLS:
            tools.append(_tool(part))
        elif name in _RESULTS:
            returned = True
        elif text:
            images += name in _IMAGES
            texts.append(text)
    return "\n".join(texts), images, tuple(tools), returned


def _part(part: Node) -> tuple[str, str]:
    """The type of a part of a content, and what stands for it in the text."""
    if isinstance(part.value, str):
        return "text", part.value
    if not part.is_object:
        raise part.error(f"a part of a content is expected, not {shown(part.value)}")
    kind = part.at("type")
    name = kind.text() if kind else "text"
    if name in _IMAGES:
        return name, IMAGE
    if name not in _TEXTS:
        return name, "" if name in _THOUGHTS | _CALLS | _RESULTS else ATTACHMENT
    inner = part.at("text", "refusal", "value", "content")
    if inner and inner.is_object:  # of the Assistants API: {"text": {"value": ...}}
        inner = inner.at("value")
    return name, inner.text() if inner else ""


def _tool(call: Node) -> str:
    """The name of the tool that is called."""
    if isinstance(call.value, str):  # of ShareGPT, where it is no JSON
        return "tool"
    if not call.is_object:
        raise call.error(f"a call of a tool is expected, an object, not {shown(call.value)}")
    function = call.at("function")
    name = (function.at("name") if function and function.is_object else function) or call.at("name", "type")
    return cleaned(name.name()) if name else "tool"
