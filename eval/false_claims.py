"""How often a compile of the judge claims an improvement: where there is one to be had, and where there is none.

    python eval/false_claims.py

Each seed is a study of 200 rated responses with a known rule (`dspy_proact/benchmarks/synthetic.py`). A rule to learn:
the embedded judge is shown labelled demos, which can teach it. Permuted: grades are dealt out anew within each phase,
so that there is nothing to learn, and candidates of varying strictness are searched. Always PARTIAL: a judge that says
nothing else, against the uncompiled one. Exits 1 when a figure is out of its band.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import dspy

from dspy_proact.benchmarks import permuted_within_phase, rater_kappa, synthetic_items, synthetic_ratings
from dspy_proact.compile import Effort, Labelled, Plan, Start, compile_judge, labelled
from dspy_proact.models import Gate, open_model
from dspy_proact.programs import Cuts, Judge
from dspy_proact.stats import apply_cuts, improvement, within_strata_kappa
from dspy_proact.types import Grade, Phase

START = Start(Judge(ask_quote_again=False), dict.fromkeys(Phase, Cuts(partial=0.5, full=1.5)))
FRESH, FRESH_SEED = 50, 1_000_000  # new items for each seed's compiled judge, 5,000 in all


@dataclass(frozen=True)
class Study:
    shown: tuple[bool, ...]  # of a rule to learn, of permuted labels, of a judge that always says PARTIAL
    rater_kappa: float
    fresh: Sequence[Labelled]  # that no compile saw
    before: Sequence[int]  # their levels by the uncompiled judge
    after: Sequence[int]  # and by the compiled one


def shown(items: Sequence[Labelled], before: Sequence[int | None], after: Sequence[int | None]) -> bool:
    first, second = ([level for level in levels if level is not None] for levels in (before, after))
    columns = [item.soft for item in items], [item.phase for item in items], [item.scenario for item in items]
    return improvement(first, second, *columns, order=list(Phase)).overall.shown


def graded(program: Start, items: Sequence[Labelled], lm: dspy.LM) -> list[int]:
    with dspy.context(lm=lm):
        means = [2 * Grade(program.judge(**item.example.inputs()).grade).score for item in items]
    cuts = [(program.cuts[item.phase].partial, program.cuts[item.phase].full) for item in items]
    return [int(apply_cuts([mean], pair)[0]) for mean, pair in zip(means, cuts, strict=True)]


def studied(seed: int, trials: int, count: int) -> Study:
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)  # verdicts, by program and item
    judge_lm, proposer_lm = (open_model("embedded", role, Gate()).lm.copy(cache=True) for role in ("judge", "proposer"))
    compiled = partial(compile_judge, START, judge_lm=judge_lm, proposer_lm=proposer_lm)
    ratings = synthetic_ratings(seed, synthetic_items(seed, count))
    items, dealt = labelled(ratings), labelled(permuted_within_phase(ratings, seed))
    taught = compiled(items, Plan(Effort("labeled", max_demos=16, seed=seed)))
    searched = compiled(dealt, Plan(Effort("search", trials=trials, max_demos=4, seed=seed)))
    constant = [1] * count
    pairs = ((items, taught, taught.after.levels), (dealt, searched, searched.after.levels), (items, taught, constant))
    claims = (shown(of, each.before.levels, after) for of, each, after in pairs)
    new = labelled(synthetic_ratings(FRESH_SEED + seed, synthetic_items(FRESH_SEED + seed, FRESH)))
    before, after = (graded(each, new, judge_lm) for each in (START, Start(taught.judge, taught.cuts)))
    return Study((*claims,), rater_kappa(ratings), new, before, after)


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
    said = "| what | seeds | found | band | |\n| --- | --- | --- | --- | --- |\n"
    for what, value, low, high, wider in rows:
        judged = "within" if low - wider <= value <= high + wider else "OUT"
        said += f"| {what} | {seeds} | {round(value, 3)} | {low} to {high} | {judged} |\n"
    print(said, end="")
    sys.exit(int("OUT" in said))


if __name__ == "__main__":
    main()
