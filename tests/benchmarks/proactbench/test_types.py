"""ProactBench's values: grades, verdicts, scenarios and ratings."""

import pytest
from pydantic import ValidationError

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
from dspy_proact.calls import Call
from dspy_proact.types import Quote

RUBRIC = Rubric(phase=Phase.EMERGENT, pass_criteria="p", partial_criteria="q", fail_criteria="f")
FOUND, INVENTED = Quote(text="the boxes", start=6, end=15), Quote(text="zebra")


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
