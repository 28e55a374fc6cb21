"""What became of each case of a run, read from disk: the one reader that reports, lists and comparisons build on."""

import gc
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from math import inf
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from dspy_proact.calls import FINISHES, Call, CallTally, CallUsage, Failure, Price, Stage, StageKey, Usage
from dspy_proact.errors import RunError
from dspy_proact.kept import CALLS, first_fault
from dspy_proact.prompt_counts import PromptCounts
from dspy_proact.runs.benchmark import CONTROL
from dspy_proact.runs.case_record import CaseRecord
from dspy_proact.runs.causes import Cause, causes_of
from dspy_proact.runs.folder import RunFolder
from dspy_proact.runs.ledger import Grading, StageEvent, VerdictRecord
from dspy_proact.runs.manifest import Manifest
from dspy_proact.runs.votes import NO_CUTS, Cuts, joint_grade

State = Literal["scored", "unscored", "pending"]


@dataclass(frozen=True)
class Evidence:
    """How well a grading quotes."""

    checked: int
    verified: int
    """Those of them with a quote that stands in the response."""

    @classmethod
    def of(cls, verdicts: Iterable[VerdictRecord]) -> "Evidence":
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
    epoch: int = 1
    response: str | None = None
    truncated: bool = False
    verdicts: tuple[VerdictRecord, ...] = ()
    """Every judge's first, then every judge's second, and so on."""
    failure: Failure | None = None
    """Why there is no response; None where there is one, or none was tried."""
    unread: tuple[tuple[str | None, Failure], ...] = ()
    """Each verdict that was tried and is not there: its judge, and why."""
    reopened: tuple[tuple[Stage, Failure], ...] = ()
    """Failures of stages that are to be tried again, since the run ended for a fault that they share."""
    awaited: int = 0
    """Further verdicts that were asked for and not tried yet; those that are there count already."""
    meta: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    """What it can be grouped by, and what only export reads."""
    view: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the programs saw of it, as JSON."""
    cuts: Cuts = field(default_factory=dict[str, tuple[float, float]])
    """Of compiled judges, by judge."""

    def graded(self, verdicts: Sequence[VerdictRecord], labels: Sequence[str], cuts: Cuts = NO_CUTS) -> "Outcome":
        """A copy with its verdicts, at least one."""
        label, score = joint_grade(verdicts, labels, cuts)
        return replace(self, state="scored", label=label, score=score, verdicts=tuple(verdicts), cuts=cuts)

    def by(self, judge: str, labels: Sequence[str]) -> "Outcome":
        """A copy as one judge alone graded it; without a label where it gave no verdict."""
        own = tuple(verdict for verdict in self.verdicts if verdict.judge == judge)
        return self.graded(own, labels, self.cuts) if own else replace(self, label=None, verdicts=())

    def unscored(self, reason: str) -> "Outcome":
        """A copy that was tried and has no grade."""
        return replace(self, state="unscored", reason=reason)

    @property
    def failures(self) -> list[tuple[Stage, Failure]]:
        """Every stage that was tried and has no result, those that are to be tried again included."""
        response: list[tuple[Stage, Failure]] = [("response", self.failure)] if self.failure else []
        return [*response, *(("verdict", failure) for _, failure in self.unread), *self.reopened]

    @property
    def cause(self) -> str | None:
        """The sentence of the provider, or of whoever read the answer, behind `reason`; None without one."""
        return self.failures[0][1].detail or None if self.reason and self.failures else None

    @property
    def unverified(self) -> bool:
        """Whether a verdict quotes nothing that stands in the response, and had to."""
        return any(verdict.verified is False for verdict in self.verdicts)

    @property
    def split(self) -> bool:
        """Whether verdicts on the response differ."""
        return len({verdict.label for verdict in self.verdicts}) > 1


class Outcomes:
    """Counts over several outcomes."""

    outcomes: tuple[Outcome, ...]

    @cached_property
    def scored(self) -> list[Outcome]:
        """Those with a grade."""
        return [outcome for outcome in self.outcomes if outcome.state == "scored"]

    @cached_property
    def verdicts(self) -> tuple[VerdictRecord, ...]:
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

    @cached_property
    def causes(self) -> list[Cause]:
        """What failed and why."""
        return causes_of(failure for outcome in self.outcomes for failure in outcome.failures)

    def count(self, state: State) -> int:
        """Outcomes in a state."""
        return self._states[state]

    @cached_property
    def _states(self) -> Counter[State]:
        return Counter(outcome.state for outcome in self.outcomes)

    def counts(self) -> dict[str, Any]:
        """Counts by state, and the reasons of what is unscored, as JSON."""
        states = {state: self.count(state) for state in get_args(State)}
        causes = [asdict(cause) for cause in self.causes]
        reasons = {"unscored_reasons": self.unscored_reasons, **({"failure_causes": causes} if causes else {})}
        return {"total": len(self.outcomes), **states, **reasons}


class _Response(NamedTuple):
    text: str | None
    truncated: bool
    failure: Failure | None


class LastEvents:
    """The last event of each stage, and the attempts at calls, which are counted.

    The events themselves are not kept: they would take several times the memory.

    Attributes:
        responses: By case and epoch; None where the run was stopped in the middle.
        verdicts: By case, epoch, judge and its epoch; the failure of one that failed.
        reopened: By case and epoch, the failures of stages that are to be tried again.
        tried_again: Stages that had failed and were tried once more.
        reused: Stages with replies that were copied from another run.
        thoughtful: Stages with a reply that had thoughts taken out of its text.
        finishes: How often a reply ended for a reason that is the provider's own word, and not known.
    """

    def __init__(self, events: Iterable[StageEvent], calls: Iterable[CallUsage] = ()):
        self.responses: dict[tuple[str, int], _Response | None] = {}
        self.verdicts: dict[tuple[str, int, str | None, int], VerdictRecord | Failure | None] = {}
        self.reopened = defaultdict[tuple[str, int], dict[StageKey, tuple[Stage, Failure]]](dict)
        self.tried_again = 0
        self.reused, self.thoughtful = set[StageKey](), set[StageKey]()
        self.finishes = Counter[str]()
        self._first, self._last = inf, -inf
        self._tallies = defaultdict[tuple[str, str | None, bool], CallTally](CallTally)
        self._uncounted = defaultdict[tuple[Stage, str | None, int, int], set[str]](set)
        """Cases whose stage took calls that are not in the log, by the rest of its key."""
        for event in events:
            self._add_event(event)
        for call in calls:
            self._add_call(call)

    def _add_event(self, event: StageEvent) -> None:
        key, grade, failure = event.key, event.grade, event.failure
        case, judge = sys.intern(key.case), key.judge and sys.intern(key.judge)
        self._first, self._last = min(self._first, event.time), max(self._last, event.time)
        for call in event.calls:  # of an older run, which does not say which attempts are of one request
            self._tally((call,), judge)
        if event.attempts and not event.calls:
            self._uncounted[key.stage, judge, key.epoch, key.judge_epoch].add(case)
        stopped = event.answer is None and not grade and not failure
        if key.stage == "response":
            before = self.responses.get((case, key.epoch))
            self._reopen(key, stopped, before and before.failure)
            truncated = event.truncated or bool(event.answer and event.answer.get("truncated"))
            self.responses[case, key.epoch] = None if stopped else _Response(event.text, truncated, failure)
            return
        stage = (case, key.epoch, judge, key.judge_epoch)
        failed = self.verdicts.get(stage)
        self._reopen(key, stopped, failed if isinstance(failed, Failure) else None)
        if grade:
            grade = replace(grade, label=sys.intern(grade.label), judge=judge, judge_epoch=key.judge_epoch)
        self.verdicts[stage] = grade or failure

    def _add_call(self, call: CallUsage) -> None:
        key, judge = call.key, call.key and call.key.judge
        self._tally(call.attempts, judge)
        if key:
            self._uncounted[key.stage, judge, key.epoch, key.judge_epoch].discard(key.case)
            if call.reused:
                self.reused.add(key)
                self._tally(call.reused, judge, reused=True)
        for reply in call.attempts or call.reused:
            if key and reply.thoughts:
                self.thoughtful.add(key)
            if reply.finish_reason and reply.finish_reason not in FINISHES:
                self.finishes[reply.finish_reason] += 1

    def _reopen(self, key: StageKey, stopped: bool, before: Failure | None) -> None:
        """Note what an event makes of the failure before it."""
        if not stopped:
            reopened = self.reopened.get((key.case, key.epoch), {}).pop(key, None)
            self.tried_again += before is not None or reopened is not None
        elif before:
            self.reopened[key.case, key.epoch][key] = key.stage, before

    def _tally(self, attempts: Sequence[Call], judge: str | None, *, reused: bool = False) -> None:
        """Count the attempts at a request, and the time from the first one of all on, copied ones not."""
        for number, attempt in enumerate(attempts):
            tally = self._tallies[attempt.role, judge if attempt.role == "judge" else None, reused]
            tally.add(attempt, retry=number > 0)
            if not reused:
                self._first, self._last = min(self._first, attempt.started), max(self._last, attempt.started)

    @property
    def cases(self) -> set[str]:
        """Keys of the cases that there are events of."""
        return {key[0] for key in (*self.responses, *self.verdicts)}

    @property
    def seconds(self) -> float | None:
        """From the first call to the last event; None without events."""
        return round(self._last - self._first, 1) if self._last >= self._first else None

    @property
    def roles(self) -> list[str]:
        """Every role that was called, in the order of their names."""
        return sorted({role for role, _, reused in self._tallies if not reused})

    @property
    def prompts(self) -> dict[str, PromptCounts]:
        """What is known of the prompts of each role, and of each judge."""
        tallies = self._tallies.items()
        return {
            f"{role} {judge or ''}".strip(): tally.prompts for (role, judge, reused), tally in tallies if not reused
        }

    def usage(self, role: str, price: Price, judge: str | None = None) -> Usage:
        """What a role used; of judges, the one of this name. The cost is not known where calls are lost."""
        usage, stage = self._tallies[role, judge, False].usage(price), "verdict" if role == "judge" else "response"
        kinds = self._uncounted.items()
        lost = sum(len(cases) for (of_stage, by, *_), cases in kinds if (of_stage, by) == (stage, judge))
        if not lost:
            return usage
        stages = f"{lost:,} of the verdicts of {judge}" if judge else f"{lost:,} of the responses"
        reason = f"{CALLS} lacks the calls of {stages}"
        return replace(usage, usd=None, reason="; ".join(filter(None, (reason, usage.reason))))

    def reused_usage(self, price_of: Callable[[str, str | None], Price]) -> Usage:
        """What the calls had used whose replies were copied, by the prices at which they were paid for."""
        tallies = self._tallies.items()
        used = (tally.usage(price_of(role, judge)) for (role, judge, reused), tally in tallies if reused)
        return sum(used, Usage(0, 0, 0, 0, 0.0, None))


@dataclass(frozen=True)
class RunRecord:
    """A run as it was read."""

    manifest: Manifest
    events: LastEvents
    cases: tuple[CaseRecord, ...]
    outcomes: tuple[Outcome, ...]
    """One per case and epoch, epoch by epoch; control cases too, by labels of their own."""


def read_run(
    folder: RunFolder, detail: Callable[[str], type[BaseModel] | None] = lambda _: None, *, usage: bool = True
) -> RunRecord:
    """Read a run, finished or not; raises a `RunError` where it is damaged.

    A case is pending until its response and a verdict of every judge were tried, and unscored when everything that was
    asked for was tried and no verdict is there. Where `detail` gives a model for a stratum, details of its verdicts are
    checked by it. Without `usage` the log of calls is not read, and the events know of no attempts.
    """
    with rare_collections():
        manifest, events = folder.manifest(), LastEvents(folder.events(), folder.call_usage() if usage else ())
        cases = folder.cases_of(events.cases)
        judges = manifest.identity.judges
        grading: dict[str, tuple[Sequence[str], Cuts]] = {CONTROL: (manifest.control_labels, NO_CUTS)}
        for stratum in manifest.strata:
            cuts = {judge.model: judge.cuts[stratum] for judge in judges if stratum in judge.cuts}
            grading[stratum] = manifest.labels, cuts
        strata = {case.key: case.stratum for case in cases}
        for (case, *_), verdict in events.verdicts.items():
            if isinstance(verdict, VerdictRecord):
                where = f"{folder.path}: a verdict on {case!r}"
                if verdict.label not in grading[strata[case]][0]:
                    raise RunError(f"{where} has the label {verdict.label!r}, which is none of it")
                try:
                    if form := detail(strata[case]):
                        form.model_validate(verdict.detail)
                except ValidationError as error:
                    raise RunError(f"{where} is damaged: {first_fault(error)}") from error
        verdicts = Grading([judge.model for judge in judges], manifest.judge_epochs)
        return RunRecord(manifest, events, cases, outcomes_of(cases, events, verdicts, manifest.epochs, grading))


def outcomes_of(
    cases: Sequence[CaseRecord],
    events: LastEvents,
    verdicts: Grading,
    epochs: int,
    grading: Mapping[str, tuple[Sequence[str], Cuts]],
) -> tuple[Outcome, ...]:
    """One outcome per case and epoch, epoch by epoch.

    `verdicts` says whose verdicts count and how many there should be; `grading` has, by stratum, the labels from best
    to worst and the cuts of compiled judges.
    """
    stages = [(key.judge, key.judge_epoch) for key in verdicts.keys("", 1)]
    return tuple(
        _outcome(case, epoch, events, stages, grading[case.stratum]) for epoch in range(1, epochs + 1) for case in cases
    )


def _outcome(
    case: CaseRecord,
    epoch: int,
    events: LastEvents,
    stages: Sequence[tuple[str | None, int]],
    grading: tuple[Sequence[str], Cuts],
) -> Outcome:
    """One case in one epoch; `stages` are judge and its epoch of every verdict that was asked for."""
    response = events.responses.get((case.key, epoch))
    outcome = partial(
        Outcome,
        case.stratum,
        case.group,
        key=case.key,
        epoch=epoch,
        response=response and response.text,
        truncated=response is not None and response.truncated,
        reopened=tuple(events.reopened.get((case.key, epoch), {}).values()),
        meta=case.meta,
        view=case.view,
    )
    if response and response.failure:
        return outcome(state="unscored", reason=f"response: {response.failure.reason}", failure=response.failure)
    tried = {stage: verdict for stage in stages if (verdict := events.verdicts.get((case.key, epoch, *stage)))}
    if response is None or any(again == 1 and (judge, again) not in tried for judge, again in stages):
        return outcome(state="pending")
    verdicts = tuple(verdict for verdict in tried.values() if isinstance(verdict, VerdictRecord))
    unread = tuple((judge, verdict) for (judge, _), verdict in tried.items() if isinstance(verdict, Failure))
    awaited = len(stages) - len(tried)
    if verdicts:
        label, score = joint_grade(verdicts, *grading)
        outcome = partial(outcome, verdicts=verdicts, unread=unread, awaited=awaited, cuts=grading[1])
        return outcome(state="scored", label=label, score=score)
    if awaited:
        return outcome(state="pending", unread=unread, awaited=awaited)
    return outcome(state="unscored", reason=f"verdict: {unread[0][1].reason}", unread=unread)


@contextmanager
def rare_collections() -> Generator[None]:
    """Inside, the garbage collector runs rarely: many values are made, few of them in cycles."""
    before = gc.get_threshold()
    if before[0]:  # a collector that a person has turned off stays off
        gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
