"""How many people are to rate how many responses, for what they would have given to be known well enough."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from rich.console import Console

from dspy_proact.benchmarks.proactbench.corpus import TRIGGERS_PER_PHASE, Ratings, published_models, published_ratings
from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.benchmarks.published import pooled
from dspy_proact.errors import UsageError
from dspy_proact.report.corrected import PeoplesRatings, ratable, rated_cases
from dspy_proact.report.leaderboard import DESIGN_EFFECT
from dspy_proact.report.numbers import counted, share
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import Table, show, table
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


@dataclass(frozen=True)
class LabellingPlan:
    """Studies that are expected to end with a width, over all phases."""

    width: float
    """Half of the 95 % interval, as a score."""
    frame: PlanFrame
    components: RatingComponents
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
    assumed, source = ratings is None, "the published study, 275 ratings by 18 people"
    if summary is None:
        of = _published(published_ratings())
        about = "the triggers of the published corpus, graded as published models are"
        return LabellingPlan(width, _corpus(of.means), of, about, source, assumed)
    outcomes = ratable(summary)
    groups = [outcome.group for outcome in outcomes]
    if len(set(groups)) < 2:
        raise UsageError(f"{summary.path}: scored triggers of two scenarios are needed for a plan")
    notes: tuple[str, ...] = ()
    if ratings is None:
        of = _published(published_ratings())
    else:
        of, source, notes = _pilot(rated_cases(outcomes, ratings), ratings), ratings.name, ratings.notes
    kinds = [(outcome.stratum, str(outcome.label)) for outcome in outcomes]
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


def _published(ratings: Ratings) -> RatingComponents:
    """How ratings vary in the published study."""
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


def _corpus(means: Mapping[Kind, float]) -> PlanFrame:
    """The published corpus, with the grades of the published models on average."""
    sizes = Counter[Kind]()
    for phase in Phase:
        counts = pooled(model.phases[phase] for model in published_models())
        triggers = TRIGGERS_PER_PHASE[phase]
        full, partial = (round(triggers * count / counts.scored) for count in (counts.full, counts.partial))
        by_grade = {Grade.PASS: full, Grade.PARTIAL: partial, Grade.FAIL: triggers - full - partial}
        sizes.update({(phase, grade): count for grade, count in by_grade.items()})
    total = sum(sizes.values())
    theta = sum(size * means[kind] for kind, size in sizes.items()) / total
    variance = sum(size * (means[kind] - theta) ** 2 for kind, size in sizes.items()) / total
    return PlanFrame({**sizes}, theta, DESIGN_EFFECT * variance / total, SCENARIOS - 1)


_TIMES = {1: "once", 2: "twice"}


def plan_headline(plan: LabellingPlan) -> str:
    """What is to be rated for the width, in one sentence; or how far the largest study would get."""
    wanted = f"± {share(plan.width)} points over all phases"
    cases = counted(plan.frame.cases, "trigger")
    best = plan.best
    if best is None:
        return (
            f"{wanted} are out of reach: {cases}, each rated {_times(PLAN_MOST_EACH)} by some of {PLAN_RATERS[-1]} "
            f"raters, would leave about ± {share(plan.least)}."
        )
    return (
        f"{wanted} take about {counted(best.raters, 'rater')} and {best.rated} of {cases}, each rated "
        f"{_times(best.each)}: {counted(best.ratings, 'rating')}, {math.ceil(best.ratings / best.raters)} a rater."
    )


def print_plan(plan: LabellingPlan, console: Console) -> None:
    """Print how many raters, triggers and ratings give the width, with what that rests on."""
    show(console, plan_headline(plan), *([_studies(plan)] if plan.plans else []), *_said(plan))


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
    return {
        "raters": plan.raters,
        "triggers": plan.rated,
        "ratings_each": plan.each,
        "ratings": plan.ratings,
        "half_width": {"value": plan.half_width, "low": low, "high": high},
    }


def _studies(plan: LabellingPlan) -> Table:
    told = (
        [*map(str, (each.raters, each.rated, each.each, each.ratings)), f"{share(each.half_width)} ({_likely(each)})"]
        for each in plan.plans
    )
    return table(("raters", "triggers", "ratings each", "ratings", "± about"), told)


def _likely(plan: Plan) -> str:
    return " to ".join(map(share, plan.likely))


def _said(plan: LabellingPlan) -> Iterator[str]:
    of = plan.components
    spreads = ", ".join(f"{math.sqrt(each):.2f}" for each in (of.between, of.within, of.leniency))
    yield f"to be rated: {plan.about}."
    yield (
        f"{'assumed: ratings' if plan.assumed else 'ratings'} vary as in {plan.source}: standard deviations {spreads} "
        "between responses of one grade, between ratings of one response, and between raters."
    )
    yield from (f"{note}." for note in plan.notes)
    off = share(PLAN_SCATTER, 0)
    yield f"± about: half of the 95 % interval in points of 100; studies may well end {off} % off it."
    yield (
        "More raters come first, then more triggers; a third rating of one buys next to nothing. Where "
        f"{PILOT_CASES} are rated twice, the ratings are a pilot for the next plan: label plan RUN --ratings FILE."
    )


def _times(count: int) -> str:
    return _TIMES.get(count, f"{count} times")
