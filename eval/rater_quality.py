"""What the owner's page of a labelling study observes of raters whose conduct is known.

    python eval/rater_quality.py

Eight raters, of whom seven are honest and one is what the row says, rate a study to the end; each item has three of
them. A number is how often, in %, the page marks that rater, and how often it marks any of the honest ones; likeness,
change, runs and speed are tested together at 5 %. Exits 1 when a strict rater, or any honest one of a study where all
are honest or strict, is marked in more than 5 % by more than two standard errors.
"""

import argparse
import multiprocessing
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import numpy as np
from support.bands import Band, Banded, of_data_sets
from support.raters import Conduct, RatersDesign, simulate_raters

from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.label.quality import overview

RATERS = 8
ITEMS = (80, 160, 320)
"""Of a study; a rater has three eighths of them."""
AT_MOST = Band(0.0, 0.05)
HONEST: Conduct = "honest"


def marked(seed: int, conduct: Conduct, items: int) -> tuple[bool, bool]:
    """Whether the page marks the rater of this conduct, and whether it marks anyone else."""
    honest: list[Conduct] = [HONEST] * (RATERS - 1)
    rng = np.random.default_rng((seed, items, get_args(Conduct).index(conduct)))
    with TemporaryDirectory() as folder:
        study = simulate_raters(rng, Path(folder) / "study.db", [*honest, conduct], RatersDesign(items))
        found = overview(study.store, study.items, benchmark_named("proactbench"), study.groups)
        study.store.close()
    assert found.parts[0].complete == len(study.items), "everyone rated to the end"
    marks = [bool(each.marks) for each in found.raters]
    return marks[-1], any(marks[:-1])


def row(of: tuple[Conduct, int], seeds: int) -> str:
    conduct, items = of
    own, others = (float(np.mean(each)) for each in zip(*(marked(s, *of) for s in range(seeds)), strict=True))
    is_honest = conduct in ("honest", "strict")
    shown = [AT_MOST.told(share, seeds) if is_honest else f"{100 * share:.1f}" for share in (own, others)]
    return " | ".join([conduct, str(items * 3 // RATERS), *shown])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="studies in each row")
    parser.add_argument("--quick", action="store_true", help="10 studies in two rows")
    asked = parser.parse_args()
    seeds = 10 if asked.quick else asked.seeds
    rows: list[tuple[Conduct, int]] = [(conduct, items) for conduct in get_args(Conduct) for items in ITEMS]
    rows = [("strict", 80), ("straight", 80)] if asked.quick else rows
    with multiprocessing.Pool() as pool:
        found = pool.map(partial(row, seeds=seeds), rows, chunksize=1)
    table = Banded(of_data_sets(seeds, 0), {"eighth rater | ratings a rater | marked | any other marked": found})
    print(table)
    sys.exit(int(table.out > 0))


if __name__ == "__main__":
    main()
