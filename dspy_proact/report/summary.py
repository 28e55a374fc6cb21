"""What a run says so far: counts with their denominators, scores with their intervals, usage with its price."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from dspy_proact.calls import Call
from dspy_proact.runs import Event, Manifest, PricePerToken, RunFolder, latest
from dspy_proact.stats import Estimate, cluster_mean, macro_mean

State = Literal["scored", "unscored", "pending"]


@dataclass(frozen=True)
class Outcome:
    """One trigger in one epoch."""

    stratum: str
    group: str
    state: State
    label: str | None = None
    """The grade; None unless scored."""
    score: float = 0.0
    """In [0, 1], higher is better; 0 unless scored, which is what the strict scores count."""
    reason: str | None = None
    """Stage and reason of a failure; None unless unscored."""


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
class Usage:
    """What one role has used, every attempt counted."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    usd: float | None
    """US dollars at list price; None where it cannot be known."""
    reason: str | None
    """Why `usd` is None."""


@dataclass(frozen=True)
class Summary:
    """Everything that a run's files say, aggregated."""

    path: str
    manifest: Manifest
    case_count: int
    """Triggers that were ever asked for."""
    group_count: int
    """Scenarios among them."""
    outcomes: tuple[Outcome, ...]
    """One a trigger and epoch."""
    evidence_checked: int
    """Verdicts that quote, or had to."""
    evidence_verified: int
    """Those of them with a quote that stands in the response."""
    truncated: int
    """Responses that were cut at the token limit; they are judged."""
    tried_again: int
    """Stages that had failed and were asked for once more."""
    usage: dict[str, Usage]
    """By role."""

    @property
    def complete(self) -> bool:
        """Whether nothing is pending."""
        return not self.count("pending")

    def count(self, state: State) -> int:
        """Outcomes in a state."""
        return sum(outcome.state == state for outcome in self.outcomes)

    @cached_property
    def unscored_reasons(self) -> dict[str, int]:
        """How often each reason left a trigger unscored, the commonest first."""
        return dict(Counter(outcome.reason for outcome in self.outcomes if outcome.reason).most_common())

    def of_stratum(self, stratum: str) -> list[Outcome]:
        """The outcomes of one stratum."""
        return [outcome for outcome in self.outcomes if outcome.stratum == stratum]

    def scores(self, stratum: str) -> Scores:
        """The scores of one stratum."""
        return self._scores(self.of_stratum(stratum), _plain_mean)

    @cached_property
    def micro(self) -> Scores:
        """Every trigger weighted equally."""
        return self._scores(self.outcomes, _plain_mean)

    @cached_property
    def macro(self) -> Scores:
        """Every stratum weighted equally."""
        order = self.manifest.strata

        def mean(scores: list[float], outcomes: Sequence[Outcome]) -> Estimate:
            groups, strata = [o.group for o in outcomes], [o.stratum for o in outcomes]
            return macro_mean(scores, groups, strata, order)

        return self._scores(self.outcomes, mean)

    def _scores(
        self, outcomes: Sequence[Outcome], mean: Callable[[list[float], Sequence[Outcome]], Estimate]
    ) -> Scores:
        top = self.manifest.labels[0]
        tried = [outcome for outcome in outcomes if outcome.state != "pending"]
        scored = [outcome for outcome in tried if outcome.state == "scored"]
        return Scores(
            pass_rate=mean([float(outcome.label == top) for outcome in scored], scored),
            weighted=mean([outcome.score for outcome in scored], scored),
            strict_pass_rate=mean([float(outcome.label == top) for outcome in tried], tried),
            strict_weighted=mean([outcome.score for outcome in tried], tried),
        )


def summarize(folder: RunFolder) -> Summary:
    """Aggregate a run, finished or not; raises `RunError` when it is damaged."""
    manifest, cases, events = folder.manifest(), folder.cases(), folder.events()
    latest_of = latest(events)
    ended = {(key.case, key.epoch, key.stage): event for key, event in latest_of.items()}
    outcomes = tuple(
        _outcome(
            case.stratum, case.group, ended.get((case.key, epoch, "response")), ended.get((case.key, epoch, "verdict"))
        )
        for epoch in range(1, manifest.epochs + 1)
        for case in cases
    )
    checks = [event.grade.verified for event in ended.values() if event.grade and event.grade.verified is not None]
    return Summary(
        path=str(folder.path),
        manifest=manifest,
        case_count=len(cases),
        group_count=len({case.group for case in cases}),
        outcomes=outcomes,
        evidence_checked=len(checks),
        evidence_verified=sum(checks),
        truncated=sum(bool(event.answer and event.answer.get("truncated")) for event in ended.values()),
        tried_again=sum(event.failure is not None and latest_of[event.key] is not event for event in events),
        usage={role: _usage(role, events, price) for role, price in manifest.prices.items()},
    )


def _outcome(stratum: str, group: str, response: Event | None, verdict: Event | None) -> Outcome:
    if verdict and verdict.grade:
        return Outcome(stratum, group, "scored", label=verdict.grade.label, score=verdict.grade.score)
    for event in (response, verdict):
        if event and event.failure:
            return Outcome(stratum, group, "unscored", reason=f"{event.key.stage}: {event.failure.reason}")
    return Outcome(stratum, group, "pending")


def _usage(role: str, events: Iterable[Event], price: PricePerToken) -> Usage:
    calls = [call for event in events for call in event.calls if call.role == role]
    answered = [call for call in calls if call.error is None]
    cached = sum(call.cached_tokens or 0 for call in calls)
    prompt = sum(call.prompt_tokens or 0 for call in calls)
    completion = sum(call.completion_tokens or 0 for call in calls)
    usd, reason = _cost(prompt, completion, cached, answered, price)
    return Usage(len(calls), prompt, completion, cached, usd, reason)


def _cost(
    prompt: int, completion: int, cached: int, answered: Sequence[Call], price: PricePerToken
) -> tuple[float | None, str | None]:
    if price.prompt is None or price.completion is None:
        return None, price.reason
    silent = sum(call.prompt_tokens is None or call.completion_tokens is None for call in answered)
    if silent:
        return None, f"{silent} of {len(answered)} answers came without token counts"
    cached_price = price.prompt if price.cached is None else price.cached
    return (prompt - cached) * price.prompt + cached * cached_price + completion * price.completion, None


def _plain_mean(scores: list[float], outcomes: Sequence[Outcome]) -> Estimate:
    return cluster_mean(scores, [outcome.group for outcome in outcomes])
