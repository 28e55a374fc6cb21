"""What runs show of the items of a corpus: from runs on disk to figures, flags and checks of every item.

A respondent is a model: all its runs, with whatever program, and all its epochs are one, since answers of one model are
not independent; their scores are averaged. Rules in place of a model are one respondent each.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dspy_proact.audit.check import AuditCheck, Finding, State
from dspy_proact.errors import UsageError
from dspy_proact.report.numbers import counted, points_of, share
from dspy_proact.report.summary import Summary
from dspy_proact.runs import Nouns, Outcome
from dspy_proact.stats import Estimate
from dspy_proact.stats.items import (
    ENDS,
    ENOUGH_MODELS,
    FALSE_NEGATIVES,
    FEWEST_ITEMS,
    RARE,
    End,
    ItemFigures,
    ModelScores,
    Tested,
)
from dspy_proact.stats.paired import LEVEL
from dspy_proact.stats.totals import ItemStudy, Totals, adjusted, item_study


@dataclass(frozen=True)
class AnalysedItem:
    """One item with what the models' answers show of it."""

    key: str
    """Of the case."""
    stratum: str
    group: str
    figures: ItemFigures


@dataclass(frozen=True)
class AnalysedModel:
    """One model with its total, and what leaving out the flagged items changes of it."""

    model: str
    paths: tuple[str, ...]
    """Of its runs."""
    items: int
    """With a score."""
    before: float | None
    """Mean score over all its items, each weighted equally; None where none is scored."""
    after: float | None
    """Likewise without the flagged ones."""
    change: Estimate
    """After minus before, in [-1, 1]; its interval is over groups of items."""


@dataclass(frozen=True)
class ItemAnalysis:
    """The items of a corpus by the answers of several models."""

    benchmark: str
    models: tuple[AnalysedModel, ...]
    """In the order in which their runs were given."""
    items: tuple[AnalysedItem, ...]
    """In the order of the corpus, as far as runs have it."""
    totals: Totals
    change: Estimate
    """Of the mean over models, by flags from the same runs."""
    split_change: Estimate
    """Likewise, by flags from the other half of the models."""
    checks: tuple[AuditCheck, ...]
    nouns: Nouns = field(default_factory=Nouns, metadata={"json": False})

    @cached_property
    def flagged(self) -> tuple[AnalysedItem, ...]:
        """The items that a person ought to read."""
        return tuple(item for item in self.items if item.figures.flags)


def item_analysis(summaries: Sequence[Summary]) -> ItemAnalysis:
    """Analyse the items of one corpus by runs of it, at least one.

    A run may cover a part: its models then count where they have a score. Raises a `UsageError` where the runs are of
    several benchmarks or corpora, or where two have no case in common.
    """
    _require_one_corpus(summaries)
    first = summaries[0]
    runs = defaultdict[str, list[Summary]](list)
    for summary in summaries:
        baseline = summary.manifest and summary.manifest.identity.settings.get("baseline", "none")
        runs[summary.model if baseline in (None, "none") else f"rule {baseline}"].append(summary)
    cases: dict[str, Outcome] = {}
    for summary in summaries:
        for outcome in summary.outcomes:
            cases.setdefault(outcome.key, outcome)
    data = _scores_of(list(runs.values()), cases)
    study = item_study(data)
    items = tuple(
        AnalysedItem(key, case.stratum, case.group, figures)
        for (key, case), figures in zip(cases.items(), study.items, strict=True)
    )
    kept = np.array([not figures.flags for figures in study.items], dtype=np.bool_)
    models = tuple(
        AnalysedModel(
            model=model,
            paths=tuple(summary.path for summary in of),
            items=int(np.count_nonzero(~np.isnan(row))),
            before=_mean(row),
            after=_mean(row[kept]),
            change=change,
        )
        for (model, of), row, change in zip(runs.items(), data.scores, study.changes, strict=True)
    )
    checks = _checks(items, study, len(data.scores), first.nouns)
    return ItemAnalysis(
        first.benchmark, models, items, study.totals, study.change, study.split_change, checks, first.nouns
    )


def _require_one_corpus(summaries: Sequence[Summary]) -> None:
    first = summaries[0]
    for other in summaries[1:]:
        pair = f"{first.path} and {other.path}"
        if (first.benchmark, first.strata, first.labels) != (other.benchmark, other.strata, other.labels):
            raise UsageError(f"{pair} are runs of {first.benchmark} and {other.benchmark}; give runs of one corpus")
        ours, theirs = first.manifest, other.manifest
        if ours and theirs and ours.identity.corpus != theirs.identity.corpus:
            names = ours.corpus.name, theirs.corpus.name
            which = f"{names[0]} and {names[1]}" if names[0] != names[1] else f"two versions of {names[0]}"
            raise UsageError(f"{pair} are runs of different corpora, {which}; give runs of one corpus")
        if not {outcome.key for outcome in first.outcomes} & {outcome.key for outcome in other.outcomes}:
            raise UsageError(f"{pair} have no {first.nouns.case} in common; give runs of one corpus")


