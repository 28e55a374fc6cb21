"""Claims of headlines: whether `agree` and `compare` claim what is not there.

    python eval/claims.py

Agree: studies of 200 responses in 25 scenarios, of 8 raters whose quadratic kappa within phases is below .2. The
constant judge reads nothing: it gives each phase its commonest grade. The judge like a person errs as a person does.
At most 5 % of studies may say of either that it agrees better than a person. Compare: of runs alike at most 5 % may be
claimed to differ, and no claim may have 0 in its interval; the same where the second of two runs alike leaves a quarter
of its fails unscored, so that its score over what was scored is higher. Exits 1 where it is not so.
"""

import argparse
import multiprocessing
import sys
from functools import partial

import numpy as np
from support.bands import OUT, Band, Banded, of_data_sets
from support.constructed import SCALES, drawn_run
from support.scores import Effects, Thresholds, simulate_pair

from dspy_proact import compare, stats, study
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.evaluation.people import HumanGrade
from dspy_proact.evaluation.ratings import RatedItem, Ratings, RatingsSource
from dspy_proact.report.headline import study_headline
from dspy_proact.runs import Outcome

ITEMS, SCENARIOS, RATERS = 200, 25, 8
GRADES = (Grade.FAIL, Grade.PARTIAL, Grade.PASS)
HEIGHTS = {Phase.EMERGENT: 1.2, Phase.CRITICAL: 0.6, Phase.RECOVERY: -1.2}
"""Mean level of each phase's responses; within a phase their spread is 1."""
ERROR, LENIENCY = 2.0, 0.5
"""Standard deviations of what a rating, and a rater, adds to the level."""
FALSE = Band(0.0, 0.05)
POSITIONS = [(25, 0.1), (7, 0.1), (7, 0.5)]
DROPS = [(25, 0.28, 0.0), (25, 0.5, 0.05), (10, 0.28, 0.0)]
"""Scenarios, mean and run effect; less effect, more power to see what is not there."""
DROPPED = 0.25
JUDGES = ("constant", "like a person")


def simulated(rng: np.random.Generator, judge: str) -> Ratings:
    phases = [list(Phase)[index % 3] for index in range(ITEMS)]
    scenarios = rng.integers(0, SCENARIOS, ITEMS)
    height = np.array([HEIGHTS[phase] for phase in phases])
    levels = height + np.sqrt(0.15) * rng.standard_normal(SCENARIOS)[scenarios] + np.sqrt(0.85) * normal(rng)
    lenient = LENIENCY * rng.standard_normal(RATERS)
    graded = height * 10 if judge == "constant" else levels + rng.normal(0, LENIENCY) + ERROR * normal(rng)
    positions = enumerate(zip(phases, map(str, scenarios), map(grade_of, graded), strict=True))
    items = [RatedItem(str(index), where, phase, judged={"": grade}) for index, (phase, where, grade) in positions]
    ratings = [
        HumanGrade(str(index), None, grade_of(levels[index] + message), f"r{who}")
        for index in range(ITEMS)
        for who in rng.choice(RATERS, rng.integers(2, 5), replace=False)
        for message in [lenient[who] + rng.normal(0, ERROR)]
    ]
    return Ratings(
        "simulated", "proactbench", tuple(items), tuple(ratings), RatingsSource(origin="simulated", files={})
    )


def normal(rng: np.random.Generator):
    return rng.standard_normal(ITEMS)


def grade_of(level: float) -> Grade:
    return GRADES[int(level > -0.5) + int(level > 0.5)]


def row(numbered: tuple[int, str], studies: int, seed: int) -> str:
    index, judge = numbered
    rng, better, worse, kappas = np.random.default_rng((seed, index)), 0, 0, []
    for _ in range(studies):
        result = study(simulated(rng, judge))
        side = study_headline(result).side
        better, worse = better + (side == "higher"), worse + (side == "lower")
        kappas.append([result.pooled.within.one_human.value, result.pooled.reference.judge.value])
    person, pooled = np.mean(kappas, axis=0)
    return (
        f"{judge} | {person:.2f} | {pooled:.2f} | {FALSE.text(better / studies, studies)} | {100 * worse / studies:.1f}"
    )


