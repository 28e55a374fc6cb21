"""What the function of an application returned, as a reply: a text, a message, or several with usage and cost."""

from collections.abc import Mapping, Sequence
from typing import Any

from dspy_proact.apps.app import AppReply, AppRequest, dollars, steps_in, token_count
from dspy_proact.errors import AppError

LONGEST_TEXT = 2**20
"""Characters of a reply: far more than anybody reads."""


def reply_of(value: Any, request: AppRequest) -> AppReply:
    """The reply in a JSON value: a text, or an object in one of these forms, with `usage` and `usd` where it has them.

    A message of OpenAI's with `content`; its whole response with `choices`; `text`; or `messages`, of which the last
    one of the assistant is graded and those before it, after the messages of the request, are steps. Raises an
    `AppError` where there is no text, or one that is too long.
    """
    fields = value if isinstance(value, Mapping) else {}
    text, steps = value, tuple[Mapping[str, Any], ...]()
    if isinstance(messages := fields.get("messages"), list):
        steps = steps_in([message for message in _after(messages, request) if isinstance(message, Mapping)])
        last = next((at for at in reversed(range(len(steps))) if steps[at]["role"] == "assistant"), None)
        if last is None:
            raise AppError("no_text", "among the messages that it returned is none of the assistant after the request")
        text, steps = _text_of(steps[last]), steps[:last]
    elif isinstance(choices := fields.get("choices"), list):
        message = choices[0].get("message") if choices and isinstance(choices[0], Mapping) else None
        text = _text_of(message) if isinstance(message, Mapping) else None
    elif fields:
        text = fields["text"] if "text" in fields else _text_of(fields)
    if not isinstance(text, str):
        what = f"an object with {', '.join(map(str, [*fields][:5]))}" if fields else f"{type(text).__name__}"
        raise AppError("no_text", f"it returned {what}, in which there is no text")
    if len(text) > LONGEST_TEXT:
        raise AppError("too_long", f"its answer has {len(text):,} characters, of {LONGEST_TEXT:,} at most")
    usage = fields.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    return AppReply(
        text,
        steps,
        _number(usage, "prompt_tokens", "input_tokens"),
        _number(usage, "completion_tokens", "output_tokens"),
        dollars(fields.get("usd", usage.get("cost"))),
    )


def _after(messages: Sequence[Any], request: AppRequest) -> Sequence[Any]:
    """The messages without those of the request, where they begin with them: many agents return all."""
    sent = [(message["role"], message["content"]) for message in request.messages]
    first = messages[: len(sent)]
    same = [(one.get("role"), one.get("content")) if isinstance(one, Mapping) else None for one in first] == sent
    return messages[len(sent) :] if same else messages


def _text_of(message: Mapping[str, Any]) -> Any:
    """The text of a message, whose content may be a list of parts; what is no text as it is."""
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "".join(text for text in texts if isinstance(text, str)) or None
    if content is None and message.get("tool_calls"):
        raise AppError("no_text", "its last message calls a tool and has no text")
    return content


def _number(usage: Mapping[str, Any], *names: str) -> int | None:
    return next((count for name in names if (count := token_count(usage.get(name))) is not None), None)
