import asyncio
import inspect

import dspy
import pytest
from dspy import lm15
from dspy._vendor.lm15.registry import lookup
from dspy.clients.capabilities import capabilities
from dspy.clients.engines import AsyncLiteLLMEngine, AsyncLM15Engine, LiteLLMEngine, LM15Engine
from dspy.clients.model_metadata import model_info
from dspy.lm15 import RouterConfig, Timeouts

from dspy_proact.benchmarks.proactbench.programs import ASSISTANT, JUDGE, REPORT_JUDGE
from dspy_proact.compile.named import PROPOSER
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, ModelSpec, open_model
from dspy_proact.models.route import find_route

BOTH = pytest.mark.parametrize("backend", ["auto", "litellm"])


# The semi-private names of DSPy that this project uses: each import above, and how each behaves.


def test_dspys_engines_answer_requests_one_by_one_in_both_ways():
    for engine, asynchronous in ((LM15Engine, AsyncLM15Engine), (LiteLLMEngine, AsyncLiteLLMEngine)):
        assert not inspect.iscoroutinefunction(engine.complete)
        assert inspect.iscoroutinefunction(asynchronous.complete)
        assert list(inspect.signature(engine.complete).parameters) == ["self", "request"]
        assert inspect.iscoroutinefunction(asynchronous.aclose)


def test_dspys_router_takes_keys_bases_connections_and_timeouts():
    config = RouterConfig(
        api_keys={"vllm": "k"},
        base_urls={"vllm": "http://127.0.0.1:1/v1"},
        max_connections=7,
        timeouts=Timeouts(connect=1.0, read=2.0, write=3.0, pool=None),
        env={},
    )
    assert (config.max_connections, config.timeouts.read) == (7, 2.0)
    assert LM15Engine(config).resolve("hosted_vllm/any").provider == "vllm"


def test_dspys_router_says_which_names_it_does_not_know():
    with pytest.raises(lm15.UnknownModelError):
        LM15Engine(RouterConfig(env={})).resolve("no_such_provider/any")
    assert issubclass(lm15.AmbiguousModelError, lm15.LM15Error)
    assert issubclass(lm15.UnsupportedFeatureError, lm15.LM15Error)


def test_dspys_registry_says_how_a_provider_is_spoken_to():
    definition = lookup("openai-chat")
    assert (definition.dialect, tuple(definition.access.env_keys)) == ("openai-chat", ("OPENAI_API_KEY",))
    assert definition.placeholder_key is None
    assert lookup("vllm").placeholder_key is not None
    assert lookup("no_such_provider") is None


def test_dspys_capabilities_say_whether_a_model_takes_a_schema():
    known = capabilities(dspy.LM("openai/gpt-4o"))
    assert known.response_schema is True
    assert "response_format" in known.params
    assert not capabilities(dspy.LM("hosted_vllm/any")).response_schema


def test_dspys_metadata_hold_prices_by_provider_and_name():
    assert model_info("openai-chat", "gpt-4o")["input_cost_per_token"] > 0
    assert model_info("vllm", "any") == {}


def test_dspys_lm_keeps_the_asynchronous_engine_it_was_given():
    model = open_model(ModelSpec(name="hosted_vllm/any", api_base="http://127.0.0.1:1/v1"), JUDGE, Gate())
    assert hasattr(model.lm._async_engine_spec, "aclose")
    asyncio.run(model.aclose())


def test_dspys_requests_can_be_reworded():
    config = lm15.Config(max_tokens=5, extensions={"a": 1})
    request = lm15.Request(model="m", messages=(lm15.Message.user("hi"),), config=config)
    assert (request.config.max_tokens, request.config.extensions) == (5, {"a": 1})


# Routes.

