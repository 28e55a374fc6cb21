"""A study of raters and a judge as a person reads it on a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from dspy_proact.benchmarks.proactbench.report.findings import cautions, explanations
from dspy_proact.benchmarks.proactbench.report.parting import parting_lines
from dspy_proact.benchmarks.proactbench.report.study import Study
from dspy_proact.benchmarks.proactbench.report.study_headline import study_headline
from dspy_proact.benchmarks.proactbench.report.study_part import LABELS
from dspy_proact.report.numbers import coefficient, counted, plain, points_of, share
from dspy_proact.report.terminal import Table, show, table
from dspy_proact.stats import ENOUGH_RATERS

_WIDTHS = (5, 8, 5)
"""Of a count under FAIL, PARTIAL and PASS."""


def print_study(study: Study, console: Console, explain: bool = False) -> None:
    """Print what it shows, agreement with its references, and what a person must know to believe it.

    Args:
        study: What is reported.
        console: Where it is printed.
        explain: Whether what the numbers rest on follows: people among themselves, where the judge differs, rules.
    """
    ratings, pooled = study.ratings, study.pooled
    raters, items = counted(len(ratings.annotators), "rater"), counted(len(pooled.rated), "item")
    show(
        console,
        study_headline(study),
        f"{ratings.name}: {counted(len(ratings.ratings), 'rating')} of {items} by {raters}",
        *([f"judge: {study.judge}"] if study.judge else []),
        "",
        "Agreement with one person (quadratic kappa): another person's, and the judge's",
        _with_one(study),
        "",
        *cautions(study),
    )
    if explain:
        _explain(study, console)


def _explain(study: Study, console: Console) -> None:
    how = "commonest grade" if study.choices.consensus == "published" else "shares of grades"
    confused = ["", "Items by people's grade (rows) and the judge's (columns)", _confusion(study)]
    show(
        console,
        "",
        f"People among themselves (ordinal alpha); the judge with their {how}",
        _with_people(study),
        *(confused if study.pooled.compared else []),
        "",
        *_words(study),
        *explanations(study),
        *_parting(study),
    )


def _parting(study: Study) -> list[str]:
    lines = list(parting_lines(study.partings, len(study.pooled.compared)))
    return ["", *lines] if lines else []


def _with_one(study: Study) -> Table:
    found = {name: part.reference for name, part in study.parts.items()}
    told = (
        [name, str(of.items), *map(coefficient, (of.one_human, of.judge, of.difference)), plain(of.best_attainable)]
        for name, of in found.items()
    )
    return table(("", "items", "person", "judge", "judge - person", "best"), told)


def _with_people(study: Study) -> Table:
    soft = study.choices.consensus == "soft"
    told: list[list[str]] = []
    for name, part in study.parts.items():
        exact = "-" if part.exact.value is None else f"{share(part.exact.value, 0)} %"
        weighted = part.kappa("quadratic")
        kappas = [coefficient(weighted)] if soft else [coefficient(part.kappa("none")), plain(weighted)]
        alpha = coefficient(part.alpha("ordinal"))
        told.append([name, str(part.paired), alpha, str(len(part.compared)), exact, *kappas])
    kappas = ("quadratic kappa",) if soft else ("kappa", "quadratic")
    return table(("", "ratings", "alpha", "items", "exact", *kappas), told)


def _confusion(study: Study) -> Table:
    """A block of columns a phase, and below it the judge's mean score less that of people."""
    parts = study.phases.values()
    heads = "".join(f"{grade.lower():>{width}}" for grade, width in zip(LABELS, _WIDTHS, strict=True))
    counts = [(grade, *(_counted(part.counts[place]) for part in parts)) for place, grade in enumerate(LABELS)]
    bias = ("judge - people", *(points_of(part.bias) for part in parts))
    return table(("", *(Text(f"{phase}\n{heads}") for phase in study.phases)), counts, [bias])


def _counted(row: Sequence[float]) -> str:
    shown = (f"{round(count, 1):g}" for count in row)
    return "".join(f"{count:>{width}}" for count, width in zip(shown, _WIDTHS, strict=True))


def _words(study: Study) -> Iterator[str]:
    """What the tables' words mean."""
    raters = study.pooled.reference.raters or 0
    whose = f"of other raters like these {raters} too" if raters >= ENOUGH_RATERS else "of these raters alone"
    yield (
        "Agreement is 1 at best and 0 by chance. [95 % intervals] are jackknives over scenarios, those of exact and "
        f"judge - people cluster-robust; all but those of single raters speak of other scenarios, and {whose}."
    )
    yield (
        f"person, judge: against one rater at a time, on items with {max(2, study.choices.min_ratings)} ratings or "
        "more. pooled: lies higher where phases differ in level. ratings, by alpha: of those items."
    )
    reached = {name: part.reference.best_attainable for name, part in study.parts.items()}
    yield (
        "best: the kappa of a judge that knows each item's expected grade and cuts it best, computed for items whose "
        "raters give grades in these shares and agree as far as person: "
        f"{', '.join(f'{name} {coefficient(each)}' for name, each in reached.items())}."
    )
    ties = "commonest grade: ties go to PARTIAL, then PASS, then FAIL. quadratic: kappa with quadratic weights. "
    yield (
        f"{ties if study.choices.consensus == 'published' else ''}judge - people: mean score, in points of 100; above "
        "0 the judge is the more lenient."
    )
