"""How an instruction is read, in whatever form a proposer answers, over HTTP."""

import json

import dspy
import pytest
from builders.judges import at, recipe, study
from fakes.server import Answer, error

from dspy_proact.programs.card import Proposals


class Improve(dspy.Signature):
    """Improve the instruction."""

    instruction: str = dspy.InputField()
    improved_instruction: str = dspy.OutputField()


TEXT = 'Look ahead.\n\nName one next step, such as "call Ann".'


def ask(server, *contents: str | Answer) -> str | None:
    """What a proposer is read as that gives these answers in turn, the last one again and again."""
    left = list(contents)

    def script(_):
        content = left.pop(0) if len(left) > 1 else left[0]
        return content if isinstance(content, Answer) else Answer(content)

    server.script = script
    return at(server, study(), recipe()).proposer.ask(Improve, instruction="Reply.")


ESCAPED = json.dumps(TEXT)
IN_FORMS = {
    "JSON": json.dumps({"improved_instruction": TEXT}),
    "real line breaks in a string": json.dumps({"improved_instruction": TEXT}).replace("\\n", "\n"),
    "quotation marks that are not escaped": json.dumps({"improved_instruction": TEXT}).replace('\\"', '"'),
    "both": f'{{\n"improved_instruction": "{TEXT}"\n}}',
    "a code fence": f'```json\n{{"improved_instruction": {ESCAPED}}}\n```',
    "words before and after": f'Sure, here it is:\n{{"improved_instruction": {ESCAPED}}}\nIt names what to do.',
    "further fields": f'{{"reasoning": "because", "improved_instruction": {ESCAPED}}}',
    "thoughts": f'<think>{{"improved_instruction": "no"}}</think>{{"improved_instruction": {ESCAPED}}}',
    "markers": f"[[ ## improved_instruction ## ]]\n{TEXT}\n\n[[ ## completed ## ]]",
    "markers after words": f"[[ ## reasoning ## ]]\nbecause\n\n[[ ## improved_instruction ## ]]\n{TEXT}",
    "a tag": f"<improved_instruction>\n{TEXT}\n</improved_instruction>",
    "plain text": TEXT,
    "plain text in a fence": f"Here is the improved instruction:\n\n```\n{TEXT}\n```",
    "plain text with a heading": f"**Improved instruction:**\n\n{TEXT}",
}


@pytest.mark.parametrize("content", IN_FORMS.values(), ids=IN_FORMS)
def test_an_instruction_is_read_in_any_form_at_once(server, content):
    assert ask(server, content) == TEXT
    assert len(server.sent) == 1


UNREADABLE = {
    "nothing": "",
    "thoughts that never end": f"<think>{TEXT}",
    "JSON without an end": '{"improved_instruction": "Look ahead.',
    "another field": '{"grade": "PASS"}',
    "an echo of the schema": '{"properties": {"improved_instruction": {"type": "string"}}}',
    "an apology": "I'm sorry, but I can't help with that.",
    "a text of 24,000 characters": "Look ahead. " * 2000,
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_asked_for_once_more_with_a_note(server, content):
    assert ask(server, content, TEXT) == TEXT
    first, again = (sent.messages[-1]["content"] for sent in server.sent)
    assert again.startswith(first)
    assert "could not be used" in again[len(first) :]
    assert ask(server, content) is None
    assert len(server.sent) == 4


def test_what_was_cut_or_refused_is_not_asked_for_again_and_is_no_instruction(server):
    assert ask(server, Answer("Look ahead, and", finish_reason="length")) is None
    assert ask(server, error(400)) is None
    assert len(server.sent) == 2


def test_answers_are_counted_as_new_as_repeated_and_as_unread(server):
    proposer = at(server, study(), recipe()).proposer
    assert proposer.new("Reply.", ["Look ahead.", None, "Reply.", "Look ahead.", "Hold back."]) == [
        "Look ahead.",
        None,
        None,
        None,
        "Hold back.",
    ]
    assert proposer.new("Reply.", [None]) == [None]
    assert proposer.counts == Proposals(new=2, same=2, unread=2)
    assert str(proposer.counts) == (
        "2 of 6 answers of the proposer were new instructions; 2 repeated an instruction; 2 could not be read"
    )
