"""How rules look at texts that roles write, and the sentences that rules of any benchmark say."""

from dspy_proact.evidence import Passage, locate, words_of
from dspy_proact.stats.likeness import grams

_SAME = 0.5
"""Share of the runs of three words of a text that stand in another, from which on it says the same."""


def holds(text: str, phrase: str) -> bool:
    """Whether the words of a phrase stand in a text, one after another, whatever their case; no phrase stands in it."""
    words = words_of(phrase)
    return bool(words) and f" {' '.join(words)} " in f" {' '.join(words_of(text))} "


def stands(quote: str, text: str) -> bool:
    """Whether a quote, or every one of several in one string, stands in a text."""
    starts = [part.start for part in locate(quote, Passage(text))]
    return bool(starts) and None not in starts


def says(text: str, other: str) -> bool:
    """Whether a text says in much the same words what another one does."""
    wanted = grams(other)
    return bool(words_of(other)) and len(wanted & grams(text)) / len(wanted) >= _SAME


def word_count(text: str) -> int:
    """Words of a message; in scripts without blanks two characters count as one."""
    unspaced = sum(len(word) == 1 and ord(word) >= 0x0E00 for word in words_of(text))
    return unspaced // 2 if unspaced > len(text) / 2 else len(text.split())


def misquoted(quote: str, text: str) -> str:
    """That a quote does not stand in a text, by what this is called."""
    return f"{quote!r} does not stand in {text}; copy the words exactly, or leave the entry out."


def advised(reasons: list[str], advice: str) -> list[str]:
    """Reasons with an auditor's advice behind them; none where there is no reason."""
    return [*reasons, advice.strip()] if reasons and advice.strip() else reasons
