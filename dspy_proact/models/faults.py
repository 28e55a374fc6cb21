"""What a failed attempt means: try again, give this stage up, or end the run.

what the provider said                              what follows
429, 5xx, time-out, lost connection, broken body    `engine` tries again; then ProviderError
3xx                                                 SetupFault: redirects are not followed
401, 403, 402, 404, unknown model                   SetupFault: no call can succeed
no client in litellm, a package that is missing     SetupFault: likewise
400 that names a parameter which we sent            SetupFault, with the argument that leaves it out
any other 400: refused or over-long content         ContentError: the same request would be refused again
"""

import base64
import json
import re
import socket
import ssl
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from dspy import lm15

from dspy_proact.calls import Price
from dspy_proact.errors import ContentError, Halt, ProviderError, SetupFault, StageError
from dspy_proact.models.clients import RedirectError, WireError, chain
from dspy_proact.models.dspy_internals import ConnectTimeout, retry_after_seconds

_EXCERPT = 300
_RETRIED = {
    "rate_limit": (lm15.RateLimitError,),
    "timeout": (lm15.TimeoutError, TimeoutError),
    "network": (lm15.TransportError, ConnectionError, OSError),
    "server": (lm15.ServerError, lm15.LockTimeoutError),
}
_LOST = re.compile(
    r"disconnected|connection (reset|aborted|error|refused|closed)|closed connection|incomplete (chunked )?read|"
    r"reading data from socket|cannot connect|payload is not",
    re.IGNORECASE,
)
"""How litellm words a lost connection, which it calls a server's error."""
_UNREACHED = (ConnectionRefusedError, socket.gaierror, ssl.SSLError, ConnectTimeout)
_FURTHER = re.compile(r"\n\n|\s*Traceback \(most recent call last\)")
"""What follows the message of an error: DSPy's advice, and a traceback that litellm puts there."""
_CODED = re.compile(r"(?:(?<=base64,)|/9j/|iVBORw0KGgo)[A-Za-z0-9+/=_-]{8,}")
"""The bytes of an image that a provider repeats: behind their mark, or from the beginning of a JPEG or PNG."""
_LATE = re.compile(r"(?i)timed?[ -]?out")
_ALIASES = {"max_tokens": "max_(completion_|output_)?tokens", "response_format": "(response_format|json_schema)"}
"""Parameters that go out under other names on some routes, as patterns."""
_REFUSED_BY_POLICY = ("content_filter", "content_policy", "safety", "moderation")
_READ = 20_000
"""Characters of a message."""
_RUN = 12
"""Characters in a row that tell enough of a secret."""
_SHORTEST_SECRET = 6
"""Characters: shorter values are words, and hiding them would garble messages."""


@dataclass(frozen=True)
class Caller:
    """A model in a role: what the gate and the reading of faults must know of it."""

    role: str
    argument: str
    """The argument that names it, for messages."""
    model: str
    endpoint: str | None = None
    key_variables: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    extensions: dict[str, Any] = field(default_factory=dict)
    """Parameters that go into the body of the request as they are."""
    completion_limit: int | None = None
    """The most tokens of an answer, as sent."""
    price: Price = field(default_factory=Price)
    secrets: tuple[str, ...] = ()
    """What no message may repeat, though a provider says it."""
    adds_cached_tokens: bool = False
    """Whether the provider counts cached prompt tokens beside the others (Anthropic) instead of among them."""
    adds_reasoning_tokens: bool = False
    """Whether it counts reasoning tokens beside the others (Gemini, xAI)."""
    sees: bool = True
    """Whether it takes images, as far as litellm knows."""

    @property
    def whose(self) -> str:
        """Argument and name of the model, for messages."""
        return f"`{self.argument}` {self.model}"


