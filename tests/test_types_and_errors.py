import ast
import inspect
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

import dspy_proact
from dspy_proact import calls, errors, types
from dspy_proact.calls import Call, collect_calls, record_call
from dspy_proact.errors import ContentError, CorpusError, ProviderError
from dspy_proact.types import Frozen, RoleIdentity


def defined_in(module):
    return [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__]


@pytest.mark.parametrize("module", [types, calls])
def test_every_value_is_frozen(module):
    models = [value for value in defined_in(module) if issubclass(value, BaseModel) and value is not Frozen]
    assert models
    assert all(issubclass(model, Frozen) for model in models)


def test_calls_are_collected_in_the_order_in_which_they_end_and_by_every_collection_around_them():
    first, second, third = (Call(role=role, started=1.0, latency=0.5) for role in "abc")
    record_call(first)
    with collect_calls() as outer:
        record_call(first)
        with collect_calls() as inner:
            record_call(second)
        record_call(third)
    assert (outer, inner) == ([first, second, third], [second])


def test_a_stage_that_fails_passes_its_calls_on():
    call = Call(role="a", started=1.0, latency=0.5)

    def stage():
        with collect_calls():
            record_call(call)
            raise ContentError("empty")

    with collect_calls() as outer:
        with pytest.raises(ContentError):
            stage()
        assert outer == [call]


def drawn_tree():
    """Parent of each class in the docstring of errors.py; a root's parent is None."""
    parents, path = {}, []
    for line in inspect.getdoc(errors).splitlines():
        match = re.match(r"(    [\u2500-\u257f ]*)([A-Z]\w+)", line)
        if match:
            depth = len(match.group(1)) // 4 - 1
            path[depth:] = [match.group(2)]
            parents[match.group(2)] = path[depth - 1] if depth else None
    return parents


def test_the_tree_of_errors_is_drawn_as_it_is():
    assert drawn_tree() == {"Exception": None, "BaseException": None} | {
        error.__name__: error.__base__.__name__ for error in defined_in(errors)
    }


@pytest.mark.parametrize(("error", "kind"), [(ContentError, "content"), (ProviderError, "provider")])
def test_a_stage_error_counts_by_a_word_and_explains_with_a_sentence(error, kind):
    raised = error("empty", "the model answered nothing")
    assert (raised.kind, raised.reason, raised.detail) == (kind, "empty", "the model answered nothing")
    assert str(raised) == "empty: the model answered nothing"
    assert str(error("empty")) == "empty"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({}, "c.jsonl: is empty"),
        ({"line": 3}, "c.jsonl, line 3: is empty"),
        ({"line": 3, "field": "a.b"}, "c.jsonl, line 3, field 'a.b': is empty"),
    ],
)
def test_a_corpus_error_says_where(where, message):
    error = CorpusError("is empty", source="c.jsonl", **where)
    assert str(error) == message
    assert (error.source, error.line, error.field) == ("c.jsonl", where.get("line"), where.get("field"))


def test_the_root_exports_what_the_rooms_define_and_nothing_else():
    """A type checker reads imports that never run, so they must be of the same names from the same rooms."""
    tree = ast.parse(Path(dspy_proact.__file__).read_text("utf-8"))
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    imported = {alias.asname: node.module for node in typed.body for alias in node.names}
    assert imported == {name: f"dspy_proact.{room}" for name, room in dspy_proact._HOMES.items()}
    assert dir(dspy_proact) == dspy_proact.__all__ == sorted(imported)
    assert all(getattr(dspy_proact, name) is not None for name in dspy_proact.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        dspy_proact.Nothing  # noqa: B018 - the look-up is what is tested


def test_the_model_of_a_compile_is_written_without_a_program_and_that_of_a_run_with_it():
    """So that files and digests of compiles are what they were before runs and compiles shared the class."""
    role = RoleIdentity(model="m", decoding={"top_p": 1.0})
    assert role.model_dump() == {"model": "m", "endpoint": None, "decoding": {"top_p": 1.0}}
    assert RoleIdentity.model_validate(role.model_dump()) == role
    spoken = role.model_copy(update={"program": "unknown", "prompt": ""})
    assert set(spoken.model_dump()) == set(RoleIdentity.model_fields) - {"app"}
    assert set(spoken.model_copy(update={"app": "ff"}).model_dump()) == set(RoleIdentity.model_fields)
