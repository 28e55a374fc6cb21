"""Embeddings over real HTTP, behind the gate."""

import asyncio

import pytest
from fakes.server import error, vectors

from dspy_proact.calls import Price, collect_calls
from dspy_proact.errors import LimitReached, ProviderError, UsageError
from dspy_proact.models import Gate, Limits, ModelSpec, open_embedder

ARGUMENT = "settings.embedder"
PRICE = Price(prompt=0.5, completion=0.0)


def embedder(server, name="openai/any", **options):
    spec = ModelSpec(name=name, api_base=server.assistant, price=PRICE)
    return open_embedder(spec, Gate(backoff=0.001, **options), ARGUMENT)


def embedded(model, texts, way="async"):
    async def run():
        try:
            return await (model.embed(texts) if way == "async" else model.embed_now(texts))
        finally:
            await model.aclose()

    with collect_calls() as calls:
        return asyncio.run(run()), calls


NAMES = pytest.mark.parametrize("name", ["openai/any", "hosted_vllm/any"])


@NAMES
@pytest.mark.parametrize("way", ["async", "sync"])
def test_every_text_has_its_vector_in_order(server, way, name):
    server.script = vectors
    texts = [f"{'permit ' * (number % 3)}{number}" for number in range(70)]
    result, calls = embedded(embedder(server, name), texts, way)
    assert result == [[float(number % 3), 1.0] for number in range(70)]
    assert [len(sent.body["input"]) for sent in server.sent] == [32, 32, 6]
    assert [(call.role, call.prompt_tokens, call.completion_tokens) for call in calls] == [("embedder", 7, 0)] * 3


@NAMES
def test_what_fails_for_a_while_is_tried_again_by_the_gate_alone(server, name):
    pending = [error(500), error(429)]
    server.script = lambda sent: pending.pop() if pending else vectors(sent)
    result, calls = embedded(embedder(server, name), ["permit"])
    assert result == [[1.0, 1.0]]
    assert [call.error for call in calls] == ["rate_limit", "server", None]


@pytest.mark.parametrize("width", [(0, 0), (2, 1), (2,)])
def test_vectors_that_are_not_one_a_text_of_one_length_are_a_failure(server, width):
    server.script = lambda sent: vectors(sent, width)
    with pytest.raises(ProviderError, match="not a readable answer"):
        embedded(embedder(server, retries=0), ["a", "b"])


@pytest.mark.parametrize("limits", [Limits(calls=0), Limits(tokens=3), Limits(usd=0.01)])
def test_limits_hold_before_a_call(server, limits):
    with pytest.raises(LimitReached):
        embedded(embedder(server, limits=limits), ["permit"])
    assert not server.sent


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (ModelSpec(), "search by words"),
        (ModelSpec(name="openai/any", params={"dimensions": 2}), "takes no parameters"),
        (ModelSpec(name="nobody/any"), "no provider of that name"),
    ],
)
def test_what_cannot_embed_is_refused(spec, text):
    with pytest.raises(UsageError, match=text):
        open_embedder(spec, Gate(), ARGUMENT)


def test_a_limit_in_dollars_needs_a_price(server):
    spec = ModelSpec(name="openai/any", api_base=server.assistant)
    with pytest.raises(UsageError, match=r"`limits.usd` needs a price"):
        open_embedder(spec, Gate(limits=Limits(usd=1)), ARGUMENT)


def test_a_key_is_asked_for_where_one_is_needed():
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        open_embedder("openai/text-embedding-3-small", Gate(), ARGUMENT).require_key()
