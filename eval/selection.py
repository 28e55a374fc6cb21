"""What the race and its guards choose, by simulated scores: true gain, calls, ties, and claims that are false.

    python eval/selection.py

Gain: 48 training items in 8 groups; candidates truly gain N(.02, .05), and a paired difference at an item has a
standard deviation of .35, with 5 % of the variance its group's. Chosen: true gain of the chosen one, beside the best
there is. Calls: answers in a training. A search enters 19 candidates in generations of 9, 6 and 4. Ties: how often a
candidate of the start's score that writes less replaces it. False: all are worth what the start is, scores are 0, .5 or
1, and five folds choose among 19; claimed where the 98 % interval lies above 0, as on the card, on one compile or on
the best of five, which nobody corrects. Guards: 30 cases of each of two other strata, where candidates are as good, and
completion tokens that rise by more than half in a fifth of them. Exits 1 when a figure is out of band.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from support.bands import OUT, Band, Banded, share_error
from support.known_scores import KnownScores

from dspy_proact.compile.guards import chosen
from dspy_proact.compile.race import Race
from dspy_proact.stats import enough_for_claim, is_shown_lower
from dspy_proact.stats.jackknife import Jackknife, ratio

GAIN, SPREAD, NOISE, GROUP = 0.02, 0.05, 0.35, 0.05
FOLDS, SEEDS, SEED = 5, 5, 20261128
TIES, FALSE, BEST = Band(0.0, 0.0), Band(0.0, 0.05), Band(0.0, 0.15)
CUTS, ALIKE, LONGER = (0.0, 0.5), 0.5, 0.2
OTHER = {"emergent": 30, "critical": 30}
Scores = NDArray[np.float64]
Groups = NDArray[np.int_]


@dataclass(frozen=True)
class Entries:
    """How many candidates enter a race at once, and what is asked of it."""

    counts: tuple[int, ...]
    least: float = 0.0
    """True gain of the chosen one."""
    calls: int = 960


ENTRIES = {
    "6": Entries((6,), calls=238),
    "19": Entries((19,), 0.085, 520),
    "19, as a search enters them": Entries((9, 6, 4), 0.08, 520),
}


@dataclass(frozen=True)
class Study:
    """A study without a better candidate."""

    groups: int
    per_group: int
    guarded: bool
    seeds: int = 1
    """Compiles of it, with candidates of their own, of which the best is looked at."""


STUDIES = {
    f"{groups * per_group} in {groups} | {'yes' if guarded else 'no'} | {seeds}": Study(
        groups, per_group, guarded, seeds
    )
    for groups, per_group in ((10, 6), (20, 6), (25, 8))
    for guarded in (False, True)
    for seeds in (1, SEEDS)
}


def chosen_of(training: KnownScores, counts: Sequence[int], seed: int) -> int:
    """Index of the candidate that is chosen, 0 for the start, where so many enter at once."""
    known, programs = training, iter(list(training.programs.values())[1:])
    race, left = Race(known, seed), list[int]()  # pyright: ignore[reportArgumentType]  # as much of one as it reads
    for count in counts:
        left = race.run([*left, *(race.enter(next(programs)) for _ in range(count))])
    return chosen(race, known).index  # pyright: ignore[reportArgumentType]


def named(rows: Scores) -> dict[str, list[float]]:
    return {str(index): row for index, row in enumerate(rows.tolist())}


def gained(number: int, entries: Entries) -> tuple[float, float, int]:
    """True gain of the chosen candidate and of the best, and the answers that it took."""
    rng, group = np.random.default_rng((SEED, number)), np.repeat(np.arange(8), 6)
    gains = np.concatenate([[0.0], rng.normal(GAIN, SPREAD, sum(entries.counts))])
    shared, own = rng.standard_normal((len(gains), 8))[:, group], rng.standard_normal((len(gains), len(group)))
    errors = np.sqrt(GROUP) * shared + np.sqrt(1 - GROUP) * own
    training = KnownScores(named(gains[:, None] + NOISE / np.sqrt(2) * errors), group.tolist())
    index = chosen_of(training, entries.counts, number)
    return float(gains[index]), float(gains.max()), len(training.calls)


def is_replaced(number: int) -> bool:
    """Whether a candidate of the start's score replaces it."""
    rng, group = np.random.default_rng((SEED, number)), np.repeat(np.arange(8), 6)
    start = rng.choice([0.0, 0.5, 1.0], len(group))
    rows = named(np.stack([start, rng.permutation(start)]))
    return chosen_of(KnownScores(rows, group.tolist(), tokens={"0": 100, "1": 50}), (1,), number) > 0


