"""A plan of what people are to rate, as a person reads it on a terminal, and as JSON."""

import math
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from dspy_proact.benchmarks.proactbench.report.labelling_plan import LabellingPlan
from dspy_proact.report.numbers import counted, share
from dspy_proact.report.terminal import Table, show, table
from dspy_proact.stats import PILOT_CASES, PLAN_MOST_EACH, PLAN_RATERS, PLAN_SCATTER, Plan

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
    """The document of `agree --plan --json`; half-widths and standard deviations are scores."""
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
        f"{PILOT_CASES} are rated twice, the ratings are a pilot for the next plan: --run RUN --ratings FILE."
    )


def _times(count: int) -> str:
    return _TIMES.get(count, f"{count} times")
