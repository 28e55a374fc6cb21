"""The data of a page: texts cut to their room, numbered once, in chunks, and Markdown as a tree."""

import base64
import json
import re
import zlib
from dataclasses import replace

import pytest
from drivers.browser import packed_cases
from fakes.server import Answer
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact import Evaluation, Gate, ModelSpec, Scope, summarize
from dspy_proact.evaluation.reporting import quoted
from dspy_proact.evidence import locate_quotes
from dspy_proact.report.page.cases import Block, even_length, shortened
from dspy_proact.report.page.page import page
from dspy_proact.report.page.rendered import rendered
from dspy_proact.report.page.replies import raw_replies


@given(st.lists(st.integers(0, 50)), st.integers(0, 500))
def test_cut_texts_have_room_and_one_character_more_of_each_has_not(lengths, room):
    longest = even_length(lengths, room)
    if longest is None:
        assert sum(lengths) <= room
    else:
        assert sum(min(length, longest) for length in lengths) <= room
        assert sum(min(length, longest + 1) for length in lengths) > room


def test_what_is_left_out_is_counted():
    assert shortened("abcdef", 4) == "abcd… [2 more characters]"
    assert shortened("abcd", 4) == shortened("abcd", None) == "abcd"


def opened(line):
    return json.loads(zlib.decompress(base64.b64decode(line)))


def read(lines):
    """The head, and every item with the texts of its numbers."""
    head, *chunks = map(opened, lines)
    texts = [text for chunk in chunks for item in chunk for text in item["texts"]]
    firsts, first = [], 0
    for chunk in chunks:
        firsts.append(first)
        first += sum(len(item["texts"]) for item in chunk)
    assert head["firsts"] == firsts
    return head, [[texts[number] for number in item["said"]] for chunk in chunks for item in chunk]


@given(st.lists(st.lists(st.text(max_size=5), max_size=4), max_size=6))
def test_what_is_put_in_is_what_is_read(items):
    block = Block()
    for item in items:
        block.add({"said": [block.number(text) for text in item]})
    head, result = read(block.lines({"name": "x"}))
    assert (head["name"], result) == ("x", items)


def test_a_text_that_many_hold_stands_once():
    block = Block()
    for _ in range(3):
        block.add({"said": [block.number("alike")]})
    (chunk,) = [opened(line) for line in list(block.lines({}))[1:]]
    assert [item["texts"] for item in chunk] == [["alike"], [], []]


def test_long_items_are_parted_into_chunks_and_each_says_where_it_is():
    block = Block()
    positions = [block.add({"said": [block.number(f"{number}{'x' * 100_000}")]}) for number in range(6)]
    assert positions == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert len(read(block.lines({}))[1]) == 6


def test_replies_that_say_more_than_the_page_are_on_it_as_far_as_there_is_room(server, tmp_path, proactbench):
    server.script_roles(judge=lambda sent: Answer("no verdict"))
    models = (ModelSpec(name="openai/any", api_base=base) for base in (server.assistant, server.judge))
    Evaluation("sample", *models, gate=Gate(retries=0)).run(tmp_path / "run", Scope(limit=1))
    summary = summarize(tmp_path / "run")
    (replies,) = raw_replies(summary).values()
    assert replies == [(f"judge openai/any, call {number}: text", "no verdict") for number in (1, 2)]
    (replies,) = raw_replies(summary, room=15).values()
    assert [text for _, text in replies] == ["no verdict", "no room for more; a transcript has it"]
    assert packed_cases(page([summary])).count("no verdict") == 1
    private = summary.manifest.corpus.model_copy(update={"private": True})
    assert not raw_replies(replace(summary, manifest=summary.manifest.model_copy(update={"corpus": private})))


def test_a_half_surrogate_is_replaced_and_no_line_holds_markup():
    block = Block()
    block.add({"said": [block.number("</script>\ud800")], "name": "\udfff"})
    lines = list(block.lines({}))
    assert read(lines)[1] == [["</script>\ufffd"]]
    assert not any("<" in line for line in lines)