@dataclass(frozen=True)
class Fault:
    """One failed attempt, classified."""

    word: str
    """For counting: `rate_limit`, `timeout`, `network`, `server`, `setup`, `too_long`, `filtered` or `refused`."""
    error: StageError | Halt
    retry: bool
    retry_after: float | None = None
    """Seconds that the provider asks to wait."""
    may_be_billed: bool = False
    """Whether an answer may have been written that did not arrive."""
    unreached: bool = False


def understand(error: Exception, caller: Caller) -> Fault:
    """Classify a failure of an engine."""
    on_the_way = next((cause for cause in chain(error) if isinstance(cause, WireError)), None)
    message = redacted(str(on_the_way or getattr(error, "message", "") or error), caller.secrets)
    message = _CODED.sub("[image]", message)
    excerpt = _FURTHER.split(message, maxsplit=1)[0] or type(error).__name__
    excerpt = repr(excerpt if len(excerpt) <= _EXCERPT else excerpt[:_EXCERPT] + "...")
    if problem := _for_good(error, on_the_way, excerpt, caller):
        return _setup(f"`{caller.argument}` {caller.model}: {problem}")
    word = next((word for word, classes in _RETRIED.items() if isinstance(error, classes)), None)
    if word == "server" and _LOST.search(message):
        word = "network"
    if word == "network" and _LATE.search(message):
        word = "timeout"
    if word:
        lost = word == "network" or (word == "timeout" and getattr(error, "status", None) is None)
        unreached = word == "network" and any(isinstance(cause, _UNREACHED) for cause in chain(error))
        after = getattr(error, "retry_after", None)
        if after is None and (headers := getattr(error.__cause__, "litellm_response_headers", None)) is not None:
            after = retry_after_seconds(headers.get("retry-after"))  # litellm keeps it where DSPy does not look
        return Fault(word, ProviderError(word, excerpt), True, after, lost and not unreached, unreached)
    if isinstance(error, lm15.InvalidRequestError | lm15.CapabilityError | lm15.ConfigurationError):
        return _refusal(error, message, excerpt, caller)
    unreadable = ProviderError("server", f"not a readable answer: {excerpt}")
    return Fault("server", unreadable, retry=True, may_be_billed=True)


def _for_good(error: Exception, on_the_way: WireError | None, excerpt: str, caller: Caller) -> str | None:
    """What no further call would mend, as a sentence; None for any other failure."""
    status = getattr(error, "status", None)
    http = f"HTTP {status}" if status else "no HTTP status"
    if isinstance(on_the_way, RedirectError):
        return (
            f"redirected. {excerpt}, because the key would be sent along. "
            f"Give the final address with `{caller.argument}.api_base`."
        )
    if isinstance(error, lm15.AuthError | lm15.NotConfiguredError) or status in (401, 403):
        variables = " or ".join(caller.key_variables)
        return f"the key was refused ({http}). Check {variables}. The server said: {excerpt}"
    if isinstance(error, lm15.BillingError) or status == 402:
        return f"the account cannot pay ({http}). The server said: {excerpt}"
    if isinstance(error, lm15.UnsupportedModelError) or status == 404:
        hint = ""
        if caller.endpoint and not re.search(r"/v\d", caller.endpoint):
            hint = f" Did you mean `{caller.argument}.api_base={caller.endpoint}/v1`?"
        return f"no such model at this endpoint ({http}).{hint} The server said: {excerpt}"
    causes = list(chain(error))
    if any(type(cause).__name__ == "LiteLLMUnknownProvider" for cause in causes):
        mend = f"For a server that speaks OpenAI's protocol, give hosted_vllm/NAME and `{caller.argument}.api_base`."
        return f"litellm has no chat client for this provider, so the endpoint has no effect. {mend}"
    missing = next((cause for cause in causes if isinstance(cause, ImportError)), None)
    return f"litellm needs a further package for this provider: {missing}" if missing else None


