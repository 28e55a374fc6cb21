"""Markdown as a tree that a page builds element by element; quotes that stand in the source stay marked in it.

A tree is a list of nodes; a node is a text, or a list of an element's name and its nodes. Nothing in it is markup:
raw HTML stays text, a picture is its alternative text, and a link is its text with its address after it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

Node = str | list[Any]
_LONGEST = 50_000
"""Characters of a text that is rendered; a longer one is shown as it is written."""
_START, _END = "\ue000", "\ue001"
_MARKER = re.compile(f"([{_START}{_END}])")
_LIST_NUMBER = re.compile(r"(?:^|(?<=\n))[ \t>]*\d{1,9}[.)][ \t]+")
_ELEMENTS = {
    "blockquote": "blockquote",
    "bullet_list": "ul",
    "em": "em",
    "heading": "heading",
    "list_item": "li",
    "ordered_list": "ol",
    "paragraph": "p",
    "s": "s",
    "strong": "strong",
    "table": "table",
    "tbody": "tbody",
    "td": "td",
    "th": "th",
    "thead": "thead",
    "tr": "tr",
}
"""By the name of what opens and closes it."""
_MARKDOWN = re.compile(
    r"[*_`#>|~\[<&\\]|^[ \t]*(?:[-+]|\d{1,9}[.)])[ \t]|^[ \t]*[-=]+[ \t]*$|^(?: {4}|\t)", re.MULTILINE
)
"""What there is in any text that is more than paragraphs."""


def rendered(text: str, spans: Sequence[tuple[int, int]]) -> list[Node] | None:
    """A text as a tree, with `mark` around what the spans enclose.

    None where it is shown as it is written: it is long, holds no Markdown, or a mark cannot be kept in it.

    Args:
        text: Markdown.
        spans: Start and end of what is marked, in order, without overlaps.
    """
    if len(text) > _LONGEST or not _MARKDOWN.search(text) or _MARKER.search(text):
        return None
    tokens = _parser().parse(_marked(text, spans))
    tree = _Tree()
    tree.add(tokens)
    return tree.nodes if tree.marks == len(spans) and not tree.open else None


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _marked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with a character before and after each span; one that begins with the number of an item, after it."""
    numbers = {found.end() - len(found.group().lstrip(" \t>")): found.end() for found in _LIST_NUMBER.finditer(text)}
    pieces, last = list[str](), 0
    for start, end in spans:
        begin = min(numbers.get(start, start), end)
        pieces += [text[last:begin], _START, text[begin:end], _END]
        last = end
    return "".join([*pieces, text[last:]])


class _Tree:
    """A tree as it grows, token by token.

    Attributes:
        nodes: Of its root.
        marks: Marks that began and ended.
        open: Whether one has begun and not ended.
    """

    def __init__(self):
        self.nodes: list[Node] = []
        self.marks, self.open = 0, False
        self._within: list[list[Any]] = [self.nodes]

    def add(self, tokens: Sequence[Token]) -> None:
        """Add what tokens say, and those within them."""
        for token in tokens:
            if token.type == "inline":
                self.add(token.children or [])
            elif token.type in ("link_open", "link_close"):
                self._link(token)
            elif token.nesting:
                self._nest(token)
            else:
                self._leaf(token)

    def _nest(self, token: Token) -> None:
        if token.hidden:  # the paragraphs of a tight list
            return
        if token.nesting < 0:
            self._within.pop()
            return
        self._enter([_ELEMENTS[token.type.removesuffix("_open")]])

    def _enter(self, node: list[Any]) -> None:
        self._within[-1].append(node)
        self._within.append(node)

    def _link(self, token: Token) -> None:
        if token.nesting > 0:
            self._enter(["link", str(token.attrs.get("href", ""))])
            return
        name, address, *nodes = self._within.pop()
        told = [] if "".join(_texts(nodes)) == address else [["address", address]]
        self._within[-1][-1] = [name, *nodes, *told]

    def _leaf(self, token: Token) -> None:
        if token.type in ("fence", "code_block"):
            self._enter(["pre"])
            self._text(token.content)
            self._within.pop()
        elif token.type == "code_inline":
            self._enter(["code"])
            self._text(token.content)
            self._within.pop()
        elif token.type in ("hr", "hardbreak"):
            self._within[-1].append(["hr" if token.type == "hr" else "br"])
        else:
            self._text({"softbreak": "\n"}.get(token.type, token.content))

    def _text(self, text: str) -> None:
        for piece in filter(None, _MARKER.split(text)):
            if piece in (_START, _END):
                self.marks += piece == _END and self.open
                self.open = piece == _START
            else:
                self._within[-1].append(["mark", piece] if self.open else piece)


def _texts(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        else:
            yield from _texts(node[1:])
