"""A study as one plain sentence that claims no more than the numbers carry, as JSON, and on a terminal."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from dspy_proact.benchmarks.proactbench.corpus.bundled import SAMPLE
from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.benchmarks.proactbench.report.study import EPSILON, LABELS, Part, Study
from dspy_proact.benchmarks.proactbench.types import Grade
from dspy_proact.report.measured import worded
from dspy_proact.report.numbers import (
    MEASURES_NOTHING,
    bounds,
    coefficient,
    counted,
    listed,
    percent,
    plain,
    points_of,
    share,
)
from dspy_proact.report.terminal import Table, show, table
from dspy_proact.stats import CLAIM_GROUPS, ENOUGH_RATERS, SHARE_ITEMS, Estimate, HumanReference

_LIKE_THESE = ", allowing for a different sample of raters"
"""Of whom an interval speaks from four raters on; with fewer its reason says it."""


def study_headline(study: Study) -> str:
    """Whether the judge agrees with a person more or less than another person does, within phases, averaged over them.

    It is said where the 98 % interval of the difference says so, of 30 items or more in ten scenarios or more, and of
    other raters where there are four or more, else of these alone. Where there is no judge, how far people agree with
    each other; where nobody rated an item twice, that nothing can be said.
    """
    reserved: list[str] = []
    if study.ratings.name == SAMPLE:
        reserved.append("these raters are language-model agents, not people")
    if study.learned_on:
        reserved.append(
            f"the judge was compiled on {study.learned_on} of the rated items, so that this is no test of it"
        )
    if study.excluded:
        reserved.append("raters who disagree with the judge were left out, which raises its agreement")
    return f"{MEASURES_NOTHING if study.embedded else ''}{'; '.join([_finding(study), *reserved])}."


def _finding(study: Study) -> str:
    found = study.pooled.within
    raters = found.raters or 0
    person = "rater" if study.ratings.name == SAMPLE else "person"
    if not found.items:
        return f"Nothing can be said of a judge beside a {person}, for no item has the ratings of two"
    # Of fewer raters nothing is claimed but of them.
    few_raters = raters < ENOUGH_RATERS
    one = f"one of these {raters or 'few'} raters" if few_raters else f"a {person}"
    another = "another of them" if few_raters else f"another {person}"
    judge = study.judge or ("GPT-5.4" if study.ratings.published else "the judge")
    begin = f"On the {counted(found.items, 'item')} with two ratings or more"
    of_whom = _LIKE_THESE if (study.pooled.reference.raters or 0) >= ENOUGH_RATERS else ""
    if not study.pooled.compared:
        people = f"unknown ({found.one_human.reason})"
        if found.one_human.value is not None:
            span = bounds(worded(found.one_human, NOUNS), lambda value: f"{value:.2f}")
            people = f"{plain(found.one_human)} ({span}{of_whom if found.one_human.low is not None else ''})"
        return (
            f"{begin} {one} agrees with {another} at kappa {people}, within phases; no judge is compared, for "
            f"{study.pooled.silence}"
        )
    difference = worded(found.difference, NOUNS)
    if difference.value is None or difference.low is None or difference.high is None:
        why = f"their difference has no interval: {difference.reason}"
        return f"{begin} nothing can be said of {judge} beside {one}, for {why}"
    kappas = (
        f"kappa within phases {plain(found.judge)} and {plain(found.one_human)}, difference {difference.value:+.2f}, "
        f"{bounds(difference, lambda value: f'{value:+.2f}')}{of_whom}"
    )
    scenarios = len({each.item.scenario for each in study.pooled.compared if len(each.ratings) > 1})
    low, high = found.low98 or 0, found.high98 or 0
    if scenarios < CLAIM_GROUPS or found.items < SHARE_ITEMS:
        few = counted(scenarios, "scenario") if scenarios < CLAIM_GROUPS else counted(found.items, "item")
        kappas = f"{kappas}; {few} would be too few for a claim"
    elif low > 0 or high < 0:
        side = "better" if low > 0 else "less well"
        return f"{begin} {judge} agrees with {one} {side} than {another} does ({kappas}{_by_phase(study)})"
    elif found.low98 is not None and (difference.low > 0 or difference.high < 0):
        kappas = f"{kappas}; by the 98 % interval, {low:+.2f} to {high:+.2f}, which decides"
    side = f"better or less well than {another} does"
    return f"{begin} it cannot be told whether {judge} agrees with {one} {side} ({kappas})"


def _by_phase(study: Study) -> str:
    """Which phases show the difference by themselves, where several were rated and not all do."""
    rated = {name: part.reference.difference for name, part in study.phases.items() if part.reference.items}
    showing = [name for name, apart in rated.items() if (apart.low or 0) > 0 or (apart.high or 0) < 0]
    if len(rated) == len(showing) or len(rated) == 1:
        return ""
    return f"; by phase, the interval excludes 0 in {f'{listed(showing)} only' if showing else 'none'}"


def study_document(study: Study) -> dict[str, Any]:
    """The document of `agree --json`. A value that cannot be given is null, and has a reason."""
    ratings, pooled, apart = study.ratings, study.pooled, {each.rater for each in study.apart}
    within = {"items": pooled.within.items, **_of_reference(pooled.within)}
    return {
        "headline": study_headline(study),
        "ratings": {
            "name": ratings.name,
            "origin": ratings.source.origin,
            "commit": ratings.source.commit,
            "sha256": ratings.sha256,
            "items": len(ratings.items),
            "ratings": len(ratings.ratings),
            "raters": len(ratings.annotators),
            "excluded": list(study.excluded),
        },
        "embedded": study.embedded,
        "judge": study.judge or None,
        "consensus": study.choices.consensus,
        "min_ratings": study.choices.min_ratings,
        "phases": {str(phase): _part(part) for phase, part in study.phases.items()},
        "within": within,
        "pooled": _part(pooled),
        "constant_by_phase": _estimate(pooled.constant),
        "published": {str(phase): _published(part) for phase, part in study.phases.items()},
        "raters": [
            {
                "rater": str(each.rater),
                "ratings": each.ratings,
                "against_others": _estimate(each.against_others),
                "against_judge": _estimate(each.against_judge),
                "excluded_by_published_rule": each.rater in study.whole.excluded,
                "apart": each.rater in apart,
            }
            for each in study.whole.standings
        ],
        "partings": [
            {
                "item": each.item.key,
                "phase": str(each.item.phase),
                "scenario": each.item.scenario,
                "turn": each.item.turn,
                "difference": difference,
                "judge": {"grade": str(each.item.judge), "reasons": list(study.reasons.get(each.item.key, ()))},
                "people": [
                    {
                        "rater": one.annotator,
                        "grade": str(one.grade),
                        "confidence": one.confidence,
                        "reason": one.reason,
                    }
                    for one in each.ratings
                ],
            }
            for each, difference in study.disagreements
        ],
        "notes": [*cautions(study), *explanations(study)],
    }


def _part(part: Part) -> dict[str, Any]:
    if alternative := part.alt_test:
        rate, advantage = alternative.winning_rate, alternative.advantage
        no_interval = "the share of raters over whom the judge wins: it has no interval"
        wins = Estimate(rate.value, reason=rate.reason or no_interval)
    else:
        wins = advantage = part.missing
    estimates = {
        **part.estimates,
        "best_attainable": part.reference.best_attainable,
        "alt_test": wins,
        "alt_test_advantage": advantage,
    }
    return {
        "items": len(part.enough),
        "judged": len(part.compared),
        "ratings": sum(len(each.ratings) for each in part.rated),
        "paired_ratings": part.paired,
        "confusion": part.confusion,
        **_of_reference(part.reference),
        **{name: _estimate(estimate) for name, estimate in estimates.items()},
    }


def _of_reference(found: HumanReference) -> dict[str, Any]:
    return {
        "raters": found.raters,
        "human_reference": _estimate(found.one_human),
        "judge_against_one_human": _estimate(found.judge),
        "judge_minus_human": _estimate(found.difference),
        "judge_minus_human_98": [found.low98, found.high98],
    }


def _published(part: Part) -> dict[str, Any]:
    rule = part.published
    return {
        "items": rule.items,
        "ratings": rule.ratings,
        "confusion": [list(row) for row in rule.confusion],
        "exact": rule.exact,
        "alpha_ordinal": _estimate(rule.alpha if rule.ratings else part.missing),
        "kappa": _estimate(rule.kappa if rule.items else part.missing),
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return asdict(worded(estimate, NOUNS))


def print_study(study: Study, console: Console, explain: bool = False) -> None:
    """Print what it shows, agreement with its references, and what a person must know to believe it.

    With `explain` what the numbers rest on follows: people among themselves, where the judge differs, rules.
    """
    ratings, pooled = study.ratings, study.pooled
    raters, items = counted(len(ratings.annotators), "rater"), counted(len(pooled.rated), "item")
    references = {str(phase): part.reference for phase, part in study.phases.items()}
    references |= {"within": pooled.within, "pooled": pooled.reference}
    against_one = [
        [name, str(of.items), *map(coefficient, (of.one_human, of.judge, of.difference)), plain(of.best_attainable)]
        for name, of in references.items()
    ]
    show(
        console,
        study_headline(study),
        f"{ratings.name}: {counted(len(ratings.ratings), 'rating')} of {items} by {raters}",
        *([f"judge: {study.judge}"] if study.judge else []),
        "",
        "Agreement with one person (quadratic kappa); best: an estimate of what any judge can reach",
        table(("", "items", "person", "judge", "judge - person", "best"), against_one),
        "",
        *cautions(study, explain),
    )
    if explain:
        _explain(study, console)


def _explain(study: Study, console: Console) -> None:
    soft = study.choices.consensus == "soft"
    how = "shares of grades" if soft else "commonest grade"
    among: list[list[str]] = []
    for name, part in study.parts.items():
        estimates = part.estimates
        exact = "-" if estimates["exact"].value is None else f"{share(estimates['exact'].value, 0)} %"
        weighted = estimates["kappa_quadratic"]
        kappas = [coefficient(weighted)] if soft else [coefficient(estimates["kappa"]), plain(weighted)]
        alpha = coefficient(estimates["alpha_ordinal"])
        among.append([name, str(part.paired), alpha, str(len(part.compared)), exact, *kappas])
    kappas = ("quadratic kappa",) if soft else ("kappa", "quadratic")
    confused = ["", "Items by people's grade (rows) and the judge's (columns)", _confusion(study)]
    show(
        console,
        "",
        f"People among themselves (ordinal alpha); the judge with their {how}",
        table(("", "ratings", "alpha", "items", "exact", *kappas), among),
        *(confused if study.pooled.compared else []),
        "",
        *_words(study),
        *explanations(study),
        *_disagreement_lines(study),
    )


def _confusion(study: Study) -> Table:
    """A block of columns a phase, and below it the judge's mean score less that of people."""
    parts = study.phases.values()

    def block(cells: Sequence[str]) -> str:
        return "".join(f"{cell:>{width}}" for cell, width in zip(cells, (5, 8, 5), strict=True))

    def counts(row: Sequence[float]) -> str:
        return block([f"{round(count, 1):g}" for count in row])

    heads = block([grade.lower() for grade in LABELS])
    rows = [(grade, *(counts(part.confusion[place]) for part in parts)) for place, grade in enumerate(LABELS)]
    bias = ("judge - people", *(points_of(part.estimates["bias"]) for part in parts))
    return table(("", *(Text(f"{phase}\n{heads}") for phase in study.phases)), rows, [bias])


