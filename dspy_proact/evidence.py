"""Where a quote stands in a text.

Judges quote loosely: they straighten quotation marks, drop Markdown, leave words out with an ellipsis,
put several quotes into one string. What must be right is the words and their order, so both sides are
cut into words, without regard to case, and everything between words (blanks, quotation marks, dashes,
Markdown, punctuation, the marker of a list item) is folded away. So is the form of letters, and what nobody
sees between them. Each character of a script that is written without blanks is a word of its own.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import chain, islice

from dspy_proact.letters import PlainLetters, without_unseen
from dspy_proact.types import Quote

_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff"
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+")
_SPACED_WORD = re.compile(r"[^\W_]+")
"""The same where no letter is unspaced, and found in a third of the time."""
_LIST_NUMBER = re.compile(r"^[ \t>]*\d{1,3}[.)](?=\s)", re.MULTILINE)
_LINK_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")
_ELLIPSIS = re.compile(r"[\[(]?(?:\.{3,}|\u2026)[\])]?")
_QUOTED = re.compile(r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u201e\u00ab\u00bb]{2,})[\"\u201d\u201c\u00bb]")
_SEPARATOR = re.compile(r"\n+|\s[;/|]\s|;\s")
_MOST_QUOTES = 200
"""Quotes of one verdict that are looked up, however many strings they stand in: more than anybody reads."""
_LEAST_WORDS = 3
"""In a row: what fewer say, such as `the`, stands in any response."""


class Passage:
    """A text in which quotes are looked up.

    They are read with the markers of lists and the targets of links or without them, and what nobody sees is left out
    of a word or stands between two; so is the text.
    """

    def __init__(self, text: str):
        self._text = text
        self._cut = dict[_Reading, _Words]()

    def find(self, quote: str) -> tuple[int, int] | None:
        """The start and end of a quote in the text; None when its words do not stand there in that order."""
        tried = set[tuple[_Words, str]]()
        for reading in _READINGS:
            words, said = self._words(reading), reading(quote)
            if (words, said) not in tried and (place := words.find(said)):
                return place
            tried.add((words, said))
        return None

    def is_evidence(self, quote: str) -> bool:
        """Whether a quote that stands in the text has enough words to show anything.

        It has three words in a row, none left out by an ellipsis, or all words of the text where these are fewer.
        Which words they are does not matter; each character of a script without blanks is one.
        """
        words = [len(words_of(piece)) for piece in _ELLIPSIS.split(quote)]
        return max(words) >= _LEAST_WORDS or sum(words) == self._words(str).count

    def _words(self, reading: "_Reading") -> "_Words":
        """The words of the text in a reading, cut once for all quotes."""
        if reading not in self._cut:
            text = reading(self._text)
            plain = self._cut.get(str)
            self._cut[reading] = plain if plain and text == self._text else _Words(text)
        return self._cut[reading]


class _Words:
    """The words of a text."""

    def __init__(self, text: str):
        self._letters = PlainLetters(text)
        self._folded = f" {_fold(self._letters.text)} "

    def find(self, quote: str) -> tuple[int, int] | None:
        """The start and end in the text of the first place where the words of a quote stand."""
        position, found = 0, list[int]()
        for piece in filter(None, map(_folded, _ELLIPSIS.split(quote))):
            position = self._folded.find(f" {piece} ", position)
            if position < 0:
                return None
            found += [position + 1, position + len(piece)]
            position += len(piece)
        if not found:
            return None
        first, last = (self._folded.count(" ", 0, offset) - 1 for offset in (found[0], found[-1]))
        return self._letters.place(self._bounds[2 * first], self._bounds[2 * last + 1])

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self._bounds) // 2

    @cached_property
    def _bounds(self) -> "array[int]":
        """Start and end of each word in the plain letters, one after another, found once for all quotes."""
        plain = self._letters.text
        return array("Q", chain.from_iterable(word.span() for word in _word(plain).finditer(plain)))


def words_of(text: str) -> list[str]:
    """The words of a text in order, without regard to case and to the form of letters; nothing unseen is in them.

    Each character of a script that is written without blanks is a word of its own.
    """
    return _folded(text).split()


def locate_quotes(evidence: Iterable[str], text: str) -> tuple[Quote, ...]:
    """Locate each quote of a judge in the response.

    A string that does not stand in the text as a whole and holds several quotes, in quotation marks or on
    lines of their own, gives one `Quote` for each of them. Strings without a word are left out, and so is
    what comes after the first 200 quotes.
    """
    passage = _passage(text)
    return tuple(islice(chain.from_iterable(locate(entry, passage) for entry in evidence), _MOST_QUOTES))


def locate(entry: str, passage: Passage) -> Iterator[Quote]:
    """The quotes in one string of a judge, each located when it is asked for: every one costs a search of the text."""
    if found := passage.find(entry):
        yield _quote(entry, found, passage)
        return
    parts = _QUOTED.findall(entry) or _SEPARATOR.split(entry)
    for part in filter(_folded, parts):
        yield _quote(part, passage.find(part), passage)


@lru_cache(maxsize=4)
def _passage(text: str) -> Passage:
    """A text cut into words; kept, for its quotes are looked up when they come and again when they are told."""
    return Passage(text)


def _quote(text: str, place: tuple[int, int] | None, passage: Passage) -> Quote:
    start, end = place or (None, None)
    return Quote(text=text, start=start, end=end, short=place is not None and not passage.is_evidence(text))


def _folded(text: str) -> str:
    """The words of a text with one blank between them, without regard to case and to the form of letters."""
    return _fold(PlainLetters(text).text)


def _fold(text: str) -> str:
    """The words of plain letters with one blank between them, without regard to case."""
    return " ".join(_word(text).findall(text)).casefold()


def _word(text: str) -> re.Pattern[str]:
    return _WORD if not text.isascii() and _UNSPACED_LETTER.search(text) else _SPACED_WORD


def _without_markers(text: str) -> str:
    """The text with blanks in place of the numbers of list items and the targets of links."""
    for pattern in (_LIST_NUMBER, _LINK_TARGET):
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    return text


_Reading = Callable[[str], str]
_READINGS: tuple[_Reading, ...] = (
    str,
    _without_markers,
    without_unseen,
    lambda text: _without_markers(without_unseen(text)),
)
"""Of a text and of its quotes, as long as they are; the first that finds a quote counts."""
