"""Whether "improvement shown" keeps its promises: simulated compiles of a judge whose true gain is known.

    python eval/compile_claims.py

False claims: candidates worth what the start is, with 0 to 20 % of the compiled judge's verdicts unread, the likelier
the farther it is from people. Power: one candidate better by the gain that `smallest_gain` promises to be shown in at
least four of five. Each cell has its own seed. Exits 1 when a cell is out of band.
"""

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from dspy_proact.stats import SimulatedJudges, improvement_shown, simulate_compile, smallest_gain

RATERS = {"weakly": 0.35, "well": 0.8}  # two raters agree by a quadratic kappa of .27 and .68
SIZES = (60, 10), (120, 20), (200, 25), (400, 25)
UNREAD, CANDIDATES = (0.0, 0.05, 0.10, 0.20), (5, 20)
STARTS = ("well", 0.2), ("well", 0.5), ("weakly", 0.1)
SEED = 20261122


@dataclass(frozen=True)
class Cell:
    items: int
    scenarios: int
    judges: SimulatedJudges
    unread: float
    named: str


def shown(cell: Cell, compiles: int) -> float:
    """Share of compiles of which an improvement is said to be shown."""
    claims = 0
    for number in range(compiles):
        rng = np.random.default_rng((SEED, number))
        drawn = simulate_compile(rng, cell.items, cell.scenarios, cell.judges, cell.unread)
        told = (drawn.before, drawn.after, drawn.soft, drawn.strata, drawn.groups)
        claims += improvement_shown(*told, order=sorted({*drawn.strata}))
    return claims / compiles


def better(rater: float, start: float, gain: float) -> SimulatedJudges | None:
    """Judges of which one gains so much; None where none can."""
    low, high = start, 0.99
    if SimulatedJudges(rater, start, high).gain < gain:
        return None
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (middle, high) if SimulatedJudges(rater, start, middle).gain < gain else (low, middle)
    return SimulatedJudges(rater, start, high)


def false_cell(raters: str, candidates: int, size: tuple[int, int], unread: float) -> Cell:
    judges = SimulatedJudges(RATERS[raters], RATERS[raters], candidates=candidates)
    return Cell(*size, judges, unread, f"{raters} | {candidates} | {size[0]} in {size[1]} | {100 * unread:.0f}")


def power_cell(raters: str, start: float, size: tuple[int, int]) -> Cell | None:
    gain = smallest_gain(*size) or 0.0
    judges = better(RATERS[raters], start, gain)
    return judges and Cell(*size, judges, 0, f"{raters} | {start} | {size[0]} in {size[1]} | {gain:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiles", type=int, default=1000, help="in each cell")
    parser.add_argument("--quick", action="store_true", help="40 compiles in one cell of each kind, bands wider by 10")
    asked = parser.parse_args()
    compiles, slack = (40, 0.1) if asked.quick else (asked.compiles, 0.0)
    kinds = slice(-1, None) if asked.quick else slice(None)
    false = [false_cell(*each) for each in [*product(RATERS, CANDIDATES, SIZES[1:3], UNREAD)][kinds]]
    power = [cell for start, size in [*product(STARTS, SIZES)][kinds] if (cell := power_cell(*start, size))]
    with multiprocessing.get_context("spawn").Pool() as pool:
        found = pool.map(partial(shown, compiles=compiles), [*false, *power], chunksize=1)
    heads = (
        "raters agree | candidates | items | unread, % | false claims, %",
        "raters agree | start | items | gain | shown, %",
    )
    said = f"{compiles:,} compiles a cell\n"
    for cells, shares, head, low, high in (
        (false, found[: len(false)], heads[0], 0.0, 0.05),
        (power, found[len(false) :], heads[1], 0.78, 1.0),
    ):
        said += f"\n| {head} | |\n|{' --- |' * (head.count('|') + 2)}\n"
        for cell, share in zip(cells, shares, strict=True):
            judged = "within" if low - slack <= share <= high + slack else "OUT"
            said += f"| {cell.named} | {100 * share:.1f} | {judged} |\n"
    print(said, end="")
    sys.exit(int("OUT" in said))


if __name__ == "__main__":
    main()
