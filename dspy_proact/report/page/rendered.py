"""Markdown as a tree that a page builds element by element; quotes that stand in the source stay marked in it.

A tree is a list of nodes; a node is a text, or a list of an element's name and its nodes. Nothing in it is markup:
raw HTML stays text, a picture is its alternative text, and a link is its text with its address after it.

`readable` makes markup of a text, for pages that are built here. Each of its words may be an element that says where
it stands, `<span class="w" data-from data-to>`: words are handed to the renderer as marks, and so keep their places. A
text in which the marks get lost is shown as it is written.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from markupsafe import Markup, escape

from dspy_proact.plain_text import encodable

Node = str | list[Any]
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_LONGEST = 50_000
"""Characters of a text that is rendered; a longer one is shown as it is written."""
_START, _END = "\ue000", "\ue001"
_MARKER = re.compile(f"([{_START}{_END}])")
_LIST_NUMBER = re.compile(r"(?:^|(?<=\n))[ \t>]*\d{1,9}[.)][ \t]+")
_SAME = ("blockquote", "em", "heading", "s", "strong", "table", "tbody", "td", "th", "thead", "tr")
_OTHERS = {"bullet_list": "ul", "list_item": "li", "ordered_list": "ol", "paragraph": "p"}
_ELEMENTS = {name: name for name in _SAME} | _OTHERS
"""By the name of what opens and closes it."""
_MARKUP = re.compile(r"[*_`#>|~\[<&\\]")
_LINE = re.compile(r"^(?:[ \t]*(?:[-+]|\d{1,9}[.)])[ \t]|[ \t]*[-=]+[ \t]*$| {4}|\t)", re.MULTILINE)
"""What there is, this or `_MARKUP`, in any text that is more than paragraphs. As one pattern it takes three times as
long."""
_MOST_WORDS = 20_000
"""Words of a text that are elements, from its beginning."""
_SYNTAX = (
    r"^[ \t>]*(?:`{3,}|~{3,})[^\n]*$",  # the line of a fence, with its language
    r"^[ \t>]*(?:[-+*][ \t]+)*\d{1,9}[.)]",  # the number of a list's item
    r"^\[[^\]\n]*\]:[^\n]*$",  # the address that a link refers to
    r"\]\([^)\n]*\)",  # the address of a link
    r"<[A-Za-z][A-Za-z0-9+.-]*:[^<>\s]*>",
    r"&\#?\w+;",
)
"""What Markdown would not recognise any more with a mark in it."""
_LETTER = r"[^\s\x00-/:-@\[-`{-\xa0\u2000-\u206f\u3000-\u303f\ue000-\uf8ff\uff01-\uff0f]"
_WORD = re.compile(
    rf"{'|'.join(_SYNTAX)}|([\u3040-\u30ff\u3400-\u9fff]|{_LETTER}+(?:['\u2019._-]{_LETTER}+)*)", re.MULTILINE
)
_TAGS = {"heading": "div", "link": "span", "address": "span"}
_CLASSES = {"heading": ' class="heading"', "link": ' class="link"', "address": ' class="address"'}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_OBEYED = "\n\t\r\u200c\u200d"
"""Of the hidden characters those without which a text is not what it was."""


def rendered(text: str, spans: Sequence[tuple[int, int]]) -> list[Node] | None:
    """A text as a tree, with `mark` around what the spans, in order and without overlaps, enclose.

    None where it is shown as it is written: it is long, holds no Markdown, or a mark cannot be kept in it.
    """
    if len(text) > _LONGEST or not (_MARKUP.search(text) or _LINE.search(text)) or _MARKER.search(text):
        return None
    # A character stands before and after each span; of one that begins with the number of an item, after that.
    numbers = {match.end() - len(match.group().lstrip(" \t>")): match.end() for match in _LIST_NUMBER.finditer(text)}
    pieces, last, tree = list[str](), 0, _Tree()
    for start, end in spans:
        begin = min(numbers.get(start, start), end)
        pieces += [text[last:begin], _START, text[begin:end], _END]
        last = end
    nodes = tree.nodes(SyntaxTreeNode(_PARSER.parse("".join([*pieces, text[last:]]))))
    return nodes if tree.marks == len(spans) and not tree.open else None


class _Tree:
    """Nodes of a page from those of the parser, with marks that begin and end in their texts.

    Attributes:
        marks: Marks that began and ended.
        open: Whether one has begun and not ended.
    """

    def __init__(self):
        self.marks, self.open = 0, False

    def nodes(self, parent: SyntaxTreeNode) -> list[Node]:
        """What stands in a node of the parser's."""
        nodes: list[Node] = []
        for node in parent.children:
            if node.type == "inline" or (node.type in _ELEMENTS and node.hidden):  # the paragraphs of a tight list
                nodes += self.nodes(node)
            elif node.type == "link":
                inner, address = self.nodes(node), str(node.attrs.get("href", ""))
                nodes.append(["link", *inner, *([] if "".join(_texts(inner)) == address else [["address", address]])])
            elif node.type in _ELEMENTS:
                nodes.append([_ELEMENTS[node.type], *self.nodes(node)])
            elif node.type in ("fence", "code_block", "code_inline"):
                nodes.append(["code" if node.type == "code_inline" else "pre", *self._text(node.content)])
            elif node.type in ("hr", "hardbreak"):
                nodes.append(["hr" if node.type == "hr" else "br"])
            else:
                nodes += self._text("\n" if node.type == "softbreak" else node.content)
        return nodes

    def _text(self, text: str) -> Iterator[Node]:
        for piece in filter(None, _MARKER.split(text)):
            if piece in (_START, _END):
                self.marks += piece == _END and self.open
                self.open = piece == _START
            else:
                yield ["mark", piece] if self.open else piece


