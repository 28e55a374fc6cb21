"""A study of raters and a judge, as JSON and on a terminal."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from dspy_proact.report.numbers import STAND_IN, cell, coefficient, counted, percent, points
from dspy_proact.report.study import Study
from dspy_proact.report.study_part import EPSILON, LABELS, Part
from dspy_proact.stats import Estimate, Paired, PublishedRule, Standing
from dspy_proact.types import Grade

_WIDTHS = (5, 8, 5)
"""Of a count under FAIL, PARTIAL and PASS."""
_CIRCULAR = "This is circular: dropping those who disagree with the judge raises the agreement with the judge."


def study_document(study: Study) -> dict[str, Any]:
    """The document of `agree --json`. A value that cannot be given is null, and has a reason."""
    parts = {str(phase): part for phase, part in study.phases.items()}
    apart = {each.rater for each in study.apart}
    return {
        "ratings": {
            "name": study.ratings.name,
            "origin": study.ratings.source.origin,
            "commit": study.ratings.source.commit,
            "sha256": study.ratings.sha256,
            "items": len(study.ratings.items),
            "ratings": len(study.ratings.ratings),
            "raters": len(study.ratings.annotators),
            "excluded": list(study.excluded),
        },
        "embedded": study.embedded,
        "consensus": study.choices.consensus,
        "min_ratings": study.choices.min_ratings,
        "phases": {name: _part(part) for name, part in parts.items()},
        "pooled": _part(study.pooled),
        "published": {name: _published(part.published, part) for name, part in parts.items()},
        "raters": [_standing(each) | {"apart": each.rater in apart} for each in study.whole.standings],
        "notes": list(_findings(study)),
    }


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
    for line in (*_words(study), *_findings(study)):
        console.print(cell(line))


def _part(part: Part) -> dict[str, Any]:
    reference, alternative = part.reference, part.alt_test
    rate = alternative.winning_rate if alternative else None
    missing = Estimate(None, reason=part.silence)
    estimates = {
        "alpha_nominal": part.alpha("nominal"),
        "alpha_ordinal": part.alpha("ordinal"),
        "alpha_interval": part.alpha("interval"),
        "kappa": part.kappa("none"),
        "kappa_linear": part.kappa("linear"),
        "kappa_quadratic": part.kappa("quadratic"),
        "ac1": part.ac("none"),
        "ac2": part.ac("quadratic"),
        "exact": part.exact,
        "recall_fail": part.recall(Grade.FAIL),
        "recall_partial": part.recall(Grade.PARTIAL),
        "recall_pass": part.recall(Grade.PASS),
        "human_reference": reference.one_human,
        "judge_against_one_human": reference.judge,
        "judge_minus_human": reference.difference,
        "best_attainable": reference.best_attainable,
        "bias": part.bias,
        "alt_test": _winning(rate.value, rate.reason) if rate else missing,
        "alt_test_advantage": alternative.advantage if alternative else missing,
    }
    return {
        "items": len(part.enough),
        "judged": len(part.compared),
        "ratings": part.ratings,
        "confusion": _counts(part),
        **{name: _estimate(estimate) for name, estimate in estimates.items()},
    }


def _winning(rate: float | None, reason: str | None) -> Estimate:
    return Estimate(rate, reason=reason or "the share of raters over whom the judge wins: it has no interval")


def _counts(part: Part) -> list[list[int]] | list[list[float]]:
    """Rows are people, columns the judge: FAIL, PARTIAL, PASS; whole numbers where an item has one label."""
    if part.choices.consensus == "published":
        return [[round(count) for count in row] for row in part.confusion]
    return [[round(count, 6) for count in row] for row in part.confusion]


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "reason": estimate.reason}


def _published(rule: PublishedRule, part: Part) -> dict[str, Any]:
    missing = Estimate(None, reason=part.silence)
    return {
        "items": rule.items,
        "ratings": rule.ratings,
        "confusion": [list(row) for row in rule.confusion],
        "exact": rule.exact,
        "alpha_ordinal": _estimate(rule.alpha if rule.ratings else missing),
        "kappa": _estimate(rule.kappa if rule.items else missing),
    }


def _standing(standing: Standing) -> dict[str, Any]:
    return {
        "rater": str(standing.rater),
        "ratings": standing.ratings,
        "against_others": _estimate(standing.against_others),
        "against_judge": _estimate(standing.against_judge),
        "excluded_by_published_rule": standing.excluded,
    }


def _table(*headings: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(cell(heading), justify="right" if place else "left", overflow="fold")
    return table


def _named(study: Study) -> dict[str, Part]:
    return {**{str(phase): part for phase, part in study.phases.items()}, "pooled": study.pooled}


def _with_one(study: Study) -> Table:
    table = _table("", "items", "person", "judge", "judge - person", "best")
    for name, part in _named(study).items():
        found = part.reference
        shown = (coefficient(found.one_human), coefficient(found.judge), coefficient(found.difference))
        table.add_row(*map(cell, (name, str(found.items), *shown, _plain(found.best_attainable))))
    return table


def _with_people(study: Study) -> Table:
    quadratic = study.choices.consensus == "soft"
    headings = ("quadratic kappa",) if quadratic else ("kappa", "quadratic")
    table = _table("", "ratings", "alpha", "items", "exact", *headings)
    for name, part in _named(study).items():
        shares = "-" if part.exact.value is None else f"{100 * part.exact.value:.0f} %"
        weighted = part.kappa("quadratic")
        kappas = [coefficient(weighted)] if quadratic else [coefficient(part.kappa("none")), _plain(weighted)]
        alpha = coefficient(part.alpha("ordinal"))
        table.add_row(*map(cell, (name, str(part.ratings), alpha, str(len(part.compared)), shares, *kappas)))
    return table


def _confusion(study: Study) -> Table:
    """A block of columns a phase, and below it the judge's mean score less that of people."""
    table = _table("")
    heads = "".join(f"{grade.lower():>{width}}" for grade, width in zip(LABELS, _WIDTHS, strict=True))
    for phase in study.phases:
        table.add_column(f"{phase}\n{heads}", justify="right", overflow="fold")
    parts = list(study.phases.values())
    for place, grade in enumerate(LABELS):
        table.add_row(*map(cell, (str(grade), *(_counted(_counts(part)[place]) for part in parts))))
    table.add_section()
    leaning = (points(Paired(0, 0, part.bias, None, None, None)) for part in parts)
    table.add_row(*map(cell, ("judge - people", *leaning)))
    return table


