"""How alike texts are: Jaccard's index of their runs of three words, whatever case, accents and punctuation."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import ceil

ALIKE = 0.5
"""The likeness from which on two texts are near duplicates."""
MOST_PAIRS = 10_000
"""Near duplicates that are looked for."""
_LENGTH = 3
_ROUNDING = 1e-9
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
"""A word; in Chinese and Japanese, which have no spaces, a character."""
Gram = tuple[str, ...]


@dataclass(frozen=True)
class NearPair:
    """Two texts that are near duplicates."""

    first: int
    """Index of the earlier one, from 0."""
    second: int
    likeness: float
    """In [0, 1]; 1 for the same runs of words."""


def words(text: str) -> list[str]:
    """The words of a text, in lower case and without accents."""
    bare = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return WORD.findall(unicodedata.normalize("NFC", bare).casefold())


def grams(text: str) -> frozenset[Gram]:
    """The runs of three words in a text; a shorter text is one run, and a text without a word an empty one."""
    of_text = words(text)
    return frozenset(tuple(of_text[at : at + _LENGTH]) for at in range(max(1, len(of_text) - _LENGTH + 1)))


def likeness(one: str, other: str) -> float:
    """Runs that both have over runs that either has, in [0, 1]; 1 for two texts without a word."""
    return overlap(grams(one), grams(other))


def overlap(one: frozenset[Gram], other: frozenset[Gram]) -> float:
    """The likeness of two texts by their runs of words."""
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def near_duplicates(texts: Sequence[str], least: float = ALIKE, most: int = MOST_PAIRS) -> list[NearPair]:
    """The pairs of texts that are at least so alike, ordered by the second text, then by the first.

    `least` is above 0: only texts that share a run are compared. No more than `most` pairs are looked for, since the
    pairs of copies grow with the square of their number: a list of `most` may lack some.
    """
    pairs, of_texts, holders = list[NearPair](), [grams(text) for text in texts], defaultdict[Gram, list[int]](list)
    counts = Counter(gram for of_text in of_texts for gram in of_text)
    # The runs that several texts have, as bits: those that two have in common are counted some ten times as fast as in
    # sets.
    bits = {gram: index for index, gram in enumerate(gram for gram, count in counts.items() if count > 1)}
    masks = list[int]()
    for second, of_text in enumerate(of_texts):
        mask = bytearray(len(bits) // 8 + 1)
        for bit in (bits[gram] for gram in of_text if gram in bits):
            mask[bit >> 3] |= 1 << (bit & 7)
        masks.append(int.from_bytes(mask, "little"))
        # Two texts that are so alike share one of so many of the rarest runs of each (prefix filtering, Chaudhuri et
        # al. 2006). Only these are looked up, or a phrase that all texts share would compare all with all.
        enough = len(of_text) - ceil(least * len(of_text) - _ROUNDING) + 1
        rare = nsmallest(enough, of_text, key=lambda gram: (counts[gram], gram))
        for first in sorted({first for gram in rare for first in holders[gram]}):
            both = (masks[first] & masks[second]).bit_count()
            share = both / (len(of_texts[first]) + len(of_text) - both)
            if share >= least:
                pairs.append(NearPair(first=first, second=second, likeness=share))
        if len(pairs) >= most:
            return pairs[:most]
        for gram in rare:
            holders[gram].append(second)
    return pairs