def _words(study: Study) -> Iterator[str]:
    """What the tables' words mean."""
    raters = study.pooled.reference.raters or 0
    whose = "generalise to similar raters" if raters >= ENOUGH_RATERS else "speak of these raters alone"
    yield (
        "Agreement is 1 at best and 0 by chance. [95 % intervals] are jackknives over scenarios, those of exact and "
        f"judge - people cluster-robust; all but those of single raters generalise to other scenarios, and {whose}."
    )
    yield (
        f"person, judge: against one rater at a time, on items with {max(2, study.choices.min_ratings)} ratings or "
        "more. within: within phases, averaged over them. pooled: lies higher where phases differ in level; a judge "
        f"that reads nothing and gives each phase its commonest grade has {plain(study.pooled.constant)} there. "
        "ratings, by alpha: of those items."
    )
    reached = (f"{name} {coefficient(part.reference.best_attainable)}" for name, part in study.parts.items())
    yield (
        "best: the kappa of a judge that knows each item's expected grade and cuts it best, computed for items whose "
        f"raters give grades in these shares and agree as far as person: {', '.join(reached)}."
    )
    ties = "commonest grade: ties go to PARTIAL, then PASS, then FAIL. quadratic: kappa with quadratic weights. "
    yield (
        f"{ties if study.choices.consensus == 'published' else ''}judge - people: mean score, in points of 100; above "
        "0 the judge is the more lenient."
    )


