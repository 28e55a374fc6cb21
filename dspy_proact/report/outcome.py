"""What became of one case in one epoch, read from a run: the row that every report is made of."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from dspy_proact.errors import RunError
from dspy_proact.kept import first_fault
from dspy_proact.report.ended import Ended, GivenVerdict
from dspy_proact.runs import CONTROL, CaseRecord, Glance, Grading, Manifest, RunFolder, State, consensus, cut_label

NO_CUTS: Mapping[str, tuple[float, float]] = {}


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

    @property
    def glance(self) -> Glance:
        """What a list says of it."""
        unverified = any(verdict.verified is False for verdict in self.verdicts)
        split = len({verdict.label for verdict in self.verdicts}) > 1
        return Glance(self.key, self.epoch, self.stratum, self.state, self.label, self.reason, unverified, split)

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
    """Label and score of a compiled judge's verdicts."""
    label = cut_label([verdict.label for verdict in verdicts], labels, cuts)
    return label, 1 - labels.index(label) / (len(labels) - 1)


def outcomes_of(
    folder: RunFolder, manifest: Manifest, ended: Ended, detail: Callable[[str], type[BaseModel] | None]
) -> tuple[Outcome, ...]:
    """One outcome a case and epoch of a run, epoch by epoch; control cases too, by labels of their own.

    A case is pending until its response and a verdict of every judge were tried, and unscored when all that was
    asked for was tried and no verdict is there.

    Args:
        folder: The run.
        manifest: Of it.
        ended: Its events.
        detail: What the detail of a verdict in a stratum is; None where that is not known.

    Raises:
        RunError: The cases are damaged, or a verdict has a label that the run does not know or a detail of another
            form.
    """
    cases = folder.cases_of(ended.cases)
    judges = Grading([judge.model for judge in manifest.identity.judges], manifest.judge_epochs)
    asked = [(key.judge, key.judge_epoch) for key in judges.keys("", 1)]
    cuts = {
        stratum: {judge.model: judge.cuts[stratum] for judge in manifest.identity.judges if stratum in judge.cuts}
        for stratum in manifest.strata
    }
    grading: dict[str, tuple[Sequence[str], Mapping[str, tuple[float, float]]]] = {
        stratum: (manifest.labels, cuts[stratum]) for stratum in manifest.strata
    }
    grading[CONTROL] = (manifest.control_labels, NO_CUTS)
    of = {case.key: case.stratum for case in cases}
    for (case, *_), verdict in ended.verdicts.items():
        if isinstance(verdict, GivenVerdict) and verdict.label not in grading[of[case]][0]:
            raise RunError(f"{folder.path}: a verdict on {case!r} has the label {verdict.label!r}, which is none of it")
        if isinstance(verdict, GivenVerdict) and (form := detail(of[case])):
            _require(form, verdict.detail, f"{folder.path}: a verdict on {case!r}")
    return tuple(
        _outcome(case, epoch, ended, asked, grading[case.stratum])
        for epoch in range(1, manifest.epochs + 1)
        for case in cases
    )


def _require(form: type[BaseModel], detail: Mapping[str, Any], what: str) -> None:
    try:
        form.model_validate(detail)
    except ValidationError as error:
        raise RunError(f"{what} is damaged: {first_fault(error)}") from error


def _outcome(
    case: CaseRecord,
    epoch: int,
    ended: Ended,
    asked: Sequence[tuple[str | None, int]],
    grading: tuple[Sequence[str], Mapping[str, tuple[float, float]]],
) -> Outcome:
    response = ended.responses.get((case.key, epoch))
    outcome = Outcome(
        stratum=case.stratum,
        group=case.group,
        state="pending",
        key=case.key,
        epoch=epoch,
        response=response and response.text,
        truncated=response is not None and response.truncated,
        meta=case.meta,
        view=case.view,
    )
    if response and response.failure:
        return outcome.unscored(f"response: {response.failure}")
    tried = {each: found for each in asked if (found := ended.verdicts.get((case.key, epoch, *each)))}
    if response is None or any(again == 1 and (judge, again) not in tried for judge, again in asked):
        return outcome
    unread = tuple((judge, found) for (judge, _), found in tried.items() if isinstance(found, str))
    outcome = replace(outcome, unread=unread, awaited=len(asked) - len(tried))
    if grades := [found for found in tried.values() if not isinstance(found, str)]:
        return outcome.graded(grades, *grading)
    return outcome if outcome.awaited else outcome.unscored(f"verdict: {unread[0][1]}")
