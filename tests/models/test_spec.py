"""A model as a person names it, and how calls are made."""

from typing import Any

import pytest

from dspy_proact.calls import Price
from dspy_proact.errors import UsageError
from dspy_proact.models import EMBEDDED, Gate, ModelSpec

SAID = {"api_base": "http://here/v1", "params": {"seed": 7}, "price": Price(prompt=1e-6, completion=2e-6)}


def test_a_name_alone_is_a_model_of_which_nothing_else_is_said():
    assert ModelSpec.of("openai/m") == ModelSpec(name="openai/m", api_base=None, params={}, price=None)
    assert ModelSpec.of(whole := ModelSpec(name="openai/m", **SAID)) is whole
    assert ModelSpec().name == EMBEDDED


@pytest.mark.parametrize("own", [{}, {"api_base": "http://there/v1"}, {"params": {"seed": 8}}, {"price": Price()}])
def test_beside_another_of_its_name_it_takes_what_is_said_of_that_one_only(own: dict[str, Any]):
    other = ModelSpec(name="openai/m", **SAID)
    assert ModelSpec(name="openai/m", **own).beside(other) == ModelSpec(name="openai/m", **(SAID | own))
    assert ModelSpec(name="openai/n", **own).beside(other) == ModelSpec(name="openai/n", **own)


@pytest.mark.parametrize("so", [{"concurrency": 0}, {"timeout": 0.0}, {"timeout": float("nan")}, {"retries": -1}])
def test_a_gate_through_which_no_call_could_go_is_refused(so: dict[str, Any]):
    with pytest.raises(UsageError, match="concurrency must be 1 or more"):
        Gate(**so)
