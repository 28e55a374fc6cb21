"""What item analysis finds on simulated items of known faults, what it flags of sound ones, and whether intervals hold.

    python eval/item_analysis.py

Banks of items are drawn, and of every bank several studies of new models. Intervals: how often those of difficulty, of
the correlation with the rest and of alpha hold what 20,000 models of the same kind show. Sound: how many sound items
are flagged, by flag; and in how many studies a sound item holds in a test over all items (Holm). Detected: how many
items of each fault are flagged as what they are. Dropping: by how many points the change of the mean score that
leaving out flagged items brings differs from the true change of leaving out the same items, where the same models
flag and where the other half does. Exits 1 when an interval is out of 93 to 98 %, or more than 5 % of sound items are
flagged, or hold in more than 5 % of studies, by more than two standard errors. Of models that come in families, which
are no independent ones, intervals are marked.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, product

import numpy as np
from numpy.typing import NDArray
from support.bands import COVERAGE, Band, Banded, of_data_sets
from support.known_items import FAULTS, Bank, Setting, Truth

from dspy_proact.stats import Estimate
from dspy_proact.stats.items import ENOUGH_MODELS, ItemFigures, ModelScores, item_figures, item_means
from dspy_proact.stats.paired import LEVEL
from dspy_proact.stats.totals import adjusted, change_without, flagged, halves, reliability

SETTINGS = {
    "pass or fail": Setting(spread=1.0),
    "three grades, alike models": Setting(spread=0.5, partial=True),
    "groups of 4, 3 epochs": Setting(spread=1.0, group_size=4, group_effect=0.7, epochs=3),
    "unrelated": Setting(spread=0.0, faulty=False),
    "families of 4": Setting(spread=1.0, family=4, family_effect=1.0),
}
DEPENDENT = "families of 4"
"""Of which no interval is promised to hold: models that are alike count as so many."""
MODELS, ITEMS = (4, 8, 16, 32), (60, 200)
QUICK = [("pass or fail", 8, 60), ("groups of 4, 3 epochs", 16, 60), ("unrelated", 8, 60)]
FLAGS = ("negative", "nobody", "everybody", "disputed", "unscored")
FLAG_OF = dict(zip(FAULTS, ("negative", "negative", "negative", *FLAGS[1:]), strict=True))
AT_MOST = Band(0.0, 0.05)
STUDIES = 10
"""Of a bank."""
WITH_TOTALS = 5
"""Studies for alpha alone, for every other."""
COVERED = "items and models | difficulty | correlation | alpha"
SOUND = f"items and models | any flag | {' | '.join(FLAGS)} | held by Holm"
DETECTED = f"items and models | {' | '.join(FAULTS)}"
DROPPED = "items and models | same models flag | the other half flags"


@dataclass(frozen=True)
class Cell:
    setting: str
    models: int
    items: int
    banks: int
    seed: tuple[int, int]

    @property
    def name(self) -> str:
        return f"{self.setting}, {self.items} items, {self.models} models"

    @property
    def studies(self) -> int:
        return self.banks * STUDIES


def holds(estimates: Sequence[Estimate], truths: NDArray[np.float64]) -> list[bool]:
    """Whether each interval that is there holds its truth."""
    pairs = [(of.low, of.high, truth) for of, truth in zip(estimates, truths.tolist(), strict=True)]
    return [low <= truth <= high for low, high, truth in pairs if low is not None and high is not None]


def held(items: Sequence[ItemFigures], sound: NDArray[np.bool_]) -> bool:
    """Whether a sound item has a p value of at most .05 after Holm."""
    of_sound = (p for of_test in adjusted(items).values() for p in compress(of_test, sound))
    return any(p is not None and p <= LEVEL for p in of_sound)


def dropping(bank: Bank, truth: Truth, data: ModelScores, items: Sequence[ItemFigures]) -> tuple[float, float]:
    """How far the change by the models' own flags is from the true one, and that by the other half's; nan without."""

    def excess(scores: NDArray[np.float64], dropped: NDArray[np.bool_]) -> float:
        if not dropped.any() or dropped.all():
            return np.nan
        true = float(truth.difficulty[~dropped].mean() - truth.difficulty.mean())
        return (change_without([(scores, dropped)], bank.groups).value or 0.0) - true

    same = excess(item_means(data.scores), flagged(items))
    if data.models < 2 * ENOUGH_MODELS:
        return same, np.nan
    first, second = halves(data)
    pairs = ((first, second), (second, first))
    split = [excess(item_means(shown.scores), flagged(item_figures(by))) for shown, by in pairs]
    return same, float(np.mean(split))


def rows(cell: Cell) -> tuple[str, str, str, str]:
    rng = np.random.default_rng(cell.seed)
    covered: dict[str, list[float]] = {"difficulty": [], "rest": [], "alpha": []}
    raised: dict[str, list[float]] = {name: [] for name in ("any", *FLAGS, "held", *FAULTS)}
    excesses: list[tuple[float, float]] = []
    for _ in range(cell.banks):
        bank = Bank.drawn(rng, SETTINGS[cell.setting], cell.items)
        truth, sound = Truth.of(bank, rng), bank.sound
        for _ in range(STUDIES):
            data = bank.study(rng, cell.models)
            items = item_figures(data)
            covered["difficulty"].append(float(np.mean(holds([item.difficulty for item in items], truth.difficulty))))
            # A correlation of what does not vary has no truth.
            known = ~np.isnan(truth.rest)
            rests = [item.rest for item, there in zip(items, known, strict=True) if there]
            covered["rest"].append(float(np.mean(holds(rests, truth.rest[known]) or [np.nan])))
            marks = {flag: np.array([flag in item.flags for item in items]) for flag in FLAGS}
            raised["any"].append(float(flagged(items)[sound].mean()))
            raised["held"].append(float(held(items, sound)))
            for flag in FLAGS:
                raised[flag].append(float(marks[flag][sound].mean()))
            for kind, own in bank.faults.items():
                raised[kind] += marks[FLAG_OF[kind]][own].tolist()
            excesses.append(dropping(bank, truth, data, items))
        totals = [reliability(bank.study(rng, cell.models)).reliability for _ in range(STUDIES * WITH_TOTALS)]
        if cell.setting != "unrelated":
            covered["alpha"] += holds(totals, np.full(len(totals), truth.alpha))
    return _texts(cell, covered, raised, np.array(excesses))


def _texts(
    cell: Cell, covered: dict[str, list[float]], raised: dict[str, list[float]], excesses: NDArray[np.float64]
) -> tuple[str, str, str, str]:
    """A row of every table."""
    # The unit of chance is the study, whose items share its models.
    marked = cell.setting == DEPENDENT
    shares = [(float(np.nanmean(of)), len(of)) for of in covered.values() if of]
    of_intervals = [COVERAGE.text(*share, marked=marked) for share in shares] + ["-"] * (len(covered) - len(shares))
    limited = [AT_MOST.text(float(np.mean(raised[name])), cell.studies) for name in ("any", "held")]
    sound = [limited[0], *(f"{100 * np.mean(raised[flag]):.1f}" for flag in FLAGS), limited[1]]
    detected = [f"{100 * np.mean(raised[kind]):.0f}" if raised[kind] else "-" for kind in FAULTS]
    points: list[str] = []
    for column in 100 * excesses.T:
        known = column[~np.isnan(column)]
        often = len(known) > cell.studies / 10
        points.append(f"{known.mean():+.2f} ± {2 * known.std() / np.sqrt(len(known)):.2f}" if often else "-")
    cells = (of_intervals, sound, detected, points)
    texts = [" | ".join([cell.name, *own]) for own in cells]
    return texts[0], texts[1], texts[2], texts[3]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--banks", type=int, default=20, help=f"banks of items in each cell, of {STUDIES} studies each")
    parser.add_argument("--seed", type=int, default=20261129)
    parser.add_argument("--only", help="settings whose name holds this", default="")
    parser.add_argument("--quick", action="store_true", help="4 banks in three cells")
    options = parser.parse_args()
    banks = 4 if options.quick else options.banks
    grid = QUICK if options.quick else [*product(SETTINGS, MODELS, ITEMS)]
    cells = [Cell(*setting, banks, (options.seed, index)) for index, setting in enumerate(grid)]
    cells = [cell for cell in cells if options.only in cell.setting]
    with multiprocessing.Pool() as pool:
        tables = zip(
            (COVERED, SOUND, DETECTED, DROPPED), zip(*pool.map(rows, cells, chunksize=1), strict=True), strict=True
        )
    result = Banded(of_data_sets(banks * STUDIES, options.seed), {heads: list(own) for heads, own in tables})
    print(result)
    sys.exit(int(result.out > 0))


if __name__ == "__main__":
    main()
