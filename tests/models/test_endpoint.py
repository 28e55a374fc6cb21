"""How a model is reached by its name, and what its tokens cost."""

import subprocess
import sys

import pytest
from drivers.client import ASSISTANT, JUDGE

from dspy_proact.compile.target import PROPOSER
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, ModelSpec, open_model
from dspy_proact.models.endpoint import find_route
from dspy_proact.models.prices import find_price

BOTH = pytest.mark.parametrize("backend", ["auto", "litellm"])
ROUTES = [
    # name, backend, provider, dialect, key variables, whether a key is needed
    ("openai/gpt-5.4", "auto", "openai-chat", "openai-chat", ("OPENAI_API_KEY",), True),
    ("gpt-4o", "auto", "openai-chat", "openai-chat", ("OPENAI_API_KEY",), True),
    ("hosted_vllm/any", "auto", "vllm", "openai-chat", ("HOSTED_VLLM_API_KEY",), False),
    ("anthropic/claude-sonnet-4-5", "auto", "anthropic", "anthropic", ("ANTHROPIC_API_KEY",), True),
    ("gemini/gemini-2.5-pro", "auto", "gemini", "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), True),
    ("openrouter/openai/gpt-5.4", "auto", "openrouter", "openai-chat", ("OPENROUTER_API_KEY",), True),
    ("ollama/llama3", "auto", "ollama", "openai-chat", ("OLLAMA_API_KEY",), False),
    ("together_ai/vendor/any", "auto", "together_ai", "litellm", ("TOGETHERAI_API_KEY",), True),
    ("mistral/mistral-large-latest", "auto", "mistral", "litellm", ("MISTRAL_API_KEY",), True),
    ("azure/deployment", "auto", "azure", "litellm", ("AZURE_API_KEY",), True),
    ("openai/gpt-5.4", "litellm", "openai", "litellm", ("OPENAI_API_KEY",), True),
    ("anthropic/claude-sonnet-4-5", "litellm", "anthropic", "litellm", ("ANTHROPIC_API_KEY",), True),
]


@pytest.mark.parametrize(("model", "backend", "provider", "dialect", "variables", "needs_key"), ROUTES)
def test_dspys_own_client_is_used_where_there_is_one_and_litellm_elsewhere(
    model, backend, provider, dialect, variables, needs_key
):
    route = find_route(model, backend=backend)
    assert (route.model, route.native) == (model, dialect != "litellm")
    assert (route.provider, route.dialect, route.api_base) == (provider, dialect, None)
    assert (route.key_variables, route.needs_key, route.has_key) == (variables, needs_key, False)


@BOTH
@pytest.mark.parametrize("model", ["no_such_provider/any", "any", "", "/any"])
def test_an_unknown_provider_is_refused(model, backend, capsys):
    with pytest.raises(UsageError, match=r"no provider of that name\. Names are litellm's") as caught:
        find_route(model, backend=backend)
    assert repr(model) in str(caught.value)
    assert capsys.readouterr().out == ""


# Endpoints


@BOTH
@pytest.mark.parametrize("variable", ["HOSTED_VLLM_API_BASE", "HOSTED_VLLM_BASE_URL"])
def test_the_environments_endpoint_of_the_same_provider_is_used(monkeypatch, variable, backend):
    monkeypatch.setenv(variable, "http://127.0.0.1:1/v1")
    assert find_route("hosted_vllm/any", backend=backend).api_base == "http://127.0.0.1:1/v1"
    assert find_route("hosted_vllm/any", "http://127.0.0.1:2/v1", backend).api_base == "http://127.0.0.1:2/v1"
    assert find_route("openai/any", backend=backend).api_base is None


@pytest.mark.parametrize("url", ["https://host/v1", "https://host/v1/", "https://host/v1//"])
@BOTH
def test_an_endpoint_is_written_without_its_last_slash(backend, url):
    assert find_route("openai/any", url, backend).api_base == "https://host/v1"


REFUSED = {
    **dict.fromkeys(
        ["host:8000/v1", "user:secret@host/v1", "http://", "ftp://secret/v1", "http:///v1"],
        "must begin with http:// or https://",
    ),
    **dict.fromkeys(
        [
            "http://127.0.0.1:1/v1?key=secret",
            "http://127.0.0.1:1/v1#secret",
            "http://user:secret@127.0.0.1:1/v1",
            "http://secret@127.0.0.1:1/v1",
            "http://user:se%40cret@[::1]:8000/v1",
        ],
        "a key in the environment",
    ),
    "http://host/v1/chat/completions/": r"give http://host/v1$",
}


@BOTH
@pytest.mark.parametrize(("url", "message"), REFUSED.items())
def test_an_endpoint_that_cannot_be_used_is_refused_and_a_secret_in_it_not_repeated(url, message, backend):
    with pytest.raises(UsageError, match=message) as refused:
        find_route("openai/any", url, backend)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("model", "url"), [("openai/sk-canary-wren", None), ("openai/any", "http://h/sk-canary-wren/v1")]
)
def test_a_key_in_a_name_or_in_an_endpoint_is_refused_and_not_repeated(monkeypatch, model, url):
    monkeypatch.setenv("SOME_API_KEY", "sk-canary-wren")
    with pytest.raises(UsageError, match="holds a key of the environment") as refused:
        find_route(model, url)
    assert "canary" not in str(refused.value)


