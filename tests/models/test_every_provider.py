"""What holds for every provider and model that litellm lists: one request an attempt, limits, parameters and prices."""

import asyncio
import contextlib
import gc
import gzip
import re
from functools import cache

import dspy
import litellm
import pytest
from drivers.client import JUDGE, Chat, ask, awaited, gate
from fakes.server import Answer, error
from litellm.types.utils import LlmProviders, all_litellm_params
from support.provider import Scripted, SimulatedProvider

from dspy_proact.calls import SIZES, Call, Price, Usage
from dspy_proact.errors import Halt, LimitReached, ProactError, ProviderError, UsageError
from dspy_proact.models import Limits, ModelSpec, clients, decoding, open_model
from dspy_proact.models.clients import close_litellm
from dspy_proact.models.endpoint import find_route
from dspy_proact.models.prices import find_capacity, find_price

pytestmark = pytest.mark.filterwarnings("ignore")
"""What litellm's modules for rare providers say when they are imported."""
RETRIED = ("nvidia_nim", "sambanova", "deepinfra", "nscale", "featherless_ai", "hyperbolic", "baseten")
"""Whose requests the SDK under litellm would send again."""
OMITTED = dict.fromkeys(["temperature", "top_p", "max_tokens"])


@pytest.fixture
def keys(monkeypatch):
    for provider in LlmProviders:
        monkeypatch.setenv(f"{provider.value.upper().replace('-', '_')}_API_KEY", "a key of a test")


def test_a_failing_attempt_is_one_request_on_every_route(server, keys):
    """Several of litellm's routes drop its own `max_retries`; the SDK under them would ask twice more."""

    def script(sent):
        status = int(sent.path.partition("/at-")[2][:3])
        return error(status, "Conversation roles must alternate; extra inputs are not permitted")

    server.script = script

    async def call(name, status):
        spec = ModelSpec(name=f"{name}/any", api_base=f"{server.assistant}/at-{status}-{name}", params=OMITTED)
        with contextlib.suppress(ProactError, Halt), dspy.context(lm=open_model(spec, JUDGE, gate(retries=0)).lm):
            await Chat().acall(user_message="hi")
            raise AssertionError(f"{name} was answered")

    async def everybody():
        pairs = [(provider.value, 500) for provider in LlmProviders] + [(name, 422) for name in RETRIED]
        await asyncio.gather(*(call(name, status) for name, status in pairs))
        await close_litellm()

    asyncio.run(everybody())
    gc.collect()  # what rare routes leave open is closed here, where no warning counts
    heard = [sent.path.partition("/at-")[2].partition("/")[0] for sent in server.sent]
    assert len(heard) == len(set(heard)), sorted(name for name in set(heard) if heard.count(name) > 1)
    assert {f"{status}-{name}" for name in RETRIED for status in (500, 422)} <= set(heard)
    assert len(heard) >= 90 + len(
        RETRIED
    )  # the others are no chat models, need a log-in first, or an SDK that is not installed


@pytest.mark.parametrize("model", ["replicate/any", "bytez/any", "sagemaker/any", "sagemaker_chat/any"])
def test_a_provider_that_ignores_the_endpoint_is_refused_with_one(model):
    find_route(model)
    with pytest.raises(UsageError, match="whatever endpoint is given"):
        find_route(model, "http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("openai_like/any", "no chat client for this provider, so the endpoint has no effect.* hosted_vllm/NAME"),
        ("vllm/any", "would run vLLM in this process. For a vLLM server name hosted_vllm/any, and its address with"),
    ],
)
def test_a_provider_that_cannot_be_called_ends_the_run_with_the_reason(
    proactbench, proact, server, keys, model, problem
):
    at = ("--model", model, "--model-api-base", server.assistant, "--judge", "hosted_vllm/any")
    status, _, err = proact("eval", "--corpus", "sample", *at, "--judge-api-base", server.judge, "--retries", 0)
    assert status == 2
    assert re.search(problem, " ".join(err.split()))
    assert "--model " + model in " ".join(err.split())
    assert not server.sent


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_a_packed_body_is_bounded_while_it_is_unpacked(monkeypatch, encoding):
    monkeypatch.setattr(clients, "LONGEST", 2**20)
    packed = gzip.compress(b"x" * 2**23)
    bomb = Scripted(raw=packed if encoding == "gzip" else b"\x0b", headers={"Content-Encoding": encoding})
    with SimulatedProvider(lambda received: bomb) as provider:
        spec = ModelSpec(name="hosted_vllm/any", api_base=provider.base("assistant"))
        outcome = ask(open_model(spec, JUDGE, gate("litellm", retries=0)))
    assert isinstance(outcome.error, ProviderError)
    assert {"gzip": "1 MiB", "br": "'br'"}[encoding] in outcome.error.detail


