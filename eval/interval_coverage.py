"""Whether the intervals cover and the tests keep their level: simulated scores whose truth is known.

    python eval/interval_coverage.py

Means: how often the interval holds the true mean, how often it is marked as unreliable, and how often it does either.
Pairs: how often runs alike give a false alarm (p at most 0.05), and how often the interval covers or is marked where
they are alike and where one lies 20 points above the other, whose mean is the base. Promises: three phases of a base,
in equal scenarios or with 60 of 73 triggers in one of them: how often a difference with 80 and with 50 % power is
printed, of the overall score and with 80 % as a range over the phases, and how often a new pair with the printed
difference shows it. Each cell has its own seed. Exits 1 when one is out.
"""

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from itertools import product

import numpy as np
from support.bands import Band, Banded
from support.scores import Effects, SimulatedPair, Thresholds, simulate_pair, simulate_run, simulate_skewed

from dspy_proact import stats
from dspy_proact.report.numbers import seen_from

LIKENESS = {"little": Effects(group=0.05, subgroup=0.05), "much": Effects(group=0.20, subgroup=0.10)}
# Bands by the number of scenarios; with 8 the methods may err on the side of silence.
COVERAGE, ALARMS = {25: Band(0.93, 0.98), 8: Band(0.93, 1.0)}, {25: Band(0.0, 0.07), 8: Band(0.0, 0.07)}
SOUND = {25: Band(0.93, 1.0), 8: Band(0.93, 1.0)}
POWER, HALF = Band(0.75, 0.85), Band(0.45, 0.62)
DISTANCE = 0.2
"""By how much one run of a pair lies above the other."""
SKEWED = "skewed"
MEANS = "scenarios | mean | likeness | covered | marked | either"
PAIRS = "scenarios | base | run effect | alarms | at 0 or marked | apart or marked"
PROMISES = "layout | base | overall printed | shown at 80 % | at 50 % | range printed | its low end | middle | high end"
LAYOUTS = {"25 equal": [8] * 25, "25 unequal": 25, "one of 60": [60, *[1] * 13]}
FULL = ((0.02, 0.05, 0.27, 0.5, 0.95), (*LIKENESS, SKEWED)), ((0.02, 0.05, 0.1, 0.28, 0.5), (0.0, 0.05, 0.15))
QUICK = ((0.27,), ("much",)), ((0.5,), (0.05,))
BASES = (0.05, 0.2, 0.5, 0.79)


@dataclass(frozen=True)
class Cell:
    scenarios: int
    mean: float
    likeness: str | float
    data_sets: int
    slack: float
    seed: tuple[int, int]

    def judged(self, share: float, bands: dict[int, Band]) -> str:
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


def shares(cell: Cell, difference: float) -> list[float]:
    """Shares of data sets that show it, that cover it or are marked, and that are marked."""
    rng, results = np.random.default_rng((*cell.seed, int(difference != 0))), []
    cuts = Thresholds.of_mean(cell.mean)
    for _ in range(cell.data_sets):
        pair = simulate_pair(rng, cell.scenarios, cuts, Effects(run=float(cell.likeness)), difference)
        paired = stats.paired_difference(pair.a, pair.b, pair.groups)
        marked = paired.difference.reason is not None
        results.append([(paired.p or 1) <= 0.05, covers(paired.difference, pair.difference) or marked, marked])
    return np.mean(results, axis=0).tolist()


def pair_row(cell: Cell) -> str:
    (alarms, alike, marked), (_, distant, also_marked) = shares(cell, 0), shares(cell, DISTANCE)
    bands = (SOUND if item else COVERAGE for item in (marked, also_marked))
    return " | ".join(map(cell.judged, (alarms, alike, distant), (ALARMS, *bands)))


@dataclass(frozen=True)
class Promise:
    """A layout of scenarios and a base, of which three phases have each their own triggers in the same scenarios."""

    layout: str
    base: float
    data_sets: int
    slack: float
    seed: tuple[int, int]

    def sizes(self, rng: np.random.Generator) -> list[int]:
        """Of the scenarios: the same in every phase, and in the new pairs that a power is promised for."""
        groups = LAYOUTS[self.layout]
        if isinstance(groups, int):
            return np.bincount(simulate_run(rng, groups, Thresholds.of_mean(self.base), Effects()).groups).tolist()
        return groups

    def phases(self, rng: np.random.Generator, sizes: list[int], difference: float) -> list[SimulatedPair]:
        cuts = Thresholds.of_mean(self.base)
        return [simulate_pair(rng, sizes, cuts, Effects(run=0.05), difference) for _ in range(3)]

    def shown(self, rng: np.random.Generator, sizes: list[int], points: float | None, *, overall: bool) -> bool | None:
        """Whether a new pair that differs by so much shows it; None where nothing was printed."""
        if points is None:
            return None
        difference = min(points / 100, 0.99 - self.base)
        phases = self.phases(rng, sizes, difference if self.base <= 0.5 else -min(points / 100, self.base - 0.01))
        result = joint(phases) if overall else stats.paired_difference(phases[0].a, phases[0].b, phases[0].groups)
        return (result.p or 1) <= 0.05 / (1 if overall else 3)

    def judged(self, results: list[bool | None], band: Band) -> str:
        """A share of what was printed; where that is seldom it is judged no more than said."""
        known = [result for result in results if result is not None]
        if len(known) < self.data_sets / 10:
            return "-"
        return band.wider(self.slack).text(float(np.mean(known)), len(known))


def joint(phases: list[SimulatedPair]) -> stats.Paired:
    a, b = (np.concatenate([getattr(phase, side) for phase in phases]) for side in ("a", "b"))
    return stats.paired_difference(a, b, [group for phase in phases for group in phase.groups])


def promise_row(cell: Promise) -> str:
    rng, results = np.random.default_rng(cell.seed), []
    for _ in range(cell.data_sets):
        sizes = cell.sizes(rng)
        phases = cell.phases(rng, sizes, 0)
        rows = [stats.paired_difference(phase.a, phase.b, phase.groups, tests=3) for phase in phases]
        known = [seen[0] for row in rows if (seen := seen_from(row))]
        low, high = (min(known), max(known)) if len(known) > 1 else (None, None)
        middle = (low + high) / 2 if low and high else None
        of_overall = [cell.shown(rng, sizes, item, overall=True) for item in seen_from(joint(phases)) or (None, None)]
        results.append(of_overall + [cell.shown(rng, sizes, item, overall=False) for item in (low, middle, high)])
    shown = list(map(list, zip(*results, strict=True)))
    bands = (POWER, HALF, Band(0.0, POWER.high), POWER, Band(POWER.low, 1.0))
    judged = list(map(cell.judged, shown, bands))
    often, of_range = (f"{100 * np.mean([result is not None for result in shown[at]]):.0f}" for at in (0, 3))
    return " | ".join([often, *judged[:2], of_range, *judged[2:]])


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
    settings = [("25 equal", 0.5)] if options.quick else [*product(LAYOUTS, BASES)]
    promises = [Promise(*own, count, slack, (options.seed, 1000 + index)) for index, own in enumerate(settings)]
    with multiprocessing.Pool() as pool:
        rows = zip(promises, pool.map(promise_row, promises, chunksize=1), strict=True)
    tables[PROMISES] = [f"{cell.layout} | {cell.base} | {result}" for cell, result in rows]
    print(result := Banded(f"{count:,} data sets a cell, seed {options.seed}, in %", tables))
    sys.exit(int(result.out > 0))


if __name__ == "__main__":
    main()