# Keys


@BOTH
def test_a_missing_key_names_the_argument_the_model_and_the_variable(backend):
    for role in (ASSISTANT, JUDGE, PROPOSER):
        with pytest.raises(UsageError) as caught:
            open_model("openai/gpt-5.4", role, Gate(backend=backend)).require_key()
        assert str(caught.value) == (
            f"`{role.argument}` openai/gpt-5.4: no key. Set OPENAI_API_KEY, "
            f"or give `{role.argument}.api_base` for a server that asks for none."
        )


def test_any_of_several_variables_may_hold_the_key(monkeypatch):
    with pytest.raises(UsageError, match="Set GEMINI_API_KEY or GOOGLE_API_KEY"):
        find_route("gemini/gemini-2.5-pro").require_key("model")
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    find_route("gemini/gemini-2.5-pro").require_key("model")


@BOTH
@pytest.mark.parametrize(
    ("model", "variable"),
    [("openai/any", "OPENAI_API_KEY"), ("mistral/any", "MISTRAL_API_KEY"), ("together_ai/any", "TOGETHERAI_API_KEY")],
)
def test_a_key_in_the_environment_is_enough_and_its_variable_is_named_where_it_is_refused(
    monkeypatch, model, variable, backend
):
    monkeypatch.setenv(variable, "k")
    route = find_route(model, backend=backend)
    route.require_key("model")
    assert route.has_key
    assert variable in route.key_variables


@BOTH
@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("sk-canary-0123\n", "begins or ends with a blank, a line end or a quotation mark"),
        (" sk-canary-0123", "begins or ends with"),
        ('"sk-canary-0123"', "begins or ends with"),
        ("'sk-canary-0123'", "begins or ends with"),
        ("sk\N{EN DASH}canary-0123", "has a character that no header can hold"),
        ("sk-canary\x7f0123", "has a character that no header can hold"),
        ("-----BEGIN KEY-----\ncanary\n-----END KEY-----\n", None),  # it signs
    ],
)
@pytest.mark.parametrize(
    ("model", "variable"), [("openai/any", "OPENAI_API_KEY"), ("lm_studio/any", "LM_STUDIO_API_KEY")]
)
def test_a_key_that_cannot_be_sent_as_it_is_names_its_variable(monkeypatch, model, variable, key, problem, backend):
    monkeypatch.setenv(variable, key)
    route = find_route(model, "http://127.0.0.1:1/v1", backend)
    if problem is None:
        route.require_key("judge")
        return
    with pytest.raises(UsageError, match=f"^`judge` {model}: {variable} {problem}") as refused:
        route.require_key("judge")
    assert "canary" not in str(refused.value)
    assert route.key is None  # a server that is asked for its limits sees none either


