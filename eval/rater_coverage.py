"""Whether the intervals of agreement hold where raters are drawn: simulated studies whose truth is known.

    python eval/rater_coverage.py

A row is a kind of study: scenarios, items, raters, and how far raters differ in leniency (0, or half the spread of the
items). A number is how often an interval holds the true value in the population of scenarios, items and raters, of
intervals without a mark but that of fewer than eight raters; `-`: in most studies it is marked otherwise or withheld.
Exits 1 when one is OUT: below 93 or above 98 % by more than two standard errors of those.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Iterator
from functools import partial

import numpy as np
from support.bands import COVERAGE, Banded
from support.panels import PanelDesign, SimulatedPanel, simulate_panel

from dspy_proact import stats
from dspy_proact.stats.raters import FEW_RATERS

TRUTH_ITEMS, QUICK_TRUTH = 200_000, 50_000  # items of the population's stand-in
LABELS, CARD_EVERY = (0, 1, 2), 5  # a compile's card takes long
Design = PanelDesign
WIDE = [Design(25, items, raters, far) for items in (60, 150, 300) for raters in (6, 18) for far in (0.0, 0.5)]
NARROW = [Design(few, 60, raters, 0.5) for few, raters in ((1, 18), (3, 18), (6, 18), (9, 6), (20, 1), (20, 3))]
FULL, QUICK = [*WIDE, *NARROW, Design(12, 20, 18, 0.0)], [WIDE[7], NARROW[1], NARROW[4]]


def estimates(
    drawn: SimulatedPanel, groups: list[int], raters: list[list[int]] | None, card: bool
) -> Iterator[tuple[str, stats.Estimate]]:
    ratings, judge, worse = drawn.ratings, drawn.judges[0].tolist(), drawn.judges[1].tolist()
    panel = stats.Panel.of(ratings, LABELS, raters)
    one, soft = (stats.Judged.of(panel, judge, LABELS, groups, ties) for ties in ((1, 2, 0), None))
    result = stats.human_reference(one)
    yield from [("person", result.one_human), ("judge", result.judge), ("judge - person", result.difference)]
    yield "alpha", stats.alpha_estimate(panel, "ordinal", groups)
    yield from [("kappa", one.kappa("none")), ("quadratic", one.kappa("quadratic")), ("AC1", one.ac("none"))]
    yield from [("AC2", one.ac("quadratic")), ("exact", one.exact()), ("recall", one.recall(2))]
    yield from [("judge - people", one.bias([0, 0.5, 1])), ("soft", soft.kappa("quadratic"))]
    if card:
        gain = stats.improvement(worse, judge, panel, [0] * len(ratings), groups, order=[0]).overall
        yield from [("card: after", gain.after), ("card: gain", gain.difference)]


def population(design: Design, items: int) -> Design:
    """What the truth depends on; the number of raters bounds that of an item's ratings."""
    return Design(1, items, min(5, design.raters), design.leniency)


def truth(design: Design) -> dict[str, float]:
    """Of a large study with a rater for each rating, in two groups, for nobody looks at its intervals."""
    drawn = simulate_panel(np.random.default_rng(1), design, fresh=True)
    halves = [index % 2 for index in range(design.items)]
    return {name: item.value or 0.0 for name, item in estimates(drawn, halves, None, card=True)}


def row(numbered: tuple[int, Design], truths: dict[Design, dict[str, float]], data_sets: int, seed: int) -> str:
    index, design = numbered
    items = next(iter(truths)).items
    rng, true = np.random.default_rng((seed, index)), truths[population(design, items)]
    held: dict[str, list[bool | None]] = {name: [] for name in true}
    for number in range(data_sets):
        drawn = simulate_panel(rng, design)
        for name, item in estimates(drawn, drawn.groups, drawn.raters, number % CARD_EVERY == 0):
            held[name].append(holds(item, true[name]))
    sizes = (design.groups, design.items, design.raters, design.leniency)
    return " | ".join([*map(str, sizes), *map(judged, held.values())])


def holds(result: stats.Estimate, truth: float) -> bool | None:
    """Whether an interval holds the truth; None where it is not counted."""
    if result.low is None or result.high is None or result.reason not in (None, FEW_RATERS):
        return None
    return result.low <= truth <= result.high


def judged(held: list[bool | None]) -> str:
    plain = [item for item in held if item is not None]
    if len(plain) <= len(held) / 2:
        return "-"
    return COVERAGE.text(float(np.mean(plain)), len(plain))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=1000, help="data sets in each row")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--quick", action="store_true", help="60 data sets in three rows, and a smaller population")
    options = parser.parse_args()
    designs, count, items = (QUICK, 60, QUICK_TRUTH) if options.quick else (FULL, options.datasets, TRUTH_ITEMS)
    different = list({population(design, items): None for design in designs})
    with multiprocessing.Pool() as pool:
        truths = dict(zip(different, pool.map(truth, different, chunksize=1), strict=True))
        row_of = partial(row, truths=truths, data_sets=count, seed=options.seed)
        rows = pool.map(row_of, enumerate(designs), chunksize=1)
    heads = " | ".join(["scenarios", "items", "raters", "leniency", *next(iter(truths.values()))])
    heading = f"{count:,} data sets a row (card: one in {CARD_EVERY}), seed {options.seed}, in %"
    print(result := Banded(heading, {heads: rows}))
    sys.exit(int(result.out > 0))


if __name__ == "__main__":
    main()
