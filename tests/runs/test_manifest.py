"""What a run is: two commands are one run when, and only when, nothing in their identities differs."""

import json
from typing import Any

import pytest
from builders.riddles import identity
from pydantic import ValidationError

from dspy_proact.runs import Identity, Measure, RoleIdentity

ROLE = {
    "model": "traveller",
    "prompt": "aa",
    "decoding": {"temperature": 0.5, "stop": ["."]},
    "endpoint": "http://a",
    "cuts": {},
}
CHANGES = [
    ("benchmark", "puzzles"),
    ("corpus", "dd"),
    ("parent", "ee"),
    ("roles.guide.model", "oracle"),
    ("settings.hints", True),
    ("settings.tricks", None),
    *[
        (f"{role}.{field}", value)
        for role in ("assistant", "judge")
        for field, value in [
            ("model", "oracle"),
            ("prompt", "zz"),
            ("program", "official"),
            ("endpoint", "http://b"),
            ("endpoint", None),
            ("app", "ff"),
            ("decoding.temperature", 0.6),
            ("decoding.stop", [".", "!"]),
            ("decoding.seed", 1),
            ("cuts.RHYME", [0.5, 1.5]),
        ]
    ],
]


def fields() -> dict[str, Any]:
    return {
        "benchmark": "riddles",
        "assistant": ROLE,
        "judges": [ROLE],
        "roles": {"guide": ROLE},
        "corpus": "cc",
        "parent": None,
        "settings": {"hints": False, "tricks": 1},
    }


def changed(name: str, value: Any) -> Identity:
    """The identity of `fields` with one dotted field set."""
    raw = json.loads(json.dumps(fields()))
    *path, last = name.split(".")
    inner = raw
    if path[:1] == ["judge"]:
        inner, path = raw["judges"][0], path[1:]
    for step in path:
        inner = inner[step]
    inner[last] = value
    return Identity.model_validate(raw)


def test_every_field_of_an_identity_is_in_the_table_of_changes():
    paths = [name.split(".") for name, _ in CHANGES]
    assert {"judges" if path[0] == "judge" else path[0] for path in paths} == set(Identity.model_fields)
    assert {path[1] for path in paths if path[0] in {"assistant", "judge"}} == set(RoleIdentity.model_fields)


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_each_field_makes_another_run_and_is_named(name: str, value: Any):
    one, other = Identity.model_validate(fields()), changed(name, value)
    assert one.digest() != other.digest()
    assert list(one.differences(other)) == [name]
    assert list(other.differences(one)) == [name]


def test_the_judges_of_a_jury_are_numbered_and_a_lone_one_is_not():
    sphinx, oracle = (RoleIdentity(model=name, prompt="p", decoding={}) for name in ("sphinx", "oracle"))
    lone, jury = identity(judges=(sphinx,)), identity(judges=(sphinx, oracle))
    assert identity(judges=(oracle,)).differences(lone) == {"judge.model": ('"oracle"', '"sphinx"')}
    assert list(identity(judges=(oracle, sphinx)).differences(jury)) == ["judges.1.model", "judges.2.model"]
    assert lone.digest() != jury.digest()
    assert [name for name in lone.differences(jury) if not name.startswith("judges.2")] == []


@pytest.mark.parametrize(
    ("statistic", "parts"), [("mean", ("true", "said")), ("f1", ("said",)), ("kappa", ()), ("recall", ("a", "b", "c"))]
)
def test_a_statistic_of_other_than_its_number_of_parts_is_refused(statistic, parts):
    with pytest.raises(ValidationError, match="a mean takes one part"):
        Measure(name="measure", title="a measure", statistic=statistic, parts=parts)


@pytest.mark.parametrize("name", ["", "F1", "a b", "1st"])
def test_a_name_that_is_no_key_is_refused(name):
    with pytest.raises(ValidationError, match="name"):
        Measure(name=name, title="a measure", parts=("words",))
