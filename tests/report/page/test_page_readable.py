"""How texts of others are shown: every word can be marked, Markdown is read, and nothing in it is obeyed."""

import html
import re

import pytest
from builders.attack import ATTACK

from dspy_proact.report.page.rendered import marked, readable

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
    results = [
        (int(start), int(end), html.unescape(word)) for start, end, word in _WORD.findall(readable(text, words=True))
    ]
    assert results
    assert [text[start:end] for start, end, _ in results] == [word for *_, word in results]
    assert [start for start, *_ in results] == sorted(start for start, *_ in results)


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


def test_marks_enclose_what_their_spans_do_and_everything_is_escaped():
    text = marked("<b> one two", [(8, 11, ""), (0, 3, "a<1")])
    assert str(text) == (
        '<div class="text" dir="auto"><mark>&lt;b&gt;</mark><span class="of-mark">a&lt;1</span> one '
        "<mark>two</mark></div>"
    )


def test_of_two_marks_that_overlap_the_first_counts_and_what_hides_is_shown_as_its_code():
    assert str(marked("abcdef", [(2, 4, ""), (0, 3, ""), (5, 5, "")])) == (
        '<div class="text" dir="auto"><mark>abc</mark>def</div>'
    )
    assert '<mark><span class="code-point">U+202E</span></mark>' in marked("a\u202eb", [(1, 2, "")])
