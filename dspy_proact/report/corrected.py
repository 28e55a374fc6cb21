"""The score that people would have given to a run, estimated from their ratings of a part of its answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from rich.console import Console

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.people import is_nominal, parts_of
from dspy_proact.evaluation.ratings import Ratings
from dspy_proact.evaluation.registry import benchmark_of_run
from dspy_proact.plain_text import printable
from dspy_proact.report.comparison import Comparison
from dspy_proact.report.glossary import explained
from dspy_proact.report.measured import in_nouns
from dspy_proact.report.numbers import (
    bounds,
    counted,
    document,
    fields_of,
    interval,
    marked,
    percent,
    points_of,
    share,
    signed,
)
from dspy_proact.report.ratings import drawn_keys, grades_mark, ratable
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import front_html, reason_lines, show, table
from dspy_proact.runs import Nouns, Outcome
from dspy_proact.stats import (
    CorrectedMean,
    Estimate,
    Headline,
    RatedCases,
    Side,
    corrected_difference,
    corrected_mean,
)
from dspy_proact.stats.paired import excludes_zero

GAPS = 0.05
"""Share of the drawn that may lack a rating, since why they lack it is unknown."""


def unfair(summary: Summary, rated: set[str], drawn: Sequence[str] | str) -> Mapping[str, str]:
    """Why the rated cases of a stratum do not stand for all of it; nothing where they do, or where all are rated.

    `rated` are keys of the cases with a rating, `drawn` of those that were drawn, in the order of the draw; or why it
    is not known that they were.
    """
    nouns = summary.nouns
    reasons: dict[str, str] = {}
    order = [] if isinstance(drawn, str) else list(drawn)
    last = max((index for index, key in enumerate(order) if key in rated), default=-1)
    begun = set(order[: last + 1])
    for stratum in summary.strata:
        keys = {outcome.key for outcome in ratable(summary) if outcome.stratum == stratum}
        own, due = keys & rated, keys & begun
        if own == keys or not own:
            continue
        if isinstance(drawn, str):
            reasons[stratum] = drawn
        elif others := len(own - due):
            reasons[stratum] = f"rated {nouns.cases} that were not drawn: {others}"
        elif len(due - own) > GAPS * len(due):
            reasons[stratum] = (
                f"{len(due - own)} of the first {len(due)} drawn {nouns.cases} of a {nouns.stratum} have no rating"
            )
    return reasons


OVERALL = "micro"
"""The row of all strata together."""


@dataclass(frozen=True)
class PeoplesRatings:
    """What people gave to answers of a run."""

    name: str
    """What the person asked for."""
    scores: Mapping[str, Mapping[str, float]]
    """By case and rater, each score in [0, 1], higher is better."""
    unfair: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why the rated cases of a stratum do not stand for all of it; nothing where they do."""
    notes: tuple[str, ...] = ()
    """What else is to be known of them, a sentence each, without its stop."""
    people: str = "people"
    """Who the raters are."""
    seconds: float | None = None
    """Mean time of a rating; None where no times were recorded."""


def peoples_ratings(ratings: Ratings, summary: Summary, benchmark: Benchmark[Any, Any] | None = None) -> PeoplesRatings:
    """What people gave, grading as a whole, to responses of the first epoch of a run or a results file.

    Raises a `UsageError` where the run is of another benchmark, or of one whose scores do not follow from a grade of
    people's; or where no rated item is one of its cases, or one is with another response.
    """
    declared, nouns = benchmark_of_run(summary, benchmark), summary.nouns
    if ratings.benchmark != declared.name:
        raise UsageError(f"{ratings.name}: ratings of {ratings.benchmark}, and {summary.path} is of {declared.name}")
    own = {outcome.key: outcome for outcome in summary.outcomes if outcome.epoch == 1}
    rated = {item.key: item for item in ratings.rated}
    shared = [key for key in own if key in rated]
    if not shared:
        raise UsageError(
            f"{ratings.name}: none of its {counted(len(rated), 'rated item')} is a {nouns.case} of {summary.path}; "
            "name ratings of the responses of this run, or the run of those that were rated"
        )
    for key in shared:
        if rated[key].text is None:
            raise UsageError(
                f"{ratings.name}: {key!r} comes without its response, so that nobody knows whether it is that of "
                f"{summary.path}; name ratings that come with what was rated"
            )
        if rated[key].text != own[key].response:
            raise UsageError(
                f"{ratings.name}: {key!r} has another response in {summary.path} than was rated; name ratings of the "
                "responses of this run"
            )
    scored, scores = {outcome.key for outcome in ratable(summary)}, _scores(declared, summary)
    grades = {key: ratings.by_item[key] for key in shared if key in scored}
    if unknown := sorted({row.grade for rows in grades.values() for row in rows} - scores.keys()):
        why = f"what {unknown[0]} scores is not known, for no {nouns.case} of {summary.path} has this grade"
        raise UsageError(f"{ratings.name}: {why}; declare `scores` of its `people`")
    rated_scores = {key: {row.rater: scores[row.grade] for row in rows} for key, rows in grades.items()}
    notes: list[str] = ["these raters are language-model agents, not people"] if ratings.agents else []
    if elsewhere := len(rated) - len(shared):
        notes.append(f"rated items of no {nouns.case} of this run, left out: {elsewhere}")
    if ungraded := len(shared) - len(rated_scores):
        notes.append(f"rated {nouns.cases} without a grade of the judge, left out: {ungraded}")
    if summary.manifest and summary.manifest.epochs > 1:
        notes.append("ratings are of the responses of the first epoch, and so are the numbers beside them")
    fault = unfair(summary, set(rated_scores), _drawn(ratings, summary))
    people = "these raters" if ratings.agents else "people"
    return PeoplesRatings(ratings.name, rated_scores, fault, tuple(notes), people, ratings.seconds)


