"""The next study of ratings: how many people must rate how much for a corrected score of a wanted width."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from rich.console import Console

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.people import is_cut
from dspy_proact.evaluation.ratings import Ratings
from dspy_proact.evaluation.registry import benchmark_of, benchmark_of_run
from dspy_proact.plain_text import duration
from dspy_proact.report.corrected import PeoplesRatings, rated_cases, require_one_grade
from dspy_proact.report.numbers import counted, fields_of, share, shown_gain
from dspy_proact.report.ratings import ratable
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import show, table
from dspy_proact.runs import Nouns
from dspy_proact.stats import Headline, RatedCases, corrected_refusals, detectable_gain
from dspy_proact.stats.corrected import FEWEST_GROUPS, FEWEST_RATED
from dspy_proact.stats.plan import (
    PILOT_CASES,
    PLAN_MOST_RATINGS,
    PLAN_RATERS,
    PLAN_SCATTER,
    Plan,
    PlanFrame,
    RatingComponents,
    best_plan,
    plan_frame,
    planned_half_width,
    plans,
    rating_components,
)

ASSUMED_SECONDS = 180.0
"""What a rating is taken to last where no study says it."""
_TIMES = {1: "once", 2: "twice"}


@dataclass(frozen=True)
class PublishedRatings:
    """How ratings vary in a published study, which a plan assumes where there is no pilot."""

    components: RatingComponents
    source: str
    """The study."""
    frame: PlanFrame
    """The published corpus, to be rated where no run is named."""
    about: str
    """What is rated then."""
    seconds: float | None = None
    """Mean time of a rating in the study; None where it recorded none."""


@dataclass(frozen=True)
class LabellingPlan:
    """Studies that are expected to end with a width, over all strata."""

    width: float
    """Half of the 95 % interval, as a score."""
    frame: PlanFrame = field(repr=False)
    components: RatingComponents = field(repr=False)
    about: str
    """Whose cases are to be rated."""
    source: str
    """Where it is known from how ratings vary."""
    assumed: bool
    """Whether that is another study than of these cases."""
    nouns: Nouns
    seconds: float | None = None
    """Mean time of a rating in that study; None where it recorded none."""
    on_three_levels: bool = False
    """Whether kappas are made of the ratings, so that it is known which gain of a tuned judge they can show."""
    notes: tuple[str, ...] = ()
    """What else is to be known of the ratings, a sentence each, without its stop."""

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """By rising number of raters; none where the width is out of reach."""
        return tuple(plans(self.width, self.frame, self.components))

    @property
    def least(self) -> float:
        """Half-width that the largest study would have: every case, as often and by as many as are tried."""
        return planned_half_width(self.frame, self.components, self.frame.cases, PLAN_RATERS[-1], PLAN_MOST_RATINGS)

    @property
    def pace(self) -> float:
        """Seconds that a rating is planned to take."""
        return self.seconds or ASSUMED_SECONDS

    @property
    def best(self) -> Plan | None:
        """The one to begin with."""
        return best_plan(self.plans)


def labelling_plan(
    width: float,
    summary: Summary | None = None,
    ratings: PeoplesRatings | None = None,
    *,
    benchmark: Benchmark[Any, Any] | None = None,
) -> LabellingPlan:
    """Plan a study for a width, half of the wanted 95 % interval as a score.

    Ratings of the run that is to be rated are a pilot where at least 60 of its cases have two. Else it is assumed that
    ratings vary as in the study that the benchmark has published; without a run, that its cases are those of the
    published corpus, graded as the published models are on average.

    The benchmark is needed where it is of a person's own file, and without a run. Raises a `UsageError` where the run
    has fewer scored cases or groups than a corrected score takes, ratings are too few or drawn otherwise, there are
    none and no published study, or people grade parts of answers.
    """
    declared = benchmark_of_run(summary, benchmark) if summary else benchmark_of(None, benchmark)
    nouns, study = declared.nouns, declared.people and declared.people.study
    published: PublishedRatings | None = study(declared) if study else None
    where = summary.path if summary else declared.name
    require_one_grade(declared, where)
    if ratings is None and published is None:
        problem = f"no published study says how ratings of {declared.name} vary"
        raise UsageError(f"{where}: {problem}; rate {PILOT_CASES} {nouns.cases} twice, and name them with `ratings`")
    if summary is None:
        assert published is not None, "without a run there are no ratings of it"
        of = published.components
        about = published.about, published.source, True, nouns, published.seconds, is_cut(declared)
        return LabellingPlan(width, published.frame, of, *about)
    outcomes = ratable(summary)
    groups = [outcome.group for outcome in outcomes]
    held = Counter(outcome.stratum for outcome in outcomes)
    over = Counter(stratum for stratum, _ in {(outcome.stratum, outcome.group) for outcome in outcomes})
    if min(held.values(), default=0) < FEWEST_RATED or min(over.values(), default=0) < FEWEST_GROUPS:
        takes = f"{FEWEST_RATED} scored {nouns.cases} in {FEWEST_GROUPS} {nouns.groups}"
        within = f" of each {nouns.stratum}" if len(held) > 1 else ""
        raise UsageError(f"{summary.path}: no plan, for a corrected score takes {takes}{within}; this run has fewer")
    if ratings:
        mend = "; leave `ratings` out, and the plan says what it assumes" if published else ""
        of = _pilot(rated_cases(outcomes, ratings), ratings, nouns, mend)
        source, seconds, notes = ratings.name, ratings.seconds, ratings.notes
    else:
        assert published is not None, "one of the two is there"
        of, source, seconds, notes = published.components, published.source, published.seconds, ()
    kinds = [(outcome.stratum, str(outcome.label)) for outcome in outcomes]
    if unknown := sorted(set(kinds) - of.means.keys()):
        stratum, label = unknown[0]
        problem = f"how ratings of {label} in {stratum} vary is not known from {source}"
        raise UsageError(f"{summary.path}: {problem}; give ratings of this run with `ratings`")
    frame = plan_frame(kinds, groups, of.means)
    about = summary.path, source, ratings is None, nouns, seconds, is_cut(declared)
    return LabellingPlan(width, frame, of, *about, notes)


def _pilot(cases: RatedCases, ratings: PeoplesRatings, nouns: Nouns, mend: str) -> RatingComponents:
    for why in (*ratings.unfair.values(), *map(nouns.translated, corrected_refusals(cases))):
        raise UsageError(f"{ratings.name}: no pilot, for {why}{mend}")
    twice = int((cases.times > 1).sum())
    if twice < PILOT_CASES or cases.rater_count < 2:
        raise UsageError(
            f"{ratings.name}: {counted(twice, nouns.case, nouns.cases)} with two ratings or more, and a pilot has "
            f"{PILOT_CASES}{mend}"
        )
    if len({*cases.ratings}) < 2:
        raise UsageError(f"{ratings.name}: no pilot, for all ratings are equal")
    return rating_components(cases)


def components_of(ratings: Ratings, worth: dict[str, float]) -> RatingComponents:
    """How ratings of a study vary whose items have a judge's grade, by the score of each label."""
    index = {item.key: number for number, item in enumerate(ratings.items)}
    return rating_components(
        RatedCases(
            labels=[item.judged.get("") for item in ratings.items],
            scores=np.array([worth[item.judged[""]] if item.judged else 0.0 for item in ratings.items]),
            groups=[item.group for item in ratings.items],
            strata=[item.stratum for item in ratings.items],
            of=np.array([index[row.key] for row in ratings.grades]),
            raters=[row.rater for row in ratings.grades],
            ratings=np.array([worth[row.grade] for row in ratings.grades]),
        )
    )


