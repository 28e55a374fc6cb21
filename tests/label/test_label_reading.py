"""How texts of others are shown: every word can be marked, Markdown is read, and nothing in it is obeyed."""

import html
import re

import pytest
from attack import ATTACK
from labelling import item

from dspy_proact.label.items import PREFERENCE
from dspy_proact.label.reading import given_level, readable, shown

_WORD = re.compile(r'<span class="w" data-from="(\d+)" data-to="(\d+)">([^<]*)</span>')

TEXTS = {
    "plain": "It's e.g. a co-op, isn't it?\nYes.",
    "markdown": "**Bold** and _thin_\n\n1. one `x y`\n- a [link](http://a.b/c) & &amp;\n\n```python\nprint(1)\n```\n",
    "table": "| a | b |\n|---|---|\n| c | d |\n\n> quoted\n",
    "scripts": "漢字 と हिन्दी и русский é",
    "marks of the renderer's": "a \ue000b\ue001 c",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_word_says_where_it_stands_in_the_response(name):
    text = TEXTS[name]
    found = [
        (int(start), int(end), html.unescape(word)) for start, end, word in _WORD.findall(readable(text, words=True))
    ]
    assert found
    assert [text[start:end] for start, end, _ in found] == [word for *_, word in found]
    assert [start for start, *_ in found] == sorted(start for start, *_ in found)


def test_markdown_is_the_same_with_words_as_without():
    for text in TEXTS.values():
        without = re.sub(r'<span class="w"[^>]*>([^<]*)</span>', r"\1", str(readable(text, words=True)))
        assert without == readable(text)
    assert "<strong>" in readable(TEXTS["markdown"], words=True)


def test_nothing_of_a_text_is_markup_and_what_is_hidden_is_shown():
    for text in (ATTACK, f"**{ATTACK}**", f"[{ATTACK}](javascript:alert(1))", f"```{ATTACK}\n{ATTACK}\n```"):
        for made in (readable(text), readable(text, words=True)):
            assert not re.search(r"<(script|img|a|td)\b|</td", made)
            assert "\u202e" not in made
            assert "U+202E" in made


def test_a_pair_is_turned_round_for_some_and_its_grade_back():
    pair = item(1, part=PREFERENCE)
    pair = type(pair)(**{**pair.__dict__, "responses": ("One.", "Other.")})
    assert [str(each) for each in shown(pair, swapped=True).responses] == [readable("Other."), readable("One.")]
    assert [given_level(pair, value, swapped=True) for value in ("first", "tie", "second")] == [
        "second",
        "tie",
        "first",
    ]
    assert given_level(pair, "neither", swapped=False) is None


def test_what_is_asked_and_the_criteria_are_those_of_the_part():
    view = shown(item(1))
    assert (view.question, view.pair) == ("Which grade does the response earn?", False)
    assert [(choice.name, choice.meaning) for choice in view.choices] == [
        ("SOLVED", "It names the answer."),
        ("CLOSE", ""),
        ("LOST", "It names another."),
    ]
