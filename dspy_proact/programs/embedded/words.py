"""How the embedded model reads: sentences, and the words in them that carry meaning."""

import re
from collections.abc import Set
from functools import lru_cache

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ing", "ies", "ed", "es", "s")
_COMMON = frozenset(
    """
    about above after again also another around because been before being below between both cannot
    could does doing done down during each every from further gets going have having here into
    itself just keep know later least less like made make makes making many mean means might more
    most much must need needs never next only other over part perhaps please quite rather really
    same should since some something still such sure take takes than thank thanks that their them
    then there these they thing things this those though through under until upon very want wants
    well were what when where whether which while will with without would your yours yourself
    """.split()  # noqa: SIM905 - a list of words is read as words
)


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text, without blanks around them."""
    return [sentence for match in _SENTENCE.finditer(text) if (sentence := match.group().strip())]


@lru_cache(maxsize=1024)  # a stand-in holds the same few lines against each other again and again
def content_words(text: str) -> Set[str]:
    """Words of four letters or more that are not common ones, without plural and case; every number."""
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(
        stem(word, _ENDINGS) for word in words if word[0].isdigit() or (len(word) > 3 and word not in _COMMON)
    )


@lru_cache(maxsize=100_000)
def stem(word: str, endings: tuple[str, ...]) -> str:
    """A word without the first of these endings that leaves four letters or more."""
    for ending in endings:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word
