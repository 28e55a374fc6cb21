"""The private parts of DSPy that are relied on: one file imports them, and they are as it says."""

import ast
import inspect
from pathlib import Path

import dspy
import pytest
from dspy.adapters import base

from dspy_proact.models import dspy_internals
from dspy_proact.models.dspy_internals import AsyncLiteLLMEngine, AsyncLM15Engine, StdlibAsyncTransport

HOUSE = Path(dspy_internals.__file__).parents[2]
PUBLIC = {"dspy", "dspy.experimental", "dspy.lm15"}
OWNERS = (dspy.LM, dspy.ChatAdapter, dspy.JSONAdapter, dspy.Predict, AsyncLM15Engine, AsyncLiteLLMEngine)
PRIVATE = {name for owner in OWNERS for name in dir(owner)} | {"_do_stream", "_open", *vars(dspy.LM("openai/any"))}
PRIVATE = {name for name in PRIVATE if name.startswith("_") and not name.startswith("__")}


def nodes_of(path):
    text = path.read_text(encoding="utf-8")
    if "dspy" in text:  # to parse all files takes a second
        yield from ast.walk(ast.parse(text))


def modules_of(path):
    for node in nodes_of(path):
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


def private_names_of(path):
    """Private members of DSPy's classes that a file uses or overrides."""
    for node in nodes_of(path):
        name = getattr(node, "attr", getattr(node, "name", None))
        if isinstance(node, ast.Attribute | ast.FunctionDef | ast.AsyncFunctionDef) and name in PRIVATE:
            yield name


def test_private_members_of_dspy_are_named_where_they_are_relied_on():
    paths = [
        path
        for folder in ("programs", "models", "compile", "evaluation", "benchmarks")
        for path in (HOUSE / "dspy_proact" / folder).rglob("*.py")
    ]
    relied_on = {name: path.name for path in paths for name in private_names_of(path)}
    assert relied_on.keys() >= {
        "_async_engine_spec",
        "_do_stream",
        "_open",
        "_prepare_response_format",
        "_target",
    }
    assert not {name: path for name, path in relied_on.items() if name not in dspy_internals.__doc__}


SIGNATURES = {
    "async_engine_of": "lm",
    "capabilities": "lm",
    "default_instructions": "cls",
    "format_field_value": "field_info value assume_text",
    "litellm_errors": "model provider",
    "lookup": "name",
    "map_http_error": "status message provider env_keys provider_code request_id retry_after",
    "request_to_dict": "r",
    "response_from_dict": "d",
    "response_to_dict": "r include_provider_data",
    "retry_after_seconds": "value",
    "validate_request": "request",
}
METHODS = {
    AsyncLM15Engine: {"_target": "self request streaming", "complete": "self request", "stream": "self request"},
    AsyncLiteLLMEngine: {"complete": "self request", "stream": "self request", "aclose": "self"},
    dspy.JSONAdapter: {"_prepare_response_format": "self lm lm_kwargs signature"},
    dspy.MIPROv2: {
        "_bootstrap_fewshot_examples": "self program trainset seed teacher num_fewshot_candidates "
        "max_bootstrapped_demos max_labeled_demos max_errors metric_threshold",
        "_propose_instructions": "self program trainset demo_candidates view_data_batch_size program_aware_proposer "
        "data_aware_proposer tip_aware_proposer fewshot_aware_proposer num_instruct_candidates",
    },
    StdlibAsyncTransport: {
        "_do_stream": "self request",
        "_open": "self parsed proxy origin connect_timeout",
        "aclose": "self",
    },
}


def parameters(function):
    return " ".join(inspect.signature(function).parameters)


def test_functions_take_what_they_are_given():
    functions = {name for name, value in vars(dspy_internals).items() if inspect.isfunction(value)}
    assert functions == set(SIGNATURES)
    assert {name: parameters(getattr(dspy_internals, name)) for name in SIGNATURES} == SIGNATURES


@pytest.mark.parametrize("owner", METHODS, ids=lambda owner: owner.__name__)
def test_methods_take_what_they_are_given(owner):
    assert {name: parameters(getattr(owner, name)) for name in METHODS[owner]} == METHODS[owner]
    closing = getattr(owner, "aclose", owner.acall if issubclass(owner, dspy.Adapter) else None)
    assert closing is None or inspect.iscoroutinefunction(closing)


def test_dspy_says_of_an_answer_without_text_what_is_expected():
    assert dspy_internals.NO_RESPONSE in inspect.getsource(base)
