"""A compiled assistant as a file: what is written is read back as it was, and by nobody as another program."""

import dspy
import pytest
import tuning
from assistants import OFFER, PUSHY, artefact, card, compiled_assistant, corpus, demo, items_of
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.benchmarks.compiled import load_assistant
from dspy_proact.benchmarks.proactbench.programs import Assistant, Reply
from dspy_proact.benchmarks.proactbench.types import AssistantView, Turn
from dspy_proact.errors import UsageError
from dspy_proact.programs.artefact import read_artefact, read_judge, signature_hash, states_of, write_artefact

FROZEN_SIGNATURE = "cb9e9b728a7f86749bb33204ed0bdd35cb9d0eeac2920bf49b0cdc2eed8f2af9"
VIEWS = [AssistantView.of(item.case.view.conversation) for item in items_of(corpus(1))]


def test_what_is_written_is_read_back(tmp_path):
    for made in (artefact(), artefact(None, demos=0), artefact(None, demos=2), artefact(demos=0)):
        write_artefact(tmp_path / "assistant.json", made)
        assert read_artefact(tmp_path / "assistant.json") == made
        assert read_artefact(tmp_path / "assistant.json") == made


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
    file = tmp_path_factory.mktemp("artefact") / "assistant.json"
    write_artefact(file, tuning.filed(assistant, "assistant", card()))
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
    assert compiled_assistant(artefact(raters=7)).name == named
    others = (artefact("Be kind."), artefact(demos=2), artefact(None))
    assert len({named, *(compiled_assistant(other).name for other in others)}) == 4


def test_a_demo_keeps_fields_of_the_signature_and_whether_it_was_bootstrapped():
    assistant = Assistant(PUSHY)
    assistant.reply.demos = [dspy.Example(**demo(), key="k", rubric="r", scenario="s")]
    (kept,) = states_of(assistant)["reply"].demos
    assert set(kept) == {"augmented", "history", "user_message", "response"}


def test_the_signature_hash_is_frozen_and_leaves_the_instruction_out():
    """It is part of the file format: where it changes on purpose, every compiled assistant is refused."""
    assert signature_hash(Reply) == FROZEN_SIGNATURE
    assert signature_hash(Reply.with_instructions("Else.")) == FROZEN_SIGNATURE


def test_each_program_is_taken_for_what_it_is(tmp_path):
    write_artefact(tmp_path / "judge.json", tuning.artefact())
    write_artefact(tmp_path / "assistant.json", artefact())
    with pytest.raises(UsageError, match="a compiled judge, where an assistant is asked for"):
        load_assistant(tmp_path / "judge.json")
    with pytest.raises(UsageError, match="a compiled assistant, where a judge is asked for"):
        read_judge(tmp_path / "assistant.json")
