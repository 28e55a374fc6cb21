"""The body of an error, in each form that servers send: its sentence, its codes, the parameter and the status it names.

- `{"error": {"message", "code", "type", "param", "metadata"}}`: OpenAI and whoever copies it, also with HTTP 200
- `{"object": "error", "message"}`, `{"message"}`: older vLLM, AWS, Mistral
- `{"error": "text"}`: Ollama, TGI
- `{"detail": "text"}`, `{"detail": [{"loc", "msg"}]}`: FastAPI
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from dspy_proact.calls import MOST_TOKENS
from dspy_proact.errors import chain

_TEXTS = ("message", "msg", "detail", "error", "reason")
"""Fields that may hold a sentence, or an object that does."""


@dataclass(frozen=True)
class ErrorBody:
    """What a server says of an error; a field that it leaves out is empty."""

    message: str = ""
    """Its sentence, with that of the provider behind a gateway."""
    codes: str = ""
    """Its codes and types, in lower case."""
    parameter: str = ""
    """The parameter that it names in a field of its own."""
    status: int | None = None
    """An HTTP status among its codes: gateways send errors with HTTP 200."""
    prompt: int | None = None
    """Tokens of the prompt, where a field has them."""
    context: int | None = None
    """Tokens of the context, likewise."""


def error_body(error: BaseException) -> ErrorBody:
    """The body that an error of a client came with, or has in its message; an empty one without any."""
    for cause in chain(error):
        for source in (getattr(cause, "body", None), getattr(cause, "message", None) or str(cause)):
            with suppress(RecursionError):  # it is nested deeper than any server's error
                if (document := _document(source)) and (body := read_error_body(document)):
                    return body
    return ErrorBody()


def _document(source: Any) -> Mapping[str, Any] | None:
    """An object of JSON, also within a text."""
    if isinstance(source, bytes):
        source = source.decode("utf-8", "replace")
    if isinstance(source, str):
        start = source.find("{")
        try:
            source = json.JSONDecoder().raw_decode(source, start)[0] if start >= 0 else None
        except ValueError:
            return None
    return cast("Mapping[str, Any]", source) if isinstance(source, Mapping) else None


def read_error_body(document: Mapping[str, Any]) -> ErrorBody | None:
    """What an object of JSON says of an error; None where it says nothing."""
    inner = document.get("error")
    error = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else document
    metadata: Any = error.get("metadata")
    behind = metadata if isinstance(metadata, Mapping) else {}
    raw = cast("Mapping[str, Any]", behind).get("raw")
    upstream = read_error_body(_document(raw) or {}) if raw else None
    sentences = [_text(error), upstream.message if upstream else raw if isinstance(raw, str) else ""]
    names = ("code", "type", "status", "error_type", "reasons")
    codes = [str(value) for of in (document, error, behind) for name in names if (value := of.get(name))]
    parameter = str(error.get("param") or "") or _location(error) or (upstream.parameter if upstream else "")
    numbers = [int(code) for code in codes if re.fullmatch("[45][0-9]{2}", code)]
    message = ": ".join(dict.fromkeys(filter(None, sentences)))
    if not (message or parameter or numbers):
        return None
    return ErrorBody(
        message,
        " ".join([*codes, *([upstream.codes] if upstream else [])]).lower(),
        parameter,
        numbers[0] if numbers else None,
        _count(error.get("n_prompt_tokens")),
        _count(error.get("n_ctx")),
    )


def _text(value: Any) -> str:
    """The sentence in a field."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return "; ".join(filter(None, map(_text, cast("list[Any]", value))))
    if not isinstance(value, Mapping):
        return ""
    fields = cast("Mapping[str, Any]", value)
    text = next((text for name in _TEXTS if (text := _text(fields.get(name)))), "")
    where = fields.get("loc")
    return f"{'.'.join(map(str, cast('list[Any]', where)))}: {text}" if text and isinstance(where, list) else text


def _location(error: Mapping[str, Any]) -> str:
    """The field of the request in which FastAPI found a fault; Mistral puts its list into `message`."""
    details: Any = error.get("detail") or error.get("message")
    if isinstance(details, Mapping):
        details = cast("Mapping[str, Any]", details).get("detail")
    first: Any = details[0] if isinstance(details, list) and details else None
    where: Any = cast("Mapping[str, Any]", first).get("loc") if isinstance(first, Mapping) else None
    return ".".join(str(part) for part in where if part != "body") if isinstance(where, list) else ""


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < MOST_TOKENS else None
