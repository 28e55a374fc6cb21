"""How rules look for what users may not say, and the sentences that several of them say."""

from collections.abc import Collection, Iterable

from dspy_proact.benchmarks.proactbench.generation.values import Anchor
from dspy_proact.evidence import words_of
from dspy_proact.programs.wording import holds


def keys_in(text: str, hidden: Iterable[Anchor]) -> list[tuple[Anchor, str]]:
    """Keys of anchors that stand in a text, each after its anchor."""
    return [(anchor, key) for anchor in hidden for key in anchor.keys if holds(text, key)]


def forbidden_in(text: str, forbidden: Iterable[str]) -> list[str]:
    """The forbidden offers all of whose words stand in a text."""
    words = set(words_of(text))
    return [offer for offer in forbidden if words_of(offer) and set(words_of(offer)) <= words]


def unknown_ids(names: Iterable[str], known: Collection[str]) -> list[str]:
    """A sentence for each name that is no id of an anchor."""
    return [
        f"There is no anchor {name!r} here; the ids are {', '.join(known) or 'none'}."
        for name in dict.fromkeys(names)
        if name not in known
    ]