NATIVE = [
    ("openai/gpt-5.4", "openai-chat", "openai-chat", ("OPENAI_API_KEY",), True),
    ("hosted_vllm/any", "vllm", "openai-chat", ("HOSTED_VLLM_API_KEY",), False),
    ("anthropic/claude-sonnet-4-5", "anthropic", "anthropic", ("ANTHROPIC_API_KEY",), True),
    ("gemini/gemini-2.5-pro", "gemini", "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), True),
    ("openrouter/openai/gpt-5.4", "openrouter", "openai-chat", ("OPENROUTER_API_KEY",), True),
    ("ollama/llama3", "ollama", "openai-chat", ("OLLAMA_API_KEY",), False),
    ("gpt-4o", "openai-chat", "openai-chat", ("OPENAI_API_KEY",), True),
]


@pytest.mark.parametrize(("model", "provider", "dialect", "variables", "needs_key"), NATIVE)
def test_dspys_own_client_is_taken_where_there_is_one(model, provider, dialect, variables, needs_key):
    route = find_route(model)
    assert (route.model, route.native, route.provider, route.dialect) == (model, True, provider, dialect)
    assert (route.key_variables, route.needs_key, route.has_key) == (variables, needs_key, False)
    assert route.api_base is None


THROUGH_LITELLM = [
    ("together_ai/vendor/any", "auto", "together_ai", ("TOGETHERAI_API_KEY",)),
    ("mistral/mistral-large-latest", "auto", "mistral", ("MISTRAL_API_KEY",)),
    ("azure/deployment", "auto", "azure", ("AZURE_API_KEY",)),
    ("openai/gpt-5.4", "litellm", "openai", ("OPENAI_API_KEY",)),
    ("anthropic/claude-sonnet-4-5", "litellm", "anthropic", ("ANTHROPIC_API_KEY",)),
]


@pytest.mark.parametrize(("model", "backend", "provider", "variables"), THROUGH_LITELLM)
def test_litellm_is_taken_elsewhere_and_where_it_is_asked_for(model, backend, provider, variables):
    route = find_route(model, backend=backend)
    assert (route.native, route.provider, route.dialect) == (False, provider, "litellm")
    assert (route.key_variables, route.needs_key, route.has_key) == (variables, True, False)


@BOTH
@pytest.mark.parametrize("model", ["no_such_provider/any", "any", "", "/any"])
def test_an_unknown_provider_is_the_persons_to_mend(model, backend, capsys):
    with pytest.raises(UsageError, match=r"no provider of that name\. Names are litellm's") as caught:
        find_route(model, backend=backend)
    assert repr(model) in str(caught.value)
    assert capsys.readouterr().out == ""


@BOTH
@pytest.mark.parametrize("variable", ["HOSTED_VLLM_API_BASE", "HOSTED_VLLM_BASE_URL"])
def test_the_environments_endpoint_is_taken(monkeypatch, variable, backend):
    monkeypatch.setenv(variable, "http://127.0.0.1:1/v1")
    assert find_route("hosted_vllm/any", backend=backend).api_base == "http://127.0.0.1:1/v1"


def test_the_persons_endpoint_is_taken_before_the_environments(monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:1/v1")
    assert find_route("openai/any", "http://127.0.0.1:2/v1").api_base == "http://127.0.0.1:2/v1"


@BOTH
@pytest.mark.parametrize("base", ["host:8000/v1", "user:secret@host/v1", "http://", "ftp://host/v1", "http:///v1"])
def test_an_endpoint_must_be_a_url_and_is_not_repeated_when_it_is_none(base, backend):
    with pytest.raises(UsageError, match="must begin with http:// or https://") as caught:
        find_route("openai/any", base, backend)
    assert "secret" not in str(caught.value)


@BOTH
def test_another_providers_endpoint_is_not_taken(monkeypatch, backend):
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:1/v1")
    assert find_route("hosted_vllm/any", backend=backend).api_base is None


@BOTH
@pytest.mark.parametrize("flag", ["--model", "--judge"])
def test_a_missing_key_names_the_flag_the_model_and_the_variable(flag, backend):
    route = find_route("openai/gpt-5.4", backend=backend)
    with pytest.raises(UsageError) as caught:
        route.require_key(flag)
    assert str(caught.value) == (
        f"{flag} openai/gpt-5.4: no key. Set OPENAI_API_KEY, or give {flag}-api-base for a server that asks for none."
    )


def test_any_of_several_variables_may_hold_the_key(monkeypatch):
    with pytest.raises(UsageError, match="Set GEMINI_API_KEY or GOOGLE_API_KEY"):
        find_route("gemini/gemini-2.5-pro").require_key("--model")
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    find_route("gemini/gemini-2.5-pro").require_key("--model")


@BOTH
@pytest.mark.parametrize(
    ("model", "variable"),
    [("openai/any", "OPENAI_API_KEY"), ("together_ai/vendor/any", "TOGETHERAI_API_KEY")],
)
def test_a_key_in_the_environment_is_enough(monkeypatch, model, variable, backend):
    monkeypatch.setenv(variable, "k")
    route = find_route(model, backend=backend)
    route.require_key("--model")
    assert route.has_key


@pytest.mark.parametrize(
    ("model", "variable"),
    [("openai/any", "OPENAI_API_KEY"), ("mistral/any", "MISTRAL_API_KEY"), ("together_ai/any", "TOGETHERAI_API_KEY")],
)
def test_the_variable_that_holds_the_key_is_the_one_to_check_when_it_is_refused(monkeypatch, model, variable):
    monkeypatch.setenv(variable, "k")
    assert variable in find_route(model, backend="litellm").key_variables


@BOTH
@pytest.mark.parametrize("model", ["openai/any", "together_ai/vendor/any", "hosted_vllm/any"])
def test_no_key_is_needed_with_an_endpoint_of_ones_own(model, backend):
    find_route(model, "http://127.0.0.1:1/v1", backend).require_key("--model")


@BOTH
def test_a_server_of_ones_own_needs_no_key(backend):
    find_route("hosted_vllm/any", backend=backend).require_key("--model")


def test_the_flag_of_a_role_is_named_before_any_call():
    for role in (ASSISTANT, JUDGE, REPORT_JUDGE, PROPOSER):
        with pytest.raises(UsageError, match=rf"^{role.flag} openai/gpt-5\.4: no key"):
            open_model("openai/gpt-5.4", role, Gate()).require_key()


@pytest.mark.parametrize("url", ["https://host/v1", "https://host/v1/", "https://host/v1//"])
@BOTH
def test_an_endpoint_is_written_without_its_last_slash(backend, url):
    assert find_route("openai/any", url, backend).api_base == "https://host/v1"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/v1?key=secret",
        "http://127.0.0.1:1/v1#secret",
        "http://user:secret@127.0.0.1:1/v1",
        "http://secret@127.0.0.1:1/v1",
        "http://user:se%40cret@[::1]:8000/v1",
    ],
)
@BOTH
def test_an_endpoint_that_holds_a_secret_is_refused_without_saying_it(backend, url):
    with pytest.raises(UsageError, match="a key in the environment") as refused:
        find_route("openai/any", url, backend)
    assert "secret" not in str(refused.value)


@BOTH
def test_an_endpoint_that_ends_in_what_is_added_to_it_says_what_is_meant(backend):
    with pytest.raises(UsageError, match=r"give http://host/v1$"):
        find_route("openai/any", "http://host/v1/chat/completions/", backend)


def test_the_providers_own_endpoint_is_none(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert open_model("openai/gpt-5.4", JUDGE, Gate()).endpoint is None
