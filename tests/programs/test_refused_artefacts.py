"""The file of a compiled program that was changed is refused in a sentence that names what is wrong with it."""

import json
import pickle
from collections.abc import Iterable
from typing import Any

import assistants
import pytest
import tuning

from dspy_proact.benchmarks.compiled import load_assistant, load_judge
from dspy_proact.errors import UsageError

MADE = {"judge": tuning.artefact(votes=3, cuts=(0.5, 1.5)), "assistant": assistants.artefact()}
READ = {"judge": load_judge, "assistant": load_assistant}
OF_THE_JUDGE, OF_THE_ASSISTANT = (pytest.mark.parametrize("program", [program]) for program in MADE)
OF_BOTH = pytest.mark.parametrize("program", MADE)


@pytest.fixture
def content(program):
    """A file's content, to be spoilt."""
    return json.loads(MADE[program].model_dump_json())


@pytest.fixture
def refused(program, tmp_path):
    """Read a file with these contents; the sentence with which it is refused."""
    file = tmp_path / f"{program}.json"

    def read(contents: Any) -> str:
        file.write_bytes(contents if isinstance(contents, bytes) else json.dumps(contents).encode())
        with pytest.raises(UsageError) as caught:
            READ[program](file)
        said = str(caught.value)
        assert said.startswith(f"{file}: ")
        assert "\n" not in said
        return said

    return read


def each(judge: Iterable[Any], assistant: Iterable[Any]) -> list[Any]:
    """What is spoilt of a judge and of an assistant, with the program's name before it."""
    return [*(("judge", what) for what in judge), *(("assistant", what) for what in assistant)]


def at(content: Any, path: str) -> Any:
    for part in path.split(".") if path else []:
        content = content[int(part)] if part.isdecimal() else content[part]
    return content


def demos_of(content: Any) -> Any:
    (state,) = content["states"].values()
    return state["demos"]


@OF_BOTH
def test_a_program_of_another_signature_is_refused(refused, content):
    content["signature"] = "0" * 64
    assert "compiled for other signatures" in refused(content)


NOT_FINITE = pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
PARTS = ("", "states.{}", "states.{}.signature", "states.{}.signature.fields.0", "card", "card.rows.0")
PREDICTORS = {"judge": "grade", "assistant": "reply"}


@pytest.mark.parametrize(("program", "path"), each([*PARTS, "cuts.EMERGENT"], [*PARTS, "card.target.before"]))
def test_a_key_that_we_do_not_know_is_refused_naming_it(refused, content, program, path):
    path = path.format(PREDICTORS[program])
    at(content, path)["forward"] = "x"
    said = refused(content)
    assert "not a compiled program of ours" in said
    assert f"{path}.forward".lstrip(".") in said


KEYS = ("states.{}.demos", "states.{}.signature", "signature", "card", "program", "role")


@pytest.mark.parametrize(("program", "path"), each(KEYS, [*KEYS, "card.target"]))
def test_a_key_that_is_missing_is_refused_naming_it(refused, content, program, path):
    path = path.format(PREDICTORS[program])
    above, _, name = path.rpartition(".")
    del at(content, above)[name]
    assert path in refused(content)


@pytest.mark.parametrize(
    ("program", "name"), each(["label"], ["key", "rubric", "scenario", "reasoning", "forward", "demos"])
)
def test_a_demo_with_a_field_that_is_not_the_programs_is_refused(refused, content, name):
    demos_of(content)[0][name] = "x"
    assert f"a demo has a field that is not the program's: {name!r}" in refused(content)


@OF_BOTH
@pytest.mark.parametrize("lm", [{"model": "openai/other"}, "openai/other", {}])
def test_a_program_with_a_model_bound_to_it_is_refused(refused, content, program, lm):
    content["states"][PREDICTORS[program]]["lm"] = lm
    assert f"states.{PREDICTORS[program]}.lm" in refused(content)


