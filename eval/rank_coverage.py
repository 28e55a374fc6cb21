"""Whether ranges of ranks hold the true ranks of all models at once, where cases of a group are alike.

    python eval/rank_coverage.py

Tables of 16 models of 600 cases in 25 groups, all of one true mean or eight pairs of equals. A group's own mean is from
a beta distribution, so that the design effect is exactly what is named. Published models show counts alone; runs of
one's own show their groups. A table is missed where any range leaves out a rank that its model may truly have. At most
5 % may be, where the design effect is the assumed one or less, or runs of one's own show it; else the ranges are as
good as their assumption, which stands beside the table (`assumed`). Exits 1 when a cell is out.
"""

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from itertools import product

import numpy as np
from support.bands import Band, Banded, of_data_sets

from dspy_proact.stats import DESIGN_EFFECT, Counted, competition_ranks, rank_ranges

MODELS, GROUPS, SIZE = 16, 25, 24
MEANS = {"all equal": np.full(MODELS, 0.35), "pairs of equals": np.repeat(np.linspace(0.15, 0.55, MODELS // 2), 2)}
EFFECTS, OWN = (1.0, 2.0, 3.0, 4.0, 5.0), (0, 1, 3)
MISSED = Band(0.0, 0.05)
HEADS = "means | design effect | own runs | missed | ranges of one rank | taken for the design effect"


@dataclass(frozen=True)
class Cell:
    means: str
    design_effect: float
    own: int
    tables: int
    seed: tuple[int, int]


def row(cell: Cell) -> str:
    rng, truth, missed, alone, taken = np.random.default_rng(cell.seed), MEANS[cell.means], 0, 0, list[float]()
    best = np.array(competition_ranks(truth.tolist()))
    worst = MODELS + 1 - np.array(competition_ranks((-truth).tolist()))
    for _ in range(cell.tables):
        models = [drawn(rng, mean, cell.design_effect) for mean in truth]
        own = rng.permutation(MODELS)[: cell.own]
        counted = [
            Counted.of_cases(passed.ravel().tolist(), np.repeat(np.arange(GROUPS), SIZE).tolist())
            if number in own
            else Counted.of_labels([int(passed.sum()), int(passed.size - passed.sum())], [1.0, 0.0])
            for number, passed in enumerate(models)
        ]
        low, high = np.array(rank_ranges(counted)).T
        missed += bool(np.any(low > best) or np.any(high < worst))
        alone += int(np.sum(low == high))
        taken.append(max([DESIGN_EFFECT, *(model.design_effect or 0.0 for model in counted)]))
    assumed = not cell.own and cell.design_effect > DESIGN_EFFECT
    share = missed / cell.tables
    result = f"{100 * share:.1f} assumed" if assumed else MISSED.text(share, cell.tables)
    sizes = (cell.means, f"{cell.design_effect:g}", cell.own)
    return " | ".join([*map(str, sizes), result, f"{alone / cell.tables:.1f}", f"{np.median(taken):.1f}"])


def drawn(rng: np.random.Generator, mean: float, design_effect: float) -> np.ndarray:
    """Which cases pass: shape (groups, size)."""
    alike = (design_effect - 1) / (SIZE - 1)
    spread = 1 / alike - 1 if alike else np.inf
    of_group = rng.beta(mean * spread, (1 - mean) * spread, GROUPS) if alike else np.full(GROUPS, mean)
    return (rng.random((GROUPS, SIZE)) < of_group[:, None]).astype(float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1000, help="in each cell")
    parser.add_argument("--seed", type=int, default=20261129)
    parser.add_argument("--quick", action="store_true", help="50 tables in three cells")
    options = parser.parse_args()
    count = 50 if options.quick else options.tables
    grid = [*product(MEANS, EFFECTS, OWN)]
    chosen = [("all equal", 2.0, 0), ("all equal", 5.0, 0), ("all equal", 3.0, 3)] if options.quick else grid
    cells = [Cell(*own, count, (options.seed, grid.index(own))) for own in chosen]
    with multiprocessing.Pool() as pool:
        rows = pool.map(row, cells, chunksize=1)
    print(result := Banded(of_data_sets(count, options.seed), {HEADS: rows}))
    sys.exit(int(result.out > 0))


if __name__ == "__main__":
    main()
