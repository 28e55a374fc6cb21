"""What a study shows of a judge beside people: one plain sentence that claims no more than the numbers carry."""

from collections.abc import Iterator

from dspy_proact.benchmarks.proactbench.corpus import SAMPLE
from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.benchmarks.proactbench.report.study import Study
from dspy_proact.report.measured import worded
from dspy_proact.report.numbers import MEASURES_NOTHING, bounds, counted, plain
from dspy_proact.stats import CLAIM_GROUPS, ENOUGH_RATERS, SHARE_ITEMS, Estimate


def study_headline(study: Study) -> str:
    """Whether the judge agrees with a person more or less than another person does, on the items of all phases.

    It is said where the 98 % interval of the difference says so, of 30 items or more in ten scenarios or more, and of
    other raters like these where there are four or more, else of these alone. Where there is no judge, how far people
    agree with each other; where nobody rated an item twice, that nothing can be said.
    """
    begin = MEASURES_NOTHING if study.embedded else ""
    return f"{begin}{'; '.join([_told(study), *_reserved(study)])}."


def _told(study: Study) -> str:
    found = study.pooled.reference
    person, items = _person(study), f"the {counted(found.items, 'item')} with two ratings or more"
    if not found.items:
        return f"Nothing can be said of a judge beside a {person}, for no item has the ratings of two"
    people = f"one {person} agrees with another at kappa {_kappa(found.one_human, _carried(study))}"
    if not study.pooled.compared:
        return f"On {items} {people}; no judge is compared, for {study.pooled.silence}"
    judge, difference, few = study.judge or "the judge", found.difference, _too_few(study)
    if difference.value is None or difference.low is None or difference.high is None:
        why = f"their difference has no interval: {worded(difference, NOUNS).reason}"
        return f"On {items} nothing can be said of {judge} beside a {person}, for {why}"
    span = bounds(worded(difference, NOUNS), lambda value: f"{value:+.2f}")
    kappas = (
        f"kappa {plain(found.judge)} and {plain(found.one_human)}, difference {difference.value:+.2f}, "
        f"{span}{_carried(study)}"
    )
    if few:
        kappas = f"{kappas}; {few} would be too few for a claim"
    elif (found.low98 or 0) > 0 or (found.high98 or 0) < 0:
        side = "better" if (found.low98 or 0) > 0 else "less well"
        return f"On {items} {judge} agrees with a {person} {side} than another {person} does ({kappas})"
    elif found.low98 is not None and found.high98 is not None and (difference.low > 0 or difference.high < 0):
        kappas = f"{kappas}; by the 98 % interval, {found.low98:+.2f} to {found.high98:+.2f}, which decides"
    return (
        f"On {items} it cannot be told whether {judge} agrees with a {person} better or less well than another "
        f"{person} does ({kappas})"
    )


def _too_few(study: Study) -> str | None:
    """What there is too little of for a claim; None where there is enough."""
    found = study.pooled.reference
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
