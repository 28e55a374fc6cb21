"""From a litellm name to a `dspy.LM` behind the gate, and the embedded model's engine."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import dspy
from dspy.lm15 import (
    ImagePart,
    Message,
    Request,
    Response,
    StreamDeltaEvent,
    StreamEndEvent,
    StreamStartEvent,
    TextDelta,
    TextPart,
    Usage,
)

from dspy_proact.calls import Price
from dspy_proact.errors import UsageError
from dspy_proact.images import described
from dspy_proact.kept import CallLog
from dspy_proact.models.batch.batcher import Batcher, MakeService
from dspy_proact.models.batch.services import service_of
from dspy_proact.models.batch.wire import BatchLiteLLM, BatchLM15
from dspy_proact.models.budget import Cost, Limits, most_of_messages
from dspy_proact.models.dspy_internals import StreamEvent, async_engine_of
from dspy_proact.models.embedder import Embedder
from dspy_proact.models.endpoint import NODE, Route, find_route
from dspy_proact.models.engine import GatedEngine
from dspy_proact.models.faults import Caller
from dspy_proact.models.gate import Gate
from dspy_proact.models.logged import LoggedEngine, LoggedLM
from dspy_proact.models.prices import EMBEDDED_PRICE, capabilities_of, find_capacity, find_price, find_tiers
from dspy_proact.models.prompt_cache import PromptCache
from dspy_proact.models.ray.ray_engine import RayEngine
from dspy_proact.models.ray.worker import RemoteModel
from dspy_proact.models.redaction import spellings
from dspy_proact.models.request_form import RequestForm
from dspy_proact.models.server import find_server, first_calls
from dspy_proact.models.spec import (
    COMPLETION_LIMIT,
    EMBEDDED,
    LIMIT,
    SCHEMA,
    Capacity,
    Decoding,
    ModelSpec,
    Role,
    StandIn,
    decoding,
    require_parameters,
    secret_texts,
    takes_completion_limit,
    with_one_limit,
    without_secrets,
)
from dspy_proact.models.tokens import image_tokens
from dspy_proact.types import RoleIdentity

_CANONICAL = {LIMIT, "reasoning_effort", "temperature", "top_p"}
"""Parameters that DSPy words for every provider; any other goes into the body as it is."""


@dataclass(frozen=True)
class Model:
    """A model in a role, ready to be called."""

    name: str
    role: Role
    lm: dspy.LM = field(repr=False)
    decoding: Decoding
    """The parameters that are sent; a text among them that may be a secret is a mark."""
    overridden: tuple[str, ...]
    """Names of parameters that are sent otherwise than in the preset, or left out; sorted."""
    endpoint: str | None
    price: Price
    route: Route | None = None
    """None for the stand-in, whose calls go nowhere."""
    form: str | None = None
    """In which of `FORMS` an answer in JSON is requested; None for neither."""
    app: str | None = None
    """Of an application in its place: sha256 of what decides its answers; None of a model."""
    stateful: bool = False
    """Whether that keeps the conversation, so that earlier replies in it are its own."""

    def require_key(self) -> None:
        """Raise a `UsageError` that names the variable, where a key is needed and missing."""
        if self.route:
            self.route.require_key(self.role.argument)

    @property
    def embedded(self) -> bool:
        """Whether it is the stand-in that measures nothing."""
        return self.name == EMBEDDED

    @property
    def identity(self) -> RoleIdentity:
        """What decides its answers, but for the program that calls it."""
        return RoleIdentity(model=self.name, endpoint=self.endpoint, decoding=dict(self.decoding), app=self.app)

    @property
    def caller(self) -> Caller:
        """What the gate knows of it."""
        return async_engine_of(self.lm).gated.caller

    @property
    def tiers(self) -> dict[str, Price]:
        """Its list prices by tier, `plain`, `flex` and `batch`, as far as known; none where another price is given."""
        tiers = find_tiers(self.route, self.decoding) if self.route else {}
        return tiers if self.price in tiers.values() else {}

    @property
    def greater_limit(self) -> int | None:
        """Twice its limit of output, as far as it gives so many tokens; None where there is no limit, or no more."""
        limit = self.decoding.get(LIMIT)
        if limit is None or self.route is None:
            return None
        greater = min(2 * limit, _capacity(self.route).tokens or 2 * limit)
        return greater if greater > limit else None

    def most(self, messages: Sequence[Mapping[str, Any]], images: Iterable[tuple[int, int]] = ()) -> Cost:
        """The most that a call with these messages, and images of these sizes in pixels, can cost.

        Of an application that is not known, and limits of tokens and money hold what it reports.
        """
        if self.app:
            return Cost(calls=1)
        tokens = sum(image_tokens(self.name, *size) or 0 for size in images)
        return most_of_messages(messages, tokens, self.decoding.get(LIMIT), self.price)

    async def aclose(self) -> None:
        """Close its connections in the running loop."""
        await async_engine_of(self.lm).aclose()


AnyModel = Model | Embedder


def open_model(named: ModelSpec | str, role: Role, gate: Gate, *, log: CallLog | None = None) -> Model:
    """Make a model callable in a role, by its litellm name, `embedded`, or a spec, behind the gate that a run shares.

    The log is that of a compile; a run's comes with the stage that asks. Raises a `UsageError` where there is no such
    provider, or parameters cannot go together. `require_key` checks the key.
    """
    spec, argument = ModelSpec.of(named), role.argument
    if spec.name == EMBEDDED:
        return _open_stand_in(spec, role, gate, log)
    name, params = spec.name, with_one_limit({key: spec.params[key] for key in spec.params if key != SCHEMA})
    require_parameters(f"{argument}.params", spec.params)
    if name.startswith("vllm/"):
        mend = f"For a vLLM server name hosted_{name}, and its address with `{argument}.api_base`"
        raise UsageError(f"`{argument}` {name}: would run vLLM in this process. {mend}")
    if gate.batch and log is not None:
        raise UsageError("`gate.batch`: a compile needs each answer before it asks further; omit it")
    route = find_route(name, spec.api_base, gate.backend)
    if NODE in (route.api_base or "") and not gate.cluster:
        mend = "`gate.engine=ray` has workers of a cluster ask it; else give the address of one server"
        raise UsageError(f"`{argument}.api_base` {route.api_base}: {NODE} is the machine of a worker; {mend}")
    service = service_of(route, argument) if gate.batch else None
    own_form = {SCHEMA: spec.params[SCHEMA]} if SCHEMA in spec.params else {}
    # A person's own limit is sent as it is: the endpoint is not asked, so that what was run is rendered without it.
    capacity = find_capacity(route) if LIMIT in params else _capacity(route)
    known = {"capacity": capacity, "temperature": role.temperature}
    preset = decoding(name, role.writes, **known)
    sent = decoding(name, role.writes, {"service_tier": "flex", **params} if gate.flex else params, **known)
    limit = sent.get(LIMIT)
    price = spec.price or find_price(route, sent, batch=gate.batch)
    price = price.model_copy(update={"tier": "batch"}) if gate.batch else price
    if gate.flex and sent.get("service_tier") == "flex":
        _require_flex(name, argument, price)
    _require_bounds(f"`{argument}` {name}", argument, gate.limits, limit, price)
    caller = Caller(
        role=role.name,
        argument=argument,
        model=name,
        endpoint=route.api_base,
        key_variables=route.key_variables,
        sent=tuple(sent) if own_form.get(SCHEMA, ...) is None else (*sent, SCHEMA),
        extensions=_extensions(route, sent, COMPLETION_LIMIT in spec.params),
        completion_limit=limit,
        price=price,
        secrets=spellings((*route.secrets, *secret_texts(spec.params))),
        adds_cached_tokens=route.native and route.dialect == "anthropic",
        adds_reasoning_tokens=route.native and route.provider in ("gemini", "vertex", "vertex-express", "xai"),
        sees=capacity.sees,
        address=route.address,
        proxy=route.proxy,
    )
    try:
        known = capabilities_of(name, route.native)
        setup, ready = route.setup(connections=gate.concurrency, timeout=gate.timeout), None
        make: Callable[[], Any] = partial(setup.engine, **(_in_batches(gate, caller, service) if service else {}))
        if gate.cluster:
            remote = RemoteModel.of(route, setup, caller, tuple(secret_texts(spec.params)))
            make, ready = partial(RayEngine, gate.cluster, remote), gate.cluster.ready
        form = own_form.get(SCHEMA) if own_form else _form(route, known)
        gated = GatedEngine(
            make,
            gate,
            caller,
            form == "json_schema",
            (known.params - {SCHEMA}) | ({SCHEMA} if form else set()),
            trusts_schema=known.response_schema and route.needs_key,
            request_form=RequestForm(keeps_format=bool(own_form)),
            first=partial(first_calls, route),
            cache=PromptCache(by_litellm=not route.native) if route.provider == "anthropic" else None,
            in_batches=gate.batch,
            ready=ready,
        )
        lm = _lm(gated, log, {key: value for key, value in sent.items() if key in _CANONICAL})
    except (dspy.LMConfigurationError, ValueError) as error:
        raise UsageError(f"`{argument}` {name}: {error}") from error
    written = without_secrets({**sent, **own_form})
    overridden = tuple(sorted(key for key in {*preset, *written} if preset.get(key, ...) != written.get(key, ...)))
    return Model(name, role, lm, written, overridden, route.api_base, price, route, form)


def _open_stand_in(spec: ModelSpec, role: Role, gate: Gate, log: CallLog | None) -> Model:
    if spec.api_base or spec.params:
        raise UsageError(f"`{role.argument}` {EMBEDDED}: the stand-in takes no endpoint and no parameters")
    if gate.batch:
        raise UsageError(
            f"`{role.argument}` {EMBEDDED}: the stand-in answers at once and costs nothing; omit `gate.batch`"
        )
    if (stand_in := role.stand_in) is None:
        problem = f"there is no stand-in of the {role.name}; name a model with `{role.argument}`"
        raise UsageError(f"`{role.argument}` {EMBEDDED}: {problem}")
    gated = GatedEngine(lambda: EmbeddedEngine(stand_in), gate, Caller(role.name, role.argument, EMBEDDED))
    return Model(EMBEDDED, role, _lm(gated, log, {}), {}, (), None, EMBEDDED_PRICE)


def _in_batches(gate: Gate, caller: Caller, service: MakeService) -> dict[str, Any]:
    """What makes the engines of a model whose requests are answered in batches, by either client."""
    make = partial(Batcher, gate, caller, service)
    return {"native": lambda config: BatchLM15(config, make), "foreign": partial(BatchLiteLLM, make)}


def _form(route: Route, known: Any) -> str | None:
    """How answers in JSON are requested: by a schema wherever the model, or a server of one's own, may take one."""
    own = route.speaks_openai and bool(route.api_base or not route.needs_key)
    sent = route.native or SCHEMA in known.params  # litellm drops what it does not list
    if known.response_schema or (own and sent):
        return "json_schema"
    return "json_object" if SCHEMA in known.params else None


