"""Studies as plain sentences that claim no more than the numbers carry, as JSON, and on a terminal."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from dspy_proact.evaluation.registry import reporting_of
from dspy_proact.report.glossary import explained
from dspy_proact.report.headline import study_headline
from dspy_proact.report.measured import in_nouns
from dspy_proact.report.numbers import counted, document, fields_of, percent, plain, points_of, share
from dspy_proact.report.terminal import TerminalTable, reason_lines, show, table
from dspy_proact.report.voted import TERMS, voted_notes, voted_table
from dspy_proact.runs import Nouns
from dspy_proact.stats import ENOUGH_RATERS, Estimate, HumanReference

if TYPE_CHECKING:
    from dspy_proact.report.study import RatingStudy, Subset


def leading(studies: "Sequence[RatingStudy]") -> "list[RatingStudy]":
    """The studies of parts that are the first of some answers, to which headlines are given."""
    seen, first = set[str](), list["RatingStudy"]()
    for study in studies:
        keys = {item.key for item in study.pooled.rated}
        first += [study] if keys - seen else []
        seen |= keys
    return first


def studies_document(studies: "Sequence[RatingStudy]") -> dict[str, Any]:
    """The document of `agree --json`: of the one study, or by part of a grading; what is unknown is null, with why."""
    documents = [_study_document(study) for study in studies]
    if len(studies) == 1:
        return documents[0]
    return {"parts": {study.part.name or "grade": document for study, document in zip(studies, documents, strict=True)}}


def _study_document(study: "RatingStudy") -> dict[str, Any]:
    ratings, pooled, nouns = study.ratings, study.pooled, study.nouns
    within = {"items": pooled.within.items, **_of_reference(pooled.within, nouns)}
    first = study_headline(study)
    return {
        "headline": first.text,
        "claim": first.claim,
        "ratings": {
            **fields_of(ratings, "name", "sha256"),
            **fields_of(ratings.source, "origin", "commit"),
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
        **({"voted": document([in_nouns(row, nouns) for row in study.voted])} if study.voted else {}),
        "raters": [
            {
                "rater": str(rater.rater),
                "ratings": rater.ratings,
                "against_others": _estimate(rater.against_others, nouns),
                "against_judge": _estimate(rater.against_judge, nouns),
                "excluded_by_published_rule": rater.rater in study.all_raters.excluded,
            }
            for rater in study.all_raters.standings
        ],
        "disagreements": [
            {
                "item": item.key,
                nouns.stratum: item.stratum,
                nouns.group: item.group,
                **{name: value for name, value in item.meta.items() if name == "turn"},
                "difference": difference,
                "judge": {"grade": study.pooled.judged(item), "reasons": list(study.reasons(item))},
                "people": [
                    fields_of(grade, "rater", "grade", "confidence", "reason") for grade in item.grades[study.part.name]
                ],
            }
            for item, difference in study.disagreements
        ],
        "notes": [*cautions(study), *explanations(study)],
        **reporting_of(ratings.benchmark).agreement(study).document,
    }


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
        "ratings": sum(len(subset.grades(item)) for item in subset.rated),
        "paired_ratings": subset.paired,
        "confusion": subset.confusion,
        **_of_reference(subset.reference, nouns),
        **{name: _estimate(estimate, nouns) for name, estimate in estimates.items()},
    }


def _of_reference(reference: HumanReference, nouns: Nouns) -> dict[str, Any]:
    return {
        "raters": reference.raters,
        "human_reference": _estimate(reference.one_human, nouns),
        "judge_against_one_human": _estimate(reference.judge, nouns),
        "judge_minus_human": _estimate(reference.difference, nouns),
        "judge_minus_human_98": [reference.low98, reference.high98],
    }


def _estimate(estimate: Estimate, nouns: Nouns) -> dict[str, Any]:
    return asdict(in_nouns(estimate, nouns))


def print_studies(studies: "Sequence[RatingStudy]", console: Console | None = None, explain: bool = False) -> None:
    """Print the one study, or the parts of a grading in one table; with `explain`, those with a headline whole."""
    first, *others = studies
    if not others:
        print_study(first, console, explain)
        return
    rows: list[list[str]] = []
    for study in studies:
        pooled, name = study.pooled, study.part.name or "grade"
        exact, people = pooled.estimates["exact"], pooled.within.one_human
        rows.append([name, str(len(pooled.compared)), percent(exact), str(pooled.kappa), str(people)])
    reasons = [(study.part.name, in_nouns(study.pooled.kappa, study.nouns).reason) for study in studies]
    show(console, *(line for study in leading(studies) for line in (*study_headline(study).lines, _counts(study))))
    show(console, *([f"judge: {first.judge}"] if first.judge else []))
    show(console, table(("grade of", "items", "same, %", "kappa", "two raters"), rows), *reason_lines(reasons))
    within = f", within {first.nouns.strata}" if len(first.order) > 1 else ""
    two = f"two raters: kappa of one with another{within}, which is usually lower."
    how = "commonest grade" if first.choices.consensus == "published" else "shares of grades"
    show(console, f"same, kappa: people's {how} and the judge's. {two}", *first.ratings.about)
    for study in leading(studies) if explain else ():
        show(console, "")
        print_study(study, console, explain)


def _counts(study: "RatingStudy") -> str:
    raters, items = counted(len(study.raters), "rater"), counted(len(study.pooled.rated), "item")
    return f"{study.ratings.name}: {counted(study.count, 'rating')} of {items} by {raters}"


def print_study(study: "RatingStudy", console: Console | None = None, explain: bool = False) -> None:
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
                *(name, str(of.items), *map(str, (of.one_human, of.judge, of.difference))),
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
    voted: list[str | TerminalTable] = [voted_table(study.voted)] if study.voted else []
    voted += voted_notes([in_nouns(row, study.nouns) for row in study.voted])
    show(
        console,
        *study_headline(study).lines,
        _counts(study),
        *judge,
        "",
        *tables,
        *voted,
        "",
        *cautions(study, explain),
    )
    if explain:
        confused = ["", "Items by people's grade (rows) and the judge's (columns)", _confusion(study)]
        show(console, "", *_among(study), *(confused if pooled.compared else []), "", *_words(study))
        show(
            console,
            *([explained(study.nouns, *TERMS)] if study.voted else []),
            *explanations(study),
            *_disagreement_lines(study),
        )


def _among(study: "RatingStudy") -> list[str | TerminalTable]:
    """People among themselves, and the judge with the grade that they give to an item."""
    ordered = study.part.scale == "ordinal"
    among: list[list[str]] = []
    for name, subset in study.subsets.items():
        estimates = subset.estimates
        exact = "-" if estimates["exact"].value is None else f"{share(estimates['exact'].value, 0)} %"
        kappas = [str(estimates["kappa"]), *([plain(subset.kappa)] if ordered else [])]
        among.append([name, str(subset.paired), str(subset.alpha), str(len(subset.compared)), exact, *kappas])
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
    rows = [(level, *(block(count[index]) for count in counts)) for index, level in enumerate(levels)]
    ordered = study.part.scale == "ordinal"
    bias = [("judge - people", *(points_of(subset.estimates["bias"]) for subset in subsets))] if ordered else []
    return table(("", *(Text(f"{name}\n{heads}") for name in study.strata)), rows, *([bias] if ordered else []))


def _words(study: "RatingStudy") -> Iterator[str]:
    raters, nouns = study.pooled.reference.raters or len(study.raters), study.nouns
    whose = "generalise to similar raters" if raters >= ENOUGH_RATERS else "speak of these raters alone"
    beside = " and against the majority" if study.voted and raters >= ENOUGH_RATERS else ""
    yield (
        f"Agreement is 1 at best and 0 by chance. [95 % intervals] are jackknives over {nouns.groups}, those of exact "
        f"and judge - people cluster-robust; all but those of single raters{beside} generalise to other "
        f"{nouns.groups}, and {whose}."
    )
    least = max(2, study.choices.min_ratings)
    yield f"{explained(nouns, 'person, judge')[:-1]}, on items with {least} ratings or more."
    if len(study.order) > 1:
        constant = f"a judge that reads nothing and gives each {nouns.stratum} its commonest grade has"
        known = study.pooled.constant.value is not None
        there = f" There {constant} {plain(study.pooled.constant)}." if known else ""
        yield f"{explained(nouns, 'within', 'pooled')}{there}"
    best = {name: subset.reference.best_attainable for name, subset in study.subsets.items()}
    if any(estimate.value is not None for estimate in best.values()):
        reached = ", ".join(f"{name} {estimate}" for name, estimate in best.items())
        yield f"{explained(nouns, 'best')[:-1]}: {reached}."
    first, *others = study.part.ties
    ties = f"commonest grade: ties go to {', then '.join([first, *others])}. "
    weights = "kappa: unweighted, for levels have no order."
    if study.part.scale == "ordinal":
        weights = explained(nouns, "quadratic", "judge - people")
    yield f"{ties if study.choices.consensus == 'published' else ''}{weights}"


_SHOWN, _LONGEST = 10, 400
"""Items on which judge and people differ, and characters of a reason, on a terminal."""


def _disagreement_lines(study: "RatingStudy") -> Iterator[str]:
    differing = study.disagreements
    if not differing:
        return
    yield ""
    some = f"; {_SHOWN} of them here, all in the JSON" if len(differing) > _SHOWN else ""
    compared = counted(len(study.pooled.compared), "item")
    yield f"Where the judge and people disagree, largest difference first: {len(differing)} of {compared}{some}"
    for item, _ in differing[:_SHOWN]:
        counts = Counter(study.pooled.grades(item))
        people = ", ".join(f"{level} {counts[level]}" for level in reversed(study.part.levels) if counts[level])
        yield f"{item.key} ({item.stratum}): judge {study.pooled.judged(item)}, people {people}"
        reasons = [("judge", reason) for reason in study.reasons(item)]
        reasons += [(f"{grade.rater}, {grade.grade}", grade.reason) for grade in item.grades[study.part.name]]
        for whose, reason in reasons:
            if text := " ".join(reason.split()):
                yield f"  {whose}: {text if len(text) <= _LONGEST else f'{text[:_LONGEST]}...'}"


_CIRCULAR = "This is circular: dropping those who disagree with the judge raises the agreement with the judge."


def cautions(study: "RatingStudy", explain: bool = True) -> Iterator[str]:
    """What misleads whoever does not know it; without the explanation, only of the numbers in the first table."""
    rated, enough, compared = study.pooled.rated, study.pooled.enough, study.pooled.compared
    nouns = study.nouns
    yield from study.ratings.notes(nouns)
    if any(not item.group for item in rated):
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
            estimates = subset.estimates
            shown = {"alpha": subset.alpha, **shown, "exact": estimates["exact"], "kappa": subset.kappa}
            shown |= {"judge - people": estimates["bias"]} if explain and "bias" in estimates else {}
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
    """How each rater agrees with the others, whom a published rule would leave out, and the alt-test."""
    standings = [standing for standing in study.all_raters.standings if standing.against_others.value is not None]
    if standings:
        standings.sort(key=lambda standing: standing.against_others.value or 0.0)
        kappas = ", ".join(f"{standing.rater} {plain(standing.against_others)}" for standing in standings)
        yield (
            f"kappa of each rater with the others: {kappas}. Two raters reach "
            f"{plain(study.all_raters.reference.one_human)} on average. A rater's kappa also depends on whom they are "
            "beside: where few rate, what one does moves the numbers of all."
        )
    excluded = set(study.all_raters.excluded) - set(study.excluded)
    if would := [standing for standing in study.all_raters.standings if str(standing.rater) in excluded]:
        named = (f"{standing.rater} (kappa with the judge {plain(standing.against_judge)})" for standing in would)
        yield f"the published rule would leave out {', '.join(named)}. {_CIRCULAR}"
    if alternative := study.pooled.alt_test:
        rate = alternative.winning_rate
        won = f"the judge wins over {100 * (rate.value or 0):.0f} % of raters at epsilon {study.pooled.epsilon}"
        passed = f"alt-test {'passed' if alternative.passed else 'failed'}: {won}"
        yield passed if rate.value is not None else str(rate.reason)
        if alternative.advantage.value is not None:
            yield (
                f"advantage: at {percent(alternative.advantage)} % of a rater's items the judge is at least as near to "
                f"the others' grades as that rater, counting ties, which are {percent(alternative.ties)} %"
            )
