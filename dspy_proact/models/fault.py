"""What a failed attempt means: try again, give this stage up, or end the run.

what the provider said                              what follows
429, 5xx, time-out, lost connection, broken body    the gate tries again; then ProviderError
3xx                                                 SetupFault: redirects are not followed
401, 403, 402, 404, unknown model                   SetupFault: no call can succeed
400 that names a parameter which we sent            SetupFault, with the flag that leaves it out
any other 400: refused or over-long content         ContentError: the same request would be refused again
"""

import re
import socket
import ssl
from dataclasses import dataclass
from typing import Any

from dspy import lm15
from dspy._vendor.lm15.transports import ConnectTimeout
from dspy.clients._http import retry_after_seconds

from dspy_proact.errors import ContentError, Halt, ProviderError, SetupFault, StageError
from dspy_proact.models.caller import Caller
from dspy_proact.models.secret import redacted
from dspy_proact.models.wire import RedirectError, WireError, chain

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
_LATE = re.compile(r"(?i)timed?[ -]?out")
_ALIASES = {"max_tokens": "max_(completion_|output_)?tokens", "response_format": "(response_format|json_schema)"}
"""Parameters that go out under other names on some routes, as patterns."""
_REFUSED_BY_POLICY = ("content_filter", "content_policy", "safety", "moderation")


@dataclass(frozen=True)
class Fault:
    """One failed attempt, understood."""

    word: str
    """For counting: `rate_limit`, `timeout`, `network`, `server`, `setup`, `too_long`, `filtered` or `refused`."""
    error: StageError | Halt
    """What to raise when no further attempt is made."""
    retry: bool
    """Whether a further attempt may help."""
    retry_after: float | None = None
    """Seconds that the provider asks to wait."""
    may_be_billed: bool = False
    """Whether an answer may have been written that did not arrive."""
    unreached: bool = False
    """Whether there was not even a connection."""


def understand(error: Exception, caller: Caller) -> Fault:
    """Read a failure of an engine.

    Args:
        error: What the engine raised: one of DSPy's canonical errors, or the time-out of the gate.
        caller: Whose call it was.
    """
    on_the_way = next((each for each in chain(error) if isinstance(each, WireError)), None)
    whole = redacted(str(on_the_way or getattr(error, "message", "") or error), caller.secrets)
    said = _excerpt(whole, error)
    if refused := _for_good(error, on_the_way, said, caller):
        return _setup(f"{caller.flag} {caller.model}: {refused}")
    if word := _passing(error, whole):
        lost = word == "network" or (word == "timeout" and getattr(error, "status", None) is None)
        unreached = word == "network" and any(isinstance(each, _UNREACHED) for each in chain(error))
        return Fault(word, ProviderError(word, said), True, _retry_after(error), lost and not unreached, unreached)
    if isinstance(error, lm15.InvalidRequestError | lm15.CapabilityError | lm15.ConfigurationError):
        return _refusal(error, whole, said, caller)
    unreadable = ProviderError("server", f"not a readable answer: {said}")
    return Fault("server", unreadable, retry=True, may_be_billed=True)


def _for_good(error: Exception, on_the_way: WireError | None, said: str, caller: Caller) -> str | None:
    """What no further call would mend, as a sentence; None for any other failure."""
    status = getattr(error, "status", None)
    if isinstance(on_the_way, RedirectError):
        where = f"Give the address that answers itself with {caller.flag}-api-base."
        return f"sent elsewhere. {said}, for the key would go along. {where}"
    if isinstance(error, lm15.AuthError | lm15.NotConfiguredError) or status in (401, 403):
        where = " or ".join(caller.key_variables)
        return f"the key was refused ({_http(status)}). Check {where}. The server said: {said}"
    if isinstance(error, lm15.BillingError) or status == 402:
        return f"the account cannot pay ({_http(status)}). The server said: {said}"
    if isinstance(error, lm15.UnsupportedModelError) or status == 404:
        meant = f"{caller.flag}-api-base {caller.endpoint}/v1?"
        asked = f" Do you mean {meant}" if caller.endpoint and not re.search(r"/v\d", caller.endpoint) else ""
        return f"no such model at this endpoint ({_http(status)}).{asked} The server said: {said}"
    return None


def _passing(error: Exception, whole: str) -> str | None:
    """The word for a failure that may pass; None for one that stays."""
    word = next((word for word, classes in _RETRIED.items() if isinstance(error, classes)), None)
    if word == "server" and _LOST.search(whole):
        word = "network"
    return "timeout" if word == "network" and _LATE.search(whole) else word


def _refusal(error: Exception, whole: str, said: str, caller: Caller) -> Fault:
    code = str(getattr(error, "provider_code", "") or "").lower()
    if isinstance(error, lm15.ContextLengthError):
        return Fault("too_long", ContentError("too_long", said), retry=False)
    if any(word in code or word in whole.lower() for word in _REFUSED_BY_POLICY):
        return Fault("filtered", ContentError("filtered", said), retry=False)
    if named := next((name for name in caller.sent if re.search(rf"\b{_ALIASES.get(name, name)}\b", whole)), None):
        return _setup(
            f"{caller.flag} {caller.model}: the parameter {named} was refused. Leave it out with "
            f"{caller.flag}-param {named}=none, or set another value. The server said: {said}"
        )
    return Fault("refused", ContentError("refused", said), retry=False)


def _setup(message: str) -> Fault:
    return Fault("setup", SetupFault(message), retry=False)


def _http(status: Any) -> str:
    return f"HTTP {status}" if status else "no HTTP status"


def _retry_after(error: Exception) -> float | None:
    """Seconds that the provider asks to wait; litellm keeps the header, and DSPy does not look there."""
    asked = getattr(error, "retry_after", None)
    headers = getattr(error.__cause__, "litellm_response_headers", None)
    return asked if asked is not None or headers is None else retry_after_seconds(headers.get("retry-after"))


def _excerpt(whole: str, error: Exception) -> str:
    said = whole.partition("\n\n")[0] or type(error).__name__
    return repr(said if len(said) <= _EXCERPT else said[:_EXCERPT] + "...")
