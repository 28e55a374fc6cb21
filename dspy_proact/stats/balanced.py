"""Which cases people are to rate: strata in equal numbers, in each its labels, drawn within these by chance."""

import hashlib
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Kind = tuple[Hashable, Hashable]
"""Stratum and label."""


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


def drawn_counts(sizes: Mapping[Kind, int], count: int) -> NDArray[np.intp]:
    """How many of each kind are drawn: the strata as equal as they last, and in each its labels: shape (kinds,)."""
    strata = list(dict.fromkeys(stratum for stratum, _ in sizes))
    of = np.array([strata.index(stratum) for stratum, _ in sizes])
    held = np.array(list(sizes.values()), dtype=np.intp)
    drawn = np.zeros_like(held)
    for place, share in enumerate(balanced_counts(np.bincount(of, held).astype(np.intp).tolist(), count)):
        drawn[of == place] = balanced_counts(held[of == place].tolist(), int(share))
    return drawn


def balanced_order(keys: Sequence[str], kinds: Sequence[Kind], seed: int = 0) -> list[int]:
    """The places of all cases in an order of which every first part is a draw.

    In rounds each stratum gives one case, until it has none left; which, is decided by rounds too, in which each label
    of the stratum gives one by chance. What is in a round is in an order by chance, which tells nobody what label a
    case has. The first cases of a longer draw are the shorter one, and the order depends on keys, kinds and seed alone.

    Args:
        keys: Of the cases, no two alike.
        kinds: The kind of each case.
        seed: Of chance.
    """

    def chance(*words: object) -> bytes:
        return hashlib.sha256("/".join(["balanced order 2", str(seed), *map(str, words)]).encode()).digest()

    by_kind: defaultdict[Kind, list[int]] = defaultdict(list)
    for place, kind in enumerate(kinds):
        by_kind[kind].append(place)
    by_stratum: defaultdict[Hashable, list[tuple[int, bytes, int]]] = defaultdict(list)
    for (stratum, _), places in by_kind.items():
        drawn = sorted(places, key=lambda place: chance("case", keys[place]))
        by_stratum[stratum] += [(number, chance("label", keys[place]), place) for number, place in enumerate(drawn)]
    rounds = [
        (number, chance("stratum", keys[place]), place)
        for cases in by_stratum.values()
        for number, (_, _, place) in enumerate(sorted(cases))
    ]
    return [place for _, _, place in sorted(rounds)]
