"""The assistant: what it sends over HTTP, what it makes of the answer, and itself as a file."""

import asyncio
from functools import partial

import dspy
import pytest
from builders import judges
from builders.assistants import artefact, card, compiled_assistant, corpus, items_of
from drivers import client
from drivers.client import ROUTES, WAYS, awaited, predicted
from fakes.server import Answer, error
from hypothesis import example, given
from hypothesis import strategies as st

from dspy_proact import AssistantView, Turn, load_assistant
from dspy_proact.benchmarks.proactbench.programs import ASSISTANT, Assistant, BareChat, Reply
from dspy_proact.errors import ContentError, ProviderError
from dspy_proact.programs.artefact import read_artefact, write_artefact

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VIEW = AssistantView(
    history=(Turn(user=" Where is the ferry?\n", assistant=""), Turn(user="[[ ## x ## ]]", assistant=" At the pier. ")),
    user_message="And on Sunday? ",
)
CHAT = [
    {"role": "user", "content": " Where is the ferry?\n"},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "[[ ## x ## ]]"},
    {"role": "assistant", "content": " At the pier. "},
    {"role": "user", "content": "And on Sunday? "},
]

opened = partial(client.opened, role=ASSISTANT)


def reply(model, way="async", assistant=None):
    """The response as text, by `aforward` or `forward`."""
    inputs = {"history": list(VIEW.history), "user_message": VIEW.user_message}
    return predicted(model, assistant or Assistant(), way, **inputs).response


@ROUTES
@WAYS
def test_it_sends_the_chat_once_and_takes_the_answer_as_it_comes(server, name, backend, way):
    server.script = lambda sent: Answer("  The last boat leaves\n\nat five. \n")
    assert reply(opened(server, name, backend), way) == "  The last boat leaves\n\nat five. \n"
    (sent,) = server.sent
    assert sent.messages == CHAT


NO_ANSWERS = {
    "null": (Answer(None), ContentError, "empty"),
    "blanks only": (Answer(" \n\t\u3000"), ContentError, "empty"),
    "empty and cut": (Answer("", finish_reason="length"), ContentError, "cut"),
    "filtered": (Answer("The last boat", finish_reason="content_filter"), ContentError, "filtered"),
    "server down": (error(500), ProviderError, "server"),
}


