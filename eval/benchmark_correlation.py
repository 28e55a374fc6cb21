"""How the phases of ProactBench correlate over models with each other, and with other benchmarks.

    python eval/benchmark_correlation.py --scores other.csv

The phases' scores are those of the published models (weighted, lenient). The file's first column is `model`, with
their names; each other column is a benchmark, with a number or nothing in each cell. Models of one family resemble
each other, and scores have errors of their own: read all of it as description.
"""

import argparse
import csv
import math
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from support.correlation import correlation_p, pearson, spearman

from dspy_proact.benchmarks.proactbench.corpus.bundled import published_models
from dspy_proact.plain_text import printable
from dspy_proact.stats import Estimate

Scores = dict[str, dict[str, float | None]]  # by benchmark, then by model; None where there is no score
HEADS = "| pair | models | Spearman [95 %] | p | Pearson [95 %], assumes normal | p |"


def published_scores() -> Scores:
    models = published_models()
    return {phase: {row.name: row.scores[phase] for row in models} for phase in ("EMERGENT", "CRITICAL", "RECOVERY")}


def read_scores(path: Path) -> Scores:
    """The scores of a file.

    Raises:
        ValueError: It has another form than the program's docstring says, or is not UTF-8.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        heads, *rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row] or [[]]
    if heads[:1] != ["model"] or len(heads) < 2 or not all(heads) or len(set(heads)) < len(heads):
        raise ValueError(f"the first line must be 'model' and the names of benchmarks, not {heads!r}")
    models = [row[0] for row in rows]
    for row in rows:
        if len(row) != len(heads) or models.count(row[0]) > 1:
            raise ValueError(f"each model has one line, with one cell for each of {heads!r}: {row!r}")
    return {name: {row[0]: number(row[index]) for row in rows} for index, name in enumerate(heads) if index}


def number(cell: str) -> float | None:
    if cell and not math.isfinite(float(cell)):
        raise ValueError(f"a score is a finite number, not {cell!r}")
    return float(cell) if cell else None


def left_out(phases: Scores, others: Scores) -> Iterator[str]:
    """What of the other benchmarks enters no correlation, and what they lack."""
    published = dict.fromkeys(model for scores in phases.values() for model in scores)
    unknown = dict.fromkeys(model for scores in others.values() for model in scores if model not in published)
    if unknown:
        yield f"Not published models, left out: {', '.join(unknown)}"
    for name, scores in others.items():
        if without := [model for model in published if scores.get(model) is None]:
            yield f"Without a score in {name}: {', '.join(without)}"


def shown(estimate: Estimate) -> str:
    value = "none" if estimate.value is None else f"{estimate.value:.2f}"
    bounds = "" if estimate.low is None else f" [{estimate.low:.2f}, {estimate.high:.2f}]"
    return value + bounds + (f" ({estimate.reason})" if estimate.reason else "")


def row(one: dict[str, float | None], other: dict[str, float | None], models: list[str]) -> str:
    """Number of models with both scores, and both correlations over them, each with its p."""
    both = [(x, y) for model in models if (x := one.get(model)) is not None and (y := other.get(model)) is not None]
    x, y = [x for x, _ in both], [y for _, y in both]
    chances = [correlation_p(x, y, rank=rank) for rank in (True, False)]
    ranked, plain = ("none" if p is None else f"{p:.4f}" for p in chances)
    return f"{len(both)} | {shown(spearman(x, y))} | {ranked} | {shown(pearson(x, y))} | {plain}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scores", type=Path, metavar="FILE.csv", help="scores of other benchmarks")
    path = parser.parse_args().scores
    phases = published_scores()
    try:
        others = read_scores(path) if path else {}
        if phases.keys() & others.keys():
            raise ValueError(f"a benchmark needs another name than a phase: {', '.join(phases.keys() & others.keys())}")
    except (OSError, ValueError, csv.Error) as error:
        parser.exit(2, printable(f"{path}: {error}\n"))
    print(HEADS, "| --- | --- | --- | --- | --- | --- |", sep="\n")
    models = list(dict.fromkeys(model for scores in phases.values() for model in scores))
    for one, other in combinations(scores := phases | others, 2):
        print(printable(f"| {one} - {other} | {row(scores[one], scores[other], models)} |"))
    for note in left_out(phases, others):
        print(printable(note))


if __name__ == "__main__":
    main()
