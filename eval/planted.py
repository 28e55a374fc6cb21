"""Whether a compile learns what it can be told: a hidden rule, models that follow rules, and a proposer that reads.

    python eval/planted.py

Each seed is a benchmark of 60 items in 10 groups with a hidden rule (`eval/support/planted_shop.py`), one of 20 that
the models at a local server follow where a system text has its sentence, right or wrong. `cut`: people draw the line
elsewhere than the judge at one of three stages, for each of which it has a predictor. `rule`: they do so wherever a
customer mentions one thing. `act`: a reply must do one thing there. The proposer picks the rule that mends most of what
its request shows, and writes its sentence. `hidden`: seeds of which the program that is shipped after 20 trials has the
hidden rule where it belongs; `wrong`: other rules in it, on average. `picks`: share of the proposer's requests, none
counted twice, none that has the rule already, of which it picked the hidden rule. Where the inputs of items are taken
out of them that must be what chance gives, 1 in 20, by a binomial test at 1 %. Exits 1 when a cell is OUT.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from itertools import product
from math import comb

from support.bands import Banded
from support.planted_compiles import TRIALS, Cell, Learnt, compiled
from support.planted_shop import TASKS, Task

from dspy_proact.optimizer_names import Optimizer

OPTIMIZERS: tuple[Optimizer, ...] = ("search", "gepa", "miprov2")
SEEDS, LEAST, CHANCE, TEST = 10, 0.9, 1 / 20, 0.01


def is_chance(hits: int, count: int) -> bool:
    """Whether so many of all picks are not improbable, on either side, if each is right in 1 of 20."""
    share = [comb(count, k) * CHANCE**k * (1 - CHANCE) ** (count - k) for k in range(count + 1)]
    return min(sum(share[: hits + 1]), sum(share[hits:])) >= TEST / 2


def row(cells: Sequence[Learnt], blind: bool) -> str:
    """The columns of a cell, with OUT where it is."""
    hidden, picks = sum(one.hidden for one in cells), [pick for one in cells for pick in one.picks]
    out = not is_chance(sum(picks), len(picks)) if blind else hidden < LEAST * len(cells)
    wrong, share = sum(one.wrong for one in cells) / len(cells), sum(picks) / max(1, len(picks))
    return f"{hidden} of {len(cells)} | {wrong:.1f} | {len(picks)} | {100 * share:.0f} | {'OUT' if out else 'within'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed of a search for a judge and for an assistant")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", action="append", metavar="'OPTIMIZER TASK'", help="such as 'search cut'")
    options = parser.parse_args()
    kinds: list[tuple[Optimizer, Task, bool]] = [*product(OPTIMIZERS, TASKS, (False, True))]
    if options.quick:
        kinds = [("search", "cut", False), ("search", "act", True)]
    if options.only:
        kinds = [kind for kind in kinds if f"{kind[0]} {kind[1]}" in options.only]
    seeds = range(1 if options.quick else options.seeds)
    cells = [Cell(optimizer, task, blind, seed) for optimizer, task, blind in kinds for seed in seeds]
    with multiprocessing.get_context("spawn").Pool() as pool:
        learnt = iter(pool.map(compiled, cells, chunksize=1))
    rows = [
        f"{optimizer} | {task} | {'taken out' if blind else 'shown'} | {row([next(learnt) for _ in seeds], blind)}"
        for optimizer, task, blind in kinds
    ]
    heads = "optimizer | task | inputs | hidden | wrong | requests | picks, % | "
    print(text := Banded(f"{len(seeds)} seeds a cell, {TRIALS} trials", {heads: rows}))
    sys.exit(int(text.out > 0))


if __name__ == "__main__":
    main()
