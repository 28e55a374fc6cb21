"""How often a compile of the judge claims an improvement: where there is one to be had, and where there is none.

    python eval/false_claims.py

Each seed is a study of 200 rated responses with a known rule (`eval/support/synthetic_study.py`). A rule to learn:
the embedded judge is shown demos, which can teach it. Permuted: grades are dealt out anew within each phase, so that a
search learns nothing. Always PARTIAL: a judge that says nothing else. 95 %: of a count (Wilson). Exits 1 if one is OUT.
"""

import argparse
import multiprocessing
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import dspy
from support.synthetic_study import permuted_within_phase, rater_kappa, synthetic_items, synthetic_ratings

from dspy_proact import Compile, Gate, JudgeTarget, Recipe, open_model
from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
from dspy_proact.benchmarks.proactbench.programs import JUDGE, Judge
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.compile.agreement import plain_cuts
from dspy_proact.compile.target import Tuned
from dspy_proact.evaluation.ratings import RatedItem
from dspy_proact.runs import Settings
from dspy_proact.stats import Change, Panel, apply_cuts, improvement

LEVELS = (Grade.FAIL, Grade.PARTIAL, Grade.PASS)
TUNING = ProactBench().tuning(Settings())
START = Tuned(Judge(ask_quote_again=False), plain_cuts(ProactBench()))
FRESH, FRESH_SEED = 50, 1_000_000  # new items for each seed's compiled judge, 5,000 in all
CALLS = 2_930  # of a study's two compiles at e58b75b, without race or reuse; README says what moved their share


@dataclass(frozen=True)
class Study:
    shown: tuple[bool, ...]  # of a rule to learn, of permuted labels, of a judge that always says PARTIAL
    rater_kappa: float
    calls: int  # of both compiles
    fresh: Sequence[RatedItem]  # that no compile saw
    before: Sequence[int]  # their levels by the uncompiled judge
    after: Sequence[int]  # and by the compiled one


def graded(program: Tuned, items: Sequence[RatedItem]) -> list[int]:
    with dspy.context(lm=open_model("embedded", JUDGE, Gate()).lm):
        requests = [(program.program(**TUNING.question(item.case, item.answer).inputs), item.stratum) for item in items]
    graded = [(2 * Grade(text.grade).score, phase) for text, phase in requests]
    return [int(apply_cuts([mean], (program.cuts[at].partial, program.cuts[at].full))[0]) for mean, at in graded]


def studied(seed: int, trials: int, count: int) -> Study:
    ratings = synthetic_ratings(seed, synthetic_items(seed, count))
    permuted, one = permuted_within_phase(ratings, seed), Gate(concurrency=1)
    demos, search = Recipe(optimizer="labeled", max_demos=16, seed=seed), Recipe(trials=trials, seed=seed)
    with tempfile.TemporaryDirectory() as out:
        taught = Compile(JudgeTarget(ratings), demos, one).run(f"{out}/taught")
        searched = Compile(JudgeTarget(permuted), search, one).run(f"{out}/searched")
    items = ratings.rated
    constant = compared(graded(START, items), [1] * count, items).shown
    fresh = synthetic_ratings(FRESH_SEED + seed, synthetic_items(FRESH_SEED + seed, FRESH))
    new = fresh.rated
    program = Tuned(taught.artefact.put_into(Judge(ask_quote_again=False), taught.path), taught.artefact.cuts)
    shown, calls = (taught.artefact.card.shown, searched.artefact.card.shown, constant), taught.paid + searched.paid
    return Study(shown, rater_kappa(ratings), calls, new, graded(START, new), graded(program, new))


def compared(before: Sequence[int], after: Sequence[int], items: Sequence[RatedItem]) -> Change:
    panel = Panel.of([[entry.grade for entry in item.grades[""]] for item in items], LEVELS)
    phases, scenarios = [item.stratum for item in items], [item.group for item in items]
    return improvement(before, after, panel, phases, scenarios, order=list(Phase)).overall


def true_gain(studies: Sequence[Study]) -> float:
    before, after = ([level for study in studies for level in getattr(study, name)] for name in ("before", "after"))
    return compared(before, after, [item for study in studies for item in study.fresh]).difference.value or 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1 seed of 60 items, 2 candidates, bands wider by 0.1")
    parser.add_argument("--seeds", type=int, default=100)
    options = parser.parse_args()
    seeds, trials, count, slack = (1, 2, 60, 0.1) if options.quick else (options.seeds, 5, 200, 0.0)
    with multiprocessing.get_context("spawn").Pool(min(seeds, multiprocessing.cpu_count() + 1)) as pool:
        result = pool.map(partial(studied, trials=trials, count=count), range(seeds), chunksize=1)
    (taught, permuted, constant), few = map(sum, zip(*(item.shown for item in result), strict=True)), int(0.05 * seeds)
    rows = [
        ("two raters: quadratic kappa", fmean(item.rater_kappa for item in result), 0.6, 0.7, slack),
        (f"true gain, {seeds * FRESH:,} fresh items", true_gain(result), 0.24, 0.4, slack),
        ("a rule to learn: improvement shown", taught, seeds - few, seeds, 0),
        ("labels permuted: improvement shown", permuted, 0, few, 0),
        ("always PARTIAL: improvement shown", constant, 0, 0, 0),
    ]
    rows += (
        [] if options.quick else [("calls, of those before", fmean(item.calls for item in result) / CALLS, 0, 1.3, 0)]
    )
    text = f"| what | seeds | found | 95 % | band | |\n|{' --- |' * 6}\n"
    for what, value, low, high, wider in rows:
        judged = "within" if low - wider <= value <= high + wider else "OUT"
        centre, reach = value + 1.96**2 / 2, 1.96 * (value * (1 - value / seeds) + 1.96**2 / 4) ** 0.5
        sides = (-reach, reach) if isinstance(value, int) else ()
        message = " to ".join(f"{100 * abs(centre + side) / (seeds + 1.96**2):.1f} %" for side in sides)
        text += f"| {what} | {seeds} | {round(value, 3)} | {message} | {low} to {high} | {judged} |\n"
    print(text, end="")
    sys.exit(int("OUT" in text))


if __name__ == "__main__":
    main()