def _scores_of(runs: Sequence[Sequence[Summary]], cases: dict[str, Outcome]) -> ModelScores:
    """What each respondent scored on each case; verdicts on one response are joined over its runs."""
    column = {key: index for index, key in enumerate(cases)}
    shape = (len(runs), len(cases))
    scores, passes, unscored, split = (np.full(shape, np.nan) for _ in range(4))
    for row, summaries in enumerate(runs):
        outcomes = defaultdict[str, list[tuple[Outcome, bool]]](list)
        labels = defaultdict[tuple[str, Hashable], list[str]](list)
        for summary in summaries:
            for outcome in summary.outcomes:
                outcomes[outcome.key].append((outcome, outcome.label == summary.labels[0]))
                # The same text by one model is one response, whichever run judged it.
                own = outcome.response if outcome.response is not None else (summary.path, outcome.epoch)
                labels[outcome.key, own] += [verdict.label for verdict in outcome.verdicts]
        for key, of in outcomes.items():
            scored = [(outcome.score, passed) for outcome, passed in of if outcome.state == "scored"]
            if any(outcome.state != "pending" for outcome, _ in of):
                unscored[row, column[key]] = any(outcome.state == "unscored" for outcome, _ in of)
            if scored:
                scores[row, column[key]], passes[row, column[key]] = np.mean(scored, axis=0)
        for (key, _), verdicts in labels.items():
            if len(verdicts) > 1:
                before = split[row, column[key]]
                split[row, column[key]] = max(0.0 if np.isnan(before) else before, float(len(set(verdicts)) > 1))
    return ModelScores(scores, passes, [case.group for case in cases.values()], unscored, split)


def _mean(scores: NDArray[np.float64]) -> float | None:
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if len(known) else None


def _checks(items: tuple[AnalysedItem, ...], study: ItemStudy, models: int, nouns: Nouns) -> tuple[AuditCheck, ...]:
    """What is known of all items, in the order of reading."""
    return (
        _difficulty(items, models, nouns),
        _discrimination(items, study, models, nouns),
        _at_an_end(items, study, "nobody", nouns),
        _at_an_end(items, study, "everybody", nouns),
        _marked(items, study, "disputed", models, nouns),
        _marked(items, study, "unscored", models, nouns),
        _reliability(study.totals, nouns),
        _dropping(items, study, nouns),
    )


def _difficulty(items: Sequence[AnalysedItem], models: int, nouns: Nouns) -> AuditCheck:
    means = [item.figures.difficulty.value for item in items if item.figures.difficulty.value is not None]
    if not means:
        return AuditCheck.not_tested("difficulty", f"no {nouns.case} has a score")
    low, middle, high = (share(value) for value in (min(means), median(means), max(means)))
    by = "1 model" if models == 1 else f"up to {models:,} models"
    sentence = f"{_of(len(means), len(items), nouns)} {'has' if len(means) == 1 else 'have'} a score, by {by}; "
    sentence += f"mean scores are between {low} and {high} of 100, {middle} in the median."
    return AuditCheck.reported("difficulty", sentence, len(means))


def _discrimination(items: Sequence[AnalysedItem], study: ItemStudy, models: int, nouns: Nouns) -> AuditCheck:
    """Failed where an item is negative by Holm over all items and tests."""
    name, tested = "discrimination", [item for item in items if item.figures.rest.low is not None]
    if models < ENOUGH_MODELS:
        one = "runs and programs of one model count as one"
        return AuditCheck.not_tested(
            name, f"a correlation with the rest takes {ENOUGH_MODELS} models, not {models}; {one}"
        )
    if not tested:
        return AuditCheck.not_tested(name, f"no {nouns.case} has scores of enough models that differ")
    flagged, shown, p = _tested(items, study, "negative")
    sentence = (
        f"In {_of(len(flagged), len(tested), nouns)} models that are better at the rest score lower (95 % interval "
        f"below 0; by chance about {FALSE_NEGATIVES * len(tested):.1f} would, if no {nouns.case} were related to the "
        f"rest){_by_holm(flagged, shown, nouns)}."
    )
    problem = "Models that are better at the rest score lower here: correlation {0.rest} over {0.models} models."
    findings, state = _findings(flagged, problem), _state(flagged, shown, models)
    return AuditCheck(name=name, state=state, sentence=sentence, tested=len(tested), findings=findings, p=p)


def _at_an_end(items: Sequence[AnalysedItem], study: ItemStudy, end: End, nouns: Nouns) -> AuditCheck:
    """Reported: hard items, or few models, leave many so by chance; flagged where few were to be expected."""
    scored = [item for item in items if item.figures.models]
    name, at_end = f"{end} passes", [item for item in scored if item.figures.end == end]
    if not scored:
        return AuditCheck.not_tested(name, f"no {nouns.case} has a score")
    expected = f"how many would be by chance is not known: that takes {FEWEST_ITEMS} {nouns.cases} and two models"
    if study.expected:
        number = study.expected[ENDS.index(end)]
        expected = f"about {number:.1f} would be by chance, from how difficult the {nouns.cases} are"
    by = "by no model" if end == "nobody" else "by every model in every answer"
    sentence = f"{_of(len(at_end), len(scored), nouns)} {'is' if len(at_end) == 1 else 'are'} passed {by}; {expected}."
    answer = "No" if end == "nobody" else "Every"
    flagged = [item for item in at_end if end in item.figures.flags]
    findings = _findings(flagged, f"{answer} answer of {{0.models}} models passes, which chance seldom leaves.")
    return AuditCheck.reported(name, sentence, len(scored), findings)