def test_a_small_packed_body_is_read():
    body = gzip.compress(Scripted("hello").body())
    with SimulatedProvider(lambda received: Scripted(raw=body, headers={"Content-Encoding": "gzip"})) as provider:
        spec = ModelSpec(name="hosted_vllm/any", api_base=provider.base("assistant"))
        assert ask(open_model(spec, JUDGE, gate("litellm"))).text == "hello"


# What is sent


@cache
def routes():
    """Every chat model of litellm's map that it has a route to, with its row."""
    results = []
    for name, row in litellm.model_cost.items():
        if row.get("mode") == "chat":
            with contextlib.suppress(UsageError):  # a provider that is in the map and not in the package
                results.append((find_route(name), row))
    return results


def test_no_preset_asks_for_a_longer_answer_than_the_model_gives_or_for_what_it_does_not_take():
    checked = 0
    for route, row in routes():
        most = row.get("max_output_tokens") or row.get("max_tokens")
        capacity = find_capacity(route)
        for writes in ("response", "verdict"):
            sent = decoding(route.model, writes, capacity=capacity)
            assert not most or sent["max_tokens"] <= most, route.model
            assert not sent.keys() & capacity.refuses, route.model
            assert "temperature" not in sent or row.get("supports_sampling_params") is not False, route.model
        checked += bool(most)
    assert checked > 2500


def test_a_person_may_ask_a_judge_for_a_longer_answer_than_the_list_has():
    spec = ModelSpec(name="openai/gpt-4-turbo", api_base="http://127.0.0.1:1/v1", params={"max_tokens": 99_999})
    assert open_model(spec, JUDGE, gate()).decoding["max_tokens"] == 99_999


@pytest.mark.parametrize("inside", [False, True], ids=["by name", "in extra_body"])
def test_no_parameter_of_litellms_own_is_taken(inside):
    """Among them are such as answer by another model, ask again, or answer without a call."""
    own = {"fallbacks", "context_window_fallback_dict", "retry_policy", "num_retries", "mock_response", "api_base"}
    for name in sorted(own if inside else own | {*all_litellm_params} - {"service_tier"}):
        inputs = {"extra_body": {name: "x"}} if inside else {name: "x"}
        with pytest.raises(UsageError, match="is not a decoding parameter"):
            open_model(ModelSpec(name="openai/any", api_base="http://127.0.0.1:1/v1", params=inputs), JUDGE, gate())


# Prices


def test_every_price_of_the_map_is_known_for_prompts_of_any_length_or_not_at_all():
    priced = [(route, price) for route, _ in routes() if (price := find_price(route)).prompt is not None]
    assert len(priced) > 2500
    for route, price in priced:
        assert price.known, route.model
        assert {*price.above} <= {*SIZES}, route.model
    assert sum(bool(price.above) for _, price in priced) > 200


