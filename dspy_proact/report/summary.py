"""What a run or a results file says: counts with denominators, scores with intervals, usage with its price."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dspy_proact.calls import Usage
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.measured_run import MeasuredRun
from dspy_proact.evaluation.people import is_nominal
from dspy_proact.evaluation.registry import benchmark_of, find_benchmark, reporting_of
from dspy_proact.evaluation.reporting import Reporting
from dspy_proact.evaluation.responses import Responses
from dspy_proact.plain_text import printable
from dspy_proact.prompt_counts import PromptCounts
from dspy_proact.report.measured import Bounds, ControlCases, Grader, bounds_of, in_nouns, measured, values_of
from dspy_proact.report.numbers import counted, listed, percent
from dspy_proact.report.terminal import front_html
from dspy_proact.runs import (
    CONTROL,
    CaseRecord,
    Grading,
    LastEvents,
    Measure,
    Outcome,
    ReusedRun,
    RunFolder,
    outcomes_of,
    read_run,
)
from dspy_proact.runs.votes import NO_CUTS
from dspy_proact.stats import Estimate, Repeats, cluster_mean, repeats

if TYPE_CHECKING:
    from dspy_proact.report.export import Backend


UNORDERED = "the labels have no order, so that no mean is made of them"


@dataclass(frozen=True)
class Scores:
    """The four headline numbers of a set of outcomes; each in [0, 1], higher is better."""

    pass_rate: Estimate
    """Share of full passes over the scored."""
    weighted: Estimate
    """Mean score over the scored: the published convention."""
    strict_pass_rate: Estimate
    """Share of full passes over all that were tried."""
    strict_weighted: Estimate
    """Mean score over all that were tried; the unscored count 0."""


@dataclass(frozen=True)
class Reused:
    """What a run took over from others, whose calls count in none of its usage."""

    responses: int
    verdicts: int
    usage: Usage
    """Of the calls that were made for them there."""
    runs: tuple[ReusedRun, ...]
    """In the order of asking."""

    @property
    def lines(self) -> list[str]:
        """What was reused and what it had cost, the limits that differ, and what was not reused: sentences."""
        paths, usage = listed([run.path for run in self.runs]), self.usage
        stages = f"{counted(self.responses, 'response')} and {counted(self.verdicts, 'verdict')}"
        cost = f"cost USD {usage.usd:.4f} there" if usage.usd is not None else f"had an unknown cost ({usage.reason})"
        paid = f", whose {counted(usage.calls, 'call')} {cost} and are not counted here" if usage.calls else ""
        limits = [
            f"{name} is {limit['there']} in {run.path} and {limit['here'] or 'without a limit'} here."
            for run in self.runs
            for name, limit in run.limits.items()
        ]
        return [f"Reused from {paths}: {stages}{paid}.", *limits, *(run.reason for run in self.runs if run.reason)]


@dataclass(frozen=True, repr=False)
class Summary(MeasuredRun):
    """A run or a results file with its scores, measures and usage."""

    controls: ControlCases = field(default_factory=ControlCases)
    """Control cases, which are in no score."""
    usage: Mapping[str, Usage] = field(default_factory=dict[str, Usage])
    """By role; empty where it is not known."""
    judge_usage: Mapping[str, Usage] = field(default_factory=dict[str, Usage])
    """By judge."""
    prompts: Mapping[str, PromptCounts] = field(default_factory=dict[str, PromptCounts])
    """What is known of the prompts of each role, and of each judge; not of stand-ins."""
    reused: "Reused | None" = None
    """What was taken over from other runs; None where that was not asked for."""
    thoughts: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many responses and verdicts had thoughts taken out of their text; none where that is not known."""
    finishes: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many replies ended for a reason that is not known, by the provider's word."""
    responses: Responses | None = None
    """What it was made of where that is no run."""

    @property
    def keeps_inputs(self) -> bool:
        """Whether it is known what was asked, which raters and judges must see."""
        if self.manifest:
            return self.manifest.keeps_inputs
        return self.responses is not None and self.responses.gradable

    @property
    def read_otherwise(self) -> Iterator[str]:
        """What was done with replies before they were judged: sentences."""
        if any(self.thoughts.values()):
            counts = (counted(count, name[:-1], name) for name, count in self.thoughts.items() if count)
            yield f"Thoughts were taken out of the text of {' and '.join(counts)}, where the server had left them."
        if self.finishes:
            words = ", ".join(f"{word!r} {count}" for word, count in self.finishes.items())
            yield f"Replies with an unknown finish reason, used as they are: {words}."

    def __repr__(self) -> str:
        text = f"{self.model_name}{self.graded_by}, {len(self.scored)}/{len(self.outcomes)} scored"
        return f"Summary({printable(text)}, score {percent(self.leading.weighted)} of 100)"

    def _repr_html_(self) -> str:
        from dspy_proact.report.summary_text import print_summary

        return front_html(partial(print_summary, self))

    def to_dataframe(self, backend: "Backend" = "pandas") -> Any:
        """A row a verdict, and one for each case and epoch that has none: what `export` writes, as a data frame.

        Raises a `UsageError` where the backend, pandas or polars, is not installed, or none of ours.
        """
        from dspy_proact.report.export import data_frame

        return data_frame(self, backend)

    @property
    def tests_app(self) -> bool:
        """Whether an application was tested in the place of a model."""
        return self.manifest is not None and self.manifest.identity.assistant.app is not None

    @property
    def usd(self) -> float | None:
        """US dollars of all calls; None where some are not known."""
        costs = [usage.usd for usage in self.usage.values()]
        return None if not costs or None in costs else sum(cost or 0.0 for cost in costs)

    @property
    def leading_mean(self) -> Literal["micro", "macro"]:
        """Which mean comes first: that of the strata where the published scores are such, else that over cases."""
        declared = find_benchmark(self.benchmark)
        published = declared and declared.published
        return "macro" if published and published.headline == "macro" else "micro"

    @property
    def reporting(self) -> Reporting:
        """How reports show the benchmark."""
        return reporting_of(self.benchmark)

    def shown_measures(self, every: bool = False) -> list[Measure]:
        """The measures that every report shows, or all; those that no case has only where none of them is there."""
        foremost = self.reporting.foremost
        shown = [measure for measure in self.measures if every or foremost is None or measure.name in foremost]
        return [measure for measure in shown if values_of(measure, self.outcomes)] or shown

    @property
    def complete(self) -> bool:
        """Whether nothing is pending, and no further verdict is awaited."""
        return not (self.count("pending") or self.awaited or self.controls.count("pending") or self.controls.awaited)

    def scores(self, stratum: str) -> Scores:
        """The scores of one stratum, without values where the run has no case of it."""
        return self._of_strata.get(stratum) or self.scores_of(())

    @cached_property
    def _of_strata(self) -> dict[str, Scores]:
        return {name: self.scores_of(self.of_stratum(name)) for name in self.strata}

    def scores_of(self, outcomes: Sequence[Outcome], by_stratum: bool = False) -> Scores:
        """The scores of some of the outcomes, every outcome weighted equally, or every stratum."""
        tried = [outcome for outcome in outcomes if outcome.state != "pending"]
        scored = [outcome for outcome in tried if outcome.state == "scored"]

        def means(of: Sequence[Outcome]) -> tuple[Estimate, Estimate]:
            groups, strata = [o.group for o in of], ([o.stratum for o in of], self.strata) if by_stratum else ()
            passes = [float(o.label == self.labels[0]) for o in of]
            return cluster_mean(passes, groups, *strata), cluster_mean([o.score for o in of], groups, *strata)

        if not self.ordered:
            return Scores(*[Estimate(None, reason=UNORDERED)] * 4)
        lenient = means(scored)
        strict = lenient if len(scored) == len(tried) else means(tried)
        return in_nouns(Scores(*lenient, *strict), self.nouns)

    def measured(self, outcomes: Sequence[Outcome], by_stratum: bool = False) -> dict[str, Estimate]:
        """The measures of some of the outcomes, by name, every outcome weighted equally, or every stratum."""
        strata = self.strata if by_stratum else None
        return {
            measure.name: in_nouns(measured(measure, outcomes, self._bounds[measure.name], strata), self.nouns)
            for measure in self.measures
        }

    @cached_property
    def micro(self) -> Scores:
        """Every case weighted equally."""
        return self.scores_of(self.outcomes)

    @cached_property
    def macro(self) -> Scores:
        """Every stratum weighted equally."""
        return self.scores_of(self.outcomes, by_stratum=True)

    @property
    def leading(self) -> Scores:
        """Those of micro and macro that the benchmark publishes."""
        return self.macro if self.leading_mean == "macro" else self.micro

    def breakdown(self, key: str) -> dict[str, list[Outcome]]:
        """Outcomes by a grouping key of the cases, in order; raises a `UsageError` where they have no such key."""
        known = sorted({name for outcome in self.outcomes for name in outcome.meta} - self.reporting.ungrouped)
        if key not in known:
            raise UsageError(f"nothing to group by {key!r}; the keys are {', '.join(known) or 'none'}")
        return grouped(self.outcomes, lambda outcome: outcome.meta.get(key, ""))

    @cached_property
    def graders(self) -> tuple[Grader, ...]:
        """What each judge said, in the order of the manifest."""
        usage = self.judge_usage
        return tuple(Grader.of(name, self.outcomes, self.labels, self.nouns, usage.get(name)) for name in self.judges)

    @property
    def judged_severally(self) -> bool:
        """Whether more than one verdict on a response was asked for."""
        return len(self.judges) > 1 or (self.manifest is not None and self.manifest.judge_epochs > 1)

    @cached_property
    def judged_again(self) -> tuple[int, int]:
        """Responses with several verdicts, and those of them whose verdicts agree."""
        several = [outcome.verdicts for outcome in self.outcomes if len(outcome.verdicts) > 1]
        return len(several), sum(len({verdict.label for verdict in verdicts}) == 1 for verdicts in several)

    @cached_property
    def repeats(self) -> Repeats | None:
        """Where the scores vary, when anything was asked more than once."""
        if not self.judged_again[0] and len({outcome.key for outcome in self.scored}) == len(self.scored):
            return None
        rows = [(outcome, verdict.score) for outcome in self.scored for verdict in outcome.verdicts]
        repeated = repeats(
            [score for _, score in rows],
            [outcome.key for outcome, _ in rows],
            [outcome.epoch for outcome, _ in rows],
            [outcome.group for outcome, _ in rows],
        )
        return in_nouns(repeated, self.nouns)

    @cached_property
    def _bounds(self) -> dict[str, Bounds]:
        return {measure.name: bounds_of(measure, self.outcomes) for measure in self.measures}


