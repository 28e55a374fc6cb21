"""Whether "improvement shown" keeps its promises: simulated compiles of a judge whose true gain is known.

    python eval/compile_claims.py

False claims: candidates worth what the start is, with 0 to 20 % of the compiled judge's verdicts unread, the likelier
the farther it is from people. Power: one candidate better by the gain that `smallest_gain` promises to be shown in at
least four of five. Every item has three ratings; raters differ in leniency by 0 or by half the spread of what they see,
and where their number stands, claims speak of other raters like them. Exits 1 when a cell is out of band by more than
two standard errors.
"""

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from support.bands import Band, Banded, share_error
from support.compiles import SimulatedJudges, improvement_shown, simulate_compile

from dspy_proact import stats

RATERS = {"weakly": 0.35, "well": 0.8}  # two raters agree by a quadratic kappa of .27 and .68
SIZES = (60, 10), (120, 20), (200, 25), (400, 25)
PANELS = (None, 0.0), (6, 0.0), (6, 0.5), (18, 0.5)  # None: every rating is of another person, whom nobody knows
UNREAD, CANDIDATES = (0.0, 0.05, 0.10, 0.20), (5, 20)
STARTS = ("well", 0.2), ("well", 0.5), ("weakly", 0.1)
FALSE, SHOWN, SEED = Band(0.0, 0.05), Band(0.8, 1.0), 20261122


@dataclass(frozen=True)
class Cell:
    items: int
    scenarios: int
    judges: SimulatedJudges
    unread: float
    named: str


def shown(numbered: tuple[int, Cell], compiles: int) -> float:
    """Share of compiles of which an improvement is said to be shown."""
    index, cell = numbered
    claims = 0
    for number in range(compiles):
        rng = np.random.default_rng((SEED, index, number))
        drawn = simulate_compile(rng, cell.items, cell.scenarios, cell.judges, cell.unread)
        read = (drawn.before, drawn.after, drawn.panel, drawn.strata, drawn.groups)
        claims += improvement_shown(*read, order=sorted({*drawn.strata}))
    return claims / compiles


def false_cell(
    raters: str, candidates: int, size: tuple[int, int], panel: tuple[int | None, float], unread: float
) -> Cell:
    people, leniency = panel
    judges = SimulatedJudges(RATERS[raters], RATERS[raters], candidates=candidates, raters=people, leniency=leniency)
    named = f"{raters} | {candidates} | {size[0]} in {size[1]} | {people or ''} | {leniency} | {100 * unread:.0f}"
    return Cell(*size, judges, unread, named)


def power_cell(raters: str, start: float, size: tuple[int, int], panel: tuple[int | None, float]) -> Cell | None:
    people, leniency = panel
    gain = stats.smallest_gain(*size, people or 0) or 0.0
    judges = SimulatedJudges(RATERS[raters], start, raters=people, leniency=leniency).gaining(gain)
    named = f"{raters} | {start} | {size[0]} in {size[1]} | {people or ''} | {leniency} | {gain:.2f}"
    return judges and Cell(*size, judges, 0, named)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiles", type=int, default=500, help="in each cell")
    parser.add_argument("--quick", action="store_true", help="20 compiles in one cell of each kind")
    options = parser.parse_args()
    compiles, kinds = (20, slice(-1, None)) if options.quick else (options.compiles, slice(None))
    with_unread = product(RATERS, CANDIDATES, SIZES[1:3], PANELS[:1], UNREAD)
    of_a_panel = product(RATERS, CANDIDATES, SIZES[1:3], PANELS[2:], UNREAD[:1])
    false = [false_cell(*item) for item in [*of_a_panel, *with_unread][kinds]]
    asked_for = [(*start, size, panel) for start, size, panel in product(STARTS, SIZES, PANELS)][kinds]
    power = [cell for item in asked_for if (cell := power_cell(*item))]
    with multiprocessing.get_context("spawn").Pool() as pool:
        result = pool.map(partial(shown, compiles=compiles), enumerate([*false, *power]), chunksize=1)
    whose = "raters agree | {} | items | raters | leniency | {}"
    heads = whose.format("candidates", "unread, % | false claims, %"), whose.format("start", "gain | shown, %")
    errors = ", ".join(f"{100 * share_error(share, compiles):.1f} at {100 * share:.0f} %" for share in (0.05, 0.8))
    named, bands = [cell.named for cell in (*false, *power)], [FALSE] * len(false) + [SHOWN] * len(power)
    rows = [f"{name} | {band.text(share, compiles)}" for name, band, share in zip(named, bands, result, strict=True)]
    tables = {heads[0]: rows[: len(false)], heads[1]: rows[len(false) :]}
    print(text := Banded(f"{compiles:,} compiles a cell; standard error {errors}", tables))
    sys.exit(int(text.out > 0))


if __name__ == "__main__":
    main()