def _capacity(route: Route) -> Capacity:
    """What litellm's map and the endpoint itself say of a model."""
    known = find_capacity(route)
    limits = [limit for limit in (known.tokens, find_server(route).longest_answer) if limit]
    return replace(known, tokens=min(limits, default=None))


def _extensions(route: Route, sent: Decoding, renamed: bool) -> dict[str, Any]:
    extensions = {key: value for key, value in sent.items() if key not in _CANONICAL}
    if route.dialect == "gemini" and "service_tier" in extensions:
        extensions["serviceTier"] = extensions.pop("service_tier")
    if route.native and isinstance(extensions.get("extra_body"), Mapping):
        extensions |= extensions.pop("extra_body")  # as litellm does
    if LIMIT in sent and route.dialect in ("openai-chat", "litellm"):
        # DSPy would send max_completion_tokens on some routes, which older servers ignore: the limit would vanish.
        if renamed:
            extensions[COMPLETION_LIMIT] = sent[LIMIT]
        elif not takes_completion_limit(route.model):
            extensions[LIMIT] = sent[LIMIT]
    return extensions


def _require_flex(name: str, argument: str, price: Price) -> None:
    """Raise a `UsageError` where no flex price is known."""
    if not price.known:
        raise UsageError(
            f"`{argument}` {name}: no flex tier is known ({price.reason}), and a provider without one refuses the "
            f"request: omit `gate.flex`, or ask this model in its usual tier with `{argument}.params` "
            f"service_tier=none; if it has one, give its price with `{argument}.price=IN,OUT`"
        )


