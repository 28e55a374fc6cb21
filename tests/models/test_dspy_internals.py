"""The private parts of DSPy that are relied on: one file imports them, and they are as it says."""

import ast
import asyncio
import inspect
from pathlib import Path

import dspy
import pytest
from asking import JUDGE
from dspy import lm15
from dspy.lm15 import Message, Request, Response, RouterConfig, Timeouts

from dspy_proact.models import Gate, ModelSpec, dspy_internals, open_model
from dspy_proact.models.dspy_internals import (
    AsyncLiteLLMEngine,
    AsyncLM15Engine,
    LM15Engine,
    StdlibAsyncTransport,
    async_engine_of,
    capabilities,
    lookup,
    model_info,
    request_to_dict,
    response_from_dict,
    response_to_dict,
)

HOUSE = Path(dspy_internals.__file__).parents[2]
PUBLIC = {"dspy", "dspy.lm15"}


def modules_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_no_other_file_imports_a_private_part_of_dspy():
    paths = [path for folder in ("dspy_proact", "eval", "optimize") for path in (HOUSE / folder).rglob("*.py")]
    private = {
        path.name for path in paths for name in modules_of(path) if name.startswith("dspy.") and name not in PUBLIC
    }
    assert private == {"dspy_internals.py"}


SIGNATURES = {
    "async_engine_of": "lm",
    "capabilities": "lm",
    "format_field_value": "field_info value assume_text",
    "litellm_errors": "model provider",
    "lookup": "name",
    "model_info": "provider model namespaces",
    "request_to_dict": "r",
    "response_from_dict": "d",
    "response_to_dict": "r include_provider_data",
    "retry_after_seconds": "value",
    "validate_request": "request",
}
METHODS = {
    AsyncLM15Engine: {"_target": "self request streaming", "complete": "self request", "stream": "self request"},
    AsyncLiteLLMEngine: {"complete": "self request", "stream": "self request", "aclose": "self"},
    StdlibAsyncTransport: {"_do_stream": "self request", "aclose": "self"},
}


def parameters(function):
    return " ".join(inspect.signature(function).parameters)


def test_functions_take_what_they_are_given():
    functions = {name for name in dspy_internals.__all__ if inspect.isfunction(getattr(dspy_internals, name))}
    assert functions == set(SIGNATURES)
    assert {name: parameters(getattr(dspy_internals, name)) for name in SIGNATURES} == SIGNATURES
    assert hasattr(dspy_internals.grounded_proposer, "get_dspy_source_code")


@pytest.mark.parametrize("owner", METHODS, ids=lambda owner: owner.__name__)
def test_methods_take_what_they_are_given(owner):
    assert {name: parameters(getattr(owner, name)) for name in METHODS[owner]} == METHODS[owner]
    assert inspect.iscoroutinefunction(owner.aclose)


def test_the_router_takes_keys_bases_connections_and_timeouts_and_knows_its_providers():
    config = RouterConfig(
        api_keys={"vllm": "k"},
        base_urls={"vllm": "http://127.0.0.1:1/v1"},
        max_connections=7,
        timeouts=Timeouts(connect=1.0, read=2.0, write=3.0, pool=None),
        env={},
    )
    assert (config.max_connections, config.timeouts.read) == (7, 2.0)
    assert LM15Engine(config).resolve("hosted_vllm/any").provider == "vllm"
    with pytest.raises(lm15.UnknownModelError):
        LM15Engine(RouterConfig(env={})).resolve("no_such_provider/any")
    assert issubclass(lm15.AmbiguousModelError, lm15.LM15Error)
    assert issubclass(lm15.UnsupportedFeatureError, lm15.LM15Error)


def test_the_registry_has_dialects_and_key_variables():
    definition = lookup("openai-chat")
    assert (definition.dialect, tuple(definition.access.env_keys)) == ("openai-chat", ("OPENAI_API_KEY",))
    assert definition.placeholder_key is None
    assert lookup("vllm").placeholder_key is not None
    assert lookup("no_such_provider") is None


def test_capabilities_and_prices_are_known_by_model():
    known = capabilities(dspy.LM("openai/gpt-4o"))
    assert known.response_schema is True
    assert "response_format" in known.params
    assert not capabilities(dspy.LM("hosted_vllm/any")).response_schema
    assert model_info("openai-chat", "gpt-4o")["input_cost_per_token"] > 0
    assert model_info("vllm", "any") == {}


def test_requests_and_answers_become_json_and_back():
    config = lm15.Config(max_tokens=5, extensions={"a": 1})
    request = Request(model="m", messages=(Message.user("hi"),), config=config)
    assert request_to_dict(request)["config"]["max_tokens"] == 5
    response = Response(
        id=None, model="m", message=Message.assistant("ho"), finish_reason="stop", usage=lm15.Usage(input_tokens=1)
    )
    assert response_from_dict(response_to_dict(response)) == response


def test_a_model_keeps_the_asynchronous_engine_it_was_given():
    model = open_model(ModelSpec(name="hosted_vllm/any", api_base="http://127.0.0.1:1/v1"), JUDGE, Gate())
    assert hasattr(async_engine_of(model.lm), "aclose")
    asyncio.run(model.aclose())