def _marked(
    items: Sequence[AnalysedItem], study: ItemStudy, flag: Literal["disputed", "unscored"], models: int, nouns: Nouns
) -> AuditCheck:
    """Failed where an item has such marks more often than the others, by Holm over all."""
    name = "judges disagree" if flag == "disputed" else "unscored"
    marks = [item.figures.split if flag == "disputed" else item.figures.unscored for item in items]
    raised, known = (sum(counts) for counts in zip(*marks, strict=True)) if marks else (0, 0)
    if not known:
        why = "no response has several verdicts" if flag == "disputed" else "nothing was tried"
        return AuditCheck.not_tested(name, why)
    flagged, shown, p = _tested(items, study, flag)
    what = "verdicts on one response differ" if flag == "disputed" else "a response has no score"
    sentence = (
        f"In {raised:,} of {known:,} pairs of a model and a {nouns.case} {what}; in "
        f"{_of(len(flagged), len(items), nouns)} more often than in the others (p at most {RARE})"
        f"{_by_holm(flagged, shown, nouns)}."
    )
    which = "split" if flag == "disputed" else "unscored"
    problem = f"For {{0.{which}[0]}} of {{0.{which}[1]}} models {what}, more often than elsewhere."
    tested = sum(there > 0 for _, there in marks)
    findings, state = _findings(flagged, problem), _state(flagged, shown, models)
    return AuditCheck(name=name, state=state, sentence=sentence, tested=tested, findings=findings, p=p)


def _reliability(totals: Totals, nouns: Nouns) -> AuditCheck:
    """Reported, with the standard error of a total."""
    if totals.reliability.value is None:
        return AuditCheck.not_tested("reliability", f"it is not known: {totals.reliability.reason}")
    sentence = f"Reliability of the mean score, with {nouns.groups} as its parts (alpha): {totals.reliability}, "
    sentence += f"over {counted(totals.models, 'model')}"
    if totals.error is not None:
        sentence += f"; a model's mean has a standard error of {100 * totals.error:.1f} points beside the others'"
    return AuditCheck(
        name="reliability",
        state="reported",
        sentence=f"{sentence}.",
        tested=totals.models,
        estimate=totals.reliability,
    )


def _dropping(items: Sequence[AnalysedItem], study: ItemStudy, nouns: Nouns) -> AuditCheck:
    """Reported: the change by the same models' flags, which can flatter, and that by flags of other models."""
    name, flagged = "what dropping would change", sum(bool(item.figures.flags) for item in items)
    if not flagged:
        sentence = f"No {nouns.case} is flagged, so that none would be dropped."
        return AuditCheck.reported(name, sentence, len(items))
    sentence = (
        f"Without the {counted(flagged, f'flagged {nouns.case}', f'flagged {nouns.cases}')} the mean score over models "
        f"changes by {points_of(study.change)} points, which can flatter, since the same answers choose what to drop; "
    )
    other = study.split_change
    if other.value is None:
        sentence += f"by flags of other models the change is not known ({other.reason})."
    else:
        sentence += f"by flags of the other half of the models it changes by {points_of(other)}."
    estimate = study.change if other.value is None else other
    return AuditCheck(name=name, state="reported", sentence=sentence, tested=len(items), estimate=estimate)


def _tested(
    items: Sequence[AnalysedItem], study: ItemStudy, flag: Tested
) -> tuple[list[AnalysedItem], int, float | None]:
    """The flagged items, how many of them hold by Holm, and the smallest p of that over all items."""
    p_values = adjusted(study.items)[flag]
    flagged = [(item, p) for item, p in zip(items, p_values, strict=True) if flag in item.figures.flags]
    shown = sum(p is not None and p <= LEVEL for _, p in flagged)
    return [item for item, _ in flagged], shown, min((p for p in p_values if p is not None), default=None)


def _state(flagged: Sequence[AnalysedItem], shown: int, models: int) -> State:
    """What is flagged and does not hold by Holm is for a person to judge; few models cannot show that nothing is."""
    if shown:
        return "failed"
    return "passed" if not flagged and models >= ENOUGH_MODELS else "reported"


def _by_holm(flagged: Sequence[AnalysedItem], shown: int, nouns: Nouns) -> str:
    """How many hold of the flagged ones, as the end of a clause; empty without any."""
    return f", in {shown or 'none'} after Holm over all {nouns.cases} and tests" if flagged else ""


def _findings(items: Sequence[AnalysedItem], problem: str) -> tuple[Finding, ...]:
    return tuple(Finding(key=item.key, problem=problem.format(item.figures)) for item in items)


def _of(part: int, count: int, nouns: Nouns) -> str:
    return f"{part:,} of {counted(count, nouns.case, nouns.cases)}"
