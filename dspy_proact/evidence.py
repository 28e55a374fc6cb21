"""Where a quote stands in a text.

Judges quote loosely: they straighten quotation marks, drop Markdown, leave words out with an ellipsis, put several
quotes into one string. What must be right is the words and their order, so quote and text are cut into words without
regard to case, and everything between words (blanks, quotation marks, dashes, Markdown, punctuation, markers of list
items) is ignored. So are the forms of a letter that look alike (an accent in its letter or after it, ligatures,
full-width and circled letters), invisible characters, and the vowel points of Arabic and Hebrew, which most people
leave out. All other marks belong to their words: in many scripts they are the vowels. In scripts without blanks each
character, with its marks, is a word.
"""

import html
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice, pairwise, takewhile
from typing import TypeVar

from dspy_proact.types import Quote

T = TypeVar("T")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\u3005-\u3007\u3021-\u3029"
    "\u3031-\u3035\u303b\u303c\u3040-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u9fff\ua000-\ua48f"
    "\ua980-\ua9ff\uaa60-\uaadf\uac00-\ud7af\ufa00-\ufaff\U00011700-\U0001174f\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
"""Scripts of East and South-East Asia. Tibetan is none: it has a dot between syllables."""
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")
_STACKING = "\u1039\u1a60\u1b44\ua9c0\u17d2"
"""Marks that put the letter after them below the one before them."""
_SPACED_WORD = re.compile(r"[^\W_]+")
"""A word of letters and digits without marks, in no unspaced script."""
_LIST_NUMBER = re.compile(r"^[ \t>]*\d{1,3}[.)](?=\s)", re.MULTILINE)
_LINK_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")
_ELLIPSIS = re.compile(r"[\[(]?(?:\.{3,}|\u2026)[\])]?")
_QUOTED = re.compile(r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u201e\u00ab\u00bb]{2,})[\"\u201d\u201c\u00bb]")
_SINGLE_QUOTED = re.compile(
    r"(?<!\w)['\u2018](?=\S)((?:[^'\u2018\u2019]|(?<=\w)['\u2019](?=\w))++)(?<=\S)['\u2019](?!\w)"
)
_ESCAPE = re.compile(r"\\(?:[nrt]|u([\da-fA-F]{4}))")
_SEPARATOR = re.compile(r"\n+|\s[;/|]\s|;\s")
_MOST_QUOTES = 200
"""Quotes of one verdict that are located, however many strings they stand in: more than anybody reads."""
_MOST_READ = 120_000_000
"""Characters that are read for the quotes of one verdict, those of the text at each search: one to two seconds."""
_LEAST_WORDS = 3
"""Words in a row of a quote that is evidence: fewer, such as `the`, stand in any response."""