def _require_bounds(model: str, argument: str, limits: Limits, limit: int | None, price: Price) -> None:
    """Raise a `UsageError` where a limit could not be kept, because nothing bounds what a call may cost."""
    if limits.usd is not None and not price.known:
        wanted = f"give `{argument}.price=IN,OUT` in USD per million tokens"
        raise UsageError(f"`limits.usd` needs a price for {model}, whatever the length of a prompt: {wanted}")
    if (limits.usd is not None or limits.tokens is not None) and limit is None:
        raise UsageError(
            f"{model}: `limits.tokens` and `limits.usd` need a completion limit: set `{argument}.params` {LIMIT}=N"
        )


def _lm(gated: GatedEngine, log: CallLog | None, canonical: Decoding) -> dspy.LM:
    return LoggedLM(gated.caller.model, LoggedEngine(gated, log), **canonical)


class EmbeddedEngine:
    """The embedded model's engine: answers a request from its system text and its messages, by the rules of a role.

    It has no weights, reads nothing but the request, answers equal requests alike, and measures nothing about any real
    model. It sees no image: it reads the description that a drawing of ours has left in one.
    """

    def __init__(self, stand_in: StandIn):
        self._answer = stand_in

    async def complete(self, request: Request) -> Response:
        """The answer; tokens are counted as four characters each, at least one: no tokens are no count."""
        await asyncio.sleep(0)  # as at a provider, other tasks go on meanwhile, and Ctrl-C is handled
        parts: Any = request.system or ""
        system = parts if isinstance(parts, str) else "\n".join(part.text for part in parts)
        messages = [(message.role, "".join(map(_readable, message.parts))) for message in request.messages]
        answer = self._answer(system, messages)
        prompt = len(system) + sum(len(text) for _, text in messages)
        return Response(
            id=None,
            model=EMBEDDED,
            message=Message(role="assistant", parts=(TextPart(text=answer),)),
            finish_reason="stop",
            usage=Usage(input_tokens=max(1, prompt // 4), output_tokens=max(1, len(answer) // 4)),
        )

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """The answer of `complete` word by word, each with the blanks after it."""
        response = await self.complete(request)
        yield StreamStartEvent(model=response.model)
        for word in re.findall(r"\S+\s*|\s+", response.text or ""):
            yield StreamDeltaEvent(TextDelta(text=word))
        yield StreamEndEvent(finish_reason=response.finish_reason, usage=response.usage)


def _readable(part: Any) -> str:
    """A part of a message as text: an image by the description in it."""
    if not isinstance(part, ImagePart):
        return part.text if isinstance(part, TextPart) else ""
    seen = described(part.bytes) if part.data else ""
    return f"[image: {seen}]" if seen else "[image]"
