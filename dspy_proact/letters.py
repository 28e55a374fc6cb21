"""The letters of a text in their plain form, and where they stand.

A word can be written in many ways that look alike: an accent in its letter or after it, ligatures, full-width and
circled letters, and characters within it that nobody sees.
"""

import re
import unicodedata
from array import array
from bisect import bisect_right
from functools import lru_cache

_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""What Unicode asks not to show, beside the category Cf."""
_JAMO = re.compile("[\u1161-\u11ff]")
"""Vowels and endings of Hangul, which join the letter before them though they are no marks."""
_PIECE = re.compile(r"(?P<unseen>u++(?!m))|[ac]?(?:u*+m){1,30}|c")
"""By kinds. No script has more than 30 marks on a letter (UAX #15); to sort marks takes the square of their number."""


class PlainLetters:
    """A text without what nobody sees in it, and with letters, digits and marks in their compatibility form, NFKC.

    A raised sign, such as that of a trade mark after a name, becomes no letters, and no one letter becomes a phrase.

    Attributes:
        text: That text.
    """

    def __init__(self, text: str):
        # Of each piece that is another one: where it begins and ends here, and there.
        self._starts, self._ends, self._from, self._to = (array("Q") for _ in range(4))
        kinds = {char: _kind(char) for char in set(text)}
        if set(kinds.values()) <= {"a", "-"}:
            self.text = text
            return
        alone = {char: form for char, kind in kinds.items() if kind == "c" and len(form := _nfkc(char)) == 1}
        text = text.translate(str.maketrans(alone))
        kinds |= {form: _kind(form) for form in alone.values()}
        pieces, read, length = list[str](), 0, 0
        for found in _PIECE.finditer(text.translate(str.maketrans(kinds))):
            begin, end = found.span()
            piece = text[begin:end]
            plain = "" if found["unseen"] else _plain(piece, found[0])
            pieces += (text[read:begin], plain)
            length += begin - read
            if plain != piece:
                self._starts.append(length)
                self._ends.append(length + len(plain))
                self._from.append(begin)
                self._to.append(end)
            length += len(plain)
            read = end
        self.text = "".join([*pieces, text[read:]])

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Start and end, in the text as it was, of what stands in `text` from a start to an end after it."""
        return self._character(start)[0], self._character(end - 1)[1]

    def _character(self, index: int) -> tuple[int, int]:
        """Start and end of what a character was made of."""
        piece = bisect_right(self._starts, index) - 1
        if piece < 0:
            return index, index + 1
        if index < self._ends[piece]:
            return self._from[piece], self._to[piece]
        start = self._to[piece] + index - self._ends[piece]
        return start, start + 1


def without_unseen(text: str) -> str:
    """The text with a blank in place of each character that nobody sees."""
    unseen = [char for char in set(text) if _kind(char) == "u"]
    return text.translate(dict.fromkeys(map(ord, unseen), " ")) if unseen else text


@lru_cache(maxsize=2**14)
def _kind(char: str) -> str:
    """`u` unseen, `m` joins what stands before it, `c` a letter or digit in another form, `a` in its own, `-` else."""
    category = unicodedata.category(char)
    if category == "Cf" or (category == "Cc" and not char.isspace()) or _UNSEEN.match(char):
        return "u"
    form, first = _nfkc(char), unicodedata.normalize("NFKD", char)[0]
    if unicodedata.category(first).startswith("M") or _JAMO.match(first):
        return "m"
    if form == char or " " in form:
        return "a" if char.isalnum() else "-"
    raised = unicodedata.decomposition(char).startswith("<super>")
    return "c" if char.isalnum() or (any(map(str.isalnum, form)) and not raised) else "-"


def _plain(piece: str, kinds: str) -> str:
    """The form of a piece of such kinds."""
    seen = piece if "u" not in kinds else "".join(c for c, kind in zip(piece, kinds, strict=True) if kind != "u")
    return _nfkc(seen)


@lru_cache(maxsize=2**12)
def _nfkc(seen: str) -> str:
    return unicodedata.normalize("NFKC", seen)
