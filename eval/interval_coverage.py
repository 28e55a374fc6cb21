"""Whether the intervals cover and the tests keep their level: simulated scores whose truth is known.

    python eval/interval_coverage.py

Means: how often the interval holds the true mean. Pairs: how often runs alike give a false alarm (p at most 0.05), and
how often runs that lie apart, about the same mean, are shown to: by what runs alike say is shown in four of five, after
Holm over three tests, and in half (by 0.2 where that is not told). Each cell has its own seed. Exits 1 when one is out.
"""

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from itertools import product

import numpy as np
from support.bands import Band, Banded
from support.scores import Effects, Thresholds, simulate_pair, simulate_run

from dspy_proact import stats

LIKENESS = {"little": Effects(group=0.05, subgroup=0.05), "much": Effects(group=0.20, subgroup=0.10)}
# Bands by the number of scenarios; with 8 the methods may err on the side of silence, and power is not judged.
COVERAGE, ALARMS = {25: Band(0.93, 0.97), 8: Band(0.93, 1.0)}, {25: Band(0.03, 0.07), 8: Band(0.0, 0.07)}
POWER, HALF = {25: Band(0.75, 0.86)}, {25: Band(0.45, 0.62)}
MEANS = "scenarios | mean | likeness | covered"
PAIRS = "scenarios | mean | run effect | alarms | at 0 | apart | power | Holm | half | 4 in 5, points | Holm | half"
FULL = ((0.05, 0.27, 0.5, 0.95), tuple(LIKENESS)), ((0.25, 0.5, 0.75), (0.0, 0.05, 0.15))
QUICK = ((0.27,), ("much",)), ((0.5,), (0.05,))


@dataclass(frozen=True)
class Cell:
    scenarios: int
    mean: float
    likeness: str | float
    data_sets: int
    slack: float
    seed: tuple[int, int]

    def judged(self, share: float, bands: dict[int, Band]) -> str:
        if self.scenarios not in bands:
            return f"{100 * share:.1f}"
        within = bands[self.scenarios].wider(self.slack).holds(share)
        return f"{100 * share:.1f} {'within' if within else 'OUT'}"


def covers(estimate: stats.Estimate, truth: float) -> bool:
    """An interval that is not given does not cover."""
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


def mean_row(cell: Cell) -> str:
    rng, cuts = np.random.default_rng(cell.seed), Thresholds.of_mean(cell.mean)
    runs = (simulate_run(rng, cell.scenarios, cuts, LIKENESS[str(cell.likeness)]) for _ in range(cell.data_sets))
    covered = sum(covers(stats.cluster_mean(run.scores, run.groups), run.mean) for run in runs)
    return cell.judged(covered / cell.data_sets, COVERAGE)


def shares(cell: Cell, difference: float, tests: int = 1) -> list[float]:
    """Share of data sets that show it, and that cover it, and the means of what they say would be shown."""
    rng, found = np.random.default_rng((*cell.seed, int(difference != 0))), []
    cuts = Thresholds.of_mean(cell.mean).raised(-difference / 2)
    for _ in range(cell.data_sets):
        pair = simulate_pair(rng, cell.scenarios, cuts, Effects(run=float(cell.likeness)), difference)
        paired = stats.paired_difference(pair.a, pair.b, pair.groups, tests=tests)
        told = covers(paired.difference, pair.difference), paired.detectable or 0.0, paired.detectable_half or 0.0
        found.append([(paired.p or 1) <= 0.05 / tests, *told])
    return np.mean(found, axis=0).tolist()


def pair_row(cell: Cell) -> str:
    (alarms, alike, often, _), (*_, holm, half) = shares(cell, 0), shares(cell, 0, 3)
    power, apart, *_ = shares(cell, often or 0.2)
    judged = [cell.judged(*each) for each in ((alarms, ALARMS), (alike, COVERAGE), (apart, COVERAGE), (power, POWER))]
    after = [cell.judged(shares(cell, each or 0.2, 3)[0], band) for each, band in ((holm, POWER), (half, HALF))]
    return " | ".join([*judged, *after, *(f"{100 * each:.1f}" if each else "-" for each in (often, holm, half))])


def told(row, cells: list[Cell]) -> list[str]:
    with multiprocessing.Pool() as pool:
        rows = zip(cells, pool.map(row, cells, chunksize=1), strict=True)
    return [f"{cell.scenarios} | {cell.mean} | {cell.likeness} | {found}" for cell, found in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=2000, help="data sets in each cell")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--quick", action="store_true", help="100 data sets in four cells, bands wider by 10 points")
    asked = parser.parse_args()
    count, slack = (100, 0.10) if asked.quick else (asked.datasets, 0.0)
    means, pairs = ([*product((25, 8), *axes)] for axes in (QUICK if asked.quick else FULL))
    cells = [Cell(*place, count, slack, (asked.seed, index)) for index, place in enumerate(means + pairs)]
    tables = {MEANS: told(mean_row, cells[: len(means)]), PAIRS: told(pair_row, cells[len(means) :])}
    print(found := Banded(f"{count:,} data sets a cell, seed {asked.seed}, in %", tables))
    sys.exit(int(found.out > 0))


if __name__ == "__main__":
    main()
