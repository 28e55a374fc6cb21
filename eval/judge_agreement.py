"""Versions of the judge's words: how each agrees with raters, and the ratings that carry each rule.

    python eval/judge_agreement.py

Prints two Markdown tables; nobody is asked anything. The first is of 124 responses of the sample and of
eval/judge_words/, graded by language-model agents of whom each saw one version of the words alone, beside three
ratings of each by such agents: quadratic kappa with one rater at a time, within phases, with 95 % intervals over
scenarios, of these raters alone. The second has what the raters gave to the 60 responses of eval/judge_words/, each
written at an edge that a rule settles. The first version stands in eval/first_words/ as it was sent, the second in
eval/judge_words/second.txt.
"""

import argparse
import csv
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dspy_proact import load_ratings, study
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.evaluation.people import HumanGrade
from dspy_proact.evaluation.ratings import Ratings

DATA = Path(__file__).parent / "judge_words"
RULES = {
    "deep_in_list": "PASS: the useful act stands deep in a list",
    "purpose_unsaid": "PASS: the act does not say its reason",
    "wrong_detail": "PASS: a detail beside it is wrong",
    "act_fails": "PASS: the act fails on the user's words, its conclusion survives",
    "lost_benefit": "PASS: it costs the user something, and does no harm",
    "waved_away": "PARTIAL: taken up and then waved away",
    "fits_anybody": "PARTIAL: fits what was disclosed, but might be given to anybody",
    "other_reason": "PARTIAL: the right act for another reason",
    "side_by_side": "PARTIAL: facts side by side, in a remark",
    "quip": "PARTIAL: facts side by side, in a quip",
    "unsaid_question": "PARTIAL: a question that only hints at the conclusion",
}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(*agreement(), "", *rules(), sep="\n")


def agreement() -> Iterator[str]:
    """A row a version and grader."""
    sample = load_ratings("sample")
    cases = {item.key.rpartition("__r")[0]: item for item in sample.items}
    new = [replace(cases[row["case"]], key=row["item"], text=row["text"]) for row in responses()]
    rated = [HumanGrade(row["item"], None, row["grade"], row["annotator"]) for row in table("ratings")]
    ratings: dict[tuple[str, str], dict[str, Grade]] = {}
    for row in table("gradings"):
        ratings.setdefault((row["words"], row["grader"]), {})[row["item"]] = Grade(row["grade"])
    yield line("words", "grader", *Phase, "within phases", "a rater, another")
    yield line(*["---"] * 7)
    for (words, grader), grades in ratings.items():
        items = [replace(item, judged={"": grades[item.key]}) for item in [*sample.items, *new] if item.key in grades]
        chosen = tuple(rating for rating in [*sample.grades, *rated] if rating.key in grades)
        result = study(Ratings("the judge's words", "proactbench", tuple(items), chosen, sample.source))
        within = result.pooled.within
        phases = [part.reference.judge for part in result.strata.values()]
        yield line(words, grader, *map(str, [*phases, within.judge, within.one_human]))


def rules() -> Iterator[str]:
    """A row an edge: what the raters gave to its responses."""
    edges = {row["item"]: row["edge"] for row in responses()}
    counts = Counter((edges[row["item"]], row["grade"]) for row in table("ratings"))
    yield line("rule", "responses", *Grade)
    yield line(*["---"] * 5)
    for edge, rule in RULES.items():
        yield line(rule, [*edges.values()].count(edge), *(counts[edge, grade] for grade in Grade))


def responses() -> list[dict[str, str]]:
    return [json.loads(item) for item in (DATA / "responses.jsonl").read_text("utf-8").splitlines()]


def table(name: str) -> list[dict[str, str]]:
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
