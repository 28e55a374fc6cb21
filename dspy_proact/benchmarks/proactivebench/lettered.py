"""Options, each after a letter, and which of them a text chooses."""

import re
import unicodedata
from collections.abc import Sequence

_LETTER = re.compile(r"[\W_]*([A-Za-z])(?:[\W_]*|[.):].*)")
"""A letter alone, in brackets or asterisks, or before a dot, bracket or colon and more text."""
_LETTERED = re.compile(r".*\b[A-Z][.):]\s*")
"""What stands before an option that follows its letter."""


def lettered(options: Sequence[str]) -> str:
    """At most 26 options, one a line, each after its letter."""
    return "\n".join(f"{chr(ord('A') + index)}. {option}" for index, option in enumerate(options))


def chosen(text: str, options: Sequence[str]) -> str | None:
    """The option that a text chooses; None where it chooses none.

    It is the one that the text or its first line is, alone or after a letter; otherwise the one whose letter the line
    is or begins with. Case, blanks and punctuation around an option make no difference.
    """
    line = next((line for line in text.splitlines() if line.strip()), "")
    before = _LETTERED.match(line)
    texts = [plain(option) for option in options]
    for candidate in (plain(text), plain(line), plain(line[before.end() :] if before else line)):
        if candidate in texts:
            return options[texts.index(candidate)]
    letter = _LETTER.fullmatch(line)
    index = ord(letter[1].upper()) - ord("A") if letter else len(options)
    return options[index] if index < len(options) else None


def plain(text: str) -> str:
    """A text by which options are compared: without case, blanks, and symbols and punctuation around it."""
    words = " ".join(text.casefold().split())
    # A mark, such as a vowel of Hindi, is no letter, but part of a word.
    return words.strip("".join({char for char in words if unicodedata.category(char)[0] not in "LNM"})) or words
