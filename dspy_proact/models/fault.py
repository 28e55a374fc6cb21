"""What a failed attempt means: try again, give this stage up, or end the run.

what the provider said                              what follows
429, 5xx, time-out, lost connection, broken body    the gate tries again; then ProviderError
401, 403, 402, 404, unknown model                   SetupFault: no call can succeed
400 that names a parameter which we sent            SetupFault, with the flag that leaves it out
any other 400: refused or over-long content         ContentError: the same request would be refused again
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dspy import lm15

from dspy_proact.errors import ContentError, Halt, ProviderError, SetupFault, StageError

_EXCERPT = 300
_RETRIED = {
    "rate_limit": (lm15.RateLimitError,),
    "timeout": (lm15.TimeoutError, TimeoutError),
    "network": (lm15.TransportError, ConnectionError, OSError),
    "server": (lm15.ServerError, lm15.LockTimeoutError),
}
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


def understand(error: Exception, *, flag: str, model: str, variables: Iterable[str], sent: Iterable[str]) -> Fault:
    """Read a failure of an engine.

    Args:
        error: What the engine raised: one of DSPy's canonical errors, or the time-out of the gate.
        flag: The command line's name of the role: `--model` or `--judge`.
        model: The litellm name.
        variables: Where the key is looked for.
        sent: Names of the decoding parameters that were sent.
    """
    said = _excerpt(error)
    status = getattr(error, "status", None)
    if isinstance(error, lm15.AuthError | lm15.NotConfiguredError) or status in (401, 403):
        where = " or ".join(variables)
        return _setup(f"{flag} {model}: the key was refused ({_http(status)}). Check {where}. The server said: {said}")
    if isinstance(error, lm15.BillingError) or status == 402:
        return _setup(f"{flag} {model}: the account cannot pay ({_http(status)}). The server said: {said}")
    if isinstance(error, lm15.UnsupportedModelError) or status == 404:
        return _setup(f"{flag} {model}: no such model at this endpoint ({_http(status)}). The server said: {said}")
    for word, classes in _RETRIED.items():
        if isinstance(error, classes):
            return Fault(word, ProviderError(word, said), retry=True, retry_after=getattr(error, "retry_after", None))
    if isinstance(error, lm15.InvalidRequestError | lm15.CapabilityError | lm15.ConfigurationError):
        return _refusal(error, said, flag, model, sent)
    return Fault("server", ProviderError("server", f"not a readable answer: {said}"), retry=True)


def _refusal(error: Exception, said: str, flag: str, model: str, sent: Iterable[str]) -> Fault:
    code = str(getattr(error, "provider_code", "") or "").lower()
    if isinstance(error, lm15.ContextLengthError):
        return Fault("too_long", ContentError("too_long", said), retry=False)
    if any(word in code or word in said.lower() for word in _REFUSED_BY_POLICY):
        return Fault("filtered", ContentError("filtered", said), retry=False)
    if named := next((name for name in sent if re.search(rf"\b{re.escape(name)}\b", said)), None):
        return _setup(
            f"{flag} {model}: the parameter {named} was refused. Leave it out with {flag}-param {named}=none, "
            f"or set another value. The server said: {said}"
        )
    return Fault("refused", ContentError("refused", said), retry=False)


def _setup(message: str) -> Fault:
    return Fault("setup", SetupFault(message), retry=False)


def _http(status: Any) -> str:
    return f"HTTP {status}" if status else "no HTTP status"


def _excerpt(error: Exception) -> str:
    said = str(getattr(error, "message", "") or error).partition("\n\n")[0] or type(error).__name__
    return repr(said if len(said) <= _EXCERPT else said[:_EXCERPT] + "...")
