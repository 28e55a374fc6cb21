"""Where a quote stands in a text.

Judges quote loosely: they straighten quotation marks, drop Markdown, leave words out with an ellipsis,
put several quotes into one string. What must be right is the words and their order, so both sides are
cut into words, without regard to case, and everything between words (blanks, quotation marks, dashes,
Markdown, punctuation, the marker of a list item) is folded away. Each character of a script that is
written without blanks is a word of its own.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from dspy_proact.types import Quote

_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff"
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+")
_LIST_NUMBER = re.compile(r"^[ \t>]*\d{1,3}[.)](?=\s)", re.MULTILINE)
_LINK_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")
_ELLIPSIS = re.compile(r"[\[(]?(?:\.{3,}|\u2026)[\])]?")
_QUOTED = re.compile(r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u201e\u00ab\u00bb]{2,})[\"\u201d\u201c\u00bb]")
_SEPARATOR = re.compile(r"\n+|\s[;/|]\s|;\s")


class Passage:
    """A text in which quotes are looked up, with the markers of lists and the targets of links or without them."""

    def __init__(self, text: str):
        self._whole, self._bare = _Words(text), _Words(_without_markers(text))

    def find(self, quote: str) -> tuple[int, int] | None:
        """The start and end of a quote in the text; None when its words do not stand there in that order."""
        return self._whole.find(quote) or self._bare.find(_without_markers(quote))


class _Words:
    """A text cut into words."""

    def __init__(self, text: str):
        self._spans = [match.span() for match in _WORD.finditer(text)]
        folded = [text[start:end].casefold() for start, end in self._spans]
        self._offsets = list(accumulate((len(word) + 1 for word in folded), initial=1))
        self._folded = f" {' '.join(folded)} "

    def find(self, quote: str) -> tuple[int, int] | None:
        position, found = 0, list[int]()
        for piece in filter(None, map(_fold, _ELLIPSIS.split(quote))):
            position = self._folded.find(f" {piece} ", position)
            if position < 0:
                return None
            found += [position + 1, position + len(piece)]
            position += len(piece)
        if not found:
            return None
        first, last = (bisect_right(self._offsets, offset) - 1 for offset in (found[0], found[-1]))
        return self._spans[first][0], self._spans[last][1]


def words_of(text: str) -> list[str]:
    """The words of a text in order, without regard to case and to the form of letters; nothing invisible is in them.

    Each character of a script that is written without blanks is a word of its own.
    """
    plain = "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf")
    return [match.group().casefold() for match in _WORD.finditer(plain)]


def locate_quotes(evidence: Iterable[str], text: str) -> tuple[Quote, ...]:
    """Locate each quote of a judge in the response.

    A string that does not stand in the text as a whole and holds several quotes, in quotation marks or on
    lines of their own, gives one `Quote` for each of them. Strings without a word are left out.
    """
    passage = Passage(text)
    return tuple(quote for entry in evidence for quote in locate(entry, passage))


def locate(entry: str, passage: Passage) -> tuple[Quote, ...]:
    """The quotes in one string of a judge, located in a text that was cut into words before."""
    return tuple(_quote(part, passage) for part in _separated(entry, passage) if _fold(part))


def _quote(text: str, passage: Passage) -> Quote:
    start, end = passage.find(text) or (None, None)
    return Quote(text=text, start=start, end=end)


def _separated(entry: str, passage: Passage) -> Sequence[str]:
    if passage.find(entry):
        return [entry]
    return _QUOTED.findall(entry) or _SEPARATOR.split(entry)


def _fold(text: str) -> str:
    return " ".join(match.group().casefold() for match in _WORD.finditer(text))


def _without_markers(text: str) -> str:
    """The text with blanks in place of the numbers of list items and the targets of links."""
    for pattern in (_LIST_NUMBER, _LINK_TARGET):
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    return text
