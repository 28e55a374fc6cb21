"""What a person should know before believing a figure of a study, and what the figures show, in sentences."""

from collections import defaultdict
from collections.abc import Iterator

from dspy_proact.benchmarks.proactbench.corpus import SAMPLE
from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.benchmarks.proactbench.report.study import Study
from dspy_proact.benchmarks.proactbench.report.study_part import EPSILON
from dspy_proact.report.numbers import coefficient, percent, plain

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
