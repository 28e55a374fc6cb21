"""Whether the effect that a made corpus publishes is true: of simulated answers, through the real rule and interval.

    python eval/generated_effect.py

Triggers of three kinds are drawn: good ones pass in 85 % with the planted facts and 15 % without, leaky ones in 80 and
60 %, inert ones in 50 and 50 %. A persona's triggers, three to nine before any is dropped, share an ease on the logit
scale, and a part of it in one arm alone. What the anchor test keeps is answered afresh, and the effect is published
with its interval. A number is how often the interval holds the mean effect over the population of what is kept; beside
it, how often that from the answers that chose the triggers does. A corpus without any effect should be said to show
none. Exits 1 when a share is out of its band by more than two standard errors.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from support.bands import COVERAGE, Band, Banded, of_data_sets

from dspy_proact.benchmarks.proactbench.generation.effect import effect_of
from dspy_proact.benchmarks.proactbench.generation.made import Sampled
from dspy_proact.benchmarks.proactbench.generation.proof import weakness

KINDS = {"good": (0.85, 0.15), "leaky": (0.8, 0.6), "inert": (0.5, 0.5)}
"""Chances to pass with the facts and without."""
MIXED, NOTHING = {"good": 0.6, "leaky": 0.25, "inert": 0.15}, {"inert": 1.0}
"""Shares of kinds among the triggers that are written."""
KEPT = {"good": Band(0.76, 0.80), "leaky": Band(0.18, 0.22), "inert": Band(0.09, 0.13)}
"""Of each kind, around what the rule was found to keep: 78, 20 and 11 %."""
SHOWN = Band(0.0, 0.05)
"""How often an effect may be said to be shown where there is none."""
SIZES = (11, 20, 60, 200)
EASES = ((0.0, 0.0), (0.5, 0.5))
"""Standard deviations between personas, on the logit scale: in both arms alike, and in one alone. That is an effect,
and 0 where there is to be none."""
PERSONAS = 32
"""Drawn at once."""
QUANTILES = np.array([NormalDist().inv_cdf((rank + 0.5) / 60) for rank in range(60)])
HEADS = "triggers | SD alike | SD alone | true | covered | by those that chose | refused | personas | width"
NULL_HEADS = "triggers | SD alike | SD alone | effect shown | refused"


@cache
def sampled(passes: int, leaks: int) -> Sampled:
    """Three responses in each arm."""
    arms = ["PASS"] * passes + ["FAIL"] * (3 - passes), ["PASS"] * leaks + ["FAIL"] * (3 - leaks)
    return Sampled(with_anchors=arms[0], without_anchors=arms[1])


IS_KEPT = np.array([[weakness(sampled(passes, leaks)) == "" for leaks in range(4)] for passes in range(4)])
"""By passes with the facts and without, of three each: what the rule says."""


def chances(kind: str, alike: NDArray[np.float64], alone: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Chances to pass in both arms of triggers whose personas have these eases, half of the second in either arm."""
    shifts = alike + alone / 2, alike - alone / 2
    return [1 / (1 + np.exp(-(np.log(p / (1 - p)) + shift))) for p, shift in zip(KINDS[kind], shifts, strict=True)]


