"""Styles of users: the 24 of the official corpus.

Traits are those of the Communication Styles Inventory (de Vries et al., 2013). Of the 64 combinations of six traits
those are left in which no two contradict each other; they are numbered from 1 in binary order, as
`style_combination_index` numbers them.
"""

from collections.abc import Sequence
from itertools import product

from dspy_proact.benchmarks.proactbench.generation.brief import Styles
from dspy_proact.types import Frozen

TRAITS = ("E", "P", "VA", "Q", "Em", "IM")
"""Expressive, precise, verbally aggressive, questioning, emotional, manipulative of impressions."""
_EXCLUDED = ({"E", "P"}, {"P", "VA"}, {"P", "Em"}, {"VA", "IM"}, {"Em", "IM"})
_PRESENT = {
    "E": "You talk easily and a good deal, and tell a little around what you want.",
    "P": "You come to the point in good order, with exact times, numbers and names.",
    "VA": "You are short-tempered: you complain, blame, and give orders.",
    "Q": "You wonder about things, and like to know why something is as it is.",
    "Em": "Your feelings show: you worry, and are soon upset or glad.",
    "IM": "You want to make a good impression, and flatter or charm where it may help.",
}
_ABSENT = {
    "E": "You say what is needed and no more.",
    "VA": "You stay friendly.",
    "Em": "You stay calm.",
}
_PLAIN = "You write as most people do on a phone: plainly, in a sentence or two."


class Style(Frozen):
    """How a user writes."""

    number: int
    """Counted from 1; 0 for none."""
    text: str
    """In the second person."""
    most_words: int
    """Of a message."""


def _style(number: int, traits: Sequence[str]) -> Style:
    lines = [_PRESENT.get(trait) if trait in traits else _ABSENT.get(trait) for trait in TRAITS]
    return Style(number=number, text=" ".join(filter(None, lines)), most_words=100 if "E" in traits else 25)


COMBINATIONS = [
    traits
    for bits in product((False, True), repeat=len(TRAITS))
    for traits in [[trait for trait, bit in zip(TRAITS, bits, strict=True) if bit]]
    if not any(pair <= {*traits} for pair in _EXCLUDED)
]
"""Traits of the 24, in their order."""
STYLES = [_style(number, traits) for number, traits in enumerate(COMBINATIONS, start=1)]
NONE = Style(number=0, text=_PLAIN, most_words=60)


def styles_of(named: Styles) -> Sequence[Style]:
    """Those that a brief names."""
    if isinstance(named, list):
        return [STYLES[number - 1] for number in named]
    return STYLES if named == "csi" else [NONE]