_SHOWN, _LONGEST = 10, 400
"""Items on which judge and people differ, and characters of a reason, on a terminal."""


def _disagreement_lines(study: Study) -> Iterator[str]:
    found = study.disagreements
    if not found:
        return
    yield ""
    some = f"; {_SHOWN} of them here, all with --json" if len(found) > _SHOWN else ""
    compared = counted(len(study.pooled.compared), "item")
    yield f"Where the judge and people disagree, largest difference first: {len(found)} of {compared}{some}"
    for each, _ in found[:_SHOWN]:
        counts = Counter(each.grades)
        people = ", ".join(f"{grade} {counts[grade]}" for grade in Grade if counts[grade])
        yield f"{each.item.key} ({each.item.phase}): judge {each.item.judge}, people {people}"
        said = [("judge", reason) for reason in study.reasons.get(each.item.key, ())]
        said += [(f"{rating.annotator}, {rating.grade}", rating.reason) for rating in each.ratings]
        for whose, reason in said:
            if text := " ".join(reason.split()):
                yield f"  {whose}: {text if len(text) <= _LONGEST else f'{text[:_LONGEST]}...'}"


_CIRCULAR = "This is circular: dropping those who disagree with the judge raises the agreement with the judge."


def cautions(study: Study, explain: bool = True) -> Iterator[str]:
    """What misleads whoever does not know it; without the explanation, only of the numbers in the first table."""
    rated, enough, compared = study.pooled.rated, study.pooled.enough, study.pooled.compared
    yield from study.ratings.notes
    if any(not each.item.scenario for each in rated):
        yield "items without a scenario count as one scenario"
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
            f"the judge's program was compiled on the conversations of {study.learned_on} of these items: its "
            "agreement on them is no test. Its card has the agreement out of fold: dspy-proact optimize show FILE"
        )
    yield from _missing(study, explain)
    if study.ratings.name == SAMPLE:
        yield (
            "The sample was rated by its authors, who are language-model agents: it shows how this works, and says "
            "nothing about people."
        )