def is_claimed(number: int, study: Study) -> bool:
    """Whether an improvement is claimed of a compile of a study, or of one of several."""
    rng = np.random.default_rng((SEED, number, study.groups))
    group = np.repeat(np.arange(study.groups), study.per_group)
    others = {name: np.arange(count) % study.groups for name, count in OTHER.items()}
    start = {name: rng.standard_normal(len(of)) for name, of in {"": group, **others}.items()}
    return any(_claimed(rng, start, group, others, study.guarded) for _ in range(study.seeds))


def _claimed(
    rng: np.random.Generator, latent: dict[str, Scores], group: Groups, others: dict[str, Groups], guarded: bool
) -> bool:
    """Compile once: latent numbers of the study's cases, by stratum, of which each program sees a half."""
    seen = {name: np.sqrt(0.5) * of + np.sqrt(0.5) * _errors(rng, of) for name, of in latent.items()}
    scores = {name: np.sum(of[..., None] > np.array(CUTS), axis=-1) / 2 for name, of in seen.items()}
    tokens = {str(index): 200 if index and rng.random() < LONGER else 100 for index in range(len(scores[""]))}
    fold, after = rng.permutation(int(group.max()) + 1)[group] % FOLDS, scores[""][0].copy()
    for number in range(FOLDS):
        train = fold != number

        def broken(name: str) -> tuple[str, ...]:
            worse = [
                stratum
                for stratum, of in others.items()
                if is_shown_lower(scores[stratum][0].tolist(), scores[stratum][int(name)].tolist(), of.tolist())
            ]
            return tuple(worse) if guarded else ()

        training = KnownScores(
            named(scores[""][:, train]),
            group[train].tolist(),
            tokens=tokens,
            broken=broken,
            guarded_by_default=guarded,
        )
        index = chosen_of(training, (19,), number)
        after[~train] = scores[""][index][~train]
    differences = np.stack([after - scores[""][0], np.ones(len(after))], axis=1)
    low, _ = Jackknife.of(differences, group.tolist(), ratio).claim_bounds()
    return (low or 0.0) > 0 and enough_for_claim(len(after), int(group.max()) + 1)


def _errors(rng: np.random.Generator, latent: Scores) -> Scores:
    noise = rng.standard_normal((21, len(latent)))
    return np.sqrt(ALIKE) * noise[:1] + np.sqrt(1 - ALIKE) * noise[1:]


def gain_row(name: str, entries: Entries, drawn: Sequence[tuple[float, float, int]]) -> str:
    """A row of the table of gains; OUT where the gain is too small by more than two standard errors, or it is dear."""
    reached, best, calls = np.array(drawn).T
    few = reached.mean() + 2 * reached.std() / np.sqrt(len(reached)) < entries.least
    marks = [f" {OUT}" if out else "" for out in (few, calls.mean() > entries.calls)]
    return f"{name} | {reached.mean():.3f}{marks[0]} | {best.mean():.3f} | {calls.mean():.0f}{marks[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000, help="trainings of a row, and compiles")
    parser.add_argument("--quick", action="store_true", help="20 of each, and in every fifth row of claims")
    options = parser.parse_args()
    repeats, studies = (20, [*STUDIES.items()][::5]) if options.quick else (options.repeats, [*STUDIES.items()])
    with multiprocessing.get_context("spawn").Pool() as pool:
        gains = [
            gain_row(name, entries, pool.map(partial(gained, entries=entries), range(repeats)))
            for name, entries in ENTRIES.items()
        ]
        replaced = fmean(pool.map(is_replaced, range(200)))
        claims = [
            f"{name} | {(BEST if study.seeds > 1 else FALSE).text(share, repeats)}"
            for name, study in studies
            if (share := fmean(pool.map(partial(is_claimed, study=study), range(repeats)))) is not None
        ]
    tables = {
        "candidates | chosen | best | calls": gains,
        "candidates of the start's score | replaced, %": [f"200 | {TIES.text(replaced, 200)}"],
        "items | guards | compiles | false claims, %": claims,
    }
    errors = ", ".join(f"{100 * share_error(share, repeats):.1f} at {100 * share:.0f} %" for share in (0.05, 0.15))
    print(text := Banded(f"{repeats:,} repeats a row, seed {SEED}; standard error of a share {errors}", tables))
    sys.exit(int(text.out > 0))


if __name__ == "__main__":
    main()
