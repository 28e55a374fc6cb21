import socket
import subprocess
import sys

import pytest

from dspy_proact.benchmarks.proactbench.programs import JUDGE
from dspy_proact.models import Gate, ModelSpec, open_model
from dspy_proact.models.route import EMBEDDED_PRICE, find_price, find_route


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a price was looked up over the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize("backend", ["auto", "litellm"])
@pytest.mark.parametrize(
    "model",
    ["openai/gpt-5.4", "anthropic/claude-sonnet-4-5", "gpt-4o", "gemini/gemini-2.5-pro"],
)
def test_a_known_model_has_its_list_price_on_every_route(model, backend):
    price = find_price(find_route(model, backend=backend))
    assert price.prompt > 0
    assert price.completion > price.prompt
    assert price.reason == "list price in litellm's bundled map"


def test_prices_are_dollars_for_one_token():
    price = find_price(find_route("openai/gpt-4o"))
    # OpenAI's list: 2.50 dollars a million tokens in, 1.25 read from the cache, 10.00 out.
    assert (price.prompt, price.cached, price.completion) == pytest.approx((2.5e-6, 1.25e-6, 1e-5))


@pytest.mark.parametrize("backend", ["auto", "litellm"])
@pytest.mark.parametrize("model", ["hosted_vllm/any", "openai/no-such-model", "together_ai/vendor/any"])
def test_an_unknown_price_is_none_with_the_reason(model, backend):
    price = find_price(find_route(model, backend=backend))
    assert (price.prompt, price.completion, price.cached) == (None, None, None)
    assert price.reason == f"litellm's bundled map has no price for {model}"


def test_the_embedded_model_costs_nothing():
    price = open_model("embedded", JUDGE, Gate()).price
    assert price is EMBEDDED_PRICE
    assert (price.prompt, price.completion) == (0.0, 0.0)


def test_a_model_carries_its_price():
    price = open_model(ModelSpec(name="openai/gpt-4o", api_base="http://127.0.0.1:1/v1"), JUDGE, Gate()).price
    assert price.completion == pytest.approx(1e-5)


FRESH = """
import socket
def refuse(*_): raise SystemExit("network")
socket.socket.connect = socket.getaddrinfo = refuse
from dspy_proact.models.route import find_price
from dspy_proact.models.route import find_route
print(find_price(find_route("openai/gpt-5.4")).prompt > 0, find_price(find_route("gpt-4o", None, "litellm")).prompt > 0)
"""


def test_the_first_look_up_of_a_process_needs_no_network_either():
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