def _scores(declared: Benchmark[Any, Any], summary: Summary) -> Mapping[str, float]:
    """The score of each label: as it is declared, or what the label scored throughout the run."""
    require_one_grade(declared, summary.path)
    if declared.people and declared.people.scores:
        return declared.people.scores
    known = {(verdict.label, verdict.score) for outcome in ratable(summary) for verdict in outcome.verdicts}
    if len(known) > len(dict(known)):
        raise UsageError(
            f"{summary.path}: answers with one grade have several scores, so that no score follows from it"
        )
    return dict(known)


def require_one_grade(declared: Benchmark[Any, Any], where: str) -> None:
    """Raise a `UsageError` that begins with `where` if people grade parts of an answer, from which no score follows."""
    if is_nominal(declared):
        raise UsageError(f"{where}: people's grades have no order, and no score follows from one")
    if parts := ", ".join(part.name for part in parts_of(declared) if part.name):
        raise UsageError(f"{where}: people grade parts of its answers ({parts}), and no score follows from one")


def _drawn(ratings: Ratings, summary: Summary) -> list[str] | str:
    """Keys of the longest of the draws, which begins with the others; or why they are not known."""
    cases = f"the rated {summary.nouns.cases}"
    if not ratings.draws:
        return f"nothing shows that {cases} were drawn by the judge's grades"
    mark, draws = grades_mark(summary), sorted(ratings.draws, key=lambda draw: draw.count)
    if any(draw.mark != mark for draw in draws):
        return f"{cases} were drawn by other grades than this run has"
    if len({draw.seed for draw in draws}) > 1:
        return f"{cases} are of several draws with seeds of their own"
    return drawn_keys(summary, draws[-1].seed)[: draws[-1].count]


@dataclass(frozen=True, repr=False)
class Corrected:
    """A run corrected by ratings of a part of its answers."""

    summary: Summary
    ratings: PeoplesRatings

    def __repr__(self) -> str:
        score = self.rows[OVERALL].corrected
        result = score.reason if score.value is None else f"{percent(score)} %"
        return f"Corrected({printable(f'{self.summary!r} by {self.ratings.name}')}: {result})"

    def _repr_html_(self) -> str:
        return front_html(partial(print_corrected, self))

    @cached_property
    def rows(self) -> dict[str, CorrectedMean]:
        """By stratum, and all of them together."""
        cases = rated_cases(ratable(self.summary), self.ratings)
        strata = {name: corrected_mean(cases.of_stratum(name)) for name in self.summary.strata}
        rows = {**strata, OVERALL: corrected_mean(cases)}
        for name, row in rows.items():
            if unfair := refused_for(self.ratings, name):
                rows[name] = replace(row, corrected=Estimate(None, reason=unfair))
        return {name: in_nouns(row, self.summary.nouns) for name, row in rows.items()}


@dataclass(frozen=True)
class CorrectedDifference:
    """b - a, as people would have given, over cases that both have scored."""

    pairs: int
    a: CorrectedMean
    b: CorrectedMean
    difference: Estimate
    """In [-1, 1]: above 0 where people would have given more to b."""


