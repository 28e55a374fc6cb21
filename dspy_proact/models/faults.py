"""What a failed attempt means: try again, give this stage up, or end the run.

what the provider said                              what follows
429, 5xx, time-out, lost connection, broken body    `engine` tries again; then ProviderError
3xx, no client in litellm, a missing package        SetupFault: no call can succeed
401, 402, 403, 404, an account that cannot pay      SetupFault; after an answer of that model a ProviderError
400 that names a parameter which we sent            likewise, with the argument that leaves it out
too long for the context                            ContentError, with the numbers and the limit that would fit
a filter or a moderation, with any status           ContentError
any other 400                                       ContentError: the same request would be refused again

A gateway's error inside an answer with HTTP 200 is read as one with the status among its codes. What ends a run after
several equal refusals is in `health`.
"""

import errno
import os
import re
import socket
import ssl
from dataclasses import dataclass, field
from typing import Any

import httpx
from dspy import lm15

from dspy_proact.calls import Price
from dspy_proact.errors import AppError, ContentError, Halt, ProviderError, SetupFault, StageError, chain
from dspy_proact.models.clients import RedirectError, WireError
from dspy_proact.models.dspy_internals import ConnectTimeout, retry_after_seconds
from dspy_proact.models.error_body import ErrorBody, error_body
from dspy_proact.models.redaction import redacted
from dspy_proact.models.too_long import TooLong

