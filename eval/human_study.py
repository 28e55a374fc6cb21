"""The published human study of ProactBench (arXiv 2605.09228), by its own rules, with our numbers beside them.

    python eval/human_study.py

Prints three Markdown tables from the bundled labels: 275 ratings of 59 items by 18 people, and the grades of the
study's judge, GPT-5.4. The first sets the published figures beside the same rules applied here; their resamples are
drawn by another generator, so that intervals differ a little. The second has our intervals for the same statistics.
The third is what we report: the judge and another person, both against one person at a time.
"""

import argparse

from dspy_proact import Estimate, load_ratings, study
from dspy_proact.benchmarks.proactbench.report.published_rule import published_rule
from dspy_proact.report.study import RatingStudy

PUBLISHED = {
    "EMERGENT": {"alpha": Estimate(0.1703, -0.0521, 0.3391), "kappa": Estimate(0.5455, 0.2565, 0.8347)},
    "CRITICAL": {"alpha": Estimate(0.1576, -0.0285, 0.2873), "kappa": Estimate(0.2692, -0.0245, 0.5561)},
    "RECOVERY": {"alpha": Estimate(0.2780, 0.0494, 0.4474), "kappa": Estimate(0.5522, 0.2278, 0.8413)},
}
"""Ordinal alpha of people; unweighted kappa of their commonest grade and the judge; percentile intervals over items."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()

    result = study(load_ratings("published"))
    print(*reproduced(result), "", *beside(result), "", *against_one(result), sep="\n")


def reproduced(result: RatingStudy) -> list[str]:
    rows = [
        line("phase", "items", "ratings", "alpha, published", "here", "kappa, published", "here"),
        line(*["---"] * 7),
    ]
    for phase, part in result.strata.items():
        rule, message = published_rule(part), PUBLISHED[phase]
        shown = map(exactly, (message["alpha"], rule.alpha, message["kappa"], rule.kappa))
        rows.append(line(phase, rule.items, rule.ratings, *shown))
    return rows


def beside(result: RatingStudy) -> list[str]:
    rows = [line("phase", "alpha", "kappa", "kappa, quadratic", "exact", "judge - people"), line(*["---"] * 6)]
    for name, part in {**result.strata, "pooled": result.pooled}.items():
        names = ("alpha_ordinal", "kappa", "kappa_quadratic", "exact", "bias")
        rows.append(line(name, *(shortly(part.estimates[item]) for item in names)))
    return rows


def against_one(result: RatingStudy) -> list[str]:
    heads = ("phase", "items", "another person", "the judge", "judge - person", "best attainable")
    rows = [line(*heads), line(*["---"] * len(heads))]
    for name, part in {**result.strata, "pooled": result.pooled}.items():
        message = part.reference
        numbers = (message.one_human, message.judge, message.difference, message.best_attainable)
        rows.append(line(name, message.items, *map(shortly, numbers)))
    return rows


def exactly(estimate: Estimate) -> str:
    return f"{estimate.value:.4f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def shortly(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
