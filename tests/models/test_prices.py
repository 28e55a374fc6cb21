"""Prices, limits and parameters of models: those that litellm finds, without litellm where DSPy's own client calls."""

import contextlib
import socket

import litellm
import pytest
from drivers.client import JUDGE, answers, ask, gate
from fakes.server import Answer, error
from litellm.exceptions import ModelNotMappedError
from litellm.types.utils import LlmProviders

from dspy_proact.calls import Price
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, ModelSpec, count_tokens, decoding, open_model
from dspy_proact.models.endpoint import find_route
from dspy_proact.models.prices import find_capacity, find_price
from dspy_proact.models.spec import Capacity

SIGNS_IN = ("chatgpt", "github_copilot")
ASK_A_SERVER = ("huggingface", "lemonade", "ollama", "ollama_chat")
"""Providers whose models litellm asks the network about."""
NOT_IN_THE_MAP = (
    "openai/gpt-4o-2031-01-01",  # of which it finds gpt-4o
    "openai/ft:gpt-4o-mini-2024-07-18:acme::x1",
    "openai/GPT-4o",
    "openai/gpt-5.99",
    "openai/gpt-5-search-x",
    "anthropic/claude-opus-9",  # of which it knows the family's limit, and no price
    "gemini/gemini-2.5-flash-001",
    "hosted_vllm/o3-mini",
    "openrouter/openai/gpt-5.5",
    "xai/any",
)


def known_to_litellm(name):
    """The price of a token in and out, and what is known of the model, by the functions of litellm's own."""
    try:
        called = litellm.get_llm_provider(name)[:2]
    except litellm.exceptions.BadRequestError:  # a name that DSPy alone knows whose it is
        return litellm.model_cost[name], None
    for way in ((name,), called):
        with contextlib.suppress(ModelNotMappedError):
            known = litellm.get_model_info(*way)
            return litellm.model_cost.get(known["key"]) or known, litellm.get_supported_openai_params(*called)
    return {}, litellm.get_supported_openai_params(*called)


def sent_by_preset(name, row, takes):
    """What presets send of a model of which this is known."""
    refuses = {"temperature", "top_p", "reasoning_effort"} - {*takes} if takes else set()
    refuses |= {"temperature", "top_p"} if row.get("supports_sampling_params") is False else set()
    capacity = Capacity(row.get("max_output_tokens") or row.get("max_tokens"), frozenset(refuses))
    return [decoding(name, writes, capacity=capacity) for writes in ("response", "verdict")]


@pytest.mark.filterwarnings("ignore")  # what litellm's modules for rare providers say when they are imported
def test_a_model_of_dspys_own_client_has_the_price_the_limit_and_the_parameters_that_litellm_finds():
    listed = [name for name, row in litellm.model_cost.items() if row.get("mode") == "chat"]
    checked = priced = 0
    for name in (*listed, *NOT_IN_THE_MAP):
        # A model of Bedrock's without its prefix is none of Anthropic's.
        if name.partition("/")[0] in (*SIGNS_IN, *ASK_A_SERVER) or name.endswith("-v1:0"):
            continue
        with contextlib.suppress(UsageError):
            if (route := find_route(name)).native:
                row, takes = known_to_litellm(name)
                price, capacity = find_price(route), find_capacity(route)
                sent = [decoding(name, writes, capacity=capacity) for writes in ("response", "verdict")]
                assert sent == sent_by_preset(name, row, takes), name
                if price.known:
                    columns = ("input_cost_per_token", "output_cost_per_token")
                    assert (price.prompt, price.completion) == tuple(row[column] for column in columns), name
                else:
                    assert not row.get("input_cost_per_token") or "prices more" in str(price.reason), name
                checked, priced = checked + 1, priced + price.known
    assert (checked > 230, priced > 200) == (True, True)


@pytest.mark.parametrize(
    "name", ["vertex_ai/gemini-2.5-flash", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "azure/gpt-4o"]
)
def test_a_name_that_the_map_lacks_as_it_stands_has_the_price_and_the_limit_that_litellm_finds(name):
    known = litellm.get_model_info(name)
    route = find_route(name)
    price = find_price(route)
    assert (price.prompt, price.completion) == (known["input_cost_per_token"], known["output_cost_per_token"])
    assert price.known
    assert find_capacity(route).tokens == known["max_output_tokens"]


