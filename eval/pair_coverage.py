"""Whether the interval of a share of choices between two answers holds where items and raters are drawn.

    python eval/pair_coverage.py

Studies of the size of the published one and around it: each rater chooses on 20 of the items. How probable the choice
of b is has a rater's and an item's part, normal on the logit scale; raters of the published study differ by about 1.9,
those of 30 have a fixed mind. A number is how often an interval holds the share over the population of items and
raters: ours, and for comparison the exact binomial one, and ours over items alone. Exits 1 when ours is below 93 or
above 98 % by more than two standard errors of those where it is not marked in most studies.
"""

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist

import numpy as np
from support.bands import COVERAGE, Banded, of_data_sets

from dspy_proact import stats

ITEM = 20
SIZES = ((8, 45), (8, 80), (8, 20), (12, 45), (20, 100), (5, 45), (4, 45))
LIKES = (
    *((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), (1.5, 0.5, 1.0), (1.5, 1.0, 1.0), (2.0, 1.9, 0.5), (2.5, 1.9, 0.5)),
    *((0.0, 2.5, 0.5), (1.5, 3.0, 0.5), (21.0, 30.0, 0.5)),
)
QUICK = [((8, 45), LIKES[1]), ((8, 45), LIKES[4]), ((5, 45), LIKES[3]), ((4, 45), LIKES[-1])]
QUANTILES = np.array([NormalDist().inv_cdf((rank + 0.5) / 4000) for rank in range(4000)])
HEADS = (
    "raters | items | logit | SD raters | SD items | share | binomial | items alone | items and raters | marked | width"
)


@dataclass(frozen=True)
class Cell:
    raters: int
    items: int
    logit: float
    of_raters: float
    """Standard deviation, on the logit scale."""
    of_items: float
    data_sets: int
    seed: tuple[int, int]

    @property
    def truth(self) -> float:
        """Mean probability over the population, at equally probable levels."""
        return float(np.mean(1 / (1 + np.exp(-(self.logit + np.hypot(self.of_raters, self.of_items) * QUANTILES)))))


def row(cell: Cell) -> str:
    rng, truth = np.random.default_rng(cell.seed), cell.truth
    held: dict[str, list[bool]] = {"binomial": [], "items": [], "both": [], "marked": []}
    widths: list[float] = []
    raters = np.repeat(np.arange(cell.raters), ITEM)
    for _ in range(cell.data_sets):
        items = np.concatenate([rng.permutation(cell.items)[:ITEM] for _ in range(cell.raters)])
        leanings = cell.of_raters * rng.standard_normal(cell.raters)[raters]
        logits = cell.logit + leanings + cell.of_items * rng.standard_normal(cell.items)[items]
        chosen = (rng.random(len(items)) < 1 / (1 + np.exp(-logits))).tolist()
        both = stats.preferred_share(chosen, items.tolist(), raters.tolist())
        fields = {
            "binomial": stats.exact_binomial(sum(chosen), len(chosen)).share,
            "items": stats.cluster_mean(np.array(chosen, dtype=float), items.tolist()),
            "both": both,
        }
        for name, item in fields.items():
            held[name].append(item.low is not None and item.low <= truth <= (item.high or 0))
        held["marked"].append(both.reason is not None)
        widths.append((both.high or 0) - (both.low or 0))
    shares = {name: float(np.mean(entry)) for name, entry in held.items()}
    ours = COVERAGE.text(shares["both"], cell.data_sets, marked=shares["marked"] > 0.5)
    sizes = (cell.raters, cell.items, cell.logit, cell.of_raters, cell.of_items, f"{truth:.2f}")
    others = [f"{100 * shares[name]:.1f}" for name in ("binomial", "items")]
    return " | ".join(
        [*map(str, sizes), *others, ours, f"{100 * shares['marked']:.0f}", f"{100 * np.median(widths):.0f}"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=2000, help="data sets in each cell")
    parser.add_argument("--seed", type=int, default=20261125)
    parser.add_argument("--quick", action="store_true", help="60 data sets in four cells")
    options = parser.parse_args()
    count, grid = (60, QUICK) if options.quick else (options.datasets, [*product(SIZES, LIKES)])
    cells = [Cell(*size, *like, count, (options.seed, index)) for index, (size, like) in enumerate(grid)]
    with multiprocessing.Pool() as pool:
        rows = pool.map(row, cells, chunksize=1)
    print(result := Banded(of_data_sets(count, options.seed), {HEADS: rows}))
    sys.exit(int(result.out > 0))


if __name__ == "__main__":
    main()
