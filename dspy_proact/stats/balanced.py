"""Which cases people are to rate: as many of each kind as can be, drawn within a kind by chance."""

import hashlib
from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray


def balanced_counts(sizes: Sequence[int], count: int) -> NDArray[np.intp]:
    """How many of each kind are drawn, so that they are as equal as the sizes allow: shape (kinds,).

    Of one more than all kinds can share equally, the first kinds that have any left get it.

    Args:
        sizes: Cases of each kind.
        count: How many are drawn in all; all there are where it is more.
    """
    left = np.asarray(sizes, dtype=np.intp)
    drawn = np.zeros_like(left)
    while (short := min(count, int(np.sum(sizes))) - int(drawn.sum())) > 0:
        open_kinds = np.flatnonzero(left > drawn)
        share = short // len(open_kinds)
        if share:
            drawn[open_kinds] = np.minimum(left[open_kinds], drawn[open_kinds] + share)
        else:
            drawn[open_kinds[:short]] += 1
    return drawn


def balanced_order(keys: Sequence[str], kinds: Sequence[Hashable], seed: int = 0) -> list[int]:
    """The places of all cases in an order of which every first part is a draw.

    In rounds each kind gives one case by chance, until it has none left, and the kinds of a round are in an order by
    chance too, which tells nobody what kind a case is. The first cases of a longer draw are the shorter one, and the
    order depends on keys, kinds and seed alone.

    Args:
        keys: Of the cases, no two alike.
        kinds: The kind of each case.
        seed: Of chance.
    """

    def chance(*words: object) -> bytes:
        return hashlib.sha256("/".join(["balanced order 1", str(seed), *map(str, words)]).encode()).digest()

    rounds: list[tuple[int, bytes, int]] = []
    by_kind: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place, kind in enumerate(kinds):
        by_kind[kind].append(place)
    for places in by_kind.values():
        drawn = sorted(places, key=lambda place: chance("case", keys[place]))
        rounds += [(number, chance("round", keys[place]), place) for number, place in enumerate(drawn)]
    return [place for _, _, place in sorted(rounds)]