def _refusal(error: Exception, message: str, excerpt: str, caller: Caller) -> Fault:
    code = str(getattr(error, "provider_code", "") or "").lower()
    if isinstance(error, lm15.ContextLengthError):
        return Fault("too_long", ContentError("too_long", excerpt), retry=False)
    if any(word in code or word in message.lower() for word in _REFUSED_BY_POLICY):
        return Fault("filtered", ContentError("filtered", excerpt), retry=False)
    if name := next((name for name in caller.sent if re.search(rf"\b{_ALIASES.get(name, name)}\b", message)), None):
        return _setup(
            f"`{caller.argument}` {caller.model}: the parameter {name} was refused. Omit it with "
            f"`{caller.argument}.params` {name}=none, or set another value. The server said: {excerpt}",
            (caller.argument, name),
        )
    return Fault("refused", ContentError("refused", excerpt), retry=False)


def _setup(message: str, parameter: tuple[str, str] | None = None) -> Fault:
    return Fault("setup", SetupFault(message, parameter), retry=False)


@cache
def spellings(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Every form of each secret that no message may repeat, coded once or twice: programs encode what they quote."""
    once = {form for secret in secrets if len(secret) >= _SHORTEST_SECRET for form in _forms(secret)}
    return tuple(sorted(once | {twice for form in once for twice in _forms(form)}))


def redacted(text: str, secrets: tuple[str, ...]) -> str:
    """The beginning of a text without these, in upper or lower case, and without any run of twelve characters of one.

    Where a secret appears only when the text is decoded, as it does when a part of it is coded, all of it is hidden.
    """
    short = "|".join(re.escape(secret) for secret in secrets if len(secret) < _RUN)
    text = re.sub(short, "[key]", text[:_READ], flags=re.IGNORECASE) if short else text[:_READ]
    starts, pieces, end = _run_starts(text, secrets), list[str](), 0
    for start in starts:
        if start >= end:
            pieces += [text[end:start], "[key]"]
        end = start + _RUN
    shown = "".join(pieces) + text[end:]
    return "[a message that repeats a key]" if any(_run_starts(view, secrets) for view in _decoded(shown)) else shown


def _run_starts(text: str, secrets: tuple[str, ...]) -> list[int]:
    runs = _runs(secrets)
    lower = "".join(small if len(small := char.lower()) == 1 else char for char in text)
    return [start for start in range(len(lower) - _RUN + 1) if lower[start : start + _RUN] in runs]


@cache
def _runs(secrets: tuple[str, ...]) -> frozenset[str]:
    """Every run of so many characters of a secret."""
    return frozenset(
        secret[start : start + _RUN].lower() for secret in secrets for start in range(len(secret) - _RUN + 1)
    )


def _decoded(text: str) -> Iterator[str]:
    """A text as programs could read it: without escapes, line breaks and what stands between numbers."""
    for _ in range(3):
        text = re.sub(
            r"\\(?:x|u00|u\{00)([0-9a-fA-F]{2})\}?", lambda match: chr(int(match[1], 16)), unquote(unescape(text))
        )
        yield text
    yield re.sub(r"\\[nrt]|[\s\\]", "", text)
    yield re.sub(r"0x|[^0-9a-zA-Z]", "", text)


def _forms(secret: str) -> Iterable[str]:
    plain = secret.encode("utf-8", "surrogatepass")
    yield from (secret, quote(plain), quote(plain, safe=""), quote_plus(plain), json.dumps(secret)[1:-1])
    yield from (plain.hex(), plain.hex(" "), "".join(f"%{byte:02x}" for byte in plain))
    for before in range(3):
        # In base64, after text of any length, the bytes of a secret fall into groups of three in one of three ways;
        # characters that it shares with a neighbour are left out.
        coded = base64.b64encode(b"\0" * before + plain).rstrip(b"=").decode()
        shared = -(-before * 8 // 6)
        own = coded[shared : (before + len(plain)) * 8 // 6]
        yield from (own, own.translate(str.maketrans("+/", "-_")))