def compared(numbered_pair: tuple[int, float], claims: int, seed: int) -> str:
    scenarios, base = numbered_pair
    rng, shown, crossed, wrong, alike, false = np.random.default_rng((seed, scenarios, int(100 * base))), 0, 0, 0, 0, 0
    while shown < claims:
        distance = rng.uniform(0, 0.2) * rng.integers(0, 2)
        pair = simulate_pair(rng, scenarios, Thresholds.of_mean(base), Effects(run=0.15), distance)
        result = stats.paired_difference(pair.a, pair.b, pair.groups)
        claimed, alike = stats.claimed_side(result, result.p) is not None, alike + (not distance)
        false += claimed and not distance
        if claimed and distance:
            shown += 1
            crossed += (result.difference.low or 0) <= 0 <= (result.difference.high or 0)
            wrong += (result.difference.value or 0) < 0
    message = FALSE.text(false / alike, alike)
    return f"{scenarios} | {base} | {message} | {claims:,} | {wrong} | {crossed}{f' {OUT}' if crossed else ''}"


def dropped(numbered_drop: tuple[int, float, float], pairs: int, seed: int) -> str:
    """How often a side is claimed of runs alike, of which the second leaves a quarter of its fails unscored."""
    scenarios, base, own = numbered_drop
    rng, lenient, overall, phases = np.random.default_rng((seed, 7, scenarios, int(100 * base))), 0, 0, 0
    for _ in range(pairs):
        pair = simulate_pair(rng, scenarios, Thresholds.of_mean(base), Effects(run=own))
        cases = [
            Outcome("ABC"[number % 3], str(group), "pending", key=str(number))
            for number, group in enumerate(pair.groups)
        ]
        a, b = ((2 - 2 * scores).astype(int) for scores in (pair.a, pair.b))
        b = np.where((b == 2) & (rng.random(len(b)) < DROPPED), -1, b)
        runs = (drawn_run(name, cases, of.tolist(), SCALES[0]) for name, of in (("model-a", a), ("model-b", b)))
        comparison = compare(*runs)
        lenient += comparison.lenient.side is not None
        overall += comparison.side is not None
        phases += any(comparison.sides.values())
    claimed = (FALSE.text(count / pairs, pairs) for count in (overall, phases))
    return f"{scenarios} | {base} | {own} | {100 * lenient / pairs:.1f} | {' | '.join(claimed)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200, help="of each judge")
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--quick", action="store_true", help="10 studies of each judge, 10 claims, 20 pairs")
    options = parser.parse_args()
    count = 10 if options.quick else options.studies
    with multiprocessing.Pool() as pool:
        rows = pool.map(partial(row, studies=count, seed=options.seed), enumerate(JUDGES), chunksize=1)
        pairs = 10 if options.quick else 2000
        others = pool.map(partial(compared, claims=pairs, seed=options.seed), POSITIONS, chunksize=1)
        grid = DROPS[-1:] if options.quick else DROPS
        drops = pool.map(partial(dropped, pairs=20 if options.quick else 1000, seed=options.seed), grid, chunksize=1)
    heads = "judge | a person, within phases | the judge, pooled | said to be better | worse"
    claims = "scenarios | base | alike, claimed | apart, claimed | wrong way round | with 0 in the interval"
    fails = "scenarios | base | run effect | fails dropped: by the scored alone | overall, claimed | a phase, claimed"
    print(result := Banded(of_data_sets(count, options.seed), {heads: rows, claims: others, fails: drops}))
    sys.exit(int(result.out > 0))


if __name__ == "__main__":
    main()