def _counted(row: Sequence[float]) -> str:
    shown = (f"{round(count, 1):g}" for count in row)
    return "".join(f"{count:>{width}}" for count, width in zip(shown, _WIDTHS, strict=True))


def _plain(estimate: Estimate) -> str:
    return "-" if estimate.value is None else f"{estimate.value:.2f}"


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


def _findings(study: Study) -> Iterator[str]:
    """What a person should know before believing a figure, and what the figures show."""
    yield from study.ratings.notes
    yield from _left_out(study)
    yield from _about_raters(study)
    yield from _missing(study)
    yield from _alternative(study)
    if study.ratings.name == "sample":
        yield (
            "The sample was rated by its authors, who are language-model agents: it shows how this works, and says "
            "nothing about people."
        )
    if study.balanced:
        yield (
            "The published items were drawn by the judge's grade, in about equal numbers: no rate on them, and no "
            "leniency, is one in the corpus. They can show that the judge agrees with a person at least as well as "
            "another person does; they are too few to rank judges, or to show that one has improved."
        )


def _alternative(study: Study) -> Iterator[str]:
    alternative = study.pooled.alt_test
    if alternative is None:
        return
    rate = alternative.winning_rate
    if rate.value is None:
        yield f"{rate.reason}"
    else:
        ended = "passed" if alternative.passed else "failed"
        yield f"alt-test {ended}: the judge wins over {100 * rate.value:.0f} % of raters at epsilon {EPSILON}"
    if alternative.advantage.value is not None:
        yield (
            f"advantage: at {percent(alternative.advantage)} % of a rater's items the judge is at least as near to the "
            f"others' grades as that rater, counting ties, which are {percent(alternative.ties)} %"
        )


def _left_out(study: Study) -> Iterator[str]:
    if any(not each.item.scenario for each in study.pooled.rated):
        yield "items without a scenario count as one scenario"
    if few := len(study.pooled.rated) - len(study.pooled.enough):
        yield (
            f"items with fewer than {study.choices.min_ratings} ratings, left out of what the judge is compared on, "
            f"not of alpha: {few}"
        )
    unjudged = len(study.pooled.enough) - len(study.pooled.compared)
    if unjudged and study.pooled.compared:
        yield f"items without a grade of the judge, left out of what it is compared on, not of alpha: {unjudged}"
    if study.excluded:
        yield (f"left out by the published rule: {', '.join(study.excluded)}. {_CIRCULAR}")


def _about_raters(study: Study) -> Iterator[str]:
    if study.apart:
        told = ", ".join(f"{each.rater} {coefficient(each.against_others)}" for each in study.apart)
        yield (
            f"standing apart from the other raters, by kappa with them: {told}. Two raters reach "
            f"{_plain(study.whole.reference.one_human)} on average. By chance alone one rater in 40 falls so low; "
            f"here are {len(study.whole.standings)}."
        )
    would = [each for each in study.whole.standings if each.excluded and str(each.rater) not in study.excluded]
    if would:
        told = ", ".join(f"{each.rater} (kappa with the judge {_plain(each.against_judge)})" for each in would)
        yield (f"the published rule (--exclude published) would leave out {told}. {_CIRCULAR}")


def _missing(study: Study) -> Iterator[str]:
    """Why a number or an interval of the tables is not there."""
    concerned: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for name, part in _named(study).items():
        reference = part.reference
        shown = {
            "alpha": part.alpha("ordinal"),
            "person": reference.one_human,
            "judge": reference.judge,
            "exact": part.exact,
            "kappa": part.kappa("quadratic"),
        }
        reasons: defaultdict[str, list[str]] = defaultdict(list)
        for what, estimate in shown.items():
            if estimate.low is None and estimate.reason:
                reasons[estimate.reason].append(what)
        for reason, lacking in reasons.items():
            concerned[reason, tuple(lacking)].append(name)
    for (reason, lacking), names in concerned.items():
        where = "" if len(names) == len(_named(study)) else f" of {', '.join(names)}"
        yield f"{', '.join(lacking)}{where}: {reason}"
