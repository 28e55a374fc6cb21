"""A study of raters and a judge as a person reads it on a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from dspy_proact.report.numbers import STAND_IN, cell, coefficient, counted, headed, plain, points_of
from dspy_proact.report.proactbench.findings import findings
from dspy_proact.report.proactbench.study import Study
from dspy_proact.report.proactbench.study_part import LABELS

_WIDTHS = (5, 8, 5)
"""Of a count under FAIL, PARTIAL and PASS."""


def print_study(study: Study, console: Console) -> None:
    """Print agreement with its references, where the judge differs, who stands apart, and what it can show."""
    ratings = study.ratings
    if study.embedded:
        console.print(cell(STAND_IN))
    raters, items = counted(len(ratings.annotators), "rater"), counted(len(study.pooled.rated), "item")
    console.print(cell(f"{ratings.name}: {counted(len(ratings.ratings), 'rating')} of {items} by {raters}"))
    console.print("\nAgreement with one person (quadratic kappa): another person's, and the judge's")
    console.print(_with_one(study))
    how = "commonest grade" if study.choices.consensus == "published" else "shares of grades"
    console.print(f"\nPeople among themselves (ordinal alpha); the judge with their {how}")
    console.print(_with_people(study))
    if study.pooled.compared:
        console.print("\nItems by people's grade (rows) and the judge's (columns)")
        console.print(_confusion(study))
    console.print()
    for line in (*_words(study), *findings(study)):
        console.print(cell(line))


def _with_one(study: Study) -> Table:
    table = headed("", "items", "person", "judge", "judge - person", "best")
    for name, part in study.parts.items():
        found = part.reference
        shown = (coefficient(found.one_human), coefficient(found.judge), coefficient(found.difference))
        table.add_row(*map(cell, (name, str(found.items), *shown, plain(found.best_attainable))))
    return table


def _with_people(study: Study) -> Table:
    quadratic = study.choices.consensus == "soft"
    headings = ("quadratic kappa",) if quadratic else ("kappa", "quadratic")
    table = headed("", "ratings", "alpha", "items", "exact", *headings)
    for name, part in study.parts.items():
        shares = "-" if part.exact.value is None else f"{100 * part.exact.value:.0f} %"
        weighted = part.kappa("quadratic")
        kappas = [coefficient(weighted)] if quadratic else [coefficient(part.kappa("none")), plain(weighted)]
        alpha = coefficient(part.alpha("ordinal"))
        table.add_row(*map(cell, (name, str(part.ratings), alpha, str(len(part.compared)), shares, *kappas)))
    return table


def _confusion(study: Study) -> Table:
    """A block of columns a phase, and below it the judge's mean score less that of people."""
    table = headed("")
    heads = "".join(f"{grade.lower():>{width}}" for grade, width in zip(LABELS, _WIDTHS, strict=True))
    for phase in study.phases:
        table.add_column(f"{phase}\n{heads}", justify="right", overflow="fold")
    parts = list(study.phases.values())
    for place, grade in enumerate(LABELS):
        table.add_row(*map(cell, (str(grade), *(_counted(part.counts[place]) for part in parts))))
    table.add_section()
    leaning = (points_of(part.bias) for part in parts)
    table.add_row(*map(cell, ("judge - people", *leaning)))
    return table


def _counted(row: Sequence[float]) -> str:
    shown = (f"{round(count, 1):g}" for count in row)
    return "".join(f"{count:>{width}}" for count, width in zip(shown, _WIDTHS, strict=True))


def _words(study: Study) -> Iterator[str]:
    """What the tables' words mean."""
    yield (
        "Agreement is 1 at best and 0 by chance. [95 % intervals] are jackknives over scenarios, over items where "
        "there are fewer than ten scenarios; that of judge - people is cluster-robust."
    )
    yield (
        f"person, judge: against one rater at a time, on items with {max(2, study.choices.min_ratings)} ratings or "
        "more. best: about what a judge that knew each item's expected grade would reach. pooled: lies higher where "
        "phases differ in level."
    )
    ties = "commonest grade: ties go to PARTIAL, then PASS, then FAIL. quadratic: kappa with quadratic weights. "
    yield (
        f"{ties if study.choices.consensus == 'published' else ''}judge - people: mean score, in points of 100; above "
        "0 the judge is the more lenient."
    )
