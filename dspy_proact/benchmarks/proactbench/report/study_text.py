"""What a study shows of a judge beside people: one plain sentence that claims no more than the numbers carry."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from dspy_proact.benchmarks.proactbench.corpus import SAMPLE
from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.benchmarks.proactbench.report.published_rule import PublishedRule
from dspy_proact.benchmarks.proactbench.report.study import Study
from dspy_proact.benchmarks.proactbench.report.study_part import EPSILON, LABELS, Part, parting_document, parting_lines
from dspy_proact.benchmarks.proactbench.types import Grade
from dspy_proact.report.measured import worded
from dspy_proact.report.numbers import MEASURES_NOTHING, bounds, coefficient, counted, percent, plain, points_of, share
from dspy_proact.report.terminal import Table, show, table
from dspy_proact.stats import CLAIM_GROUPS, ENOUGH_RATERS, SHARE_ITEMS, Estimate, Standing


def study_headline(study: Study) -> str:
    """Whether the judge agrees with a person more or less than another person does, within phases, averaged over them.

    It is said where the 98 % interval of the difference says so, of 30 items or more in ten scenarios or more, and of
    other raters like these where there are four or more, else of these alone. Where there is no judge, how far people
    agree with each other; where nobody rated an item twice, that nothing can be said.
    """
    begin = MEASURES_NOTHING if study.embedded else ""
    return f"{begin}{'; '.join([_told(study), *_reserved(study)])}."


def _told(study: Study) -> str:
    found = study.pooled.within
    person, items = _person(study), f"the {counted(found.items, 'item')} with two ratings or more"
    if not found.items:
        return f"Nothing can be said of a judge beside a {person}, for no item has the ratings of two"
    # Of fewer raters nothing is claimed but of them.
    few_raters = (found.raters or 0) < ENOUGH_RATERS
    one = f"one of these {found.raters or 'few'} raters" if few_raters else f"a {person}"
    another = "another of them" if few_raters else f"another {person}"
    people = f"{one} agrees with {another} at kappa {_kappa(found.one_human, _carried(study))}, within phases"
    if not study.pooled.compared:
        return f"On {items} {people}; no judge is compared, for {study.pooled.silence}"
    judge, difference, few = study.judge or "the judge", found.difference, _too_few(study)
    if difference.value is None or difference.low is None or difference.high is None:
        why = f"their difference has no interval: {worded(difference, NOUNS).reason}"
        return f"On {items} nothing can be said of {judge} beside {one}, for {why}"
    span = bounds(worded(difference, NOUNS), lambda value: f"{value:+.2f}")
    kappas = (
        f"kappa within phases {plain(found.judge)} and {plain(found.one_human)}, difference {difference.value:+.2f}, "
        f"{span}{_carried(study)}"
    )
    if few:
        kappas = f"{kappas}; {few} would be too few for a claim"
    elif (found.low98 or 0) > 0 or (found.high98 or 0) < 0:
        side = "better" if (found.low98 or 0) > 0 else "less well"
        return f"On {items} {judge} agrees with {one} {side} than {another} does ({kappas})"
    elif found.low98 is not None and found.high98 is not None and (difference.low > 0 or difference.high < 0):
        kappas = f"{kappas}; by the 98 % interval, {found.low98:+.2f} to {found.high98:+.2f}, which decides"
    return (
        f"On {items} it cannot be told whether {judge} agrees with {one} better or less well than {another} does "
        f"({kappas})"
    )


def _too_few(study: Study) -> str | None:
    """What there is too little of for a claim; None where there is enough."""
    found = study.pooled.within
    scenarios = len({each.item.scenario for each in study.pooled.compared if len(each.ratings) > 1})
    if scenarios < CLAIM_GROUPS:
        return counted(scenarios, "scenario")
    return counted(found.items, "item") if found.items < SHARE_ITEMS else None


def _carried(study: Study) -> str:
    """Of whom the interval speaks; of too few raters the interval says it itself."""
    raters = study.pooled.reference.raters or 0
    return f", of other raters like these {raters}" if raters >= ENOUGH_RATERS else ""


def _person(study: Study) -> str:
    return "rater" if study.ratings.name == SAMPLE else "person"


def _kappa(estimate: Estimate, carried: str) -> str:
    if estimate.value is None:
        return f"unknown ({estimate.reason})"
    told = carried if estimate.low is not None else ""
    return f"{plain(estimate)} ({bounds(worded(estimate, NOUNS), lambda value: f'{value:.2f}')}{told})"


def _reserved(study: Study) -> Iterator[str]:
    """Why it may be something else than it seems."""
    if study.ratings.name == SAMPLE:
        yield "these raters are language-model agents, not people"
    if study.learned_on:
        yield f"the judge was compiled on {study.learned_on} of the rated items, so that this is no test of it"
    if study.excluded:
        yield "raters who disagree with the judge were left out, which raises its agreement"


_NO_INTERVAL = "the share of raters over whom the judge wins: it has no interval"


def study_document(study: Study) -> dict[str, Any]:
    """The document of `agree --json`. A value that cannot be given is null, and has a reason."""
    parts = {str(phase): part for phase, part in study.phases.items()}
    apart = {each.rater for each in study.apart}
    return {
        "headline": study_headline(study),
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
        "judge": study.judge or None,
        "consensus": study.choices.consensus,
        "min_ratings": study.choices.min_ratings,
        "phases": {name: _part(part) for name, part in parts.items()},
        "within": _within(study.pooled),
        "pooled": _part(study.pooled),
        "constant_by_phase": _estimate(study.pooled.constant),
        "published": {name: _published(part.published, part) for name, part in parts.items()},
        "raters": [_standing(each, study) | {"apart": each.rater in apart} for each in study.whole.standings],
        "partings": [parting_document(each) for each in study.partings],
        "notes": list(findings(study)),
    }


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
        "alt_test": Estimate(rate.value, reason=rate.reason or _NO_INTERVAL) if rate else missing,
        "alt_test_advantage": alternative.advantage if alternative else missing,
    }
    return {
        "items": len(part.enough),
        "judged": len(part.compared),
        "ratings": part.ratings,
        "paired_ratings": part.paired,
        "raters": reference.raters,
        "judge_minus_human_98": [reference.low98, reference.high98],
        "confusion": part.counts,
        **{name: _estimate(estimate) for name, estimate in estimates.items()},
    }


def _within(part: Part) -> dict[str, Any]:
    """Kappas within phases, averaged over them, of which the headline speaks."""
    found = part.within
    kappas = {"human_reference": found.one_human, "judge_against_one_human": found.judge}
    return {
        "items": found.items,
        "raters": found.raters,
        **{name: _estimate(estimate) for name, estimate in kappas.items()},
        "judge_minus_human": _estimate(found.difference),
        "judge_minus_human_98": [found.low98, found.high98],
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return asdict(worded(estimate, NOUNS))


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


def _standing(standing: Standing, study: Study) -> dict[str, Any]:
    return {
        "rater": str(standing.rater),
        "ratings": standing.ratings,
        "against_others": _estimate(standing.against_others),
        "against_judge": _estimate(standing.against_judge),
        "excluded_by_published_rule": standing.rater in study.whole.excluded,
    }


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
    found = {str(phase): part.reference for phase, part in study.phases.items()}
    found |= {"within": study.pooled.within, "pooled": study.pooled.reference}
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
        "more. within: within phases, averaged over them. pooled: lies higher where phases differ in level; a judge "
        f"that reads nothing and gives each phase its commonest grade has {plain(study.pooled.constant)} there. "
        "ratings, by alpha: of those items."
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


_CIRCULAR = "This is circular: dropping those who disagree with the judge raises the agreement with the judge."


def findings(study: Study) -> Iterator[str]:
    """What a person should know before believing a figure, and what the figures show."""
    yield from cautions(study)
    yield from explanations(study)


def cautions(study: Study) -> Iterator[str]:
    """What misleads whoever does not know it: what was left out, whose ratings they are, which number is not there."""
    yield from study.ratings.notes
    yield from _left_out(study)
    if study.learned_on:
        yield (
            f"the judge's program was compiled on the conversations of {study.learned_on} of these items: its "
            "agreement on them is no test. Its card has the agreement out of fold: dspy-proact optimize show FILE"
        )
    yield from _missing(study)
    if study.ratings.name == SAMPLE:
        yield (
            "The sample was rated by its authors, who are language-model agents: it shows how this works, and says "
            "nothing about people."
        )


def explanations(study: Study) -> Iterator[str]:
    """Who stands apart, how the judge fares by the alt-test, and what such items can show."""
    yield from _about_raters(study)
    yield from _alternative(study)
    if study.balanced:
        yield (
            "The published items were drawn by the judge's grade, in about equal numbers: no rate on them, and no "
            "leniency, is one in the corpus. They are too few to rank judges, or to show that one has improved."
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
            f"{plain(study.whole.reference.one_human)} on average. By chance alone one rater in 40 falls so low; "
            f"here are {len(study.whole.standings)}."
        )
    would = [
        each
        for each in study.whole.standings
        if str(each.rater) in study.whole.excluded and str(each.rater) not in study.excluded
    ]
    if would:
        told = ", ".join(f"{each.rater} (kappa with the judge {plain(each.against_judge)})" for each in would)
        yield (f"the published rule (--exclude published) would leave out {told}. {_CIRCULAR}")


def _missing(study: Study) -> Iterator[str]:
    """Why a number or an interval of the tables is not there, or what is wrong with it."""
    concerned: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for name, part in study.parts.items():
        reference = part.reference
        shown = {
            "alpha": part.alpha("ordinal"),
            "person": reference.one_human,
            "judge": reference.judge,
            "judge - person": reference.difference,
            "best": reference.best_attainable,
            "exact": part.exact,
            "kappa": part.kappa("quadratic"),
            "judge - people": part.bias,
        }
        reasons: defaultdict[str, list[str]] = defaultdict(list)
        for what, estimate in shown.items():
            for reason in estimate.reason.split("; ") if estimate.reason else ():
                reasons[reason].append(what)
        for reason, lacking in reasons.items():
            concerned[reason, tuple(lacking)].append(name)
    for (reason, lacking), names in concerned.items():
        where = "" if len(names) == len(study.parts) else f" of {', '.join(names)}"
        yield f"{', '.join(lacking)}{where}: {NOUNS.worded(reason)}"