_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""Characters that Unicode asks not to show, beside the category Cf."""
_JAMO = re.compile("[\u1161-\u11ff]")
"""Vowels and endings of Hangul, which join the letter before them though they are no marks."""
_OPTIONAL = re.compile(
    " ?[\u0488\u0489\u1abe\u20dd-\u20e0\u20e2-\u20e4\ua670-\ua672"  # around a letter, as on a keycap
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\ufb1e"  # Hebrew
    "\u0610-\u061a\u0640\u064b-\u0652\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u08d3-\u08e1\u08f0-\u08f2]"
)
"""What may stand or be missing without another meaning; some forms of these have a blank before them."""
_PIECE = re.compile(r"(?P<unseen>u++(?!m))|[ac]?(?:u*+m){1,30}|c")
"""By kinds. No script has more than 30 marks on a letter (UAX #15); to sort marks takes the square of their number."""


def locate_quotes(evidence: Iterable[str], text: str) -> tuple[Quote, ...]:
    """Locate each quote of a judge in the response.

    A string that does not stand in the text as a whole and holds one or several quotes, in quotation marks or on lines
    of their own, gives one `Quote` for each of them. Strings without a word are left out, and so is everything after
    the first 200 quotes, or after the first 60 or more where the text has a million characters.
    """
    passage = Passage(text)
    quotes = chain.from_iterable(locate(entry, passage) for entry in passage.within_budget(evidence))
    return tuple(islice(passage.within_budget(quotes), _MOST_QUOTES))


def is_unspaced(letter: str) -> bool:
    """Whether a letter is of a script without blanks, in which each is a word."""
    return _UNSPACED_LETTER.match(letter) is not None


def locate(entry: str, passage: "Passage") -> Iterator[Quote]:
    """The quotes in one string of a judge, each located lazily: every one costs a search of the text."""
    if (quote := passage.quote(entry)).start is not None:
        yield quote
        return
    for part in filter(_folded, _QUOTED.findall(entry) or _SEPARATOR.split(entry)):
        if (quote := passage.quote(part)).start is None and (inner := [*filter(_folded, _SINGLE_QUOTED.findall(part))]):
            yield from map(passage.quote, inner)
        else:
            yield quote


class Passage:
    """A text in which quotes are located.

    Text and quotes are read in several ways: with or without markers of lists and targets of links, and with invisible
    characters left out of a word or standing between two; quotes also without escapes. The first reading that finds a
    quote counts.
    """

    def __init__(self, text: str):
        self._text = text
        self._cut = _words_by_reading(text)
        self._read = 0

    def within_budget(self, values: Iterable[T]) -> Iterator[T]:
        """The values, until so much of the text was read for quotes that the search would take seconds."""
        return takewhile(lambda _: self._read <= _MOST_READ, values)

    def quote(self, text: str) -> Quote:
        """A quote with its place in the text, if it has one.

        It is `short` unless the passage has three words in a row, none left out by an ellipsis, or all words of the
        text where these are fewer. Targets of links and numbers of list items are no words in this count.
        """
        self._read += len(self._text) + len(text)
        tried = set[tuple[_Words, str]]()
        # Quotes are escaped once too often, for JSON or HTML.
        plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else " ", text)
        for form in dict.fromkeys((text, html.unescape(plain))):
            for reading, unmarked in _READINGS.items():
                words, read = self._words(reading), reading(form)
                if (words, read) not in tried and (spans := words.find(read)):
                    without = self._words(unmarked)
                    counts = [len(words_of(without.text[start:end])) for start, end in spans]
                    short = max(counts) < _LEAST_WORDS and sum(counts) < without.count
                    return Quote(text=text, start=spans[0][0], end=spans[-1][1], short=short)
                tried.add((words, read))
        return Quote(text=text)

    def _words(self, reading: "_Reading") -> "_Words":
        """The words of the text in a reading, cut once for all quotes."""
        if reading not in self._cut:
            text = reading(self._text)
            plain = self._cut.get(str)
            self._cut[reading] = plain if plain and text == self._text else _Words(text)
        return self._cut[reading]


@lru_cache(maxsize=4)
def _words_by_reading(text: str) -> "dict[_Reading, _Words]":  # noqa: ARG001 - the key
    """Kept, because quotes of a response are located when a verdict comes and again when it is reported."""
    return {}


class _Words:
    def __init__(self, text: str):
        self.text = text
        self._letters = PlainLetters(text)
        self._folded = f" {_fold(self._letters.text)} "

    def find(self, quote: str) -> list[tuple[int, int]]:
        """Start and end in the text of the pieces of a quote, where they first stand; empty where one does not."""
        position, offsets = 0, list[int]()
        for piece in filter(None, map(_folded, _ELLIPSIS.split(quote))):
            position = self._folded.find(f" {piece} ", position)
            if position < 0:
                return []
            offsets += [position + 1, position + len(piece)]
            position += len(piece)
        before = accumulate(self._folded.count(" ", start, end) for start, end in pairwise((0, *offsets)))
        words = [blanks - 1 for blanks in before]
        return [
            self._letters.span(self._bounds[2 * first], self._bounds[2 * last + 1])
            for first, last in zip(words[::2], words[1::2], strict=True)
        ]

    @property
    def count(self) -> int:
        """Number of words."""
        return len(self._bounds) // 2

    @cached_property
    def _bounds(self) -> "array[int]":
        """Start and end of each word in the plain letters, one after another, found once for all quotes."""
        plain = self._letters.text
        return array("Q", chain.from_iterable(word.span() for word in _word_of(plain).finditer(plain)))


def words_of(text: str) -> list[str]:
    """The words of a text in order, folded as for a search."""
    return _folded(text).split()


def _folded(text: str) -> str:
    """The words of a text with one blank between them, without regard to case and to the form of letters."""
    return _fold(PlainLetters(text).text)


def _fold(text: str) -> str:
    """The words of plain letters with one blank between them, without regard to case, and to the dot of a Turkish I."""
    return " ".join(_word_of(text).findall(text)).casefold().replace("i\u0307", "i")


def _word_of(text: str) -> re.Pattern[str]:
    """What a word is in plain letters such as these."""
    if text.isascii():
        return _SPACED_WORD
    letters = "".join(set(text))
    blocks = frozenset(ord(char) >> 7 for char in letters if unicodedata.category(char).startswith("M"))
    return _word(blocks, unspaced=_UNSPACED_LETTER.search(letters) is not None)


