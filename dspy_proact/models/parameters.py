"""The decoding parameters that a person may set: which are taken, and which of their values are secrets.

One limit of an answer's length is sent and reserved for, under one name; nothing asks for several answers at once. What
may be a secret is sent, and stands in no file, message or command.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any

from dspy_proact.errors import UsageError

SCHEMA = "response_format"
LIMIT = "max_tokens"
_OTHER_LIMITS = {
    "max_completion_tokens",
    "max_gen_len",
    "max_length",
    "max_new_tokens",
    "max_output_tokens",
    "max_tokens_to_sample",
    "maxoutputtokens",
    "maxtokens",
    "n_predict",
    "num_predict",
}
"""How servers name the limit that is `max_tokens` here."""
_SEVERAL = {
    "best_of",
    "candidate_count",
    "candidatecount",
    "n",
    "num_completions",
    "num_generations",
    "num_return_sequences",
}
"""How servers name the number of answers, which is one."""
_OURS = {
    "api_base",
    "api_key",
    "base_url",
    "cache",
    "caching",
    "extra_headers",
    "headers",
    "input",
    "max_retries",
    "messages",
    "model",
    "num_retries",
    "retry_strategy",
    "rollout_id",
    "stream",
    "stream_options",
    "timeout",
    "tools",
    SCHEMA,
}
"""What the command line, the environment, a program or a benchmark decides; DSPy takes the same for none of its own."""


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_TAKES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    LIMIT: ("a whole number above 0", lambda value: _whole(value) and value > 0),
    "temperature": ("a number from 0 on", lambda value: _number(value) and value >= 0),
    "top_p": ("a number above 0 and up to 1", lambda value: _number(value) and 0 < value <= 1),
    "top_k": ("a whole number", _whole),
    "seed": ("a whole number", _whole),
    "frequency_penalty": ("a number", _number),
    "presence_penalty": ("a number", _number),
    "reasoning_effort": ("a word, such as low", lambda value: isinstance(value, str) and bool(value.strip())),
}
"""What the parameters take that every provider words alike."""

_HOLDS_SECRETS = re.compile(
    r"(?i)access|auth|bearer|body|cookie|credential|header|jwt|key|pass|pwd|query|secret|session|signature|(^|_)sid|token"
)
_MARK = re.compile(r"\[hidden [0-9a-f]{8}\]")


def require_parameters(flag: str, given: Mapping[str, Any]) -> None:
    """Raise a `UsageError` where a parameter cannot be sent, with what is allowed.

    Args:
        flag: The option that sets parameters.
        given: By name; None leaves one out.
    """
    if given.get(SCHEMA, None) is not None:
        raise UsageError(f"{flag} {SCHEMA}: only {SCHEMA}=none is taken, which leaves the JSON schema of answers out")
    for name, value in given.items():
        if problem := _problem(name, value):
            raise UsageError(f"{flag} {name}: {problem}")
        if any(map(_MARK.fullmatch, secret_texts({name: value}))):
            raise UsageError(f"{flag} {name}: holds the mark of a secret; put the secret itself in its place")
        for within in _names(value):
            if within.lower() in _SEVERAL:
                raise UsageError(f"{flag} {name}: {within!r} in it, and one answer is asked for at a time")
            if within.lower() in {LIMIT, *_OTHER_LIMITS}:
                raise UsageError(f"{flag} {name}: {within!r} in it; the limit of an answer is set by {flag} {LIMIT}=N")


def _problem(name: str, value: Any) -> str | None:
    """Why a parameter cannot be sent; None where it can."""
    if name != SCHEMA and name in _OURS:
        return f"{name!r} is not a decoding parameter"
    if name.lower() in _SEVERAL:
        return "one answer is asked for at a time"
    if name.lower() in _OTHER_LIMITS:
        return f"the limit of an answer has one name here, {LIMIT}=N"
    if isinstance(value, Mapping) and (ours := sorted(_OURS & value.keys())):
        return f"{ours[0]!r} is not a decoding parameter"
    if value is not None and name in _TAKES:
        allowed, fits = _TAKES[name]
        return None if fits(value) else f"must be {allowed}, not {value!r}"
    return None


def _names(value: Any) -> Iterator[str]:
    """Every name in a value, at any depth."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _names(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _names(inner)


def shown(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as they may be written down: a text that may be a secret is a mark, which changes when it does."""

    def mark(path: str, text: str) -> str:
        # 32 bits, salted by its place: they tell that a value has changed, and fit too many texts to tell which it is.
        return f"[hidden {hashlib.sha256(json.dumps([path, text]).encode()).hexdigest()[:8]}]"

    return _hiding(parameters, "", False, mark)


def secret_texts(parameters: Mapping[str, Any]) -> list[str]:
    """The texts that `shown` hides."""
    texts: list[str] = []

    def keep(_: str, text: str) -> str:
        texts.append(text)
        return text

    _hiding(parameters, "", False, keep)
    return texts


def _hiding(value: Any, path: str, hidden: bool, hide: Callable[[str, str], str]) -> Any:
    """A value with each text that may be a secret replaced, by its path."""
    if isinstance(value, Mapping):
        return {
            name: _hiding(inner, f"{path}.{name}", hidden or bool(_HOLDS_SECRETS.search(str(name))), hide)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_hiding(inner, path, hidden, hide) for inner in value]
    return hide(path, value) if hidden and isinstance(value, str) else value
