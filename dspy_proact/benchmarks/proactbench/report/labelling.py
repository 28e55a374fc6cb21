"""Ratings of a run: its responses as items, a draw of them, what its report makes of ratings, and the next study."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from rich.console import Console

from dspy_proact.benchmarks.proactbench.corpus.bundled import (
    SAMPLE,
    TRIGGERS_PER_PHASE,
    published_models,
    published_ratings,
)
from dspy_proact.benchmarks.proactbench.corpus.ratings import Draw, RatedItem, Ratings
from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Phase
from dspy_proact.benchmarks.published import pooled
from dspy_proact.errors import RunError, UsageError
from dspy_proact.report.corrected import PeoplesRatings, drawn_keys, grades_mark, ratable, rated_cases, unfair
from dspy_proact.report.leaderboard import DESIGN_EFFECT
from dspy_proact.report.numbers import counted, share
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import show, table
from dspy_proact.stats import RatedCases, corrected_refusals
from dspy_proact.stats.plan import (
    PILOT_CASES,
    PLAN_MOST_EACH,
    PLAN_RATERS,
    PLAN_SCATTER,
    Kind,
    Plan,
    PlanFrame,
    RatingComponents,
    best_plan,
    plan_frame,
    planned_half_width,
    plans,
    rating_components,
)

SCENARIOS = 25
"""Of the published corpus."""
_REACHED = "28 to 54"
"""Share of simulated studies, in %, whose interval of 16 points was as narrow as planned: a review of 2026-11-23."""


def items_of(summary: Summary) -> tuple[RatedItem, ...]:
    """The cases of a run as items to rate, with the judge's grade and the response of the first epoch, if any.

    Those of a results file have no view: it does not hold the conversations. Raises a `UsageError` where the run is of
    another benchmark.
    """
    if summary.benchmark != "proactbench":
        raise UsageError(f"{summary.path}: no run of proactbench, whose phases and rubrics ratings are by")
    items: list[RatedItem] = []
    for outcome in summary.outcomes:
        if outcome.epoch > 1:
            continue
        try:
            item = RatedItem(
                key=outcome.key,
                phase=Phase(outcome.stratum),
                scenario=outcome.group,
                persona=str(outcome.meta.get("persona", "")),
                judge=Grade(outcome.label) if outcome.label else None,
                view=JudgeView.model_validate(outcome.view) if summary.manifest else None,
                response=outcome.response,
                model=summary.model,
            )
        except ValueError as error:
            raise RunError(f"{summary.path}: {outcome.key!r} cannot be read") from error
        items.append(item)
    return tuple(items)


def draw_of(summary: Summary, count: int, seed: int) -> tuple[Draw, list[RatedItem]]:
    """Responses of a run to be rated, drawn in equal numbers by phase, and in each by the judge's grade.

    The first is what the sheet says of the draw; of the items, in the order of the sheet, every first part is a draw
    too. Raises a `UsageError` where the run has no such number of scored triggers, or is of another benchmark.
    """
    items, order = {item.key: item for item in items_of(summary)}, drawn_keys(summary, seed)
    if count > len(order):
        raise UsageError(f"{summary.path}: {count} cannot be drawn of {counted(len(order), 'scored trigger')}")
    return Draw(count=count, seed=seed, of=grades_mark(summary)), [items[key] for key in order[:count]]


def peoples_ratings(ratings: Ratings, summary: Summary) -> PeoplesRatings:
    """What people gave to responses of the first epoch of a run or a results file.

    Raises:
        UsageError: The run is of another benchmark, no rated item is one of its triggers, or one is with another
            response.
    """
    own = {item.key: item for item in items_of(summary)}
    rated = {item.key: item for item in ratings.items if ratings.by_item[item.key]}
    shared = [key for key in own if key in rated]
    if not shared:
        raise UsageError(
            f"{ratings.name}: none of its {counted(len(rated), 'rated item')} is a trigger of {summary.path}; name "
            "ratings of the responses of this run, or the run of those that were rated"
        )
    for key in shared:
        if rated[key].response is None:
            raise UsageError(
                f"{ratings.name}: {key!r} comes without its response, so that nobody knows whether it is that of "
                f"{summary.path}; name ratings that come with what was rated"
            )
        if rated[key].response != own[key].response:
            raise UsageError(
                f"{ratings.name}: {key!r} has another response in {summary.path} than was rated; name ratings of the "
                "responses of this run"
            )
    scored = {outcome.key for outcome in ratable(summary)}
    given = {
        key: {rating.annotator: rating.grade.score for rating in ratings.by_item[key]}
        for key in shared
        if key in scored
    }
    notes: list[str] = []
    if ratings.name == SAMPLE:
        notes.append("these raters are language-model agents, not people")
    if elsewhere := len(rated) - len(shared):
        notes.append(f"rated items of no trigger of this run, left out: {elsewhere}")
    if ungraded := len(shared) - len(given):
        notes.append(f"rated triggers without a grade of the judge, left out: {ungraded}")
    if summary.manifest and summary.manifest.epochs > 1:
        notes.append("ratings are of the responses of the first epoch, and so are the numbers beside them")
    fault = unfair(summary, set(given), _drawn(ratings, summary))
    people = "these raters" if ratings.name == SAMPLE else "people"
    return PeoplesRatings(ratings.name, given, fault, tuple(notes), people)


def _drawn(ratings: Ratings, summary: Summary) -> list[str] | str:
    """Keys of the longest of the draws, which begins with the others; or why they are not known."""
    if not ratings.draws:
        return "nothing shows that the rated triggers were drawn by the judge's grades"
    mark, draws = grades_mark(summary), sorted(ratings.draws, key=lambda draw: draw.count)
    if any(draw.of != mark for draw in draws):
        return "the rated triggers were drawn by other grades than this run has"
    if len({draw.seed for draw in draws}) > 1:
        return "the rated triggers are of several draws with seeds of their own"
    return drawn_keys(summary, draws[-1].seed)[: draws[-1].count]


@dataclass(frozen=True)
class LabellingPlan:
    """Studies that are expected to end with a width, over all phases."""

    width: float
    """Half of the 95 % interval, as a score."""
    frame: PlanFrame = field(repr=False)
    components: RatingComponents = field(repr=False)
    about: str
    """Whose triggers are to be rated."""
    source: str
    """Where it is known from how ratings vary."""
    assumed: bool
    """Whether that is another study than of these triggers."""
    notes: tuple[str, ...] = ()
    """What else is to be known of the ratings, a sentence each, without its stop."""

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """By rising number of raters; none where the width is out of reach."""
        return tuple(plans(self.width, self.frame, self.components))

    @property
    def least(self) -> float:
        """Half-width that the largest study would have: every trigger, as often and by as many as are tried."""
        return planned_half_width(self.frame, self.components, self.frame.cases, PLAN_RATERS[-1], PLAN_MOST_EACH)

    @property
    def best(self) -> Plan | None:
        """The one to begin with."""
        return best_plan(self.plans)


def labelling_plan(
    width: float, summary: Summary | None = None, ratings: PeoplesRatings | None = None
) -> LabellingPlan:
    """Plan a study.

    Ratings of the run that is to be rated are a pilot where at least 60 of its triggers have two. Else it is assumed
    that ratings vary as in the published study; without a run, that its triggers are those of the published corpus,
    graded as the published models are on average.

    Args:
        width: Half of the wanted 95 % interval, as a score.
        summary: Of the run or results file whose responses are to be rated.
        ratings: Of a part of its responses.

    Raises:
        UsageError: The run has too few scored triggers or scenarios, or ratings are too few or drawn otherwise.
    """
    assumed, source, notes = ratings is None, "the published study, 275 ratings by 18 people", tuple[str, ...]()
    if summary is None:
        of = _published_components()
        about = "the triggers of the published corpus, graded as published models are"
        return LabellingPlan(width, _published_frame(of.means), of, about, source, assumed)
    outcomes = ratable(summary)
    groups = [outcome.group for outcome in outcomes]
    if len(set(groups)) < 2:
        raise UsageError(f"{summary.path}: scored triggers of two scenarios are needed for a plan")
    if ratings is None:
        of = _published_components()
    else:
        of, source, notes = _pilot(rated_cases(outcomes, ratings), ratings), ratings.name, ratings.notes
    kinds = [(outcome.stratum, str(outcome.label)) for outcome in outcomes]
    if unknown := sorted(set(kinds) - of.means.keys()):
        stratum, label = unknown[0]
        problem = f"how ratings of {label} in {stratum} vary is not known from {source}"
        raise UsageError(f"{summary.path}: {problem}; give ratings of this run with --ratings")
    return LabellingPlan(width, plan_frame(kinds, groups, of.means), of, summary.path, source, assumed, notes)


def _pilot(cases: RatedCases, ratings: PeoplesRatings) -> RatingComponents:
    for why in (*ratings.unfair.values(), *map(NOUNS.worded, corrected_refusals(cases))):
        raise UsageError(f"{ratings.name}: no pilot, for {why}; leave --ratings out, and the plan says what it assumes")
    twice = int((cases.times > 1).sum())
    if twice < PILOT_CASES or cases.rater_count < 2:
        raise UsageError(
            f"{ratings.name}: {counted(twice, 'trigger')} with two ratings or more, and a pilot has {PILOT_CASES}; "
            "leave --ratings out, and the plan says what it assumes"
        )
    if len({*cases.ratings}) < 2:
        raise UsageError(f"{ratings.name}: no pilot, for all ratings are equal")
    return rating_components(cases)


def _published_components() -> RatingComponents:
    """How ratings vary in the published study."""
    ratings = published_ratings()
    place = {item.key: number for number, item in enumerate(ratings.items)}
    return rating_components(
        RatedCases(
            labels=[item.judge for item in ratings.items],
            scores=np.array([item.judge.score if item.judge else 0.0 for item in ratings.items]),
            groups=[item.scenario for item in ratings.items],
            strata=[item.phase for item in ratings.items],
            of=np.array([place[rating.item] for rating in ratings.ratings]),
            raters=[rating.annotator for rating in ratings.ratings],
            ratings=np.array([rating.grade.score for rating in ratings.ratings]),
        )
    )


def _published_frame(means: Mapping[Kind, float]) -> PlanFrame:
    """The published corpus, with the grades of the published models on average."""
    sizes = Counter[Kind]()
    for phase in Phase:
        counts = pooled((row.counts or {})[phase] for row in published_models())
        triggers = TRIGGERS_PER_PHASE[phase]
        full, partial = (round(triggers * count / counts.scored) for count in (counts.full, counts.partial))
        by_grade = {Grade.PASS: full, Grade.PARTIAL: partial, Grade.FAIL: triggers - full - partial}
        sizes.update({(phase, grade): count for grade, count in by_grade.items()})
    total = sum(sizes.values())
    theta = sum(size * means[kind] for kind, size in sizes.items()) / total
    variance = sum(size * (means[kind] - theta) ** 2 for kind, size in sizes.items()) / total
    return PlanFrame({**sizes}, theta, DESIGN_EFFECT * variance / total, SCENARIOS - 1)


def plan_headline(plan: LabellingPlan) -> str:
    """What is to be rated for the width, in one sentence; or how far the largest study would get."""
    wanted, cases, best = (
        f"± {share(plan.width)} points over all phases",
        counted(plan.frame.cases, "trigger"),
        plan.best,
    )
    each = PLAN_MOST_EACH if best is None else best.each
    often = {1: "once", 2: "twice"}.get(each, f"{each} times")
    if best is None:
        return (
            f"{wanted} are out of reach: {cases}, each rated {often} by some of {PLAN_RATERS[-1]} raters, would leave "
            f"about ± {share(plan.least)}."
        )
    return (
        f"On average, {wanted} take about {counted(best.raters, 'rater')} and {best.rated} of {cases}, each rated "
        f"{often}: {counted(best.ratings, 'rating')}, {math.ceil(best.ratings / best.raters)} a rater."
    )


def plan_document(plan: LabellingPlan) -> dict[str, Any]:
    """The document of `label plan --json`; half-widths and standard deviations are scores."""
    best, of = plan.best, plan.components
    return {
        "headline": plan_headline(plan),
        "half_width": plan.width,
        "triggers": plan.frame.cases,
        "about": plan.about,
        "plan": _study(best) if best else None,
        **({} if best else {"plan_reason": "out of reach", "least_half_width": plan.least}),
        "plans": [_study(each) for each in plan.plans],
        "assumed": plan.assumed,
        "ratings_vary_as_in": plan.source,
        "mean": plan.frame.mean,
        "sd_between_responses": math.sqrt(of.between),
        "sd_between_ratings": math.sqrt(of.within),
        "sd_between_raters": math.sqrt(of.leniency),
        "notes": list(plan.notes),
    }


def _study(plan: Plan) -> dict[str, Any]:
    low, high = plan.likely
    half_width = {"value": plan.half_width, "low": low, "high": high}
    counts = {"raters": plan.raters, "triggers": plan.rated, "ratings_each": plan.each, "ratings": plan.ratings}
    return {**counts, "half_width": half_width}


def print_plan(plan: LabellingPlan, console: Console) -> None:
    """Print how many raters, triggers and ratings give the width, with what that rests on."""
    rows = [
        [
            *map(str, (each.raters, each.rated, each.each, each.ratings)),
            f"{share(each.half_width)} ({' to '.join(map(share, each.likely))})",
        ]
        for each in plan.plans
    ]
    told = [table(("raters", "triggers", "ratings each", "ratings", "± about"), rows)] if rows else []
    show(console, plan_headline(plan), *told, *_notes(plan))


def _notes(plan: LabellingPlan) -> Iterator[str]:
    of = plan.components
    spreads = ", ".join(f"{math.sqrt(each):.2f}" for each in (of.between, of.within, of.leniency))
    yield f"to be rated: {plan.about}."
    yield (
        f"{'assumed: ratings' if plan.assumed else 'ratings'} vary as in {plan.source}: standard deviations {spreads} "
        "between responses of one grade, between ratings of one response, and between raters."
    )
    yield from (f"{note}." for note in plan.notes)
    off = share(PLAN_SCATTER, 0)
    yield f"± about: half of the 95 % interval in points of 100; the actual width may differ by about {off} %."
    yield f"In simulations {_REACHED} % of studies reached the planned width; plan for a narrower one than you need."
    yield (
        "More raters come first, then more triggers; a third rating of the same response adds almost nothing. Where "
        f"{PILOT_CASES} are rated twice, the ratings are a pilot for the next plan: label plan RUN --ratings FILE."
    )
