"""How often a compile of the judge claims an improvement: where there is one to be had, and where there is none.

    python eval/false_claims.py

Each seed is a study of 200 rated responses with a known rule (`benchmarks/proactbench/synthetic.py`). A rule to learn:
the embedded judge is shown labelled demos, which can teach it. Permuted: grades are dealt out anew within each phase,
so that there is nothing to learn, and candidates of varying strictness are searched. Always PARTIAL: a judge that says
nothing else, against the uncompiled one. Exits 1 when a figure is out of its band.
"""

import argparse
import multiprocessing
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

import dspy

from dspy_proact import Gate, open_model
from dspy_proact.benchmarks.proactbench import permuted_within_phase, rater_kappa, synthetic_items, synthetic_ratings
from dspy_proact.compile import CutJudge, Finished, JudgeCompile, Labelled, labelled
from dspy_proact.corpus import Ratings
from dspy_proact.programs import JUDGE, Judge, JudgeArtefact, Recipe, compiled_judge
from dspy_proact.stats import apply_cuts, improvement, within_strata_kappa
from dspy_proact.types import Grade, Phase

START = CutJudge(Judge(ask_quote_again=False))
FRESH, FRESH_SEED = 50, 1_000_000  # new items for each seed's compiled judge, 5,000 in all
CALLS = 2_930  # that a study's two compiles took at commit e58b75b (mean of 4): no race, nothing reused


@dataclass(frozen=True)
class Study:
    shown: tuple[bool, ...]  # of a rule to learn, of permuted labels, of a judge that always says PARTIAL
    rater_kappa: float
    calls: int  # of both compiles
    fresh: Sequence[Labelled]  # that no compile saw
    before: Sequence[int]  # their levels by the uncompiled judge
    after: Sequence[int]  # and by the compiled one


def compiled(ratings: Ratings, recipe: Recipe) -> Finished[JudgeArtefact]:
    with tempfile.TemporaryDirectory() as folder:
        return JudgeCompile(ratings, recipe=recipe, gate=Gate(concurrency=1)).run(Path(folder, "compile"))


def graded(program: CutJudge, items: Sequence[Labelled]) -> list[int]:
    with dspy.context(lm=open_model("embedded", JUDGE, Gate()).lm):
        means = [2 * Grade(program.judge(**item.example.inputs()).grade).score for item in items]
    cuts = [(program.cuts[item.phase].partial, program.cuts[item.phase].full) for item in items]
    return [int(apply_cuts([mean], pair)[0]) for mean, pair in zip(means, cuts, strict=True)]


def studied(seed: int, trials: int, count: int) -> Study:
    ratings = synthetic_ratings(seed, synthetic_items(seed, count))
    taught = compiled(ratings, Recipe(optimizer="labeled", max_demos=16, seed=seed))
    searched = compiled(permuted_within_phase(ratings, seed), Recipe(trials=trials, max_demos=4, seed=seed))
    items = labelled(ratings)
    columns = [item.soft for item in items], [item.phase for item in items], [item.scenario for item in items]
    constant = improvement(graded(START, items), [1] * len(items), *columns, order=list(Phase)).overall.shown
    new = labelled(synthetic_ratings(FRESH_SEED + seed, synthetic_items(FRESH_SEED + seed, FRESH)))
    program = CutJudge(compiled_judge(taught.artefact, ask_quote_again=False), taught.artefact.cuts)
    shown = taught.artefact.card.shown, searched.artefact.card.shown, constant
    calls = taught.paid + searched.paid
    return Study(shown, rater_kappa(ratings), calls, new, graded(START, new), graded(program, new))


def true_gain(studies: Sequence[Study]) -> float:
    soft, phases = zip(*((item.soft, item.phase) for each in studies for item in each.fresh), strict=True)
    after, before = ([level for each in studies for level in getattr(each, name)] for name in ("after", "before"))
    return (within_strata_kappa(after, soft, phases) or 0.0) - (within_strata_kappa(before, soft, phases) or 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1 seed of 60 items, 2 candidates, bands wider by 0.1")
    seeds, trials, count, slack = (1, 2, 60, 0.1) if parser.parse_args().quick else (100, 5, 200, 0.0)
    with multiprocessing.get_context("spawn").Pool(min(seeds, multiprocessing.cpu_count() + 1)) as pool:
        found = pool.map(partial(studied, trials=trials, count=count), range(seeds), chunksize=1)
    few = int(0.05 * seeds)  # of one seed none
    taught, permuted, constant = map(sum, zip(*(each.shown for each in found), strict=True))
    rows = [
        ("two raters: quadratic kappa", fmean(each.rater_kappa for each in found), 0.6, 0.7, slack),
        (f"true gain, {seeds * FRESH:,} fresh items", true_gain(found), 0.24, 0.4, slack),
        ("a rule to learn: improvement shown", taught, seeds - few, seeds, 0),
        ("labels permuted: improvement shown", permuted, 0, few, 0),
        ("always PARTIAL: improvement shown", constant, 0, 0, 0),
    ]
    if slack == 0:
        rows.append(("calls of a study, of those before", fmean(each.calls for each in found) / CALLS, 0, 0.5, 0))
    said = "| what | seeds | found | band | |\n| --- | --- | --- | --- | --- |\n"
    for what, value, low, high, wider in rows:
        judged = "within" if low - wider <= value <= high + wider else "OUT"
        said += f"| {what} | {seeds} | {round(value, 3)} | {low} to {high} | {judged} |\n"
    print(said, end="")
    sys.exit(int("OUT" in said))


if __name__ == "__main__":
    main()