@dataclass(frozen=True)
class CorrectedComparison:
    """Two runs, each corrected by ratings of its own answers."""

    comparison: Comparison
    ratings: tuple[PeoplesRatings, PeoplesRatings]

    @cached_property
    def rows(self) -> dict[str, CorrectedDifference]:
        """By stratum, and all of them together."""
        keys = {pair.key for pair in self.comparison.pairs}
        first = [{outcome.key: outcome for outcome in ratable(side)} for side in (self.comparison.a, self.comparison.b)]
        both = [key for key in first[0] if key in first[1] and key in keys]
        a, b = (
            rated_cases([outcomes[key] for key in both], ratings)
            for outcomes, ratings in zip(first, self.ratings, strict=True)
        )
        strata = {name: (a.of_stratum(name), b.of_stratum(name)) for name in self.comparison.a.strata}
        rows = {**strata, OVERALL: (a, b)}
        return {name: in_nouns(self._row(name, *sides), self.comparison.a.nouns) for name, sides in rows.items()}

    def _row(self, name: str, a: RatedCases, b: RatedCases) -> CorrectedDifference:
        sides = zip("ab", self.ratings, strict=True)
        unfair = "; ".join(f"{side}: {why}" for side, ratings in sides if (why := refused_for(ratings, name)))
        difference = Estimate(None, reason=unfair) if unfair else corrected_difference(a, b)
        return CorrectedDifference(len(a.labels), corrected_mean(a), corrected_mean(b), difference)


def compare_corrected(comparison: Comparison, a: PeoplesRatings, b: PeoplesRatings) -> CorrectedComparison:
    """Two runs, each with ratings of its own; raises a `UsageError` where the ratings or the answers are the same."""
    if comparison.agreement:
        raise UsageError(
            f"{comparison.a.path} and {comparison.b.path} have the same responses, to which people would give the "
            "same: leave `ratings` out"
        )
    # One run may have scored a case less, so ratings are the same where they are alike on most.
    both = a.scores.keys() & b.scores.keys()
    alike = all(a.scores[key] == b.scores[key] for key in both)
    if alike and 2 * len(both) > min(len(a.scores), len(b.scores)):
        raise UsageError(f"{a.name} and {b.name}: {SEPARATE_RATINGS}")
    return CorrectedComparison(comparison, (a, b))


SEPARATE_RATINGS = (
    "the same ratings cannot correct two runs, for a judge may err otherwise on the responses of the other; each needs "
    "ratings of its own responses"
)


def refused_for(ratings: PeoplesRatings, row: str) -> str:
    """Why ratings do not stand for what a row is about, each reason once; empty where they do."""
    return "; ".join(dict.fromkeys(ratings.unfair.values())) if row == OVERALL else ratings.unfair.get(row, "")


def rated_cases(outcomes: Iterable[Outcome], ratings: PeoplesRatings) -> RatedCases:
    """Scored outcomes, one a case, with what people gave to them."""
    cases = list(outcomes)
    rows = [
        (index, rater, score)
        for index, outcome in enumerate(cases)
        for rater, score in ratings.scores.get(outcome.key, {}).items()
    ]
    return RatedCases(
        labels=[outcome.label for outcome in cases],
        scores=np.array([outcome.score for outcome in cases], dtype=np.float64),
        groups=[outcome.group for outcome in cases],
        strata=[outcome.stratum for outcome in cases],
        of=np.array([index for index, _, _ in rows], dtype=np.intp),
        raters=[rater for _, rater, _ in rows],
        ratings=np.array([score for _, _, score in rows], dtype=np.float64),
    )


def corrected_headline(corrected: Corrected) -> Headline:
    """The corrected score of all strata, or why there is none; below it the judge's own, and what it is made from."""
    nouns, overall = corrected.summary.nouns, corrected.rows[OVERALL]
    people = "this rater" if overall.raters == 1 else corrected.ratings.people
    cases = counted(overall.scored, nouns.case, nouns.cases)
    score = overall.corrected
    if score.value is None:
        whom = "people" if corrected.ratings.people == "people" else "raters like these"
        return Headline(f"The mean score that {whom} would give to {cases} cannot be estimated: {score.reason}.")
    rated = f"{counted(overall.ratings, 'rating')} of {counted(overall.rated, nouns.case, nouns.cases)}"
    return Headline(
        f"{people.capitalize()} would give {cases} a mean score of {share(score.value)} % ({interval(score)}).",
        number=score,
        test="95 % interval",
        count=overall.scored,
        caveats=(
            *marked(score),
            f"The judge gives {share(overall.judge.value)} % ({bounds(overall.judge)}).",
            f"Estimated from {rated} by {counted(overall.raters, 'rater')}.",
        ),
    )


