"""A model that makes vectors of texts, behind the gate like any other."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from dspy.lm15 import DataPart, Message, Request, Response, Usage

from dspy_proact.calls import Price
from dspy_proact.errors import UsageError
from dspy_proact.models.clients import bound_clients_of_litellm, close_litellm, import_litellm
from dspy_proact.models.dspy_internals import litellm_errors
from dspy_proact.models.endpoint import NODE, Route, find_route
from dspy_proact.models.engine import GatedEngine, wait_for
from dspy_proact.models.faults import Caller
from dspy_proact.models.gate import Gate
from dspy_proact.models.logged import LoggedEngine
from dspy_proact.models.prices import find_price
from dspy_proact.models.redaction import spellings
from dspy_proact.models.server import first_calls
from dspy_proact.models.spec import EMBEDDED, ModelSpec, Role

EMBEDDER = "embedder"
"""Role under which its calls are counted."""
_BATCH = 32
"""Texts of one request."""
Vectors = list[list[float]]


class Embedder:
    """Makes vectors of texts."""

    embedded = False

    def __init__(self, name: str, role: Role, engine: LoggedEngine, price: Price, route: Route):
        self.name, self.role, self.price = name, role, price
        self.endpoint = route.api_base  # None for the provider's own
        self._engine, self._route = engine, route

    def require_key(self) -> None:
        """Raise a `UsageError` that names the variable, where a key is needed and missing."""
        self._route.require_key(self.role.argument)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, in their order, all of one length; raises a `StageError` where there are none."""
        vectors: Vectors = []
        for start in range(0, len(texts), _BATCH):
            messages = tuple(map(Message.user, texts[start : start + _BATCH]))
            response = await self._engine.complete(Request(model=self.name, messages=messages))
            (part,) = response.message.parts
            assert isinstance(part, DataPart), "as the engine makes it"
            vectors += cast("Vectors", part.value)
        return vectors

    async def embed_now(self, texts: Sequence[str]) -> Vectors:
        """What `embed` returns, without ever yielding to the running loop."""
        return wait_for(self.embed(texts))

    async def aclose(self) -> None:
        """Close its connections in the running loop."""
        await self._engine.aclose()


def open_embedder(named: ModelSpec | str, gate: Gate, argument: str) -> Embedder:
    """Make an embedder callable; raises a `UsageError` where the name, parameters or price do not do."""
    spec = ModelSpec.of(named)
    if spec.name == EMBEDDED:
        raise UsageError(
            f"`{argument}` {EMBEDDED}: the stand-in makes no vectors; omit `{argument}` to search by words"
        )
    if spec.params:
        raise UsageError(f"`{argument}` {spec.name}: an embedder takes no parameters")
    route = find_route(spec.name, spec.api_base, "litellm")
    if NODE in (route.api_base or ""):
        raise UsageError(
            f"`{argument}` {spec.name}: an embedder is asked by this process; give an address without {NODE}"
        )
    price = spec.price or find_price(route)
    if gate.limits.usd is not None and (price.prompt is None or price.completion is None):
        mend = f"give `{argument}_price=N`, in US dollars per million tokens"
        raise UsageError(f"`limits.usd` needs a price for `{argument}` {spec.name}, and {price.reason}; {mend}")
    caller = Caller(
        role=EMBEDDER,
        argument=argument,
        model=spec.name,
        endpoint=route.api_base,
        key_variables=route.key_variables,
        price=price,
        secrets=spellings(route.secrets),
        address=route.address,
        proxy=route.proxy,
    )
    options = route.setup(connections=gate.concurrency, timeout=gate.timeout).litellm_options
    bound_clients_of_litellm()
    import_litellm().DEFAULT_MAX_RETRIES = 0  # in the whole process: its embeddings ignore `max_retries=0`
    make: Callable[[], _EmbeddingEngine] = lambda: _EmbeddingEngine(options)  # noqa: E731 - typed
    engine = LoggedEngine(GatedEngine(make, gate, caller, first=partial(first_calls, route)), briefly=True)
    return Embedder(spec.name, Role(EMBEDDER, argument, "response", None), engine, price, route)


class _EmbeddingEngine:
    """litellm's embeddings as an engine: a request of texts is answered by their vectors as data."""

    def __init__(self, options: dict[str, Any]):
        self._options = options

    async def complete(self, request: Request) -> Response:
        texts = [message.text or "" for message in request.messages]
        with litellm_errors(model=request.model):
            raw: Any = await import_litellm().aembedding(
                model=request.model, input=texts, max_retries=0, encoding_format="float", **self._options
            )
        rows = sorted(raw.data, key=lambda row: row["index"])
        vectors: Any = [[float(number) for number in row["embedding"]] for row in rows]
        if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) > 1 or not all(vectors):
            raise ValueError(f"{len(texts)} texts were sent, and the answer is not as many vectors of one length")
        return Response(
            id=None,
            model=request.model,
            message=Message(role="assistant", parts=(DataPart(value=vectors),)),
            finish_reason="stop",
            usage=Usage(input_tokens=raw.usage.prompt_tokens if raw.usage else None, output_tokens=0),
        )

    async def aclose(self) -> None:
        await close_litellm()
