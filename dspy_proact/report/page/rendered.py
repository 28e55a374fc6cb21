"""Markdown as a tree that a page builds element by element; quotes that stand in the source stay marked in it.

A tree is a list of nodes; a node is a text, or a list of an element's name and its nodes. Nothing in it is markup:
raw HTML stays text, a picture is its alternative text, and a link is its text with its address after it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

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
    tree = _Tree()
    nodes = tree.nodes(SyntaxTreeNode(_parser().parse(_marked(text, spans))))
    return nodes if tree.marks == len(spans) and not tree.open else None


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
    """Nodes of a page from those of the parser, with marks that begin and end in their texts.

    Attributes:
        marks: Marks that began and ended.
        open: Whether one has begun and not ended.
    """

    def __init__(self):
        self.marks, self.open = 0, False

    def nodes(self, parent: SyntaxTreeNode) -> list[Node]:
        """What stands in a node of the parser's."""
        found: list[Node] = []
        for node in parent.children:
            if node.type == "inline" or (node.type in _ELEMENTS and node.hidden):  # the paragraphs of a tight list
                found += self.nodes(node)
            elif node.type == "link":
                inner, address = self.nodes(node), str(node.attrs.get("href", ""))
                found.append(["link", *inner, *([] if "".join(_texts(inner)) == address else [["address", address]])])
            elif node.type in _ELEMENTS:
                found.append([_ELEMENTS[node.type], *self.nodes(node)])
            elif node.type in ("fence", "code_block", "code_inline"):
                found.append(["code" if node.type == "code_inline" else "pre", *self._text(node.content)])
            elif node.type in ("hr", "hardbreak"):
                found.append(["hr" if node.type == "hr" else "br"])
            else:
                found += self._text("\n" if node.type == "softbreak" else node.content)
        return found

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
