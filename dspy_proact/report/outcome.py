"""What became of one case in one epoch, read from a run: the row that every report is made of."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args

from dspy_proact.runs import CONTROL, CaseRecord, Event, Grading, Manifest, StageKey, consensus, latest

NO_CUTS: Mapping[str, tuple[float, float]] = {}
State = Literal["scored", "unscored", "pending"]


@dataclass(frozen=True)
class GivenVerdict:
    """One verdict on a response."""

    judge: str | None
    """Its name; None where the benchmark grades by itself."""
    judge_epoch: int
    """Which of this judge's verdicts on the response, counted from 1."""
    label: str
    score: float
    """In [0, 1], higher is better."""
    verified: bool | None
    """Whether a quote stands in the response; None where there is nothing to check."""
    detail: Mapping[str, Any]
    """The benchmark's own model of the grading, as JSON."""
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    """Named numbers beside the score, of which measures are made."""


@dataclass(frozen=True)
class Evidence:
    """How well a grading quotes."""

    checked: int
    """Verdicts that quote, or had to."""
    verified: int
    """Those of them with a quote that stands in the response."""

    @classmethod
    def of(cls, verdicts: Iterable[GivenVerdict]) -> "Evidence":
        """That of some verdicts."""
        checks = [verdict.verified for verdict in verdicts if verdict.verified is not None]
        return cls(len(checks), sum(checks))


@dataclass(frozen=True)
class Outcome:
    """One case in one epoch."""

    stratum: str
    group: str
    state: State
    label: str | None = None
    """The grade: of several verdicts the commonest, ties to the worst; None unless scored."""
    score: float = 0.0
    """In [0, 1], higher is better: the verdicts' mean; 0 unless scored, which is what the strict scores count."""
    reason: str | None = None
    """Stage and reason of a failure; None unless unscored."""
    key: str = ""
    """Of the case."""
    epoch: int = 1
    response: str | None = None
    """None where there is none."""
    truncated: bool = False
    """Whether it was cut at the token limit."""
    verdicts: tuple[GivenVerdict, ...] = ()
    """Every judge's first, then every judge's second, and so on."""
    unread: tuple[tuple[str | None, str], ...] = ()
    """Judge and reason of each verdict that was tried and is not there."""
    awaited: int = 0
    """Further verdicts that were asked for and not tried yet; those that are there count already."""
    meta: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    """What it can be grouped by, and what only export reads."""
    view: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the programs saw of it, as JSON."""
    cuts: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """Of compiled judges, by judge."""

    def graded(
        self, verdicts: Sequence[GivenVerdict], labels: Sequence[str], cuts: Mapping[str, tuple[float, float]] = NO_CUTS
    ) -> "Outcome":
        """The same with its verdicts, at least one.

        Args:
            verdicts: On the response.
            labels: All there are, from best to worst.
            cuts: Of compiled judges, by judge: on the mean level of its verdicts, whose label then is one, and whose
                score that of the label.
        """
        given: list[tuple[str, float]] = []
        for judge in dict.fromkeys(verdict.judge for verdict in verdicts):
            own = [verdict for verdict in verdicts if verdict.judge == judge]
            cut = cuts.get(judge) if judge else None
            given += [_cut(own, labels, cut)] if cut else [(each.label, each.score) for each in own]
        label, score = _joined(given, labels)
        return replace(self, state="scored", label=label, score=score, verdicts=tuple(verdicts), cuts=cuts)

    def by(self, judge: str, labels: Sequence[str]) -> "Outcome":
        """The same as one judge alone graded it; without a label where it gave no verdict."""
        own = tuple(verdict for verdict in self.verdicts if verdict.judge == judge)
        return self.graded(own, labels, self.cuts) if own else replace(self, label=None, verdicts=())

    def unscored(self, reason: str) -> "Outcome":
        """The same, tried and without a grade."""
        return replace(self, state="unscored", reason=reason)


class Outcomes:
    """What is counted of several."""

    outcomes: tuple[Outcome, ...]
    """One a case and epoch."""

    @cached_property
    def scored(self) -> list[Outcome]:
        """Those with a grade."""
        return [outcome for outcome in self.outcomes if outcome.state == "scored"]

    @cached_property
    def verdicts(self) -> tuple[GivenVerdict, ...]:
        """Every verdict that was read."""
        return tuple(verdict for outcome in self.outcomes for verdict in outcome.verdicts)

    @property
    def evidence(self) -> Evidence:
        """How well the verdicts quote."""
        return Evidence.of(self.verdicts)

    @property
    def awaited(self) -> int:
        """Further verdicts that were asked for and not tried yet."""
        return sum(outcome.awaited for outcome in self.outcomes)

    @cached_property
    def unscored_reasons(self) -> dict[str, int]:
        """How often each reason left a case unscored, the commonest first."""
        return dict(Counter(outcome.reason for outcome in self.outcomes if outcome.reason).most_common())

    def count(self, state: State) -> int:
        """Outcomes in a state."""
        return sum(outcome.state == state for outcome in self.outcomes)

    def counts(self) -> dict[str, Any]:
        """Counts by state, and the reasons of what is unscored, as JSON."""
        states = {state: self.count(state) for state in get_args(State)}
        return {"total": len(self.outcomes), **states, "unscored_reasons": self.unscored_reasons}


Item = TypeVar("Item")


def grouped(items: Iterable[Item], name: Callable[[Item], str | int]) -> dict[str, list[Item]]:
    """Items by what each is named: numbers first and in their order, then texts."""
    groups: defaultdict[str | int, list[Item]] = defaultdict(list)
    for item in items:
        groups[name(item)].append(item)
    return {str(group): groups[group] for group in sorted(groups, key=lambda group: (isinstance(group, str), group))}


def _joined(given: Sequence[tuple[str, float]], labels: Sequence[str]) -> tuple[str, float]:
    """The commonest label, ties to the worst, and the mean score."""
    label = consensus([label for label, _ in given], labels)
    return label, sum(score for _, score in given) / len(given)


def _cut(verdicts: Sequence[GivenVerdict], labels: Sequence[str], cuts: tuple[float, float]) -> tuple[str, float]:
    """Label and score of a compiled judge's verdicts: where their mean level lies among the cuts."""
    worst = len(labels) - 1
    mean = sum(worst - labels.index(verdict.label) for verdict in verdicts) / len(verdicts)
    level = sum(mean >= cut for cut in cuts)
    return labels[worst - level], level / worst


