"""Studies as plain sentences that claim no more than the numbers carry, as JSON, and on a terminal."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from dspy_proact.evaluation.registry import reporting_of
from dspy_proact.report.headline import study_headline
from dspy_proact.report.measured import worded
from dspy_proact.report.numbers import (
    coefficient,
    counted,
    percent,
    plain,
    points_of,
    share,
)
from dspy_proact.report.terminal import TerminalTable, each_reason, show, table
from dspy_proact.report.voted import NOTE, voted_document, voted_table
from dspy_proact.runs import Nouns
from dspy_proact.stats import ENOUGH_RATERS, Estimate, HumanReference

if TYPE_CHECKING:
    from dspy_proact.report.study import RatingStudy, Subset


def leading(found: "Sequence[RatingStudy]") -> "list[RatingStudy]":
    """The studies of parts that are the first of some answers, to which headlines are given."""
    seen, first = set[str](), list["RatingStudy"]()
    for study in found:
        keys = {rated.item.key for rated in study.pooled.rated}
        first += [study] if keys - seen else []
        seen |= keys
    return first


def studies_document(found: "Sequence[RatingStudy]") -> dict[str, Any]:
    """The document of `agree --json`: of the one study, or of each part of a grading.

    A value that cannot be given is null, and has a reason.
    """
    documents = [_study_document(study) for study in found]
    if len(found) == 1:
        return documents[0]
    return {"parts": {study.part.name or "grade": each for study, each in zip(found, documents, strict=True)}}


def _study_document(study: "RatingStudy") -> dict[str, Any]:
    ratings, pooled, nouns = study.ratings, study.pooled, study.nouns
    apart = {each.rater for each in study.apart}
    within = {"items": pooled.within.items, **_of_reference(pooled.within, nouns)}
    return {
        "headline": study_headline(study),
        "ratings": {
            "name": ratings.name,
            "origin": ratings.source.origin,
            "commit": ratings.source.commit,
            "sha256": ratings.sha256,
            "items": len(ratings.items),
            "ratings": study.count,
            "raters": len(study.raters),
            "excluded": list(study.excluded),
        },
        "embedded": any(model == "embedded" for _, model in study.roles),
        "judge": study.judge or None,
        "consensus": study.choices.consensus,
        "min_ratings": study.choices.min_ratings,
        nouns.strata: {name: _subset(subset, nouns) for name, subset in study.strata.items()},
        "within": within,
        "pooled": _subset(pooled, nouns),
        f"constant_by_{nouns.stratum}": _estimate(pooled.constant, nouns),
        **({"voted": voted_document([worded(row, nouns) for row in study.voted])} if study.voted else {}),
        "raters": [
            {
                "rater": str(rater.rater),
                "ratings": rater.ratings,
                "against_others": _estimate(rater.against_others, nouns),
                "against_judge": _estimate(rater.against_judge, nouns),
                "excluded_by_published_rule": rater.rater in study.whole.excluded,
                "apart": rater.rater in apart,
            }
            for rater in study.whole.standings
        ],
        "partings": [
            {
                "item": each.item.key,
                nouns.stratum: each.item.stratum,
                nouns.group: each.item.group,
                **{name: value for name, value in each.item.meta.items() if name == "turn"},
                "difference": difference,
                "judge": {"grade": each.judge, "reasons": list(study.reasons(each.item))},
                "people": [{name: getattr(one, name) for name in _PEOPLE} for one in each.ratings],
            }
            for each, difference in study.disagreements
        ],
        "notes": [*cautions(study), *explanations(study)],
        **reporting_of(ratings.benchmark).agreement_document(study),
    }


_PEOPLE = ("rater", "grade", "confidence", "reason")


def _subset(subset: "Subset", nouns: Nouns) -> dict[str, Any]:
    estimates = {**subset.estimates, "best_attainable": subset.reference.best_attainable}
    if alternative := subset.alt_test:
        rate, no_interval = alternative.winning_rate, "the share of raters over whom the judge wins: it has no interval"
        estimates["alt_test"] = Estimate(rate.value, reason=rate.reason or no_interval)
        estimates["alt_test_advantage"] = alternative.advantage
    elif subset.part.scale == "ordinal":
        estimates |= dict.fromkeys(("alt_test", "alt_test_advantage"), subset.missing)
    return {
        "items": len(subset.enough),
        "judged": len(subset.compared),
        "ratings": sum(len(each.ratings) for each in subset.rated),
        "paired_ratings": subset.paired,
        "confusion": subset.confusion,
        **_of_reference(subset.reference, nouns),
        **{name: _estimate(estimate, nouns) for name, estimate in estimates.items()},
    }


def _of_reference(found: HumanReference, nouns: Nouns) -> dict[str, Any]:
    return {
        "raters": found.raters,
        "human_reference": _estimate(found.one_human, nouns),
        "judge_against_one_human": _estimate(found.judge, nouns),
        "judge_minus_human": _estimate(found.difference, nouns),
        "judge_minus_human_98": [found.low98, found.high98],
    }


def _estimate(estimate: Estimate, nouns: Nouns) -> dict[str, Any]:
    return asdict(worded(estimate, nouns))


def print_studies(found: "Sequence[RatingStudy]", console: Console, explain: bool = False) -> None:
    """Print the one study, or the parts of a grading in one table; with `explain`, those with a headline whole."""
    first, *others = found
    if not others:
        print_study(first, console, explain)
        return
    rows: list[list[str]] = []
    for study in found:
        pooled, name = study.pooled, study.part.name or "grade"
        exact, people = pooled.estimates["exact"], pooled.within.one_human
        rows.append([name, str(len(pooled.compared)), percent(exact), coefficient(pooled.kappa), coefficient(people)])
    reasons = [(study.part.name, worded(study.pooled.kappa, study.nouns).reason) for study in found]
    show(console, *(line for study in leading(found) for line in (study_headline(study), _counts(study))))
    show(console, *([f"judge: {first.judge}"] if first.judge else []))
    show(console, table(("grade of", "items", "same, %", "kappa", "two raters"), rows), *each_reason(reasons))
    within = f", within {first.nouns.strata}" if len(first.order) > 1 else ""
    two = f"two raters: kappa of one with another{within}, which is usually lower."
    how = "commonest grade" if first.choices.consensus == "published" else "shares of grades"
    show(console, f"same, kappa: people's {how} and the judge's. {two}", *first.ratings.about)
    for study in leading(found) if explain else ():
        show(console, "")
        print_study(study, console, explain)


def _counts(study: "RatingStudy") -> str:
    raters, items = counted(len(study.raters), "rater"), counted(len(study.pooled.rated), "item")
    return f"{study.ratings.name}: {counted(study.count, 'rating')} of {items} by {raters}"


def print_study(study: "RatingStudy", console: Console, explain: bool = False) -> None:
    """Print what it shows, agreement with its references, and what a person must know to believe it.

    With `explain` what the numbers rest on follows: people among themselves, where the judge differs, rules.
    """
    pooled = study.pooled
    tables: list[str | TerminalTable] = []
    if pooled.reference.items:
        references = {name: subset.reference for name, subset in study.strata.items()}
        if len(study.order) > 1:
            references |= {"within": pooled.within, "pooled": pooled.reference}
        best = any(of.best_attainable.value is not None for of in references.values())
        against_one = [
            [
                *(name, str(of.items), *map(coefficient, (of.one_human, of.judge, of.difference))),
                *([plain(of.best_attainable)] if best else []),
            ]
            for name, of in references.items()
        ]
        weighted = "quadratic kappa" if study.part.scale == "ordinal" else "kappa"
        about = "; best: an estimate of what any judge can reach" if best else ""
        headings = ("", "items", "person", "judge", "judge - person", *(["best"] if best else []))
        tables = [f"Agreement with one person ({weighted}){about}", table(headings, against_one)]
    elif not explain:
        tables = [*_among(study)]
    judge = [f"judge: {study.judge}"] if study.judge else []
    voted = [voted_table(study.voted)] if study.voted else []
    show(console, study_headline(study), _counts(study), *judge, "", *tables, *voted, "", *cautions(study, explain))
    if explain:
        confused = ["", "Items by people's grade (rows) and the judge's (columns)", _confusion(study)]
        show(console, "", *_among(study), *(confused if pooled.compared else []), "", *_words(study))
        show(console, *([NOTE] if study.voted else []), *explanations(study), *_disagreement_lines(study))


def _among(study: "RatingStudy") -> list[str | TerminalTable]:
    """People among themselves, and the judge with the grade that they give to an item."""
    ordered = study.part.scale == "ordinal"
    among: list[list[str]] = []
    for name, subset in study.subsets.items():
        estimates = subset.estimates
        exact = "-" if estimates["exact"].value is None else f"{share(estimates['exact'].value, 0)} %"
        kappas = [coefficient(estimates["kappa"]), *([plain(subset.kappa)] if ordered else [])]
        among.append([name, str(subset.paired), coefficient(subset.alpha), str(len(subset.compared)), exact, *kappas])
    kappas, alpha = (("kappa", "quadratic"), "ordinal") if ordered else (("kappa",), "nominal")
    how = "shares of grades" if study.choices.consensus == "soft" else "commonest grade"
    title = f"People among themselves ({alpha} alpha); the judge with their {how}"
    return [title, table(("", "ratings", "alpha", "items", "exact", *kappas), among)]


def _confusion(study: "RatingStudy") -> TerminalTable:
    """A block of columns a stratum, and below it the judge's mean score less that of people."""
    subsets, levels = [*study.strata.values()], study.part.levels

    def block(cells: Sequence[str]) -> str:
        return "".join(f"{cell:>{max(5, len(level) + 1)}}" for cell, level in zip(cells, levels, strict=True))

    heads = block([level.lower() for level in levels])
    counts = [[[f"{round(count, 1):g}" for count in row] for row in subset.confusion] for subset in subsets]
    rows = [(level, *(block(each[place]) for each in counts)) for place, level in enumerate(levels)]
    ordered = study.part.scale == "ordinal"
    bias = [("judge - people", *(points_of(subset.estimates["bias"]) for subset in subsets))] if ordered else []
    return table(("", *(Text(f"{name}\n{heads}") for name in study.strata)), rows, *([bias] if ordered else []))


