"""From a litellm name to a `dspy.LM` behind the gate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import dspy
from dspy.clients.capabilities import capabilities
from dspy.utils.exceptions import LMConfigurationError

from dspy_proact.errors import UsageError
from dspy_proact.models.budget import Limits
from dspy_proact.models.caller import Caller
from dspy_proact.models.decoding import Decoding, Role, decoding, takes_completion_limit
from dspy_proact.models.embedded import EMBEDDED, embedded_engine
from dspy_proact.models.gate import Gate
from dspy_proact.models.gated import AsyncGatedEngine, GatedEngine
from dspy_proact.models.price import EMBEDDED_PRICE, Price, find_price
from dspy_proact.models.record import Record, RecordedEngine
from dspy_proact.models.route import Backend, Route, find_route

_FLAGS: Mapping[Role, str] = {"assistant": "--model", "judge": "--judge", "proposer": "--proposer"}
_SCHEMA = "response_format"
_CANONICAL = {"max_tokens", "reasoning_effort", "temperature", "top_p"}
"""Parameters that DSPy words for every provider; any other goes into the body as it is."""


@dataclass(frozen=True)
class Model:
    """A model in a role, ready to be called."""

    name: str
    role: Role
    lm: dspy.LM
    decoding: Decoding
    """The parameters that are sent."""
    endpoint: str | None
    """Where, without user, password or query; None for the provider's own."""
    price: Price

    @property
    def embedded(self) -> bool:
        """Whether it is the stand-in that measures nothing."""
        return self.name == EMBEDDED

    async def aclose(self) -> None:
        """Close its connections in the running loop."""
        engine: Any = self.lm._async_engine_spec  # dspy keeps the engine it was given here, and nowhere else
        await engine.aclose()


def open_model(
    name: str,
    role: Role,
    gate: Gate,
    *,
    api_base: str | None = None,
    backend: Backend = "auto",
    params: Mapping[str, Any] | None = None,
    price: Price | None = None,
    connections: int = 32,
    record: Record | None = None,
    flag: str | None = None,
) -> Model:
    """Make a model callable.

    Args:
        name: A litellm name, or `embedded`.
        role: Decides preset and flags.
        gate: Shared by all models of a run.
        api_base: Another endpoint than the provider's own.
        backend: `litellm` forces litellm's client where DSPy has its own.
        params: Decoding parameters that override the preset; None leaves one out, and the JSON schema of verdicts
            with it where `response_format` is None.
        price: Instead of the list price.
        connections: The most that are open at once.
        record: Of a compile: answers are kept in it and given again, and DSPy may answer from its memory too. Only
            synchronous calls are recorded. None in a benchmark run, where nothing is remembered.
        flag: By which a person names it, where that is not its role's own.

    Raises:
        UsageError: No such provider, no key where one is needed, or parameters that cannot go together.
    """
    flag = flag or _FLAGS[role]
    if name == EMBEDDED:
        if api_base or params:
            raise UsageError(f"{flag} {EMBEDDED}: the stand-in takes no endpoint and no parameters")
        return _embedded(role, flag, gate, record)
    route = find_route(name, api_base, backend)
    route.require_key(flag)
    given = dict(params or {})
    free = given.get(_SCHEMA, ...) is None
    sent = decoding(name, role, {key: value for key, value in given.items() if not (free and key == _SCHEMA)})
    canonical = {key: value for key, value in sent.items() if key in _CANONICAL}
    price = price or find_price(route)
    _require_bounds(flag, name, gate.limits, sent, price)
    caller = Caller(
        role=role,
        flag=flag,
        model=name,
        key_variables=route.key_variables,
        sent=(*sent, *(() if free else (_SCHEMA,))),
        extensions=_extensions(route, sent),
        completion_limit=_completion_limit(sent),
        price=price,
        secrets=route.secrets,
        cache_apart=route.native and route.dialect == "anthropic",
        reasoning_apart=route.native and route.provider in ("gemini", "vertex", "vertex-express", "xai"),
    )
    try:
        known = capabilities(dspy.LM(name, engine="auto" if route.native else "litellm"))
        engine, make = route.engines(connections=connections, timeout=gate.timeout)
        described = (gate, caller, known.response_schema, known.params - ({_SCHEMA} if free else set()))
        lm = dspy.LM(
            name,
            engine=_recorded(GatedEngine(engine, *described), record, caller, public_endpoint(route.api_base)),
            async_engine=AsyncGatedEngine(make, *described),
            num_retries=0,
            cache=record is not None,
            **canonical,
        )
    except (LMConfigurationError, ValueError) as error:
        raise UsageError(f"{flag} {name}: {error}") from error
    decided = {**sent, _SCHEMA: None} if free else sent
    return Model(name, role, lm, decided, public_endpoint(route.api_base), price)


def public_endpoint(url: str | None) -> str | None:
    """A URL without user, password, query and fragment: what may be written to disk."""
    if url is None:
        return None
    parts = urlsplit(url if "//" in url else f"//{url}")
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def _extensions(route: Route, sent: Decoding) -> dict[str, Any]:
    extensions = {key: value for key, value in sent.items() if key not in _CANONICAL}
    plain_limit = route.dialect in ("openai-chat", "litellm") and not takes_completion_limit(route.model)
    if plain_limit and "max_tokens" in sent:
        # DSPy would send max_completion_tokens on some routes, which older servers ignore: the limit would vanish.
        extensions["max_tokens"] = sent["max_tokens"]
    return extensions


def _completion_limit(sent: Decoding) -> int | None:
    limit = sent.get("max_tokens", sent.get("max_completion_tokens"))
    return limit if isinstance(limit, int) else None


def _require_bounds(flag: str, name: str, limits: Limits, sent: Decoding, price: Price) -> None:
    """Raise a `UsageError` where a limit could not be kept, because nothing bounds what a call may cost."""
    if limits.usd is not None and (price.prompt is None or price.completion is None):
        raise UsageError(
            f"--max-usd needs a price for {flag} {name}: give {flag}-price IN,OUT in USD per million tokens"
        )
    if (limits.usd is not None or limits.tokens is not None) and _completion_limit(sent) is None:
        raise UsageError(
            f"{flag} {name}: --max-tokens and --max-usd need a completion limit: set {flag}-param max_tokens=N"
        )


def _recorded(gated: GatedEngine, record: Record | None, caller: Caller, endpoint: str | None) -> Any:
    """The engine, with a record where there is one."""
    if record is None:
        return gated
    return RecordedEngine(gated, record, f"{caller.role} {caller.model} {endpoint or ''}".strip())


def _embedded(role: Role, flag: str, gate: Gate, record: Record | None) -> Model:
    engine = embedded_engine(role)
    caller = Caller(role=role, flag=flag, model=EMBEDDED)
    described = (gate, caller, False, ())
    lm = dspy.LM(
        EMBEDDED,
        engine=_recorded(GatedEngine(engine, *described), record, caller, None),
        async_engine=AsyncGatedEngine(lambda: engine.twin, *described),
        num_retries=0,
        cache=record is not None,
    )
    return Model(EMBEDDED, role, lm, {}, None, EMBEDDED_PRICE)