def difference_headline(compared: CorrectedComparison) -> Headline:
    """How much higher people would score b than a, or why that cannot be estimated."""
    overall, nouns = compared.rows[OVERALL], compared.comparison.a.nouns
    alone, estimate = min(overall.a.raters, overall.b.raters) == 1, overall.difference
    people = "these raters" if alone else compared.ratings[0].people
    if estimate.value is None:
        return Headline(f"How much higher {people} would score b than a cannot be estimated: {estimate.reason}.")
    pairs = counted(overall.pairs, nouns.case, nouns.cases)
    points = f"over {pairs} ({signed(estimate.value)} points, {interval(estimate, signed)})"
    side: Side | None = None
    text = f"Whether {people} would score b higher or lower than a is open {points}."
    if excludes_zero(estimate):
        side = "higher" if estimate.value > 0 else "lower"
        text = f"{people.capitalize()} would score b {side} than a {points}."
    return Headline(text, side, estimate, "95 % interval", count=overall.pairs, caveats=marked(estimate))


def corrected_document(corrected: Corrected) -> dict[str, Any]:
    """What `report --ratings --json` has under `corrected`."""
    nouns = corrected.summary.nouns
    first = corrected_headline(corrected)
    return {
        "headline": first.text,
        "claim": first.claim,
        "ratings": fields_of(corrected.ratings, "name", "notes"),
        **_by_row({name: _row(row, nouns) for name, row in corrected.rows.items()}, nouns),
    }


def corrected_comparison_document(compared: CorrectedComparison) -> dict[str, Any]:
    """What `compare --ratings --json` has under `corrected`: differences are b minus a, and not adjusted."""
    nouns = compared.comparison.a.nouns
    rows = {
        name: document(row) | {"a": _row(row.a, nouns), "b": _row(row.b, nouns)} for name, row in compared.rows.items()
    }
    a, b = (fields_of(ratings, "name", "notes") for ratings in compared.ratings)
    first = difference_headline(compared)
    head = {"headline": first.text, "claim": first.claim, "ratings": {"a": a, "b": b}}
    return head | _by_row(rows, nouns)


def _by_row(rows: Mapping[str, dict[str, Any]], nouns: Nouns) -> dict[str, Any]:
    strata = {name: row for name, row in rows.items() if name != OVERALL}
    return {nouns.strata: strata, "overall": {OVERALL: rows[OVERALL]}}


def _row(row: CorrectedMean, nouns: Nouns) -> dict[str, Any]:
    return document(row, nouns) | ({} if row.rated else {"mean_of_the_rated_reason": "nothing is rated"})


def print_corrected(corrected: Corrected, console: Console | None = None, explain: bool = False) -> None:
    """Print corrected scores beside the judge's; with `explain`, the method too."""
    nouns = corrected.summary.nouns
    headings = (nouns.stratum, "rated", "raters", "judge", "mean of the rated", "corrected")
    rows = (
        [name, _rated(row), str(row.raters), percent(row.judge), share(row.mean_of_the_rated), percent(row.corrected)]
        for name, row in corrected.rows.items()
    )
    show(console, "", *corrected_headline(corrected).lines, table(headings, rows))
    show(console, *_reasons({name: row.corrected.reason for name, row in corrected.rows.items()}))
    scores = "judge, corrected: weighted scores of all that is scored, % with 95 % intervals."
    legend = f"{scores} {explained(nouns, 'mean of the rated')}"
    show(
        console,
        legend,
        *(f"{note}." for note in corrected.ratings.notes),
        *([explained(nouns, "corrected")] if explain else []),
    )


def print_corrected_comparison(
    compared: CorrectedComparison, console: Console | None = None, explain: bool = False
) -> None:
    """Print corrected differences; with `explain`, the method too."""
    nouns = compared.comparison.a.nouns
    rows = (
        [name, *map(_rated, sides), *(percent(side.corrected) for side in sides), points_of(row.difference)]
        for name, row in compared.rows.items()
        for sides in [(row.a, row.b)]
    )
    headings = (nouns.stratum, "rated a", "rated b", "a", "b", "b - a")
    show(console, "", *difference_headline(compared).lines, table(headings, rows))
    show(console, *_reasons({name: row.difference.reason for name, row in compared.rows.items()}))
    show(console, "a, b: corrected scores, %; b - a: points. 95 % intervals, not adjusted for multiple comparisons.")
    for side, ratings in zip("ab", compared.ratings, strict=True):
        about = "; ".join([counted(len(ratings.scores), "response"), *ratings.notes])
        show(console, f"ratings of {side}: {ratings.name}, {about}.")
    if explain:
        show(console, explained(nouns, "corrected"))


def _rated(row: CorrectedMean) -> str:
    return f"{row.rated}/{row.scored}"


def _reasons(reasons: Mapping[str, str | None]) -> Iterator[str]:
    """Why a stratum has no corrected score or poor bounds, unless the headline says so already."""
    others = ((name, reason) for name, reason in reasons.items() if reason != reasons[OVERALL])
    yield from (f"corrected, {reason}" for reason in reason_lines(others))