def _words(study: "RatingStudy") -> Iterator[str]:
    """What the tables' words mean."""
    raters, nouns = study.pooled.reference.raters or 0, study.nouns
    whose = "generalise to similar raters" if raters >= ENOUGH_RATERS else "speak of these raters alone"
    yield (
        f"Agreement is 1 at best and 0 by chance. [95 % intervals] are jackknives over {nouns.groups}, those of exact "
        "and judge - people cluster-robust; all but those of single raters generalise to other "
        f"{nouns.groups}, and {whose}."
    )
    least = max(2, study.choices.min_ratings)
    yield f"person, judge: against one rater at a time, on items with {least} ratings or more."
    if len(study.order) > 1:
        yield (
            f"within: within {nouns.strata}, averaged over them. pooled: lies higher where {nouns.strata} differ in "
            f"level; a judge that reads nothing and gives each {nouns.stratum} its commonest grade has "
            f"{plain(study.pooled.constant)} there. ratings, by alpha: of those items."
        )
    best = {name: subset.reference.best_attainable for name, subset in study.subsets.items()}
    if any(each.value is not None for each in best.values()):
        reached = ", ".join(f"{name} {coefficient(each)}" for name, each in best.items())
        yield (
            "best: the kappa of a judge that knows each item's expected grade and cuts it best, computed for items "
            f"whose raters give grades in these shares and agree as far as person: {reached}."
        )
    first, *others = study.part.ties
    ties = f"commonest grade: ties go to {', then '.join([first, *others])}. "
    weights = (
        "quadratic: kappa with quadratic weights. judge - people: mean level, by equal steps, in points of 100; above "
        "0 the judge is the more lenient."
        if study.part.scale == "ordinal"
        else "kappa: unweighted, for levels have no order."
    )
    yield f"{ties if study.choices.consensus == 'published' else ''}{weights}"