def outcomes_of(manifest: Manifest, cases: Sequence[CaseRecord], events: Iterable[Event]) -> tuple[Outcome, ...]:
    """One outcome a case and epoch of a run, epoch by epoch; control cases too, by labels of their own.

    A case is pending until its response and a verdict of every judge were tried, and unscored when all that was
    asked for was tried and no verdict is there.
    """
    ended = latest(events)
    judges = Grading([judge.model for judge in manifest.identity.judges], manifest.judge_epochs)
    cuts = {
        stratum: {judge.model: judge.cuts[stratum] for judge in manifest.identity.judges if stratum in judge.cuts}
        for stratum in manifest.strata
    }
    grading: dict[str, tuple[Sequence[str], Mapping[str, tuple[float, float]]]] = {
        stratum: (manifest.labels, cuts[stratum]) for stratum in manifest.strata
    }
    grading[CONTROL] = (manifest.control_labels, NO_CUTS)
    return tuple(
        _outcome(case, epoch, ended, judges.keys(case.key, epoch), grading[case.stratum])
        for epoch in range(1, manifest.epochs + 1)
        for case in cases
    )


def _outcome(
    case: CaseRecord,
    epoch: int,
    ended: Mapping[StageKey, Event],
    asked: Sequence[StageKey],
    grading: tuple[Sequence[str], Mapping[str, tuple[float, float]]],
) -> Outcome:
    response = ended.get(StageKey(case=case.key, epoch=epoch, stage="response"))
    answer = (response.answer if response else None) or {}
    outcome = Outcome(
        stratum=case.stratum,
        group=case.group,
        state="pending",
        key=case.key,
        epoch=epoch,
        response=answer.get("text", json.dumps(answer, sort_keys=True) if answer else None),
        truncated=bool(answer.get("truncated")),
        meta=case.meta,
        view=case.view,
    )
    if response and response.failure:
        return outcome.unscored(f"response: {response.failure.reason}")
    tried = [event for key in asked if (event := ended.get(key)) and (event.grade or event.failure)]
    here = [event.key for event in tried]
    if response is None or response.answer is None or any(key.judge_epoch == 1 and key not in here for key in asked):
        return outcome
    unread = tuple((event.key.judge, event.failure.reason) for event in tried if event.failure)
    outcome = replace(outcome, unread=unread, awaited=len(asked) - len(tried))
    if grades := [_given(event) for event in tried if event.grade]:
        return outcome.graded(grades, *grading)
    return outcome if outcome.awaited else outcome.unscored(f"verdict: {unread[0][1]}")


def _given(event: Event) -> GivenVerdict:
    key, grade = event.key, event.grade
    assert grade is not None, "a verdict with its result"
    return GivenVerdict(key.judge, key.judge_epoch, grade.label, grade.score, grade.verified, grade.detail, grade.parts)