def kept_share(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Chance that the rule keeps a trigger."""
    ways = np.array([1, 3, 3, 1])
    of = [[ways[k] * chance**k * (1 - chance) ** (3 - k) for k in range(4)] for chance in (p, q)]
    return sum((of[0][a] * of[1][b] for a, b in zip(*np.nonzero(IS_KEPT), strict=True)), np.zeros_like(p))


@dataclass(frozen=True)
class Cell:
    triggers: int
    alike: float
    alone: float
    kinds: Mapping[str, float]
    data_sets: int
    seed: tuple[int, int]

    @property
    def truth(self) -> float:
        """Mean effect over the population of kept triggers, at equally probable eases."""
        alike, alone = np.meshgrid(self.alike * QUANTILES, self.alone * QUANTILES)
        kept, effect = 0.0, 0.0
        for kind, share in self.kinds.items():
            p, q = chances(kind, alike, alone)
            chance = kept_share(p, q)
            kept, effect = kept + share * chance.mean(), effect + share * (chance * (p - q)).mean()
        return effect / kept

    def corpus(self, rng: np.random.Generator) -> list[tuple[str, Sampled, Sampled]]:
        """As many kept triggers as are asked for: with the persona, what chose it, and what answered it afresh."""
        rows, block = list[tuple[str, Sampled, Sampled]](), 0
        while len(rows) < self.triggers:
            counts, block = 3 * rng.integers(1, 4, PERSONAS), block + 1
            who = np.repeat(np.arange(PERSONAS), counts)
            alike, alone = (scale * rng.standard_normal(PERSONAS)[who] for scale in (self.alike, self.alone))
            index = rng.choice(len(self.kinds), size=len(who), p=[*self.kinds.values()])
            both = np.array([chances(kind, alike, alone) for kind in self.kinds])
            arms = both[index, :, np.arange(len(who))].T
            chosen, fresh = rng.binomial(3, arms), rng.binomial(3, arms)
            keeps = np.nonzero(IS_KEPT[chosen[0], chosen[1]])[0]
            rows += [(f"p{block}-{who[at]}", sampled(*chosen[:, at]), sampled(*fresh[:, at])) for at in keeps]
        return rows[: self.triggers]


def row(cell: Cell) -> str:
    rng, truth = np.random.default_rng(cell.seed), cell.truth
    held, naive, shown, personas, widths = [], [], [], [], []
    for _ in range(cell.data_sets):
        rows = cell.corpus(rng)
        effect = effect_of((persona, fresh) for persona, _, fresh in rows)
        flattered = effect_of((persona, chosen) for persona, chosen, _ in rows).difference
        low, high = effect.difference.low, effect.difference.high
        if low is None or high is None:
            assert effect.difference.reason, "what has no interval has a reason"
            continue
        held.append(low <= truth <= high)
        shown.append(low > 0)
        naive.append((flattered.low or 0) <= truth <= (flattered.high or 0))
        personas.append(effect.personas)
        widths.append(high - low)
    refused = 100 * (1 - len(held) / cell.data_sets)
    sizes = [str(cell.triggers), str(cell.alike), str(cell.alone)]
    if cell.kinds == NOTHING:
        return " | ".join([*sizes, SHOWN.text(sum(shown) / cell.data_sets, cell.data_sets), f"{refused:.0f}"])
    covered = COVERAGE.text(float(np.mean(held)), len(held)) if held else "-"
    others = (
        [f"{100 * np.mean(naive):.0f}", f"{refused:.0f}", f"{np.mean(personas):.0f}"] if held else ["-", "100", "-"]
    )
    return " | ".join(
        [*sizes, f"{100 * truth:.1f}", covered, *others, f"{100 * np.median(widths):.0f}" if held else "-"]
    )


def kept_row(kind: str, seed: int, count: int = 100_000) -> str:
    """How often the rule keeps a kind, beside what its chances say."""
    rng, (p, q) = np.random.default_rng(seed), KINDS[kind]
    share = float(IS_KEPT[rng.binomial(3, p, count), rng.binomial(3, q, count)].mean())
    exact = float(kept_share(np.array(p), np.array(q)))
    return " | ".join([kind, f"{100 * p:.0f}", f"{100 * q:.0f}", KEPT[kind].text(share, count), f"{100 * exact:.1f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=1000, help="corpora in each cell")
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--quick", action="store_true", help="60 corpora of 20 and 60 triggers")
    options = parser.parse_args()
    count, sizes = (60, SIZES[:3]) if options.quick else (options.datasets, SIZES)
    grid = [*product((MIXED, NOTHING), sizes, EASES[options.quick :])]
    cells = [
        Cell(size, alike, 0.0 if kinds is NOTHING else alone, kinds, count, (options.seed, number))
        for number, (kinds, size, (alike, alone)) in enumerate(grid)
    ]
    with multiprocessing.Pool() as pool:
        rows = pool.map(row, cells, chunksize=1)
    mixed = [text for cell, text in zip(cells, rows, strict=True) if cell.kinds == MIXED]
    tables = {
        "kind | with the facts | without | kept | by its chances": [kept_row(kind, options.seed) for kind in KINDS],
        HEADS: mixed,
        NULL_HEADS: rows[len(mixed) :],
    }
    print(result := Banded(of_data_sets(count, options.seed), tables))
    sys.exit(int(result.out > 0))


if __name__ == "__main__":
    main()