_SHOWN, _LONGEST = 10, 400
"""Items on which judge and people differ, and characters of a reason, on a terminal."""


def _disagreement_lines(study: "RatingStudy") -> Iterator[str]:
    found = study.disagreements
    if not found:
        return
    yield ""
    some = f"; {_SHOWN} of them here, all in the JSON" if len(found) > _SHOWN else ""
    compared = counted(len(study.pooled.compared), "item")
    yield f"Where the judge and people disagree, largest difference first: {len(found)} of {compared}{some}"
    for each, _ in found[:_SHOWN]:
        counts = Counter(each.grades)
        people = ", ".join(f"{level} {counts[level]}" for level in reversed(study.part.levels) if counts[level])
        yield f"{each.item.key} ({each.item.stratum}): judge {each.judge}, people {people}"
        said = [("judge", reason) for reason in study.reasons(each.item)]
        said += [(f"{rating.rater}, {rating.grade}", rating.reason) for rating in each.ratings]
        for whose, reason in said:
            if text := " ".join(reason.split()):
                yield f"  {whose}: {text if len(text) <= _LONGEST else f'{text[:_LONGEST]}...'}"


_CIRCULAR = "This is circular: dropping those who disagree with the judge raises the agreement with the judge."


def cautions(study: "RatingStudy", explain: bool = True) -> Iterator[str]:
    """What misleads whoever does not know it; without the explanation, only of the numbers in the first table."""
    rated, enough, compared = study.pooled.rated, study.pooled.enough, study.pooled.compared
    nouns = study.nouns
    yield from study.ratings.notes(nouns)
    if any(not each.item.group for each in rated):
        yield f"items without a {nouns.group} count as one {nouns.group}"
    if few := len(rated) - len(enough):
        yield (
            f"items with fewer than {study.choices.min_ratings} ratings, left out of what the judge is compared on, "
            f"not of alpha: {few}"
        )
    if compared and (unjudged := len(enough) - len(compared)):
        yield f"items without a grade of the judge, left out of what it is compared on, not of alpha: {unjudged}"
    if study.excluded:
        yield f"left out by the published rule: {', '.join(study.excluded)}. {_CIRCULAR}"
    if study.learned_on:
        yield (
            f"the judge's program was compiled on the {nouns.rows} of {study.learned_on} of these items: its "
            "agreement on them is no test. Its card has the agreement out of fold: dspy-proact optimize show FILE"
        )
    yield from study.ratings.about
    yield from _missing(study, explain)