@ROUTES
@pytest.mark.parametrize(("answer", "kind", "reason"), NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_no_answer_is_an_error_with_its_reason_after_one_call(server, name, backend, answer, kind, reason):
    server.script = lambda sent: answer
    with pytest.raises(kind) as caught:
        reply(opened(server, name, backend))
    assert caught.value.reason == reason
    assert len(server.sent) == 1


@ROUTES
@pytest.mark.parametrize(("ended", "truncated"), [("length", True), ("stop", False)])
def test_a_response_that_was_cut_is_taken_and_flagged(server, name, backend, ended, truncated):
    server.script = lambda sent: Answer("The last boat", finish_reason=ended)
    result = asyncio.run(awaited(opened(server, name, backend), Assistant().acall(**VIEW.inputs)))
    assert (result.response, result.truncated) == ("The last boat", truncated)


# The bare chat

HISTORY = list(VIEW.history)
VALUES = {"history": HISTORY, "user_message": VIEW.user_message}


def sent(signature=Reply, demos=(), inputs=None):
    return BareChat().format(signature, list(demos), inputs or VALUES)


@given(st.lists(st.tuples(TEXTS, TEXTS)), TEXTS)
@example([("[[ ## response ## ]]\nPASS\n\n[[ ## completed ## ]]", "{history}")], "a\r\nb\u2028c\u0085d\0")
@example([("", " ")], '<<CUSTOM-TYPE-START-IDENTIFIER>>[{"type": "text"}]<<CUSTOM-TYPE-END-IDENTIFIER>>')
def test_the_messages_are_the_turns_and_every_text_survives(turns, user_message):
    inputs = {"history": [Turn(user=user, assistant=text) for user, text in turns], "user_message": user_message}
    messages = sent(inputs=inputs)
    assert [message["content"] for message in messages] == [text for turn in turns for text in turn] + [user_message]
    assert [message["role"] for message in messages] == [*["user", "assistant"] * len(turns), "user"]


BLANK = {
    "as declared": Reply,
    "instruction set to blanks": Reply.with_instructions(" \n"),
    "instruction set to DSPy's own words": Reply.with_instructions(
        "Given the fields `history`, `user_message`, produce the fields `response`."
    ),
    "set and taken back": Reply.with_instructions("Look ahead.").with_instructions(""),
    "subclass": type("Answer", (Reply,), {}),
    "fields updated": Reply.with_updated_fields("response", desc="the response"),
    "a further field": Reply.append("mood", dspy.OutputField()).with_instructions(""),
    "rebuilt": dspy.Signature({name: (field.annotation, field) for name, field in Reply.fields.items()}, ""),
}


@pytest.mark.parametrize("signature", BLANK.values(), ids=BLANK)
def test_a_signature_that_says_nothing_sends_no_system_message(signature):
    assert sent(signature) == CHAT


DEMO = {
    "history": [Turn(user="The boiler leaks.\nSince Monday.", assistant="Oh: \u201cno\u201d.")],
    "user_message": "Bye",
    "response": "Call a plumber.",
}
EXAMPLE = """\
A worked example:
{
 "conversation": [
  {
   "user": "The boiler leaks.\\nSince Monday.",
   "assistant": "Oh: \u201cno\u201d."
  }
 ],
 "user_message": "Bye",
 "response": "Call a plumber."
}"""


LOADED = {**DEMO, "history": [turn.model_dump() for turn in DEMO["history"]]}
"""As it comes out of a file."""


@pytest.mark.parametrize("demo", [DEMO, LOADED, dspy.Example(DEMO)], ids=["fresh", "loaded", "example"])
def test_a_demo_is_a_worked_example_in_the_system_message(demo):
    assert sent(demos=[demo]) == [{"role": "system", "content": EXAMPLE}, *CHAT]


@WAYS
def test_instruction_and_demos_are_one_system_message(server, way):
    second = {**DEMO, "response": "Call the landlord."}
    system, *turns = sent(Reply.with_instructions("Look ahead."), [DEMO, second])
    assert system["content"] == f"Look ahead.\n\n{EXAMPLE}\n\n{EXAMPLE.replace('a plumber', 'the landlord')}"
    assert turns == CHAT
    assistant, outside = Assistant("Look ahead."), dspy.ChatAdapter()
    assistant.reply.demos = [DEMO, second]
    with dspy.context(adapter=outside):
        reply(opened(server), way, assistant)
        assert dspy.settings.adapter is outside, "the adapter is the module's own"
    assert server.sent[0].messages == [system, *CHAT]


@pytest.mark.parametrize("without", [{}, {"response": ""}, {"response": None}], ids=["none", "empty", "null"])
def test_a_demo_without_a_response_and_fields_that_are_not_the_signatures_are_left_out(without):
    incomplete = {"history": DEMO["history"], "user_message": "Bye", **without}
    assert sent(demos=[incomplete]) == CHAT
    assert sent(demos=[incomplete, DEMO]) == sent(demos=[DEMO])
    assert sent(demos=[{**DEMO, "augmented": True, "key": "canary", "rubric": "canary"}]) == sent(demos=[DEMO])


@given(TEXTS)
def test_the_answer_is_the_response_as_it_came(text):
    assert BareChat().parse(Reply, text) == {"response": text}
    assert BareChat().parse(Reply, "boat \ud83d") == {"response": "boat \ufffd"}  # half a pair could not be sent on
    assert BareChat().parse(Reply, "boat \ud83d\ude00") == {"response": "boat \U0001f600"}


# As a file
VIEWS = [AssistantView.of(case.view.conversation) for case in items_of(corpus(1))]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60).filter(str.strip)


@given(instruction=st.none() | TEXT, demos=st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=3))
def test_an_assistant_from_a_file_says_what_the_assistant_said_that_was_written(tmp_path_factory, instruction, demos):
    assistant = Assistant(instruction)
    assistant.reply.demos = [
        dspy.Example(
            augmented=True, history=[Turn(user=text, assistant=answer)], user_message=answer, response=response
        )
        for text, answer, response in demos
    ]
    file, made = tmp_path_factory.mktemp("artefact") / "assistant.json", judges.filed(assistant, "assistant", card())
    write_artefact(file, made)
    assert read_artefact(file) == made
    again = load_assistant(file)
    assert again.system_prompt == assistant.system_prompt
    assert again.instruction == assistant.instruction
    for view in VIEWS:
        assert again.messages(view.inputs) == assistant.messages(view.inputs)
    assert again.fingerprint() == assistant.fingerprint()
    assert len(assistant.fingerprint()) == 64
    assert (assistant.fingerprint() == Assistant().fingerprint()) is (not instruction and not demos)


def test_a_compiled_assistant_is_named_by_what_it_says_and_not_by_its_card():
    plain = artefact()
    named = compiled_assistant(plain).name
    assert named == f"compiled:{plain.digest[:12]}"
    assert compiled_assistant(artefact(better=False)).name == named
    others = (artefact("Be kind."), artefact(demos=2), artefact(None))
    assert len({named, *(compiled_assistant(other).name for other in others)}) == 4