MARKDOWN = "# Plan\n\n1. **Pack** the boxes\n2. Call `Ann`\n\n| a | b |\n|---|---|\n| one | two |\n\n> so *be* it\n"
ELEMENT = re.compile(
    "address|blockquote|br|code|em|heading|hr|li|link|mark|ol|p|pre|s|strong|table|tbody|td|th|thead|tr|ul"
)


def names(nodes):
    for node in nodes:
        if not isinstance(node, str):
            yield node[0]
            yield from names(node[1:])


def texts(nodes, marked=None, within=False):
    """The texts of a tree, or those that are marked."""
    for node in nodes:
        if isinstance(node, str):
            if marked is None or within == marked:
                yield node
        else:
            yield from texts(node[1:], marked, within or node[0] == "mark")


def marks_of(text, *quotes):
    return "".join(texts(rendered(text, quoted(locate_quotes(quotes, text))) or [], marked=True))


def test_a_quote_is_marked_whole_where_letters_have_another_form_or_something_unseen_is_in_them():
    text = "\ufb01rst **cafe\u0301**, then la\u200bbel *the* bo\u00adxes\u200b today"
    assert marks_of(text, "caf\u00e9, then label the boxes") == "cafe\u0301, then la\u200bbel the bo\u00adxes"


def test_elements_are_named_and_nested():
    tree = rendered(MARKDOWN, [])
    assert tree[0] == ["heading", "Plan"]
    assert tree[1] == ["ol", ["li", ["strong", "Pack"], " the boxes"], ["li", "Call ", ["code", "Ann"]]]
    assert tree[2][0] == "table"
    assert tree[3] == ["blockquote", ["p", "so ", ["em", "be"], " it"]]


@pytest.mark.parametrize("text", ["Plain words.", "Two lines\nof them", ""])
def test_what_holds_no_markdown_is_shown_as_it_is_written(text):
    assert rendered(text, []) is None


def test_a_text_that_is_too_long_is_shown_as_it_is_written():
    assert rendered("*a* " * 20_000, []) is None


def test_raw_html_is_text_a_picture_its_words_and_a_link_has_its_address_after_it():
    tree = rendered("<b>x</b> ![a cat](https://e.org/c.png) [here](https://e.org)", [])
    assert "".join(texts(tree)) == "<b>x</b> a cat herehttps://e.org"
    assert tree[0][-1] == ["link", "here", ["address", "https://e.org"]]


def test_an_address_that_runs_is_no_link():
    assert "".join(texts(rendered("[x](javascript:alert(1)) *a*", []))) == "[x](javascript:alert(1)) a"


@pytest.mark.parametrize(
    ("quote", "marked"),
    [
        ("Pack the boxes", "Pack the boxes"),
        ("1. Pack the boxes", "Pack the boxes"),
        ("the boxes 2. Call Ann", " the boxesCall Ann"),
        ("so be it", "so be it"),
        ("one two", "onetwo"),
    ],
)
def test_a_quote_is_marked_through_the_markdown_in_it(quote, marked):
    assert marks_of(MARKDOWN, quote).strip() == marked.strip()


@pytest.mark.parametrize("text", ["```python\nx\n```", "[a](https://python.org/x)"])
def test_where_a_mark_cannot_be_kept_the_text_is_shown_as_it_is_written(text):
    start = text.index("python")
    assert rendered(text, [(start, start + 6)]) is None


def test_what_looks_like_a_mark_of_ours_is_text():
    assert rendered("*a* \ue000 b \ue001", []) is None


@given(st.text(alphabet="ab*_`#>-|[]()!<&\n 1.~\\", max_size=80), st.data())
def test_whatever_is_written_only_known_elements_come_out_and_marks_hold_what_is_quoted(text, data):
    words = [part for part in text.replace("\n", " ").split(" ") if part.isalnum()]
    quotes = data.draw(st.lists(st.sampled_from(words), max_size=2)) if words else []
    spans = quoted(locate_quotes(quotes, text))
    tree = rendered(text, spans)
    if tree is not None:
        assert all(ELEMENT.fullmatch(name) for name in names(tree))
        assert ("mark" in set(names(tree))) == bool(spans)
