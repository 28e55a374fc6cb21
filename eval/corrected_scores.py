"""Whether corrected scores cover, what they buy beside labels alone, and whether studies end as they were planned.

    python eval/corrected_scores.py

Simulated runs of 25 scenarios, about 200 triggers a phase, of which people rate a part, drawn by the judge's grade; the
truth is known. Covered: how often the interval holds it. Labels alone: as many triggers drawn evenly, without the
judge. Planned: half-width that a pilot of 60 triggers, rated twice by 12 people, leads one to expect, by the one that
came out. Each cell has its own seed. Exits 1 when coverage is below 93 or above 98 % by more than two standard errors
where intervals are neither marked nor withheld, or when a plan is wrong by more than a fifth in the median.
"""

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from itertools import product

import numpy as np
from support.bands import COVERAGE, Banded, of_data_sets
from support.rated import RatedStudy, RatedWorld, simulate_rated, unlabelled

from dspy_proact import stats
from dspy_proact.stats.plan import PLAN_SCATTER, plan_frame, planned_half_width, rating_components

JUDGES = {"weak": 0.5, "good": 0.9}
PHASES = {"0.13": [0.13], "0.33": [0.33], "all": [0.13, 0.33, 0.5]}
RATERS = ((18, 0.0), (18, 0.5), (6, 0.5))
FULL, QUICK = (20, 50, 100), (33,)
HEADS = "judge | mean | rated | raters | leniency | judge's own | covered | marked | width | labels alone | width"
HEADS += " | planned | within 30 %"
PLANNED = 0.80, 1.25


@dataclass(frozen=True)
class Cell:
    judge: str
    mean: str
    rated: int
    raters: int
    leniency: float
    data_sets: int
    seed: tuple[int, int]


def checked(result: stats.Estimate, truth: float) -> tuple[float, float, bool]:
    """Whether the interval holds the truth, its width (nans without one), and whether it is marked or withheld."""
    if result.low is None or result.high is None:
        return np.nan, np.nan, True
    return result.low <= truth <= result.high, result.high - result.low, result.reason is not None


def row(cell: Cell) -> str:
    rng, means = np.random.default_rng(cell.seed), PHASES[cell.mean]
    worlds = [RatedWorld(mean, JUDGES[cell.judge], leniency=cell.leniency) for mean in means]
    truth, study = float(np.mean(means)), RatedStudy(25, cell.rated, cell.raters, 3)
    corrected, alone, planned = [], [], []
    for _ in range(cell.data_sets):
        result = stats.corrected_mean(simulate_rated(rng, worlds, study))
        corrected.append((*checked(result.corrected, truth), checked(result.judge, truth)[0]))
        evenly = unlabelled(simulate_rated(rng, worlds, study, by_label=False))
        alone.append(checked(stats.corrected_mean(evenly).corrected, truth)[:2])
        pilot = simulate_rated(rng, worlds, RatedStudy(25, 60 // len(means), 12, 2))
        of = rating_components(pilot)
        frame = plan_frame(list(zip(pilot.strata, pilot.labels, strict=True)), pilot.groups, of.means)
        expected = planned_half_width(frame, of, cell.rated * len(means), cell.raters, study.per_item)
        planned.append(2 * expected / corrected[-1][1])
    (covered, _, marked, judge), ratio = np.nanmean(corrected, axis=0), np.nanmedian(planned)
    planned_well = f"{100 * ratio:.1f}{'' if PLANNED[0] <= ratio <= PLANNED[1] else ' OUT'}"
    covering = COVERAGE.text(covered, cell.data_sets, marked=marked >= 0.9)
    width, others = (np.nanmedian(item, axis=0)[1] for item in (corrected, alone))
    return (
        f"{cell.judge} | {cell.mean} | {cell.rated} | {cell.raters} | {cell.leniency} | {100 * judge:.0f} | "
        f"{covering} | {100 * marked:.0f} | {100 * width:.1f} | "
        f"{100 * np.nanmean(alone, axis=0)[0]:.1f} | {100 * others:.1f} | {planned_well} | "
        f"{100 * np.mean(np.abs(np.array(planned) - 1) <= PLAN_SCATTER):.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=1000, help="data sets in each cell")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--quick", action="store_true", help="40 data sets in six cells")
    options = parser.parse_args()
    count, rated = (40, QUICK) if options.quick else (options.datasets, FULL)
    grid = product(JUDGES, PHASES, rated, RATERS[1:2] if options.quick else RATERS)
    cells = [Cell(*setting[:3], *setting[3], count, (options.seed, index)) for index, setting in enumerate(grid)]
    with multiprocessing.Pool() as pool:
        rows = pool.map(row, cells, chunksize=1)
    print(result := Banded(of_data_sets(count, options.seed), {HEADS: rows}))
    sys.exit(int(result.out > 0))


if __name__ == "__main__":
    main()
