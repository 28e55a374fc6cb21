"""An item as a page shows it: texts of others as markup of ours, and of the response every word as an element.

A word that can be marked is `<span class="w" data-from data-to>`, with its place in the response in characters.
Markdown is rendered as on the page of a run, raw HTML off: every word is handed to the renderer as a mark, so that each
keeps its place. A text in which the marks get lost is shown as it is written.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Annotated, Any, Literal

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from pydantic import Field

from dspy_proact.files.rows import Id, Part
from dspy_proact.label.items import PREFERENCE, Item
from dspy_proact.label.study import Given
from dspy_proact.plain_text import encodable
from dspy_proact.report.page.figures import templates as of_the_page
from dspy_proact.report.page.rendered import Node, rendered

_MOST_WORDS = 20_000
"""Words of a response that can be marked, from its beginning."""
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


@dataclass(frozen=True)
class Choice:
    """A grade that a rater can give."""

    value: str
    """The level; of a pair, `first` is the response that is shown first."""
    name: str
    meaning: str
    """What the criteria say of it; empty where they do not."""


@dataclass(frozen=True)
class Shown:
    """An item as it is shown to one rater."""

    item: Item
    responses: tuple[Markup, ...]
    """In the order in which they are shown."""
    question: str
    choices: tuple[Choice, ...]
    repeated: bool = False
    practice: bool = False

    @property
    def pair(self) -> bool:
        """Whether it is a choice between two responses, whose words are not marked."""
        return len(self.responses) > 1


def shown(item: Item, *, swapped: bool = False, repeated: bool = False, practice: bool = False) -> Shown:
    """An item for its page; of a pair, the second response stands first where they are swapped."""
    names = {"first": "The first", "tie": "Equally good", "second": "The second"} if item.part == PREFERENCE else {}
    meanings = dict(item.criteria)
    choices = tuple(
        Choice(str(level), names.get(level, level.replace("_", " ")), meanings.get(level, "")) for level in item.levels
    )
    named = item.part.name.replace("_", " ")
    asked = item.part.question or (f"How is “{named}” graded?" if named else "Which grade does the response earn?")
    ordered = item.responses[::-1] if swapped else item.responses
    texts = tuple(readable(response, words=len(ordered) == 1) for response in ordered)
    return Shown(item, texts, asked, choices, repeated, practice)


def given_level(item: Item, value: str, *, swapped: bool) -> str | None:
    """The level that a choice on a page stands for; None where there is no such choice."""
    turned = {"first": "second", "second": "first"} if swapped else {}
    level = turned.get(value, value)
    return level if level in item.part.levels else None


class Form(Part):
    """A rating, or a skip, whose grade is empty, as a page sends it and an offline page saves it."""

    item: Id
    repeated: Literal["0", "1"]
    grade: str
    confidence: Literal["", "1", "2", "3", "4", "5"]
    reason: str
    spans: list[Annotated[list[int], Field(min_length=2, max_length=2)]]
    seconds: Annotated[float, Field(allow_inf_nan=False)]
    time: Annotated[float, Field(ge=0, lt=1e11)] | None
    """When it was given, in seconds since the epoch; None for now."""
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]

    def given(self, item: Item, swapped: bool) -> Given:
        """What it gives to its item, which may not fit: see `Item.misfit`."""
        grade = (given_level(item, self.grade, swapped=swapped) or self.grade) if self.grade else None
        confidence, spans = int(self.confidence) if self.confidence else None, tuple((a, b) for a, b in self.spans)
        told = (self.reason.strip(), spans, self.seconds, self.repeated == "1", self.time)
        return Given(self.item, grade, self.key, confidence, *told)


@lru_cache(128)  # a long text takes time, and raters share items
def readable(text: str, *, words: bool = False) -> Markup:
    """A text of others as markup: Markdown rendered, else as it is written; with each of its words as an element."""
    text = encodable(text)
    spans = [found.span(1) for found in _WORD.finditer(text) if found.group(1)][:_MOST_WORDS] if words else []
    nodes = rendered(text, spans)
    left = iter(spans)
    if nodes is not None and _texts_of_marks(nodes) == [text[start:end] for start, end in spans]:
        return Markup('<div class="text rendered" dir="auto">{}</div>').format(_markup(nodes, left))
    ends = [(0, 0), *spans, (len(text), len(text))]
    pieces = ((text[last:start], text[start:end], (start, end)) for (_, last), (start, end) in pairwise(ends))
    plain = Markup().join(_letters(before) + _word(word, at) for before, word, at in pieces)
    return Markup('<div class="text" dir="auto">{}</div>').format(plain)


def _texts_of_marks(nodes: Sequence[Node]) -> list[str]:
    found = list[str]()
    for node in nodes:
        if isinstance(node, list):
            found += ["".join(node[1:])] if node[0] == "mark" else _texts_of_marks(node[1:])
    return found


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


@cache
def templates() -> Environment:
    """The templates of the app, which escape and show what is hidden as those of the page do."""
    environment: Any = of_the_page().overlay(loader=PackageLoader("dspy_proact.label"))
    environment.globals |= {"readable": readable}
    return environment