@pytest.mark.parametrize(
    ("model", "sent", "tokens", "usd"),
    [
        # OpenAI's list: 2.50 and 15 dollars a million tokens; 5 and 22.50 above 272,000 tokens of the prompt.
        ("openai/gpt-5.4", {}, (272_000, 1_000), 0.695),
        ("openai/gpt-5.4", {}, (300_000, 1_000), 1.5225),
        ("openai/gpt-5.4", {"service_tier": "flex"}, (272_000, 1_000), 0.3475),
        ("openai/gpt-5.4", {"service_tier": "priority"}, (272_000, 1_000), 1.39),
        ("openai/gpt-5.4", {"extra_body": {"service_tier": "priority"}}, (272_000, 1_000), 1.39),
        ("openai/gpt-5.4", {"service_tier": "priority"}, (300_000, 1_000), None),  # there is no such service
        ("openai/gpt-5.4", {"service_tier": "scale"}, (1_000, 1_000), None),
        # Alibaba's ranges: 0.05 and 0.40 dollars a million up to 256,000 tokens, then 0.25 and 2.
        ("dashscope/qwen-flash", {}, (256_000, 1_000), 0.0132),
        ("dashscope/qwen-flash", {}, (300_000, 1_000), 0.077),
        # Priced by search and reasoning too, which no count tells.
        ("perplexity/sonar-deep-research", {}, (1_000, 1_000), None),
        # These search at every request, and that only where it is told to, which costs 25 dollars a thousand.
        ("perplexity/sonar-pro", {}, (1_000, 1_000), None),
        ("openai/gpt-4o-search-preview", {}, (1_000, 1_000), None),
        ("openai/gpt-5", {}, (1_000, 1_000), 0.01125),
        ("openai/gpt-5", {"extra_body": {"web_search_options": {}}}, (1_000, 1_000), None),
        ("anthropic/claude-opus-4-8", {"extra_body": {"speed": "fast"}}, (1_000, 1_000), None),  # twice the price
        ("openrouter/openai/gpt-4o", {"provider": {"only": ["azure"]}}, (1_000, 1_000), None),
        ("openai/gpt-5", {"extra_body": {"seed": 7}, "max_tokens": 9}, (1_000, 1_000), 0.01125),
    ],
)
def test_a_price_depends_on_the_length_of_the_prompt_and_on_the_tier(model, sent, tokens, usd):
    assert find_price(find_route(model), sent).of(*tokens) == (usd and pytest.approx(usd))


def test_a_server_of_a_region_has_no_list_price_where_regions_cost_more(monkeypatch):
    prices = [find_price(find_route("openai/gpt-5.4", f"https://{host}.openai.com/v1")) for host in ("api", "eu.api")]
    assert [price.known for price in prices] == [True, False]
    assert "prices more than tokens" in str(prices[1].reason)
    for location, known in (("europe-west4", False), ("global", True)):
        monkeypatch.setenv("VERTEXAI_LOCATION", location)
        assert find_price(find_route("vertex_ai/claude-opus-4-8")).known is known


TIERED = Price(
    prompt=1e-6, completion=2e-6, cached=1e-7, written=2e-6, above={200_000: Price(prompt=3e-6, completion=4e-6)}
)


def called(prompt, completion=0, **cache):
    return Call(role="judge", started=1.0, latency=1.0, prompt_tokens=prompt, completion_tokens=completion, **cache)


def test_each_call_of_a_run_is_priced_by_its_own_length():
    short = called(150_000, 1_000, cached_tokens=100_000, written_tokens=10_000)
    long = called(250_000, 1_000)
    # 40,000 new, 100,000 read, 10,000 written and 1,000 of the answer; then 250,000 and 1,000 in the upper tier.
    separate = [0.040 + 0.010 + 0.020 + 0.002, 0.750 + 0.004]
    assert Usage.of([short], TIERED).usd == pytest.approx(separate[0])
    assert Usage.of([long], TIERED).usd == pytest.approx(separate[1])
    assert Usage.of([short, long, long], TIERED).usd == pytest.approx(separate[0] + 2 * separate[1])
    # All short prompts together are longer than the limit, and none of them is.
    assert Usage.of([short] * 10, TIERED).usd == pytest.approx(10 * separate[0])


def test_a_limit_in_dollars_reserves_the_dearest_tier_and_needs_all_of_them(server):
    assert TIERED.most(250_000, 1_000) == pytest.approx(0.754)
    assert TIERED.most(150_000, 1_000) == pytest.approx(0.302)  # all of it written to the cache
    server.script = lambda sent: Answer("hello")
    spec = {"name": "hosted_vllm/any", "api_base": server.judge, "params": {"max_tokens": 10}}
    dear = Price(prompt=1e-9, completion=1e-9, above={32_000: Price(prompt=1.0, completion=1.0)})
    model = open_model(ModelSpec(**spec, price=dear), JUDGE, gate(limits=Limits(usd=1.0)))
    assert ask(model).text == "hello"

    async def long():
        await awaited(model, Chat().acall(user_message="x" * 40_000))

    with pytest.raises(LimitReached):
        asyncio.run(long())
    gap = Price(prompt=1.0, completion=1.0, above={32_000: Price()})
    with pytest.raises(UsageError, match=r"whatever the length of a prompt: give `judge.price=IN,OUT`"):
        open_model(ModelSpec(**spec, price=gap), JUDGE, gate(limits=Limits(usd=1.0)))
