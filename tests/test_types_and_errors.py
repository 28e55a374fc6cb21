import importlib
import inspect
import pkgutil
import re

import pytest
from pydantic import BaseModel, ValidationError

import dspy_proact
from dspy_proact import calls, errors, types
from dspy_proact.benchmarks.proactbench.types import (
    Grade,
    Origin,
    Phase,
    Rating,
    Response,
    Rubric,
    Trigger,
    Turn,
    Verdict,
)
from dspy_proact.calls import Call, collect_calls, record_call
from dspy_proact.errors import (
    ContentError,
    CorpusError,
    Interrupted,
    LimitReached,
    ProviderDown,
    ProviderError,
    SetupFault,
)
from dspy_proact.types import Frozen, Quote

RUBRIC = Rubric(phase=Phase.EMERGENT, pass_criteria="p", partial_criteria="q", fail_criteria="f")
FOUND, INVENTED = Quote(text="the boxes", start=6, end=15), Quote(text="zebra")


def defined_in(module):
    return [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__]


def test_scores_of_grades():
    assert [grade.score for grade in Grade] == [1.0, 0.5, 0.0]
    assert list(Grade) == ["PASS", "PARTIAL", "FAIL"]


VERIFIED = [
    ("PASS", [FOUND], True),
    ("PASS", [INVENTED, FOUND], True),
    ("PASS", [INVENTED], False),
    ("PASS", [], False),
    ("PARTIAL", [FOUND], True),
    ("PARTIAL", [], False),
    ("FAIL", [FOUND], True),
    ("FAIL", [INVENTED], False),
    ("FAIL", [], None),
]


@pytest.mark.parametrize(("grade", "evidence", "verified"), VERIFIED)
def test_a_verdict_is_verified_when_one_of_its_quotes_stands_in_the_response(grade, evidence, verified):
    assert Verdict(reasoning="", evidence=tuple(evidence), grade=Grade(grade)).verified is verified


def test_a_scenario_is_persona_and_scenario_id_together():
    fields = dict.fromkeys(("dialogue", "blueprint", "life_domain", "source_model"), "x")
    origins = [Origin(persona=persona, scenario_id="ARTS_01", style=1, **fields) for persona in ("ada", "bo")]
    assert [origin.scenario for origin in origins] == ["ada/ARTS_01", "bo/ARTS_01"]


@pytest.mark.parametrize("turn", [0, -1])
def test_turns_are_counted_from_one(turn):
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        Trigger(turn=turn, rubric=RUBRIC)


@pytest.mark.parametrize("confidence", [0, 6, 2.5])
def test_confidence_is_one_to_five(confidence):
    with pytest.raises(ValidationError):
        Rating(item="i", annotator="a", grade=Grade.PASS, confidence=confidence)


VALUES = [
    RUBRIC,
    Turn(user="u", assistant=None),
    Trigger(turn=1, rubric=RUBRIC),
    Response(text="t"),
    FOUND,
    Verdict(reasoning="r", evidence=(FOUND,), grade=Grade.PASS),
    Rating(item="i", annotator="a", grade=Grade.PASS, confidence=5),
    Call(role="judge", started=1.0, latency=0.5),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_cannot_be_changed_and_refuses_unknown_fields(value):
    name = next(iter(type(value).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, name, getattr(value, name))
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        type(value).model_validate({**value.model_dump(), "unknown": 1})
    assert type(value).model_validate_json(value.model_dump_json()) == value
    assert hash(value) == hash(value.model_copy())


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


@pytest.mark.parametrize(
    ("halt", "status"), [(SetupFault, 2), (LimitReached, 4), (ProviderDown, 5), (Interrupted, 130)]
)
def test_a_halt_carries_the_exit_status(halt, status):
    assert halt("why").exit_status == status


ROOMS = ["dspy_proact"] + [
    f"dspy_proact.{room.name}"
    for room in pkgutil.iter_modules(dspy_proact.__path__)
    # No face: an entry point, and folders whose files are imported one by one, so that none costs what another imports.
    if room.ispkg and room.name not in {"cli", "benchmarks", "compile", "files"}
]


def sort_key(name):
    """Constants, classes, functions; each in alphabetical order."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_are_sorted_and_there(room):
    module = importlib.import_module(room)
    assert module.__all__ == sorted(set(module.__all__), key=sort_key)
    assert all(getattr(module, name) is not None for name in module.__all__)


def test_the_root_exports_what_the_rooms_define_and_nothing_else():
    assert dir(dspy_proact) == sorted(dspy_proact.__all__)
    assert sorted(name for names in dspy_proact._ROOMS.values() for name in names) == sorted(dspy_proact.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        dspy_proact.Nothing  # noqa: B018 - the look-up is what is tested
