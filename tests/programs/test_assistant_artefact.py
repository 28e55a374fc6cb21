"""A compiled assistant as a file: what is written is read back as it was, and all else is refused in a sentence."""

import json
import pickle
from functools import partial

import dspy
import pytest
import tuning
from assistants import OFFER, PUSHY, artefact, card, corpus, demo
from hypothesis import given
from hypothesis import strategies as st
from spoilt import at, refusal

from dspy_proact.compile.assistant.probe import probes_of
from dspy_proact.errors import UsageError
from dspy_proact.programs import (
    Assistant,
    Reply,
    compiled_assistant,
    load_assistant,
    predictor_state,
    read_artefact,
    read_assistant,
    read_judge,
    signature_hash,
    write_artefact,
)
from dspy_proact.types import Phase, Turn
from dspy_proact.views import AssistantView

FROZEN_SIGNATURE = "cb9e9b728a7f86749bb33204ed0bdd35cb9d0eeac2920bf49b0cdc2eed8f2af9"
VIEWS = [AssistantView.of(probe.conversation) for probe in probes_of(corpus(1))]


@pytest.fixture
def content():
    """A file's content, to be spoilt."""
    return json.loads(artefact().model_dump_json())


@pytest.fixture
def refused(tmp_path):
    """Read a file with these contents; the sentence with which it is refused."""
    return partial(refusal, load_assistant, tmp_path / "assistant.json")


# Writing and reading


def test_what_is_written_is_read_back(tmp_path):
    for made in (artefact(), artefact(None, demos=0), artefact(None, demos=2), artefact(demos=0)):
        write_artefact(tmp_path / "assistant.json", made)
        assert read_artefact(tmp_path / "assistant.json") == made
        assert read_assistant(tmp_path / "assistant.json") == made


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60).filter(str.strip)


@given(instruction=st.none() | TEXTS, demos=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=3))
def test_an_assistant_from_a_file_says_what_the_assistant_said_that_was_written(tmp_path_factory, instruction, demos):
    assistant = Assistant(instruction)
    assistant.reply.demos = [
        dspy.Example(
            augmented=True, history=[Turn(user=said, assistant=answer)], user_message=answer, response=response
        )
        for said, answer, response in demos
    ]
    state = predictor_state(assistant.reply, Reply)
    file = tmp_path_factory.mktemp("artefact") / "assistant.json"
    write_artefact(file, artefact().model_copy(update={"state": state}))
    again = load_assistant(file)
    assert again.system_prompt == assistant.system_prompt
    assert again.instruction == assistant.instruction
    for view in VIEWS:
        assert again.messages(view) == assistant.messages(view)
    assert again.fingerprint() == assistant.fingerprint()


def test_a_bare_program_sends_the_bare_chat():
    bare = compiled_assistant(artefact(None, demos=0))
    assert bare.system_prompt == ""
    assert [bare.messages(view) for view in VIEWS] == [Assistant().messages(view) for view in VIEWS]
    shown = compiled_assistant(artefact(None, demos=1))
    assert shown.instruction == ""
    assert shown.system_prompt.startswith("A worked example:\n{")
    assert OFFER in shown.system_prompt


def test_a_compiled_assistant_is_named_by_what_it_says_and_not_by_its_card():
    plain = artefact()
    named = compiled_assistant(plain).name
    assert named == f"compiled:{plain.digest[:12]}"
    assert compiled_assistant(artefact(statement="another")).name == named
    others = (artefact("Be kind."), artefact(demos=2), artefact(None))
    assert len({named, *(compiled_assistant(other).name for other in others)}) == 4


def test_a_demo_keeps_fields_of_the_signature_and_whether_it_was_bootstrapped():
    assistant = Assistant(PUSHY)
    assistant.reply.demos = [dspy.Example(**demo(), key="k", rubric="r", scenario="s")]
    (kept,) = predictor_state(assistant.reply, Reply).demos
    assert set(kept) == {"augmented", "history", "user_message", "response"}


def test_the_signature_hash_is_frozen_and_leaves_the_instruction_out():
    """It is part of the file format: where it changes on purpose, every compiled assistant is refused."""
    assert signature_hash(Reply) == FROZEN_SIGNATURE
    assert signature_hash(Reply.with_instructions("Else.")) == FROZEN_SIGNATURE


# What is refused


def test_a_program_of_another_signature_is_refused(refused, content):
    content["signature"] = "0" * 64
    assert "compiled for another signature of the assistant" in refused(content)


@pytest.mark.parametrize(
    "path",
    ["", "state", "state.signature", "state.signature.fields.0", "card", "card.phases.RECOVERY", "card.target.before"],
)
def test_a_key_that_we_do_not_know_is_refused_naming_it(refused, content, path):
    at(content, path)["forward"] = "x"
    said = refused(content)
    assert "not a compiled program of ours" in said
    assert f"{path}.forward".lstrip(".") in said


@pytest.mark.parametrize("path", ["state.demos", "state.signature", "signature", "card", "program", "card.offers"])
def test_a_key_that_is_missing_is_refused_naming_it(refused, content, path):
    above, _, name = path.rpartition(".")
    del at(content, above)[name]
    assert path in refused(content)


@pytest.mark.parametrize("name", ["key", "rubric", "scenario", "reasoning", "forward", "demos"])
def test_a_demo_with_a_field_that_is_not_the_assistants_is_refused(refused, content, name):
    content["state"]["demos"][0][name] = "x"
    assert f"a demo has a field that is not the program's: {name!r}" in refused(content)


@pytest.mark.parametrize("lm", [{"model": "openai/other"}, "openai/other", {}])
def test_a_program_with_a_model_bound_to_it_is_refused(refused, content, lm):
    content["state"]["lm"] = lm
    assert "state.lm" in refused(content)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"format": 2}, "format"),
        ({"program": "teacher"}, "program"),
        ({"program": "judge"}, "votes"),
        ({"votes": 3}, "votes"),
        ({"cuts": {}}, "cuts"),
        ({"card": {}}, "card"),
    ],
)
def test_a_value_that_cannot_be_is_refused_naming_it(refused, content, change, named):
    assert named in refused(content | change)


def test_a_file_that_is_none_of_ours_is_refused(refused, content):
    whole = json.dumps(content).encode()
    for contents in (b"", b"{}", b"[]", b"null", whole[:-20], b"\xff\xfe" + whole, pickle.dumps({"lm": None})):
        assert "not a compiled program of ours" in refused(contents)


def test_each_program_is_taken_for_what_it_is(tmp_path):
    write_artefact(tmp_path / "judge.json", tuning.artefact())
    write_artefact(tmp_path / "assistant.json", artefact())
    with pytest.raises(UsageError, match="a compiled judge, where an assistant is asked for"):
        load_assistant(tmp_path / "judge.json")
    with pytest.raises(UsageError, match="a compiled assistant, where a judge is asked for"):
        read_judge(tmp_path / "assistant.json")


@pytest.mark.parametrize("history", ["no turns", [{"user": "x"}], None])
def test_a_demo_that_no_conversation_can_be_made_of_is_refused(refused, content, history):
    """Before it is used, and not in the middle of a run."""
    content["state"]["demos"][0]["history"] = history
    refused(content)


@pytest.mark.parametrize("name", ["history", "user_message"])
def test_a_demo_that_lacks_an_input_is_refused(refused, content, name):
    del content["state"]["demos"][0][name]
    refused(content)


def test_a_card_names_every_phase_by_its_name():
    made = card()
    assert set(json.loads(made.model_dump_json())["phases"]) == {str(phase) for phase in Phase}