def plan_headline(plan: LabellingPlan) -> Headline:
    """How many people are to rate for how long for the width; or how far the largest study would get."""
    nouns, best = plan.nouns, plan.best
    over = f" over all {nouns.strata}" if len({stratum for stratum, _ in plan.frame.sizes}) > 1 else ""
    fewest = best is not None and best.rated == plan.frame.fewest and share(best.half_width) != share(plan.width)
    reached = best.half_width if best and fewest else plan.width
    wanted, cases = f"± {share(reached)} points{over}", counted(plan.frame.cases, nouns.case, nouns.cases)
    if best is None:
        often, most = _TIMES[PLAN_MOST_RATINGS], PLAN_RATERS[-1]
        text = (
            f"{wanted} are out of reach of {most} raters, the most that are planned: {cases}, each rated {often}, "
            f"would leave about ± {share(plan.least)}."
        )
        return Headline(text, count=plan.frame.cases, caveats=(_claims(plan, plan.frame.cases, most),))
    a_rater = duration(math.ceil(best.ratings / best.raters) * plan.pace)
    text = (
        f"On average, {wanted} take about {counted(best.raters, 'rater')} for up to {a_rater} each, "
        f"{_work(best.ratings * plan.pace)} in all: {best.rated} of {cases}, each rated {_TIMES[best.per_case]}."
    )
    off, rated = share(PLAN_SCATTER, 0), f"rated {nouns.cases}"
    caveats = (
        *(
            [f"narrower than ± {share(plan.width)}: a corrected score takes at least {best.rated} {rated}."]
            if fewest
            else []
        ),
        f"the actual width may differ by about {off} %, so plan for a narrower one than you need.",
        f"a rating takes {plan.pace:.0f} seconds on average"
        f"{f' in {plan.source}' if plan.seconds else ', which is assumed: no times are recorded'}.",
        _claims(plan, best.rated, best.raters),
    )
    return Headline(text, test="expected half of the 95 % interval", count=best.rated, caveats=caveats)


