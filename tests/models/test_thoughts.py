"""Thoughts that a server leaves in the text of a reply: what is text, what is a thought, whole and in pieces."""

import json

import pytest
from dspy.lm15 import StreamDeltaEvent, TextDelta
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.models.replies import StreamedReply
from dspy_proact.models.thoughts import without_thoughts

HARMONY = "<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>final<|message|>Bye.<|return|>"
THOUGHTS = {
    "think": "<think>\nso\n</think>\n\nBye.",
    "capitals": " <THINK>so</THINK> Bye.",
    "Magistral": "[THINK]so[/THINK]Bye.",
    "Claude": "<thinking>so</thinking>\nBye.",
    "Gemma": "<thought>so</thought>\nBye.",
    "tutorials": "<reasoning>so</reasoning>\nBye.",
    "Seed": "<seed:think>so</seed:think>Bye.",
    "Kimi": "◁think▷so◁/think▷Bye.",
    "gpt-oss": HARMONY,
    "gpt-oss without its special tokens": "analysisWe think so.assistantfinalBye.",
    "Gemma 4": "<|channel>thought\nso<channel|>Bye.",
    "Command A": "<|START_THINKING|>so<|END_THINKING|><|START_RESPONSE|>Bye.<|END_RESPONSE|>",
    "Apertus": "<|inner_prefix|>so<|inner_suffix|>Bye.",
    "OpenThinker": "<|begin_of_thought|>so<|end_of_thought|>\n<|begin_of_solution|>Bye.<|end_of_solution|>",
    "opened by the template": "so\n</think>\n\nBye.",
    "opened by the template, with a draft": 'I could say {"a": "</think>"} so\n</think>\n\nBye.',
    "twice": "<think>so</think><think>so</think>\n\nBye.",
    "quoting the mark": '<think>They wrote "</think>" so.</think>Bye.',
    "a block of code that never ends": "<think>```py\nso\n</think>\nBye.",
    "nested": "so <think> so </think> so </think>Bye.",
}
NEVER_END = (
    "<think>so",
    "[THINK]so",
    "<think></think>\n<think>so",
    "<|channel|>analysis<|message|>so<|end|>",
    "analysisWe so",
)
TEXT = {
    "no mark": "Bye.",
    "a code span": "Models end thoughts with `</think>`. Bye.",
    "a fenced block": "It ends so:\n```\nhm\n</think>\n```\nBye.",
    "a block that never ends": "It ends so:\n\n~~~\n</think>\nBye.",
    "quotation marks": 'It ends with "</think>". Bye.',
    "a pair in the middle": "First <think>so</think>, then bye.",
    "an opening in the middle": "Write <think> first. Bye.",
    "a string of an object": json.dumps({"reasoning": "It has </think> and <think> in it.", "grade": "FAIL"}),
    "an object after words": "My verdict:\n" + json.dumps({"evidence": ['"</think>" ends it'], "grade": "FAIL"}),
    "markup": "<b>Bye</b> [/link] a |> b",
    "analysis": "analysis of the trip: bye.",
}


def streamed(text, size, **options):
    """The text of a stream, and the reply that read it."""
    reply, passed = StreamedReply(**options), []
    for start in range(0, len(text), size):
        passed += reply.pass_on(StreamDeltaEvent(TextDelta(text[start : start + size])))
    passed += reply.pass_on()
    return "".join(event.delta.text for event in passed if event.delta.type == "text"), reply


@pytest.mark.parametrize("text", THOUGHTS.values(), ids=THOUGHTS)
def test_thoughts_are_taken_out_of_the_text(text):
    thoughts, rest = without_thoughts(text)
    assert rest == "Bye."
    assert "so" in thoughts


@pytest.mark.parametrize("text", NEVER_END)
def test_thoughts_that_never_end_leave_no_text(text):
    assert without_thoughts(text)[1] == streamed(text, 3)[0] == ""


@pytest.mark.parametrize("text", TEXT.values(), ids=TEXT)
def test_a_mark_that_the_text_speaks_of_is_text(text):
    assert without_thoughts(text) == ("", text)


def test_what_stands_between_thoughts_is_text_so_that_two_verdicts_stay_two():
    assert without_thoughts("<think>a</think>Sure.<think>b</think>Bye.") == ("ab", "Sure.\n\nBye.")


def test_a_block_without_thoughts_counts_as_none():
    assert without_thoughts("<think>\n\n</think>\n\nBye.") == ("", "Bye.")


def test_a_field_that_the_xml_adapter_asks_for_is_text():
    reply = "<reasoning>so</reasoning>\n<answer>Bye.</answer>"
    assert without_thoughts(reply, "All fields:\n<reasoning>\n{reasoning}\n</reasoning>") == ("", reply)
    assert without_thoughts(reply, "Be kind.")[1] == "<answer>Bye.</answer>"


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "`", "```\n", '{"a": "', '"}', "\n\n", "so ", "[/THINK]", "|>"]))
)
def test_a_text_that_was_read_has_no_more_thoughts_unless_its_words_make_some_anew(pieces):
    _, rest = without_thoughts("".join(pieces))
    assert len(without_thoughts(rest)[1]) <= len(rest) <= len("".join(pieces))


@pytest.mark.parametrize("text", [*THOUGHTS.values(), *TEXT.values()], ids=[*THOUGHTS, *TEXT])
def test_a_stream_that_waits_for_the_closing_mark_passes_on_the_text_alone(text):
    thoughts, rest = without_thoughts(text)
    for size in (1, 3, 1000):
        read, reply = streamed(text, size, waits=True)
        assert read.partition("<|")[0] == rest.partition("<|")[0]
        assert reply.thoughts == bool(thoughts)


def test_a_stream_passes_on_opened_thoughts_as_such_and_its_text_as_it_comes():
    for size in (1, 3, 1000):
        assert streamed("<think>\nso\n</think>\n\nBye. Bye.", size)[0] == "Bye. Bye."
        plain, reply = streamed("Bye. Bye.", size)
        assert (plain, reply.unopened) == ("Bye. Bye.", False)


def test_a_stream_tells_that_thoughts_were_passed_on_which_nothing_opened():
    read, reply = streamed("so\n</think>\n\nBye.", 3)
    assert read == "so\n</think>\n\nBye."
    assert reply.unopened


def test_a_mark_behind_a_character_that_nobody_sees_opens_thoughts():
    assert without_thoughts("\ufeff<think>a</think>b")[1] == "b"
    assert streamed("\u200b<think>a</think>b", 1)[0] == "b"


def test_a_stream_of_marks_is_not_read_from_its_beginning_at_every_piece(monkeypatch):
    read = list[int]()
    count = lambda text, system=None: read.append(len(text)) or without_thoughts(text, system)  # noqa: E731
    monkeypatch.setattr("dspy_proact.models.replies.without_thoughts", count)
    streamed(text := "</think>" * 1000, 8)
    assert sum(read) <= 40 * len(text)