_EXCERPT = 300
FINAL_REASONS = frozenset({"no_text", "empty", "too_long", "refused", "bug"})
"""Of an application whose answer cannot be graded, or whose code is at fault: the request is not sent again at once."""
_RETRIED = {
    "rate_limit": (lm15.RateLimitError,),
    "timeout": (lm15.TimeoutError, TimeoutError),
    "network": (lm15.TransportError, ConnectionError, OSError),
    "server": (lm15.ServerError, lm15.LockTimeoutError),
}
_BY_STATUS = {408: "timeout", 429: "rate_limit", 504: "timeout", 524: "timeout"}
"""Statuses that are tried again; others from 500 on are the server's."""
_LOST = re.compile(
    r"disconnected|connection (reset|aborted|error|refused|closed)|closed connection|incomplete (chunked )?read|"
    r"reading data from socket|cannot connect|payload is not",
    re.IGNORECASE,
)
"""How litellm words a lost connection, which it calls a server's error."""
_UNREACHED = (ConnectionRefusedError, socket.gaierror, ssl.SSLError, ConnectTimeout, httpx.ConnectTimeout)
_NO_WAY = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}
"""There is no way to the host; a connection that was made may also end so."""
_FURTHER = re.compile(r"\n\n|\s*Traceback \(most recent call last\)")
"""What follows the message of an error: DSPy's advice, and a traceback that litellm puts there."""
_CODED = re.compile(r"(?:(?<=base64,)|/9j/|iVBORw0KGgo)[A-Za-z0-9+/=_-]{8,}")
"""The bytes of an image that a provider repeats: behind their mark, or from the beginning of a JPEG or PNG."""
_LATE = re.compile(r"(?i)timed?[ -]?out")
_WIRE_NAMES = {
    "max_tokens": r"max_?(completion_?|output_?|new_?)?tokens|num_predict",
    "response_format": r"response_?(format|schema|json_?schema|mime_?type)|json_?schema|grammar|"
    r"guided[_ ](json|grammar|decoding)|structured[_ ]outputs?",
    "reasoning_effort": r"reasoning[_.]?effort|thinking_?(config|budget|level)|thinking (level|budget|mode)",
    "thinking": r"thinking(_?config|_?budget| budget)?",
    "top_p": "top_?p",
    "top_k": "top_?k",
}
"""Names under which parameters go out, as patterns; any other goes out under its own."""
_NO_SCHEMA = re.compile(r"(?i)grammar|guided[_ ](json|grammar|decoding)|json[_ ]?schema")
"""How a server refuses a schema with HTTP 500."""
_NO_SYSTEM = re.compile(
    r"(?i)developer instruction is not enabled|system (role|message|prompt|instruction)s? (is |are )?not "
    r"(supported|enabled|allowed)"
)
_UNPAID = re.compile(
    r"(?i)credit balance is too low|insufficient[ _](credits?|balance|funds|quota)|out of credits|more credits|"
    r"payment required|billing[ _](hard[ _]limit|not[ _]active)"
)
_REFUSED_BY_POLICY = re.compile(
    r"(?i)content[_ ](filter|policy)|responsibleai|safety(?!_)|moderation|\bflagged\b|promptfeedback|"
    r"prohibited_content|recitation|blocklist|\bspii\b"
)
_MOST = re.compile(
    r"(?i)(?:at most|up to|less than or equal to|<=|>|maximum (?:value )?(?:is|of)|and|to) `?(\d{2,16})(?!\d)"
)
"""The most that a parameter may be, in the sentence that refuses it."""


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
    extensions: dict[str, Any] = field(default_factory=dict, repr=False)
    """Parameters that go into the body of the request as they are."""
    completion_limit: int | None = None
    """The most tokens of an answer, as sent."""
    price: Price = field(default_factory=Price)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What no message may repeat, though a provider says it."""
    adds_cached_tokens: bool = False
    """Whether the provider counts cached prompt tokens beside the others (Anthropic) instead of among them."""
    adds_reasoning_tokens: bool = False
    """Whether it counts reasoning tokens beside the others (Gemini, xAI)."""
    sees: bool = True
    """Whether it takes images, as far as litellm knows."""
    address: str | None = None
    """Where requests go, as far as that is known."""
    proxy: str | None = None
    """Host and port of the proxy on the way there."""
    app: bool = False
    """Whether it is an application in the place of a model, whose engine raises errors of `errors`."""

    @property
    def whose(self) -> str:
        """Argument and name of the model, for messages."""
        return f"`{self.argument}` {self.model}"


@dataclass(frozen=True)
class Fault:
    """One failed attempt, classified."""

    word: str
    """For counting: `rate_limit`, `timeout`, `network`, `server`, `setup`, `too_long`, `filtered` or `refused`; of an
    application its own reason."""
    error: StageError | Halt
    """What it is of this request alone."""
    retry: bool
    retry_after: float | None = None
    """Seconds that the provider asks to wait."""
    may_be_billed: bool = False
    """Whether an answer may have been written that did not arrive."""
    unreached: bool = False
    setup: SetupFault | None = None
    """What it is where the model has answered no call, or refuses one after another."""
    parameter: str | None = None
    """The parameter that is refused, by the name under which it is set, such as `response_format` or `max_tokens`."""
    fitting: int | None = None
    """The greatest value of that parameter that would not be refused, where the server says so."""


@dataclass(frozen=True)
class _Failure:
    """A failure of an engine as it is read."""

    error: Exception
    caller: Caller
    on_the_way: WireError | None
    """An answer that was refused by us."""
    body: ErrorBody
    message: str
    """Without secrets."""

    @classmethod
    def of(cls, error: Exception, caller: Caller) -> "_Failure":
        on_the_way = next((cause for cause in chain(error) if isinstance(cause, WireError)), None)
        body = ErrorBody() if on_the_way else error_body(error)
        message = str(on_the_way or body.message or getattr(error, "message", "") or error)
        message = _CODED.sub("[image]", redacted(message, caller.secrets))
        return cls(error, caller, on_the_way, body, message)

    @property
    def status(self) -> int | None:
        return getattr(self.error, "status", None) or self.body.status

    @property
    def http(self) -> str:
        return f"HTTP {self.status}" if self.status else "no HTTP status"

    @property
    def excerpt(self) -> str:
        """The beginning of the message, in quotes."""
        text = _FURTHER.split(self.message, maxsplit=1)[0] or type(self.error).__name__
        return repr(text if len(text) <= _EXCERPT else text[:_EXCERPT] + "...")

    @property
    def codes(self) -> str:
        return f"{getattr(self.error, 'provider_code', None) or ''} {self.body.codes}".lower()

    @property
    def word(self) -> str | None:
        """What is tried again, in a word; None for any other failure."""
        if isinstance(self.error, lm15.ContextLengthError) and self.status == 429:
            return "rate_limit"  # DSPy takes a limit of tokens per minute for one of the context
        by_status = _BY_STATUS.get(self.status or 0) or ("server" if (self.status or 0) >= 500 else None)
        by_class = (word for word, classes in _RETRIED.items() if isinstance(self.error, classes))
        word = next(by_class, None)
        if by_status and (word == "server" or type(self.error) is lm15.ProviderError):
            word = by_status
        if word == "server" and self.status and self.status < 500 and not by_status:
            return None  # an error in an answer, of which DSPy reads no status
        if word == "server" and _LOST.search(self.message):
            word = "network"
        return "timeout" if word == "network" and _LATE.search(self.message) else word

    def is_a(self, kind: type[Exception], *statuses: int) -> bool:
        return isinstance(self.error, kind) or self.status in statuses

    def names(self, pattern: str) -> bool:
        """Whether the message or the field for it names a parameter."""
        text = f"{self.message} {self.body.parameter}"
        return bool(re.search(rf"(?<![a-z])({pattern})(?![a-z])", text, re.IGNORECASE))


class ElsewhereError(Exception):
    """A failure that was classified where it happened, in another process."""

    def __init__(self, fault: Fault):
        super().__init__(str(fault.error))
        self.fault = fault


def understand(error: Exception, caller: Caller) -> Fault:
    """Classify a failure of an engine."""
    if caller.app:
        return _of_app(error, caller)
    failure = _Failure.of(error, caller)
    if problem := _unusable(failure):
        return Fault("setup", SetupFault(f"{caller.whose}: {problem}"), retry=False)
    if known := _of_this_request(failure) or _of_every_request(failure) or _of_connecting(failure):
        return known
    if word := failure.word:
        lost = word == "network" or (word == "timeout" and failure.status is None)
        after = getattr(error, "retry_after", None)
        if after is None and (headers := getattr(error.__cause__, "litellm_response_headers", None)) is not None:
            after = retry_after_seconds(headers.get("retry-after"))  # litellm keeps it where DSPy does not look
        return Fault(word, ProviderError(word, failure.excerpt), True, after, lost)
    invalid = (lm15.InvalidRequestError, lm15.CapabilityError, lm15.ConfigurationError)
    if isinstance(error, invalid) or 400 <= (failure.status or 0) < 500:
        return Fault("refused", ContentError("refused", failure.excerpt), retry=False)
    unreadable = ProviderError("server", f"not a readable answer: {failure.excerpt}")
    return Fault("server", unreadable, retry=True, may_be_billed=True)


def _of_app(error: Exception, caller: Caller) -> Fault:
    """A failure of an application, or on the way to it; what it answered, and is of no use, is not asked for again."""
    if isinstance(error, ProviderError):
        after = getattr(error, "retry_after", None)
        retry, unreached = error.reason != "denied", error.reason == "network"
        return Fault(error.reason, error, retry, after, may_be_billed=True, unreached=unreached)
    if isinstance(error, TimeoutError):
        error = AppError("timeout", "it did not answer within the time limit of `timeout`")
    elif not isinstance(error, StageError):
        error = AppError("raised", f"{type(error).__name__}: {redacted(str(error), caller.secrets)[:_EXCERPT]}")
    after = getattr(error, "retry_after", None)
    return Fault(error.reason, error, error.reason not in FINAL_REASONS, after, may_be_billed=True)


def _unusable(failure: _Failure) -> str | None:
    """Why no call of a model can succeed, as a sentence; None for any other failure."""
    argument = failure.caller.argument
    if isinstance(failure.on_the_way, RedirectError):
        return (
            f"redirected. {failure.excerpt}, because the key would be sent along. "
            f"Give the final address with `{argument}.api_base`."
        )
    causes = list(chain(failure.error))
    if any(type(cause).__name__ == "LiteLLMUnknownProvider" for cause in causes):
        mend = f"For a server that speaks OpenAI's protocol, give hosted_vllm/NAME and `{argument}.api_base`."
        return f"litellm has no chat client for this provider, so the endpoint has no effect. {mend}"
    missing = next((cause for cause in causes if isinstance(cause, ImportError)), None)
    return f"litellm needs a further package for this provider: {missing}" if missing else None


def _of_this_request(failure: _Failure) -> Fault | None:
    """A refusal of what is in a request; None for any other failure."""
    caller, retried = failure.caller, failure.word
    if retried not in (None, "server"):
        return None
    length = TooLong.of(failure.message, failure.body, caller.completion_limit)
    if length is None and isinstance(failure.error, lm15.ContextLengthError):
        length = TooLong(None, None, caller.completion_limit, None)
    if length:
        sentence = f"{length.sentences(caller.argument)}. The server said: {failure.excerpt}"
        refused = ContentError("too_long", sentence)
        return Fault("too_long", refused, retry=False, parameter="max_tokens", fitting=length.fitting)
    if not retried and _REFUSED_BY_POLICY.search(f"{failure.codes} {failure.message}"):
        return Fault("filtered", ContentError("filtered", failure.excerpt), retry=False)
    return None


def _of_every_request(failure: _Failure) -> Fault | None:
    """A refusal of the account, the key, the model or a parameter; None for any other failure."""
    caller, retried = failure.caller, failure.word
    unpaid = failure.is_a(lm15.BillingError, 402) or "insufficient_quota" in failure.codes
    if unpaid or (not retried and _UNPAID.search(failure.message)):
        # Gemini's code for an account without billing also stands for a country that it does not serve.
        other = "failed_precondition" in failure.codes and "billing" not in failure.message.lower()
        problem = "every call is refused" if other else "the account cannot pay"
        return _denial(failure, f"{problem} ({failure.http})")
    if retried:
        schema = retried == "server" and "response_format" in caller.sent and _NO_SCHEMA.search(failure.message)
        return _parameter(failure, "response_format") if schema else None
    if failure.is_a(lm15.AuthError, 401, 403) or isinstance(failure.error, lm15.NotConfiguredError):
        variables = " or ".join(caller.key_variables)
        return _denial(failure, f"the key was refused ({failure.http}). Check {variables}")
    if failure.is_a(lm15.UnsupportedModelError, 404):
        bare = caller.endpoint and not re.search(r"/v\d", caller.endpoint)
        hint = f" Did you mean `{caller.argument}.api_base={caller.endpoint}/v1`?" if bare else ""
        return _denial(failure, f"no such model at this endpoint ({failure.http})", hint)
    if _NO_SYSTEM.search(failure.message):
        return _denial(failure, "it takes no system message, which every program sends. Name another model")
    # The one that stands in the field for it comes before those in the sentence.
    patterns = {name: _WIRE_NAMES.get(name, name) for name in caller.sent}
    field = failure.body.parameter
    sent = sorted(patterns, key=lambda name: not re.search(patterns[name], field, re.IGNORECASE))
    name = next((name for name in sent if failure.names(patterns[name])), None)
    return _parameter(failure, name) if name else None


def _of_connecting(failure: _Failure) -> Fault | None:
    """A connection that was not made; None for any other failure."""
    for cause in chain(failure.error):
        if isinstance(cause, _UNREACHED) or (isinstance(cause, OSError) and cause.errno in _NO_WAY):
            why = getattr(cause, "strerror", None) or "it took too long"
            if isinstance(cause, OSError) and cause.errno and not isinstance(cause, ssl.SSLError | socket.gaierror):
                why = os.strerror(cause.errno)
            through = f". {failure.excerpt}" if "proxy" in failure.message.lower() else ""
            to = failure.caller.address or "its provider"
            by = f" by way of the proxy {failure.caller.proxy}" if failure.caller.proxy else ""
            detail = f"no connection to {to}{by}: {why}{through}"
            billed = not isinstance(cause, _UNREACHED)
            return Fault("network", ProviderError("network", detail), retry=True, may_be_billed=billed, unreached=True)
    return None


def _parameter(failure: _Failure, name: str) -> Fault:
    """A parameter that is refused, and what to change."""
    limit, argument = failure.caller.completion_limit if name == "max_tokens" else None, failure.caller.argument
    allowed = [int(number) for number in _MOST.findall(failure.message)] if limit else []
    fitting = next((number for number in allowed if limit and 0 < number < limit), None)
    value = "none" if fitting is None else str(fitting)
    other = ", or set another value" if fitting is None else ""
    omit = "Omit it" if fitting is None else "Lower it"
    mend = f"the parameter {name} was refused. {omit} with `{argument}.params` {name}={value}{other}"
    return _denial(failure, mend, change=(argument, name, value), parameter=name, fitting=fitting)


def _denial(
    failure: _Failure, problem: str, hint: str = "", change: tuple[str, str, str] | None = None, **more: Any
) -> Fault:
    """A refusal that every call would meet, unless the model has answered some."""
    sentence = f"{problem}.{hint} The server said: {failure.excerpt}"
    denied = ProviderError("denied", sentence)
    setup = SetupFault(f"{failure.caller.whose}: {sentence}", change)
    return Fault("setup", denied, retry=False, setup=setup, **more)