MESSAGES = [
    {"role": "system", "content": "Grade <|endoftext|> it. \N{GRINNING FACE} " + " " * 3000},
    {"role": "user", "content": [{"type": "text", "text": "Ça va? " * 700}, {"type": "text", "text": "yes"}]},
]


@pytest.mark.parametrize(
    "model", ["openai/gpt-4o", "gpt-4o", "gpt-5.4", "anthropic/claude-opus-4-8", "hosted_vllm/any"]
)
def test_tokens_are_counted_as_litellm_counts_them(model, monkeypatch):
    monkeypatch.setattr(litellm, "disable_hf_tokenizer_download", True)
    texts = [MESSAGES[0], {"role": "user", "content": "Ça va? " * 700 + "yes"}]
    assert count_tokens(model, MESSAGES) == litellm.token_counter(model=model, messages=texts)


# No network


@pytest.fixture
def offline(monkeypatch):
    """What tried to connect."""
    tried = []

    def refuse(*address, **_):
        tried.append(address)
        raise OSError("no network in a test")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    return tried


@pytest.mark.filterwarnings("ignore")
def test_no_look_up_of_a_name_asks_the_network(offline):
    for provider in {*(member.value for member in LlmProviders), *SIGNS_IN}:
        for name in (f"{provider}/any", f"{provider}/gpt-4o", f"{provider}/claude-opus-9"):
            for backend in ("auto", "litellm"):
                with contextlib.suppress(UsageError):
                    route = find_route(name, backend=backend)
                    find_price(route)
                    find_capacity(route)
                assert not offline, name


def test_every_provider_whose_name_is_a_log_in_is_refused():
    from litellm.constants import PROVIDERS_THAT_AUTHENTICATE_ON_PROVIDER_INFO

    assert {*PROVIDERS_THAT_AUTHENTICATE_ON_PROVIDER_INFO} == {*SIGNS_IN}
    for provider in SIGNS_IN:
        with pytest.raises(
            UsageError, match=rf"^{provider}/any: litellm asks for a log-in in a browser.*litellm_proxy"
        ):
            find_route(f"{provider}/any")


# The flex tier


def test_the_flex_tier_is_sent_has_its_price_and_its_time_limit_and_is_tried_again_while_it_is_busy(server):
    answers(server, error(429, "Resource unavailable"), Answer("hello"))
    through = gate(flex=True)
    model = open_model(ModelSpec(name="openai/gpt-5.4", api_base=server.judge), JUDGE, through)
    outcome = ask(model)
    assert (outcome.text, outcome.words) == ("hello", ["rate_limit", None])
    assert [sent.body["service_tier"] for sent in server.sent] == ["flex", "flex"]
    assert model.price.prompt == pytest.approx(1.25e-6)  # half of OpenAI's 2.50 dollars a million
    assert (through.timeout, Gate(flex=True, timeout=5.0).timeout, Gate().timeout) == (900.0, 5.0, 600.0)
    gemini = open_model("gemini/gemini-2.5-flash", JUDGE, gate(flex=True))
    assert gemini.caller.extensions == {"serviceTier": "flex"}  # as Google's API calls it


@pytest.mark.parametrize("name", ["openai/gpt-4o", "anthropic/claude-opus-4-8", "hosted_vllm/any"])
def test_a_model_without_a_known_flex_tier_is_refused_unless_its_price_or_its_tier_is_given(name):
    with pytest.raises(UsageError, match=rf"^`judge` {name}: no flex tier is known .*`judge.params` service_tier=none"):
        open_model(name, JUDGE, gate(flex=True))
    usual = open_model(ModelSpec(name=name, params={"service_tier": None}), JUDGE, gate(flex=True))
    priced = open_model(ModelSpec(name=name, price=Price(prompt=1e-6, completion=2e-6)), JUDGE, gate(flex=True))
    assert (usual.decoding.get("service_tier"), priced.decoding["service_tier"]) == (None, "flex")