def _work(seconds: float) -> str:
    """A time of several people, in hours also where it is days: a day of work is none of 24 hours."""
    return f"{seconds / 3600:.0f} hours" if seconds >= 7200 else duration(seconds)


def _claims(plan: LabellingPlan, rated: int, raters: int) -> str:
    """What the rated cases, spread as all are, could show of a judge that is tuned to them."""
    shares = plan.frame.shares
    sizes = [share * rated for share in shares] if rated >= len(shares) else [1.0] * rated
    gain = detectable_gain(sizes, raters) if plan.on_three_levels else None
    return f"tuning a judge: {shown_gain(sizes, plan.nouns, gain)}"


def plan_document(plan: LabellingPlan) -> dict[str, Any]:
    """The document of `label plan --json`; half-widths and standard deviations are scores."""
    best, of, first = plan.best, plan.components, plan_headline(plan)
    return {
        "headline": first.text,
        "claim": first.claim,
        "half_width": plan.width,
        plan.nouns.cases: plan.frame.cases,
        **fields_of(plan, "about", "assumed", "notes"),
        "plan": _study(plan, best) if best else None,
        **({} if best else {"plan_reason": "out of reach", "least_half_width": plan.least}),
        "plans": [_study(plan, option) for option in plan.plans],
        "ratings_vary_as_in": plan.source,
        "seconds_a_rating": plan.pace,
        "seconds_assumed": plan.seconds is None,
        "mean": plan.frame.mean,
        "sd_between_responses": math.sqrt(of.between),
        "sd_between_ratings": math.sqrt(of.within),
        "sd_between_raters": math.sqrt(of.leniency),
    }


def _study(of: LabellingPlan, plan: Plan) -> dict[str, Any]:
    low, high = plan.likely
    half_width = {"value": plan.half_width, "low": low, "high": high}
    counts = {"raters": plan.raters, of.nouns.cases: plan.rated, "ratings_each": plan.per_case, "ratings": plan.ratings}
    return {**counts, "hours": plan.ratings * of.pace / 3600, "half_width": half_width}


def print_plan(plan: LabellingPlan, console: Console | None = None) -> None:
    """Print how many raters, cases and ratings give the width, with what that rests on."""
    rows = [
        [
            *map(str, (option.raters, option.rated, option.per_case, option.ratings)),
            _work(option.ratings * plan.pace),
            f"{share(option.half_width)} ({' to '.join(map(share, option.likely))})",
        ]
        for option in plan.plans
    ]
    heads = ("raters", plan.nouns.cases, "ratings each", "ratings", "in all", "± about")
    show(console, *plan_headline(plan).lines, *([table(heads, rows)] if rows else []), *_notes(plan))


def _notes(plan: LabellingPlan) -> Iterator[str]:
    of = plan.components
    spreads = ", ".join(f"{math.sqrt(variance):.2f}" for variance in (of.between, of.within, of.leniency))
    yield f"to be rated: {plan.about}."
    yield (
        f"{'assumed: ratings' if plan.assumed else 'ratings'} vary as in {plan.source}: standard deviations {spreads} "
        "between responses of one grade, between ratings of one response, and between raters."
    )
    yield from (f"{note}." for note in plan.notes)
    yield (
        f"± about: half of the 95 % interval in points of 100. More raters come first, then more {plan.nouns.cases}; a "
        f"third rating of the same response adds less than either, so none is planned. Where {PILOT_CASES} are rated "
        "twice, the ratings are a pilot for the next plan."
    )
