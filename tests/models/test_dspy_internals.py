"""The private parts of DSPy that are relied on: one file imports them, and they are as it says."""

import ast
import inspect
from pathlib import Path

import pytest

from dspy_proact.models import dspy_internals
from dspy_proact.models.dspy_internals import (
    AsyncLiteLLMEngine,
    AsyncLM15Engine,
    StdlibAsyncTransport,
)

HOUSE = Path(dspy_internals.__file__).parents[2]
PUBLIC = {"dspy", "dspy.lm15"}


def modules_of(path):
    text = path.read_text(encoding="utf-8")
    if "dspy." not in text:  # to parse all files takes a second
        return
    for node in ast.walk(ast.parse(text)):
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
    functions = {name for name, value in vars(dspy_internals).items() if inspect.isfunction(value)}
    assert functions == set(SIGNATURES)
    assert {name: parameters(getattr(dspy_internals, name)) for name in SIGNATURES} == SIGNATURES
    assert hasattr(dspy_internals.grounded_proposer, "get_dspy_source_code")


@pytest.mark.parametrize("owner", METHODS, ids=lambda owner: owner.__name__)
def test_methods_take_what_they_are_given(owner):
    assert {name: parameters(getattr(owner, name)) for name in METHODS[owner]} == METHODS[owner]
    assert inspect.iscoroutinefunction(owner.aclose)