def _missing(study: "RatingStudy", explain: bool) -> Iterator[str]:
    """Why a number or an interval of the tables is not there, or what is wrong with it."""
    concerned: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    three = len(study.part.levels) == 3 and study.part.scale == "ordinal"
    paired = study.pooled.reference.items
    for name, subset in study.subsets.items():
        of, shown = subset.reference, dict[str, Estimate]()
        if paired or explain:
            shown = {"person": of.one_human, "judge": of.judge, "judge - person": of.difference}
            shown |= {"best": of.best_attainable} if three else {}
        if explain or not paired:
            found = subset.estimates
            shown = {"alpha": subset.alpha, **shown, "exact": found["exact"], "kappa": subset.kappa}
            shown |= {"judge - people": found["bias"]} if explain and "bias" in found else {}
        reasons: defaultdict[str, list[str]] = defaultdict(list)
        for what, estimate in shown.items():
            for reason in estimate.reason.split("; ") if estimate.reason else ():
                reasons[reason].append(what)
        for reason, lacking in reasons.items():
            concerned[reason, tuple(lacking)].append(name)
    for (reason, lacking), names in concerned.items():
        where = "" if len(names) == len(study.subsets) else f" of {', '.join(names)}"
        yield f"{', '.join(lacking)}{where}: {study.nouns.translated(reason)}"


def explanations(study: "RatingStudy") -> Iterator[str]:
    """Who stands apart, how the judge fares by the alt-test, and what such items can show."""
    if study.apart:
        raters = ", ".join(f"{each.rater} {coefficient(each.against_others)}" for each in study.apart)
        yield (
            f"standing apart from the other raters, by kappa with them: {raters}. Two raters reach "
            f"{plain(study.whole.reference.one_human)} on average. By chance alone one rater in 40 falls so low; "
            f"here are {len(study.whole.standings)}."
        )
    excluded = set(study.whole.excluded) - set(study.excluded)
    if would := [each for each in study.whole.standings if str(each.rater) in excluded]:
        named = ", ".join(f"{each.rater} (kappa with the judge {plain(each.against_judge)})" for each in would)
        yield f"the published rule would leave out {named}. {_CIRCULAR}"
    if alternative := study.pooled.alt_test:
        rate = alternative.winning_rate
        won = f"the judge wins over {100 * (rate.value or 0):.0f} % of raters at epsilon {study.pooled.epsilon}"
        yield (
            str(rate.reason)
            if rate.value is None
            else f"alt-test {'passed' if alternative.passed else 'failed'}: {won}"
        )
        if alternative.advantage.value is not None:
            yield (
                f"advantage: at {percent(alternative.advantage)} % of a rater's items the judge is at least as near to "
                f"the others' grades as that rater, counting ties, which are {percent(alternative.ties)} %"
            )
