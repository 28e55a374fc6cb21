"""What people would have given, as a person reads it on a terminal."""

from collections.abc import Iterator, Mapping

from rich.console import Console

from dspy_proact.report.corrected import WHOLE, Corrected, CorrectedComparison, CorrectedDifference, PeoplesRatings
from dspy_proact.report.corrected_headline import corrected_headline, difference_headline
from dspy_proact.report.numbers import counted, percent, points_of, share
from dspy_proact.report.terminal import Table, each_reason, show, table
from dspy_proact.runs import Nouns
from dspy_proact.stats import CorrectedMean


def print_corrected(corrected: Corrected, console: Console, explain: bool = False) -> None:
    """Print corrected scores beside the judge's, with what they rest on where that is asked for."""
    nouns, ratings = corrected.nouns, corrected.ratings
    show(console, "", corrected_headline(corrected), _scores(corrected.rows, nouns))
    show(console, *_reasons({name: row.corrected.reason for name, row in corrected.rows.items()}))
    show(console, *_said(nouns), *(f"{note}." for note in ratings.notes), *(_rests_on(nouns) if explain else ()))


def print_corrected_comparison(compared: CorrectedComparison, console: Console, explain: bool = False) -> None:
    """Print corrected differences, with what they rest on where that is asked for."""
    nouns = compared.comparison.a.nouns
    show(console, "", difference_headline(compared), _differences(compared.rows, nouns))
    show(console, *_reasons({name: row.difference.reason for name, row in compared.rows.items()}))
    told = "a, b: corrected scores, %; b - a: points. 95 % intervals, not adjusted for there being several."
    show(console, told, *_of_each(compared.ratings))
    show(console, *(_rests_on(nouns) if explain else ()))


def _scores(rows: Mapping[str, CorrectedMean], nouns: Nouns) -> Table:
    told = ([name, *_rated(row), str(row.raters), *_scored(row)] for name, row in rows.items())
    return table((nouns.stratum, "rated", "raters", "judge", "mean of the rated", "corrected"), told)


def _scored(row: CorrectedMean) -> list[str]:
    return [percent(row.judge), share(row.rated_mean), percent(row.corrected)]


def _differences(rows: Mapping[str, CorrectedDifference], nouns: Nouns) -> Table:
    told = (
        [name, *_rated(row.a, row.b), percent(row.a.corrected), percent(row.b.corrected), points_of(row.difference)]
        for name, row in rows.items()
    )
    return table((nouns.stratum, "rated a", "rated b", "a", "b", "b - a"), told)


def _rated(*rows: CorrectedMean) -> list[str]:
    return [f"{row.rated}/{row.cases}" for row in rows]


def _reasons(reasons: Mapping[str, str | None]) -> Iterator[str]:
    """Why a corrected score is missing, or what is wrong with its bounds, where it is not what is said of the whole."""
    others = ((name, reason) for name, reason in reasons.items() if reason != reasons[WHOLE])
    yield from (f"corrected, {told}" for told in each_reason(others))


def _said(nouns: Nouns) -> Iterator[str]:
    yield (
        "judge, corrected: weighted scores of all that is scored, % with 95 % intervals. mean of the rated: of these "
        f"{nouns.cases} alone, which may be drawn in equal numbers by grade: no score of the run."
    )


def _of_each(ratings: tuple[PeoplesRatings, PeoplesRatings]) -> Iterator[str]:
    for name, each in zip("ab", ratings, strict=True):
        told = "".join(f"; {note}" for note in each.notes)
        yield f"ratings of {name}: {each.name}, {counted(len(each.given), 'response')}{told}."


def _rests_on(nouns: Nouns) -> Iterator[str]:
    yield (
        f"corrected: what people gave to the rated {nouns.cases} of a {nouns.stratum} and grade stands for all of it, "
        "each grade by its share of the run; where few are rated the judge's grade helps out. Intervals are over "
        f"{nouns.groups} like these and raters like these, on the logit scale."
    )