@OF_THE_JUDGE
@pytest.mark.parametrize(
    "path",
    [
        *("card.usage_before.usd", "card.usage_after.usd", "card.fold_scores.0", "card.target.p"),
        *("card.target.low98", "card.rows.2.after.value"),
    ],
)
@NOT_FINITE
def test_a_number_that_is_not_finite_is_refused_naming_it(refused, content, path, number):
    above, _, name = path.rpartition(".")
    found = at(content, above)
    found[int(name) if isinstance(found, list) else name] = number
    said = refused(content)
    assert f"{path}': " in said
    assert "finite" in said
    assert "Value error" not in said


@OF_THE_JUDGE
@NOT_FINITE
def test_a_parameter_that_is_not_finite_is_refused_saying_where_it_stands(refused, content, number):
    """Parameters have names of a provider's own, and no model of ours."""
    content["card"]["provenance"]["models"]["judge"]["decoding"]["temperature"] = number
    column = json.dumps(content).index(json.dumps(number)) + 1
    said = refused(content)
    assert "not a compiled program of ours: a number that is not finite: " in said
    assert int(said.partition(" at line 1 column ")[2]) in {column, column + 1}  # of the second sign behind a minus


@OF_THE_JUDGE
@pytest.mark.parametrize("name", ["traces", "train"])
def test_a_program_with_traces_or_training_data_is_refused(refused, content, name):
    content["states"]["grade"][name] = [{"x": 1}]
    assert f"states.grade.{name}" in refused(content)


JUDGES_VALUES = [
    ({"format": 3}, "format"),
    ({"role": "assistant"}, "where a judge is asked for"),
    ({"program": "Else"}, "a compiled Else"),
    ({"benchmark": "probe"}, "probe"),
    ({"votes": 0}, "votes"),
    ({"cuts": {"EMERGENT": {"partial": 0.5, "full": 3}}}, "cuts.EMERGENT.full"),
    ({"cuts": {"EMERGENT": {"partial": float("nan"), "full": 1.0}}}, "cuts.EMERGENT.partial"),
    ({"cuts": {"EMERGENT": {"partial": 1.5, "full": 0.5}}}, "cuts.EMERGENT"),
    ({"cuts": {"LATER": {"partial": 0.5, "full": 1.5}}}, "cuts.LATER"),
]
ASSISTANTS_VALUES = [
    ({"format": 3}, "format"),
    ({"role": "teacher"}, "role"),
    ({"benchmark": "nobody's"}, "nobody's"),
    ({"card": {}}, "card"),
]


@pytest.mark.parametrize(("program", "change"), each(JUDGES_VALUES, ASSISTANTS_VALUES))
def test_a_value_that_cannot_be_is_refused_naming_it(refused, content, change):
    values, named = change
    assert named in refused(content | values)


@OF_BOTH
def test_a_file_that_is_none_of_ours_is_refused(refused, content):
    whole = json.dumps(content).encode()
    for contents in (b"", b"{}", b"[]", b"null", whole[:-20], b"\xff\xfe" + whole, pickle.dumps({"lm": None})):
        assert "not a compiled program of ours" in refused(contents)


@OF_THE_ASSISTANT
@pytest.mark.parametrize(
    ("history", "told"), [("no turns", "Input"), ([{"user": "x"}], "field '0.assistant': Field"), (None, "Input")]
)
def test_a_demo_that_no_conversation_can_be_made_of_is_refused(refused, content, history, told):
    """Before it is used, and not in the middle of a run."""
    demos_of(content)[0]["history"] = history
    assert f"'history' of a demo: {told}" in refused(content)


@OF_THE_ASSISTANT
@pytest.mark.parametrize("name", ["history", "user_message"])
def test_a_demo_that_lacks_an_input_is_refused(refused, content, name):
    del demos_of(content)[0][name]
    assert f"a demo lacks the field {name!r}" in refused(content)
