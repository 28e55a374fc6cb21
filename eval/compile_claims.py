"""Whether "improvement shown" keeps its promises: simulated compiles of a judge whose true gain is known.

    python eval/compile_claims.py

False claims: candidates worth what the start is, with 0 to 20 % of the compiled judge's verdicts unread, the likelier
the farther it is from people; and of the best of five compiles of one study, which a card counts and nobody corrects.
Power: one candidate better by either end of the range that `detectable_gain` names, where judges err apart, also by
group, and alike. At the less end at most 85 % may be shown, at the more end at least 75 %: between them lies the gain
that has 80 % power. Every item has three ratings; raters differ in leniency by 0 or by half the spread of what they
see, and where their number stands, claims speak of other raters like them. Exits 1 when a cell is out of band by more
than two standard errors.
"""

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from support.bands import Band, Banded, share_error
from support.compiles import SimulatedJudges, improvement_shown, simulate_compiles

from dspy_proact import stats

RATERS = {"weakly": 0.35, "well": 0.8, "nearly always": 0.95}  # two raters agree by a quadratic kappa of .27, .68, .85
SIZES = {
    "60 in 10": [6] * 10,
    "120 in 20": [6] * 20,
    "200 in 25": [8] * 25,
    "400 in 25": [16] * 25,
    "200 in 12, unequal": [34, 30, 26, 22, 18, 16, 14, 12, 10, 8, 6, 4],
    "200 in 12, very unequal": [60, 40, 28, 20, 14, 10, 8, 6, 5, 4, 3, 2],
    "150 of 200 in one of 10": [150, *[6] * 5, *[5] * 4],
}
PANELS = (None, 0.0), (6, 0.5), (18, 0.5)  # None: every rating is of another person, whom nobody knows
UNREAD, CANDIDATES, SEEDS = (0.0, 0.05, 0.10, 0.20), 20, 5
STARTS = ("nearly always", 0.05), ("well", 0.5), ("weakly", 0.1)
ERRORS = {"apart": (0.0, 0.0), "apart, by group": (0.0, 0.1), "alike": (0.7, 0.0)}  # of both judges, of a group
FALSE, ENDS, SEED = Band(0.0, 0.05), (Band(0.0, 0.85), Band(0.75, 1.0)), 20261128


@dataclass(frozen=True)
class Cell:
    size: str
    judges: SimulatedJudges
    unread: float = 0.0
    seeds: int = 1


def shown(numbered: tuple[int, Cell], compiles: int) -> float:
    """Share of compiles, or of the best of several, of which an improvement is said to be shown."""
    index, cell = numbered
    claims = 0
    for number in range(compiles):
        rng = np.random.default_rng((SEED, index, number))
        claims += any(
            improvement_shown(one.before, one.after, one.panel, one.strata, one.groups, order=sorted({*one.strata}))
            for one in simulate_compiles(rng, SIZES[cell.size], cell.judges, cell.unread, cell.seeds)
        )
    return claims / compiles


def false_cell(raters: str, size: str, panel: tuple[int | None, float], unread: float, seeds: int = 1) -> Cell:
    people, leniency = panel
    worth = RATERS[raters]
    judges = SimulatedJudges(worth, worth, candidates=CANDIDATES, raters=people, leniency=leniency)
    return Cell(size, judges, unread, seeds)


def false_cells() -> dict[str, Cell]:
    """By raters, items, panel, leniency, share of the unread and number of compiles."""
    few = ["weakly", "well"]
    choices = [
        *product(few, ("120 in 20", "200 in 25", "200 in 12, unequal"), PANELS[:1], UNREAD, (1,)),
        *product(few, ("200 in 12, very unequal", "150 of 200 in one of 10"), PANELS[:1], UNREAD[:1], (1,)),
        *product(few, ("200 in 25",), PANELS[1:], UNREAD[:1], (1,)),
        *product(few, ("120 in 20", "200 in 25"), PANELS[:1], UNREAD[:1], (SEEDS,)),
    ]
    return {
        f"{raters} | {size} | {panel[0] or ''} | {panel[1]} | {100 * unread:.0f} | {seeds}": false_cell(
            raters, size, panel, unread, seeds
        )
        for raters, size, panel, unread, seeds in choices
    }


def power_cells(kinds: slice) -> dict[str, tuple[Cell | None, Cell | None] | None]:
    """By start, errors, items, panel and range: cells of its ends, None where none can gain so; None where none is."""
    cells: dict[str, tuple[Cell | None, Cell | None] | None] = {}
    panels = [*product(SIZES, PANELS[:1]), ("200 in 25", PANELS[1])]
    for (raters, start), errors, (size, (people, leniency)) in [*product(STARTS, ERRORS, panels)][kinds]:
        alike, shared = ERRORS[errors]
        judges = SimulatedJudges(RATERS[raters], start, alike=alike, shared=shared, raters=people, leniency=leniency)
        ends = stats.detectable_gain(SIZES[size], people or 0)
        named = f"{raters} | {start} | {errors} | {size} | {people or ''} | {leniency}"
        if ends is None:
            cells[f"{named} | not named"] = None
            continue
        less, more = (gaining and Cell(size, gaining) for gaining in map(judges.gaining, ends))
        cells[f"{named} | {ends[0]:.2f} to {ends[1]:.2f}"] = less, more
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiles", type=int, default=200, help="in each cell")
    parser.add_argument("--quick", action="store_true", help="20 compiles in a few cells of each kind")
    options = parser.parse_args()
    compiles, kinds = (20, slice(-2, None)) if options.quick else (options.compiles, slice(None))
    false, power = dict([*false_cells().items()][kinds]), power_cells(kinds)
    cells = [*false.values(), *(cell for ends in power.values() for cell in ends or () if cell)]
    with multiprocessing.get_context("spawn").Pool() as pool:
        shares = iter(pool.map(partial(shown, compiles=compiles), enumerate(cells), chunksize=1))
    # The best of several is not corrected: a card says how many there are.
    of_false = {named: (cell, next(shares)) for named, cell in false.items()}
    of_power = [
        [
            band.text(next(shares), compiles) if cell else "-"
            for cell, band in zip(ends or [None] * 2, ENDS, strict=True)
        ]
        for ends in power.values()
    ]
    tables = {
        "raters agree | items | raters | leniency | unread, % | compiles | false claims, %": [
            f"{named} | {FALSE.text(share, compiles, marked=cell.seeds > 1)}"
            for named, (cell, share) in of_false.items()
        ],
        "raters agree | start | errors | items | raters | leniency | gain | shown at its less end, % | at its more": [
            f"{named} | {' | '.join(ends)}" for named, ends in zip(power, of_power, strict=True)
        ],
    }
    errors = ", ".join(f"{100 * share_error(share, compiles):.1f} at {100 * share:.0f} %" for share in (0.05, 0.8))
    print(text := Banded(f"{compiles:,} compiles a cell; standard error {errors}", tables))
    sys.exit(int(text.out > 0))


if __name__ == "__main__":
    main()
