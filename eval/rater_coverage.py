"""Whether the intervals of agreement hold where raters are drawn: simulated studies whose truth is known.

    python eval/rater_coverage.py

Each row is a kind of study: scenarios, items, raters, and how far the raters' leniency differs (0, or half the spread
of the items). Each number is how often an interval that bears no mark holds what it is of in the population of
scenarios, items and raters. `-`: in more than half of the studies it is marked or withheld. Exits 1 when one is OUT:
below 93 or above 98 % by more than twice its standard error.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dspy_proact.stats import (
    Estimate,
    Judged,
    Panel,
    PanelDesign,
    SimulatedPanel,
    alpha_estimate,
    human_reference,
    improvement,
    simulate_panel,
    soft_labels,
)

LABELS, BAND = (0, 1, 2), (0.93, 0.98)
TRUTH_ITEMS, CARD_EVERY = 200_000, 5  # items of the population's stand-in; a compile's card takes long
WIDE = [PanelDesign(25, items, raters, far) for items in (60, 150, 300) for raters in (6, 18) for far in (0.0, 0.5)]
NARROW = [
    PanelDesign(groups, 60, raters, 0.5) for groups, raters in ((1, 18), (3, 18), (6, 18), (9, 6), (20, 1), (20, 3))
]
FULL, QUICK = [*WIDE, *NARROW, PanelDesign(12, 20, 18, 0.0)], [WIDE[3], NARROW[1], NARROW[4]]


@dataclass(frozen=True)
class Cell:
    design: PanelDesign
    data_sets: int
    seed: tuple[int, int]


def told(
    drawn: SimulatedPanel, groups: list[int], raters: list[list[int]] | None, card: bool
) -> Iterator[tuple[str, Estimate]]:
    ratings, judge, worse = drawn.ratings, drawn.judges[0].tolist(), drawn.judges[1].tolist()
    reference = human_reference(ratings, judge, LABELS, groups, raters=raters)
    yield from {"person": reference.one_human, "judge": reference.judge, "judge - person": reference.difference}.items()
    yield "alpha", alpha_estimate(ratings, LABELS, "ordinal", groups, raters)
    panel = Panel.of(ratings, LABELS, raters)
    beside, soft = (Judged.of(panel, judge, LABELS, groups, ties) for ties in ((1, 2, 0), None))
    yield from {"kappa": beside.kappa("none"), "quadratic": beside.kappa("quadratic")}.items()
    yield from {"AC1": beside.ac("none"), "AC2": beside.ac("quadratic"), "exact": beside.exact()}.items()
    yield from {"recall": beside.recall(2), "bias": beside.bias([0, 0.5, 1]), "soft": soft.kappa("quadratic")}.items()
    if card:
        shares, alone = soft_labels(ratings, LABELS), [0] * len(ratings)
        gain = improvement(worse, judge, shares, alone, groups, order=[0], panel=panel).overall
        yield from {"card": gain.after, "card: gain": gain.difference}.items()


def truth(design: PanelDesign) -> dict[str, float]:
    """Of a large study with a rater for each rating; two groups, whose intervals nobody looks at."""
    drawn = simulate_panel(np.random.default_rng(1), replace(design, items=TRUTH_ITEMS), fresh=True)
    halves = [place % 2 for place in range(TRUTH_ITEMS)]
    return {name: estimate.value or 0.0 for name, estimate in told(drawn, halves, None, card=True)}


def row(cell: Cell, truths: dict[PanelDesign, dict[str, float]]) -> str:
    rng, held = np.random.default_rng(cell.seed), dict[str, list[bool | None]]()
    true = truths[population(cell.design)]
    for number in range(cell.data_sets):
        drawn = simulate_panel(rng, cell.design)
        for name, each in told(drawn, drawn.groups, drawn.raters, number % CARD_EVERY == 0):
            plain = each.low is not None and each.high is not None and each.reason is None
            held.setdefault(name, []).append((each.low or 0) <= true[name] <= (each.high or 0) if plain else None)
    sizes = (cell.design.groups, cell.design.items, cell.design.raters, cell.design.leniency)
    return " | ".join([*map(str, sizes), *map(judged, (held[name] for name in true))])


def judged(held: list[bool | None]) -> str:
    plain = [each for each in held if each is not None]
    if len(plain) <= len(held) / 2:
        return "-"
    share = float(np.mean(plain))
    slack = 2 * float(np.sqrt(0.05 * 0.95 / len(plain)))
    return f"{100 * share:.1f}{'' if BAND[0] - slack <= share <= BAND[1] + slack else ' OUT'}"


def population(design: PanelDesign) -> PanelDesign:
    """What the truth depends on: the number of raters bounds that of ratings."""
    return PanelDesign(1, 1, min(5, design.raters), design.leniency)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=1000, help="data sets in each row")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--quick", action="store_true", help="60 data sets in three rows")
    asked = parser.parse_args()
    designs, count = (QUICK, 60) if asked.quick else (FULL, asked.datasets)
    truths = {each: truth(each) for each in {population(design) for design in designs}}
    cells = [Cell(design, count, (asked.seed, place)) for place, design in enumerate(designs)]
    with multiprocessing.Pool() as pool:
        rows = pool.map(partial(row, truths=truths), cells, chunksize=1)
    heads = " | ".join(["scenarios", "items", "raters", "leniency", *next(iter(truths.values()))])
    said = "".join(f"| {line} |\n" for line in [heads, "---" + " | ---" * heads.count("|"), *rows])
    print(
        f"{count:,} data sets a row (card: one in {CARD_EVERY}), seed {asked.seed}; in %, standard error at 95: "
        f"{100 * (0.05 * 0.95 / count) ** 0.5:.1f}\n\n{said}\n{said.count('OUT')} out of band"
    )
    sys.exit(int("OUT" in said))


if __name__ == "__main__":
    main()
