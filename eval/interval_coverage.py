"""Whether the intervals cover and the tests keep their level: simulated scores whose truth is known.

    python eval/interval_coverage.py

Means: how often the interval holds the true mean, how often it is marked as unreliable, and how often it does either.
Pairs: how often runs alike give a false alarm (p at most 0.05); how often a run that rises above the other, whose mean
is the base, is shown to: by what runs alike say is detected with 80 % power, after Holm over three tests, and with
50 % (by 0.2 where that is not told). Each cell has its own seed. Exits 1 when one is out.
"""

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from itertools import product

import numpy as np
from support.bands import Band, Banded
from support.scores import Effects, Thresholds, simulate_pair, simulate_run, simulate_skewed

from dspy_proact import stats

LIKENESS = {"little": Effects(group=0.05, subgroup=0.05), "much": Effects(group=0.20, subgroup=0.10)}
# Bands by the number of scenarios; with 8 the methods may err on the side of silence, and power is not judged.
COVERAGE, ALARMS = {25: Band(0.93, 0.98), 8: Band(0.93, 1.0)}, {25: Band(0.0, 0.07), 8: Band(0.0, 0.07)}
SOUND = {25: Band(0.93, 1.0), 8: Band(0.93, 1.0)}
POWER, HALF = {25: Band(0.75, 0.85)}, {25: Band(0.45, 0.62)}
SKEWED = "skewed"
MEANS = "scenarios | mean | likeness | covered | marked | either"
PAIRS = (
    "scenarios | base | run effect | alarms | at 0 or marked | apart or marked | power | Holm | half | "
    "80 %, points | Holm | half"
)
FULL = ((0.02, 0.05, 0.27, 0.5, 0.95), (*LIKENESS, SKEWED)), ((0.02, 0.05, 0.1, 0.28, 0.5), (0.0, 0.05, 0.15))
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
        return f"{100 * share:.1f} {'within' if bands[self.scenarios].wider(self.slack).holds(share) else 'OUT'}"


def covers(estimate: stats.Estimate, truth: float) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


def mean_row(cell: Cell) -> str:
    rng, results = np.random.default_rng(cell.seed), []
    for _ in range(cell.data_sets):
        if cell.likeness == SKEWED:
            run = simulate_skewed(rng, cell.scenarios, cell.mean)
        else:
            run = simulate_run(rng, cell.scenarios, Thresholds.of_mean(cell.mean), LIKENESS[str(cell.likeness)])
        message = stats.cluster_mean(run.scores, run.groups)
        covered, marked = covers(message, run.mean), message.reason is not None
        results.append([covered, marked, covered or marked])
    covered, marked, either = np.mean(results, axis=0).tolist()
    # Where nothing is marked the interval must not be too wide either.
    return f"{100 * covered:.1f} | {100 * marked:.1f} | {cell.judged(either, SOUND if marked else COVERAGE)}"


def shares(cell: Cell, difference: float, tests: int = 1) -> list[float]:
    """Shares of data sets that show it, that cover it or are marked, and that are marked; means of what is detected."""
    rng, results = np.random.default_rng((*cell.seed, int(difference != 0))), []
    cuts = Thresholds.of_mean(cell.mean)
    for _ in range(cell.data_sets):
        pair = simulate_pair(rng, cell.scenarios, cuts, Effects(run=float(cell.likeness)), difference)
        paired = stats.paired_difference(pair.a, pair.b, pair.groups, tests=tests)
        marked = paired.difference.reason is not None
        sound, seen = covers(paired.difference, pair.difference) or marked, (paired.detectable, paired.detectable_half)
        results.append([(paired.p or 1) <= 0.05 / tests, sound, marked, *seen])
    # What is detected is told of few data sets or none with few degrees of freedom and near an end.
    return np.ma.masked_invalid(np.array(results, dtype=float)).mean(axis=0).filled(0.0).tolist()


def pair_row(cell: Cell) -> str:
    (alarms, alike, marked, often, _), (*_, holm, half) = shares(cell, 0), shares(cell, 0, 3)
    power, differing, also_marked, *_ = shares(cell, often or 0.2)
    bands = (SOUND if item else COVERAGE for item in (marked, also_marked))
    judged = map(cell.judged, (alarms, alike, differing, power), (ALARMS, *bands, POWER if often else {}))
    judging = ((holm, POWER), (half, HALF))
    after = [cell.judged(shares(cell, item or 0.2, 3)[0], band if item else {}) for item, band in judging]
    return " | ".join([*judged, *after, *(f"{100 * item:.1f}" if item else "-" for item in (often, holm, half))])


def table(row, cells: list[Cell]) -> list[str]:
    with multiprocessing.Pool() as pool:
        rows = zip(cells, pool.map(row, cells, chunksize=1), strict=True)
    return [f"{cell.scenarios} | {cell.mean} | {cell.likeness} | {result}" for cell, result in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=2000, help="data sets in each cell")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--quick", action="store_true", help="50 data sets in four cells, bands wider by 10 points")
    options = parser.parse_args()
    count, slack = (50, 0.10) if options.quick else (options.datasets, 0.0)
    means, pairs = ([*product((25, 8), *axes)] for axes in (QUICK if options.quick else FULL))
    cells = [Cell(*setting, count, slack, (options.seed, index)) for index, setting in enumerate(means + pairs)]
    tables = {MEANS: table(mean_row, cells[: len(means)]), PAIRS: table(pair_row, cells[len(means) :])}
    print(result := Banded(f"{count:,} data sets a cell, seed {options.seed}, in %", tables))
    sys.exit(int(result.out > 0))


if __name__ == "__main__":
    main()
