"""Whether the difference of two corrected runs covers what people would have given more to one of them.

    python eval/corrected_differences.py

Two simulated runs on the same triggers of 25 scenarios, about 200 of a phase, each with ratings of its own by the same
people, drawn by the judge's grade; the truth is known. The judge is 10 points more lenient than people with the first
run and 20 with the second. Given: how often there is an interval; covered: how many of these hold the truth. Each cell
has its own seed. Exits 1 when coverage is below 93 or above 98 % by more than two standard errors where intervals are
neither marked nor withheld.
"""

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from itertools import product

import numpy as np
from support.bands import COVERAGE, Banded, of_data_sets
from support.rated import RatedStudy, RatedWorld, simulate_rated_runs

from dspy_proact import stats

JUDGES, LIFTS = {"weak": 0.5, "good": 0.9}, (0.1, 0.2)
FIRST, SECOND = 0.33, (0.33, 0.5)
RATERS = ((18, 0.0), (18, 0.5), (6, 0.5))
FULL, QUICK = (20, 50, 100), (33,)
HEADS = "judge | second run | rated | raters | leniency | judge's own | given | covered | marked | width"


@dataclass(frozen=True)
class Cell:
    judge: str
    second: float
    rated: int
    raters: int
    leniency: float
    data_sets: int
    seed: tuple[int, int]


def row(cell: Cell) -> str:
    rng, truth = np.random.default_rng(cell.seed), cell.second - FIRST
    runs = [
        [RatedWorld(mean, JUDGES[cell.judge], lift, leniency=cell.leniency)]
        for mean, lift in zip((FIRST, cell.second), LIFTS, strict=True)
    ]
    study, own, covered, marked, widths = RatedStudy(25, cell.rated, cell.raters, 3), 0, 0, 0, []
    for _ in range(cell.data_sets):
        a, b = simulate_rated_runs(rng, runs, study)
        result = stats.corrected_difference(a, b)
        judge = stats.paired_difference(a.scores, b.scores, a.groups).difference
        own += (judge.low or 0) <= truth <= (judge.high or 0)
        marked += result.reason is not None
        if result.low is not None and result.high is not None:
            covered += result.low <= truth <= result.high
            widths.append(result.high - result.low)
    count, whether, width = len(widths), "-", "-"
    if count:
        whether = COVERAGE.text(covered / count, count, marked=marked >= 0.9 * cell.data_sets)
        width = f"{100 * np.median(widths):.1f}"
    return (
        f"{cell.judge} | {cell.second} | {cell.rated} | {cell.raters} | {cell.leniency} | "
        f"{100 * own / cell.data_sets:.0f} | {100 * count / cell.data_sets:.0f} | {whether} | "
        f"{100 * marked / cell.data_sets:.0f} | {width}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=1000, help="data sets in each cell")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--quick", action="store_true", help="30 data sets in four cells")
    options = parser.parse_args()
    count, rated = (30, QUICK) if options.quick else (options.datasets, FULL)
    grid = product(JUDGES, SECOND, rated, RATERS[1:2] if options.quick else RATERS)
    cells = [Cell(*setting[:3], *setting[3], count, (options.seed, index)) for index, setting in enumerate(grid)]
    with multiprocessing.Pool() as pool:
        rows = pool.map(row, cells, chunksize=1)
    print(result := Banded(of_data_sets(count, options.seed), {HEADS: rows}))
    sys.exit(int(result.out > 0))


if __name__ == "__main__":
    main()