Item = TypeVar("Item")


def grouped(items: Iterable[Item], name: Callable[[Item], str | int]) -> dict[str, list[Item]]:
    """Items by what each is named: numbers first and in their order, then texts."""
    groups: defaultdict[str | int, list[Item]] = defaultdict(list)
    for item in items:
        groups[name(item)].append(item)
    return {str(group): groups[group] for group in sorted(groups, key=lambda group: (isinstance(group, str), group))}


def summarize(run: RunFolder | Responses | str | Path) -> Summary:
    """Aggregate a run, finished or not, or answers with the verdicts on them.

    Raises a `RunError` where the run is damaged, or there is none at the path.
    """
    if isinstance(run, Responses):
        return _of_responses(run)
    folder = run if isinstance(run, RunFolder) else RunFolder(run)
    record = read_run(folder, reporting_of(folder.manifest().identity.benchmark).detail)
    manifest, events = record.manifest, record.events
    judge_usage = {name: events.usage("judge", price, name) for name, price in manifest.judge_prices.items()}
    judges = list(judge_usage.values())
    usage = {"assistant": events.usage("assistant", manifest.assistant_price)}
    if judges:
        usage["judge"] = sum(judges[1:], judges[0])
    for role in events.roles:
        if role not in {"assistant", "judge"}:
            usage[role] = events.usage(role, manifest.price_of(role))
    stages, thoughtful = (Counter(key.stage for key in keys) for keys in (events.reused, events.thoughtful))
    reused = Reused(stages["response"], stages["verdict"], events.reused_usage(manifest.price_paid), manifest.reused)
    return Summary(
        path=str(folder.path),
        benchmark=manifest.identity.benchmark,
        model=manifest.identity.assistant.model,
        judges=tuple(judge.model for judge in manifest.identity.judges),
        strata=manifest.strata,
        labels=manifest.labels,
        nouns=manifest.nouns,
        measures=manifest.measures,
        embedded=manifest.embedded,
        outcomes=tuple(outcome for outcome in record.outcomes if outcome.stratum != CONTROL),
        controls=ControlCases.of(manifest, [outcome for outcome in record.outcomes if outcome.stratum == CONTROL]),
        tried_again=events.tried_again,
        seconds=events.seconds,
        usage=usage,
        judge_usage=judge_usage,
        prompts=events.prompts,
        reused=reused if manifest.reused else None,
        thoughts={"responses": thoughtful["response"], "verdicts": thoughtful["verdict"]},
        finishes=events.finishes,
        manifest=manifest,
        ordered=manifest.ordered,
        settings=manifest.identity.settings,
    )