def test_a_key_that_is_not_used_may_be_anything(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    monkeypatch.setenv("GOOGLE_API_KEY", "k\n")
    find_route("gemini/gemini-2.5-pro").require_key("model")


# Proxies


@BOTH
@pytest.mark.parametrize("variable", ["ALL_PROXY", "all_proxy", "https_proxy"])
@pytest.mark.parametrize(("model", "url"), [("openai/any", None), ("lm_studio/any", "https://models.example/v1")])
def test_a_socks_proxy_is_refused_unless_the_endpoint_is_reached_without_it(monkeypatch, model, url, variable, backend):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv(variable, "socks5://me:canary@127.0.0.1:9")
    with pytest.raises(UsageError, match=r"a socks5 proxy .*, and only http:// proxies are supported") as refused:
        find_route(model, url, backend).require_key("model")
    assert "canary" not in str(refused.value)
    monkeypatch.setenv("NO_PROXY", "models.example,api.openai.com")
    find_route(model, url, backend).require_key("model")


@BOTH
@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "127.0.0.1:9", ""])
def test_an_http_proxy_is_used(monkeypatch, proxy, backend):
    monkeypatch.setenv("ALL_PROXY", proxy)
    route = find_route("hosted_vllm/any", "http://models.example/v1", backend)
    route.require_key("model")
    assert route.proxy == ("127.0.0.1:9" if proxy else None)


def test_a_proxy_is_named_without_its_password_and_where_it_is_on_the_way(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://me:canary@proxy.example:3128/")
    monkeypatch.setenv("NO_PROXY", "here.example")
    routes = [find_route("hosted_vllm/any", f"http://{host}.example/v1") for host in ("there", "here")]
    assert [route.proxy for route in routes] == ["proxy.example:3128", None]


@BOTH
@pytest.mark.parametrize(
    ("model", "url"),
    [("openai/any", "http://127.0.0.1:1/v1"), ("together_ai/any", "http://127.0.0.1:1/v1"), ("hosted_vllm/any", None)],
)
def test_a_self_hosted_server_needs_no_key(model, url, backend):
    find_route(model, url, backend).require_key("model")


# Prices


def test_prices_are_dollars_for_one_token():
    price = open_model(ModelSpec(name="openai/gpt-4o", api_base="http://127.0.0.1:1/v1"), JUDGE, Gate()).price
    # OpenAI's list: 2.50 dollars a million tokens in, 1.25 read from the cache, 10.00 out.
    assert (price.prompt, price.cached, price.completion) == pytest.approx((2.5e-6, 1.25e-6, 1e-5))
    embedded = open_model("embedded", JUDGE, Gate()).price
    assert (embedded.prompt, embedded.completion) == (0.0, 0.0)


@BOTH
@pytest.mark.parametrize("model", ["hosted_vllm/any", "openai/no-such-model", "together_ai/vendor/any"])
def test_an_unknown_price_is_none_with_the_reason(model, backend):
    price = find_price(find_route(model, backend=backend))
    assert (price.prompt, price.completion, price.cached) == (None, None, None)
    assert price.reason == f"litellm's bundled map has no price for {model}"


# What an interpreter of its own does first

LOOK_UP = """
from dspy_proact.models.endpoint import find_route
from dspy_proact.models.prices import find_price
print(find_price(find_route("openai/gpt-5.4")).prompt > 0, find_price(find_route("gpt-4o", None, "litellm")).prompt > 0)
"""
STOPPED = """
import os, sys

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "litellm":
            print(os.environ.get("LITELLM_LOCAL_MODEL_COST_MAP"))
            sys.exit()

sys.meta_path.insert(0, Stop())
"""
WITHOUT_NETWORK = """
import socket

def refuse(*_):
    raise SystemExit("network")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""


def fresh(monkeypatch, before):
    monkeypatch.delenv("LITELLM_LOCAL_MODEL_COST_MAP", raising=False)
    return subprocess.run([sys.executable, "-c", before + LOOK_UP], capture_output=True, text=True, check=True).stdout


def test_litellm_is_told_to_take_its_own_prices_before_it_is_imported(monkeypatch):
    assert fresh(monkeypatch, STOPPED) == "True\n"


@pytest.mark.nightly
def test_the_first_look_up_of_a_process_needs_no_network(monkeypatch):
    assert fresh(monkeypatch, WITHOUT_NETWORK).split() == ["True", "True"]