def _missing(study: Study, explain: bool) -> Iterator[str]:
    """Why a number or an interval of the tables is not there, or what is wrong with it."""
    concerned: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for name, part in study.parts.items():
        of = part.reference
        shown = {"person": of.one_human, "judge": of.judge, "judge - person": of.difference, "best": of.best_attainable}
        if explain:
            found = part.estimates
            shown = {"alpha": found["alpha_ordinal"], **shown, "exact": found["exact"]}
            shown |= {"kappa": found["kappa_quadratic"], "judge - people": found["bias"]}
        reasons: defaultdict[str, list[str]] = defaultdict(list)
        for what, estimate in shown.items():
            for reason in estimate.reason.split("; ") if estimate.reason else ():
                reasons[reason].append(what)
        for reason, lacking in reasons.items():
            concerned[reason, tuple(lacking)].append(name)
    for (reason, lacking), names in concerned.items():
        where = "" if len(names) == len(study.parts) else f" of {', '.join(names)}"
        yield f"{', '.join(lacking)}{where}: {NOUNS.worded(reason)}"


def explanations(study: Study) -> Iterator[str]:
    """Who stands apart, how the judge fares by the alt-test, and what such items can show."""
    if study.apart:
        raters = ", ".join(f"{each.rater} {coefficient(each.against_others)}" for each in study.apart)
        yield (
            f"standing apart from the other raters, by kappa with them: {raters}. Two raters reach "
            f"{plain(study.whole.reference.one_human)} on average. By chance alone one rater in 40 falls so low; "
            f"here are {len(study.whole.standings)}."
        )
    excluded = set(study.whole.excluded) - set(study.excluded)
    would = [
        f"{each.rater} (kappa with the judge {plain(each.against_judge)})"
        for each in study.whole.standings
        if str(each.rater) in excluded
    ]
    if would:
        yield f"the published rule (--exclude published) would leave out {', '.join(would)}. {_CIRCULAR}"
    if alternative := study.pooled.alt_test:
        rate = alternative.winning_rate
        if rate.value is None:
            yield f"{rate.reason}"
        else:
            ended = "passed" if alternative.passed else "failed"
            yield f"alt-test {ended}: the judge wins over {100 * rate.value:.0f} % of raters at epsilon {EPSILON}"
        if alternative.advantage.value is not None:
            yield (
                f"advantage: at {percent(alternative.advantage)} % of a rater's items the judge is at least as near to "
                f"the others' grades as that rater, counting ties, which are {percent(alternative.ties)} %"
            )
    if study.balanced:
        yield (
            "The published items were drawn by the judge's grade, in about equal numbers: no rate on them, and no "
            "leniency, is one in the corpus. They are too few to rank judges, or to show that one has improved."
        )