@lru_cache(maxsize=256)
def _word(blocks: frozenset[int], unspaced: bool) -> re.Pattern[str]:
    """A word with the marks of some blocks of 128 characters: a set of all marks would be slow to search."""
    near = [chr(code) for block in sorted(blocks) for code in range(block << 7, block + 1 << 7)]
    marks = "".join(char for char in near if unicodedata.category(char).startswith("M"))
    mark = f"|[{marks}]" if marks else ""
    if not unspaced:
        return re.compile(rf"(?:[^\W_]++{mark})+") if marks else _SPACED_WORD
    joined = f"(?:(?<=[{_STACKING}])[{_UNSPACED}]{mark})*" if marks else ""
    return re.compile(rf"(?=[^\W\d])[{_UNSPACED}]{joined}|(?:[^\W_{_UNSPACED}]|\d{mark})+")


class PlainLetters:
    """A text without its invisible characters, and with letters, digits and marks in their compatibility form, NFKC.

    A raised sign, such as that of a trade mark after a name, becomes no letters, and no one letter becomes a phrase.

    Attributes:
        text: That text.
    """

    def __init__(self, text: str):
        kinds = {char: _kind(char) for char in set(text)}
        # Start and end in the given text of what each character of `self.text` was made of.
        self._starts, self._ends = range(len(text)), range(1, len(text) + 1)
        if set(kinds.values()) <= {"a", "-"}:
            self.text = text
            return
        alone = {char: form for char, kind in kinds.items() if kind == "c" and len(form := _nfkc(char)) == 1}
        text = text.translate(str.maketrans(alone))
        kinds |= {form: _kind(form) for form in alone.values()}
        pieces, starts, ends, read = list[str](), array("Q"), array("Q"), 0
        for match in _PIECE.finditer(text.translate(str.maketrans(kinds))):
            begin, end = match.span()
            piece = text[begin:end]
            seen = "".join(char for char, kind in zip(piece, match[0], strict=True) if kind != "u")
            plain = "" if match["unseen"] else _nfkc(seen)
            if plain != piece:
                pieces += (text[read:begin], plain)
                starts.extend([*range(read, begin), *[begin] * len(plain)])
                ends.extend([*range(read + 1, begin + 1), *[end] * len(plain)])
                read = end
        self.text = "".join([*pieces, text[read:]])
        self._starts, self._ends = starts, ends
        starts.extend(range(read, len(text)))
        ends.extend(range(read + 1, len(text) + 1))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Start and end in the given text of what stands in `text` from `start` to `end`."""
        return self._starts[start], self._ends[end - 1]


@lru_cache(maxsize=2**14)
def _kind(char: str) -> str:
    """`u` unseen, `m` joins what stands before it, `c` a letter or digit in another form, `a` in its own, `-` else."""
    category = unicodedata.category(char)
    if category == "Cf" or (category == "Cc" and not char.isspace()) or _UNSEEN.match(char):
        return "u"
    form, first = _nfkc(char), unicodedata.normalize("NFKD", char)[0]
    if unicodedata.category(first).startswith("M") or _JAMO.match(first) or not form:
        return "m"
    if form == char or " " in form:
        return "a" if char.isalnum() else "-"
    raised = unicodedata.decomposition(char).startswith("<super>")
    return "c" if char.isalnum() or (any(map(str.isalnum, form)) and not raised) else "-"


@lru_cache(maxsize=2**12)
def _nfkc(seen: str) -> str:
    """The compatibility form, without optional marks; what these kept apart is joined."""
    form = unicodedata.normalize("NFKC", seen)
    plain = _OPTIONAL.sub("", form)
    return form if plain == form else unicodedata.normalize("NFKC", plain)


def _without_markers(text: str) -> str:
    """The text with blanks in place of the numbers of list items and the targets of links."""
    for pattern in (_LIST_NUMBER, _LINK_TARGET):
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    return text


def without_unseen(text: str) -> str:
    """The text with a blank in place of each invisible character."""
    unseen = [char for char in set(text) if _kind(char) == "u"]
    return text.translate(dict.fromkeys(map(ord, unseen), " ")) if unseen else text


def _without_both(text: str) -> str:
    return _without_markers(without_unseen(text))


_Reading = Callable[[str], str]
_READINGS: dict[_Reading, _Reading] = {
    str: _without_markers,
    _without_markers: _without_markers,
    without_unseen: _without_both,
    _without_both: _without_both,
}
"""How a text and a quote are read, and the same without markers. Each keeps the length of a text."""
