"""The compressed block of a page: texts once, chunks that can be opened one by one."""

import base64
import json
import zlib

from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.report.page.block import Block


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
        block.add({"said": [block.texts.number(text) for text in item]})
    head, found = read(block.lines({"name": "x"}))
    assert (head["name"], found) == ("x", items)


def test_a_text_that_many_hold_stands_once():
    block = Block()
    for _ in range(3):
        block.add({"said": [block.texts.number("alike")]})
    (chunk,) = [opened(line) for line in list(block.lines({}))[1:]]
    assert [item["texts"] for item in chunk] == [["alike"], [], []]


def test_long_items_are_parted_into_chunks_and_each_says_where_it_is():
    block = Block()
    places = [block.add({"said": [block.texts.number(f"{number}{'x' * 100_000}")]}) for number in range(6)]
    assert places == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert len(read(block.lines({}))[1]) == 6


def test_a_half_surrogate_is_replaced_and_no_line_holds_markup():
    block = Block()
    block.add({"said": [block.texts.number("</script>\ud800")], "name": "\udfff"})
    lines = list(block.lines({}))
    assert read(lines)[1] == [["</script>\ufffd"]]
    assert not any("<" in line for line in lines)