def _texts(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        else:
            yield from _texts(node[1:])


@lru_cache(128)  # a long text takes time, and raters share items
def readable(text: str, *, words: bool = False) -> Markup:
    """A text of others as markup: Markdown rendered, else as it is written; with each of its words as an element."""
    text = encodable(text)
    spans = [match.span(1) for match in _WORD.finditer(text) if match.group(1)][:_MOST_WORDS] if words else []
    nodes = rendered(text, spans)
    left = iter(spans)
    if nodes is not None and _texts_of_marks(nodes) == [text[start:end] for start, end in spans]:
        return Markup('<div class="text rendered" dir="auto">{}</div>').format(_markup(nodes, left))
    ends = [(0, 0), *spans, (len(text), len(text))]
    pieces = ((text[last:start], text[start:end], (start, end)) for (_, last), (start, end) in pairwise(ends))
    plain = Markup().join(_letters(before) + _word(word, at) for before, word, at in pieces)
    return Markup('<div class="text" dir="auto">{}</div>').format(plain)


def marked(text: str, spans: Sequence[tuple[int, int, str]]) -> Markup:
    """A text of others as it is written, with `mark` around what the spans enclose and the name of each after it.

    Args:
        text: What is shown.
        spans: Start, end and name; of two that overlap, the one that begins first counts. A name may be empty.
    """
    pieces, last, name_of = list[Markup](), 0, Markup('<span class="of-mark">{}</span>').format
    for start, end, name in sorted(spans):
        if start < last or end <= start:
            continue
        inner = _letters(encodable(text[start:end]))
        pieces += [_letters(encodable(text[last:start])), Markup("<mark>{}</mark>").format(inner)]
        pieces += [name_of(name)] if name else []
        last = end
    pieces.append(_letters(encodable(text[last:])))
    return Markup('<div class="text" dir="auto">{}</div>').format(Markup().join(pieces))


def _texts_of_marks(nodes: Sequence[Node]) -> list[str]:
    texts = list[str]()
    for node in nodes:
        if isinstance(node, list):
            texts += ["".join(node[1:])] if node[0] == "mark" else _texts_of_marks(node[1:])
    return texts


def _markup(nodes: Sequence[Node], spans: Iterator[tuple[int, int]]) -> Markup:
    """Nodes as elements, whose names are those of `rendered` and never a text's."""
    pieces = list[Markup]()
    for node in nodes:
        if isinstance(node, str):
            pieces.append(_letters(node))
        elif node[0] == "mark":
            pieces.append(_word(node[1], next(spans)))
        elif node[0] in ("br", "hr"):
            pieces.append(Markup(f"<{node[0]}>"))
        else:
            tag, inner = _TAGS.get(node[0], node[0]), _markup(node[1:], spans)
            pieces.append(Markup(f"<{tag}{_CLASSES.get(node[0], '')}>") + inner + Markup(f"</{tag}>"))
    return Markup().join(pieces)


def _word(text: str, span: tuple[int, int]) -> Markup:
    start, end = span
    return (
        Markup('<span class="w" data-from="{}" data-to="{}">{}</span>').format(start, end, text) if text else Markup()
    )


def _letters(text: str) -> Markup:
    """A text with what would be hidden in it, or would turn its lines round, as its code."""
    if text.replace("\n", "").isprintable():
        return escape(text)
    code = Markup('<span class="code-point">U+{:04X}</span>').format
    hidden = (unicodedata.category(letter) in _HIDDEN and letter not in _OBEYED for letter in text)
    return Markup().join(
        code(ord(letter)) if is_hidden else escape(letter) for letter, is_hidden in zip(text, hidden, strict=True)
    )