def _of_responses(responses: Responses) -> Summary:
    """Answers with their verdicts, as a file has them; nothing is known of their calls."""
    declared = benchmark_of(responses.benchmark)
    settings = declared.settings_type.model_validate(responses.settings)
    declared = settings.applied_to(declared)
    records = [
        CaseRecord(key=one.key, group=one.group, stratum=one.stratum, view=one.view.model_dump(), meta=dict(one.meta))
        for one in responses.case_set.cases
        if one.stratum != CONTROL
    ]
    there = {record.stratum for record in records}
    strata = responses.strata or tuple(stratum for stratum in declared.strata if stratum in there)
    grading = dict.fromkeys(strata, (tuple(declared.labels), NO_CUTS))
    events, verdicts = LastEvents(responses.stages), Grading(responses.judges)
    return Summary(
        path=responses.name,
        benchmark=declared.name,
        model=responses.identity.model,
        judges=responses.judges,
        strata=strata,
        labels=tuple(declared.labels),
        nouns=declared.nouns,
        measures=tuple(measure.under(settings) for measure in declared.measures),
        embedded=responses.embedded,
        outcomes=outcomes_of(records, events, verdicts, responses.epochs, grading),
        controls=ControlCases(reason=f"a results file holds no {declared.nouns.controls}"),
        ordered=not is_nominal(declared),
        settings=responses.settings,
        responses=responses,
    )
