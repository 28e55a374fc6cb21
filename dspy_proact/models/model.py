"""From a litellm name to a `dspy.LM` behind the gate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.clients.capabilities import capabilities
from dspy.utils.exceptions import LMConfigurationError

from dspy_proact.calls import Price
from dspy_proact.errors import UsageError
from dspy_proact.models.blocking import BlockingEngine
from dspy_proact.models.budget import Limits
from dspy_proact.models.caller import Caller
from dspy_proact.models.decoding import Decoding, decoding, takes_completion_limit
from dspy_proact.models.embedded import EmbeddedEngine
from dspy_proact.models.gate import Gate
from dspy_proact.models.gated import GatedEngine
from dspy_proact.models.identity import ModelIdentity
from dspy_proact.models.parameters import SCHEMA, require_parameters, secret_texts, shown
from dspy_proact.models.price import EMBEDDED_PRICE, find_price
from dspy_proact.models.record import Record, RecordedEngine, RecordedLM
from dspy_proact.models.role import Role
from dspy_proact.models.route import Route, find_route
from dspy_proact.models.secret import spellings
from dspy_proact.models.spec import EMBEDDED, ModelSpec

_CANONICAL = {"max_tokens", "reasoning_effort", "temperature", "top_p"}
"""Parameters that DSPy words for every provider; any other goes into the body as it is."""
_BODY = "extra_body"
"""Holds several of the others."""


@dataclass(frozen=True)
class Model:
    """A model in a role, ready to be called."""

    name: str
    role: Role
    lm: dspy.LM
    decoding: Decoding
    """The parameters that are sent; a text among them that may be a secret is a mark."""
    endpoint: str | None
    """Where; None for the provider's own."""
    price: Price
    route: Route | None = None
    """Which way its calls go; None for the stand-in's, which go nowhere."""

    def require_key(self) -> None:
        """Raise a `UsageError` that names the variable where a key is needed and not there."""
        if self.route:
            self.route.require_key(self.role.flag)

    @property
    def embedded(self) -> bool:
        """Whether it is the stand-in that measures nothing."""
        return self.name == EMBEDDED

    @property
    def identity(self) -> ModelIdentity:
        """What decides its answers."""
        return ModelIdentity(model=self.name, endpoint=self.endpoint, decoding=dict(self.decoding))

    async def aclose(self) -> None:
        """Close its connections in the running loop."""
        engine: Any = self.lm._async_engine_spec  # dspy keeps the engine it was given here, and nowhere else
        await engine.aclose()


def open_model(named: ModelSpec | str, role: Role, gate: Gate, *, record: Record | None = None) -> Model:
    """Make a model callable.

    Args:
        named: The model, by its litellm name, as `embedded`, or with all that is said of it.
        role: What it is called for.
        gate: Shared by all models of a run.
        record: Of a compile: answers are kept in it and given again. None in a benchmark run, where nothing is
            remembered.

    Raises:
        UsageError: No such provider, or parameters that cannot go together. A key is asked for by `require_key`.
    """
    spec, flag = ModelSpec.of(named), role.flag
    if spec.name == EMBEDDED:
        if spec.api_base or spec.params:
            raise UsageError(f"{flag} {EMBEDDED}: the stand-in takes no endpoint and no parameters")
        return _embedded(role, gate, record)
    name, given = spec.name, spec.params
    require_parameters(f"{flag}-param", given)
    route = find_route(name, spec.api_base, gate.backend)
    free = given.get(SCHEMA, ...) is None
    sent = decoding(name, role.writes, {key: value for key, value in given.items() if not (free and key == SCHEMA)})
    canonical = {key: value for key, value in sent.items() if key in _CANONICAL}
    price = spec.price or find_price(route)
    _require_bounds(flag, name, gate.limits, sent, price)
    caller = Caller(
        role=role.name,
        flag=flag,
        model=name,
        endpoint=route.api_base,
        key_variables=route.key_variables,
        sent=(*sent, *(() if free else (SCHEMA,))),
        extensions=_extensions(route, sent),
        completion_limit=_completion_limit(sent),
        price=price,
        secrets=spellings((*route.secrets, *secret_texts(given))),
        cache_apart=route.native and route.dialect == "anthropic",
        reasoning_apart=route.native and route.provider in ("gemini", "vertex", "vertex-express", "xai"),
    )
    try:
        known = capabilities(dspy.LM(name, engine="auto" if route.native else "litellm"))
        make = route.engines(connections=gate.concurrency, timeout=gate.timeout)
        taken = known.params - ({SCHEMA} if free else set())
        gated = GatedEngine(make, gate, caller, known.response_schema, taken)
        lm = _lm(name, gated, record, route.api_base, canonical)
    except (LMConfigurationError, ValueError) as error:
        raise UsageError(f"{flag} {name}: {error}") from error
    decided = {**sent, SCHEMA: None} if free else sent
    return Model(name, role, lm, shown(decided), route.api_base, price, route)


def _extensions(route: Route, sent: Decoding) -> dict[str, Any]:
    extensions = {key: value for key, value in sent.items() if key not in _CANONICAL}
    if route.native and isinstance(extensions.get(_BODY), Mapping):
        extensions |= extensions.pop(_BODY)  # litellm does the same
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


def _lm(name: str, gated: GatedEngine, record: Record | None, endpoint: str | None, canonical: Decoding) -> dspy.LM:
    """The model on an engine, with a record where there is one."""
    if record is None:
        return dspy.LM(name, engine=BlockingEngine(gated), async_engine=gated, num_retries=0, cache=False, **canonical)
    whose = f"{gated.caller.role} {gated.caller.model} {endpoint or ''}".strip()
    return RecordedLM(name, RecordedEngine(gated, record, whose), **canonical)


def _embedded(role: Role, gate: Gate, record: Record | None) -> Model:
    gated = GatedEngine(lambda: EmbeddedEngine(role.stand_in), gate, Caller(role.name, role.flag, EMBEDDED))
    return Model(EMBEDDED, role, _lm(EMBEDDED, gated, record, None, {}), {}, None, EMBEDDED_PRICE)
