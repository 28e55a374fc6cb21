"""The card of a compile: everything that it showed, in one value."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dspy_proact.compile.judge.compiling import Compiled, Tested
from dspy_proact.compile.judge.labels import LEVELS, Labelled
from dspy_proact.models import Price
from dspy_proact.programs import CardNumber, CardUsage, Gain, JudgeCard, PhaseCard
from dspy_proact.stats import (
    Estimate,
    HumanReference,
    Improvement,
    cluster_mean,
    human_reference,
    improvement,
    paired_difference,
)
from dspy_proact.types import Grade, Phase

_RUN = 8
"""Words in a row that make an overlap."""
_ENOUGH = 200
"""Labels from which on gains that are worth having can be shown, by simulation (eval/README.md)."""


@dataclass(frozen=True)
class Made:
    """With what a compile was made, for its card."""

    judge: Mapping[str, Any]
    proposer: str
    optimizer: Mapping[str, Any]
    ratings: Mapping[str, Any]
    embedded: bool
    versions: Mapping[str, str]
    created: str
    price: Price
    """Of the judge."""


@dataclass(frozen=True)
class _Read:
    """The items whose verdicts could be read before and after, as columns."""

    items: Sequence[Labelled]
    before: Sequence[int]
    after: Sequence[int]

    @classmethod
    def of(cls, items: Sequence[Labelled], compiled: Compiled) -> "_Read":
        rows = [
            (item, before, after)
            for item, before, after in zip(items, compiled.before.levels, compiled.after.levels, strict=True)
            if before is not None and after is not None
        ]
        return cls([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])

    def phase(self, phase: Phase) -> "_Read":
        """Those of one phase."""
        at = [place for place, item in enumerate(self.items) if item.phase is phase]
        before, after = ([levels[place] for place in at] for levels in (self.before, self.after))
        return _Read([self.items[place] for place in at], before, after)

    @property
    def scenarios(self) -> list[str]:
        return [item.scenario for item in self.items]


def make_card(items: Sequence[Labelled], compiled: Compiled, made: Made, seed: int) -> JudgeCard:
    """The card of a compile on these items; numbers are out of fold."""
    read = _Read.of(items, compiled)
    gains = improvement(
        read.before,
        read.after,
        [item.soft for item in read.items],
        [item.phase for item in read.items],
        read.scenarios,
        order=list(Phase),
        seed=seed,
    )
    phases = dict(zip(Phase, gains.strata, strict=True))
    return JudgeCard(
        statement=_statement(gains.overall, items),
        shown=gains.overall.shown,
        overall=Gain(**_gain(gains.overall, gains.overall.p)),
        phases={phase: _phase(read.phase(phase), gain) for phase, gain in phases.items()},
        scenarios=gains.overall.scenarios,
        raters=len({rating.annotator for item in items for rating in item.ratings}),
        unread=len(items) - len(read.items),
        evidence_before=_evidence(compiled.before),
        evidence_after=_evidence(compiled.after),
        usage_before=_usage(compiled.before, made.price),
        usage_after=_usage(compiled.after, made.price),
        folds=len(compiled.fold_scores),
        fold_scores=compiled.fold_scores,
        overlap=overlap(compiled.judge.instruction, items),
        judge=dict(made.judge),
        proposer=made.proposer,
        optimizer=dict(made.optimizer),
        ratings=dict(made.ratings),
        embedded=made.embedded,
        versions=dict(made.versions),
        created=made.created,
    )


def overlap(instruction: str, items: Sequence[Labelled]) -> float:
    """Share in [0, 1] of an instruction's runs of eight words that stand in a labelled item; 0 where it has none."""
    seen = {run for item in items for text in _texts(item) for run in _runs(text)}
    own = _runs(instruction)
    return sum(run in seen for run in own) / len(own) if own else 0.0


def _texts(item: Labelled) -> list[str]:
    turns = [text for turn in item.view.conversation for text in (turn.user, turn.assistant or "")]
    rubric = item.view.rubric
    criteria = [rubric.pass_criteria, rubric.partial_criteria, rubric.fail_criteria]
    return [*turns, *criteria, item.response, *(rating.reason for rating in item.ratings)]


def _runs(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return [tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1)]


def _statement(overall: Improvement, items: Sequence[Labelled]) -> str:
    if overall.shown:
        return "improvement shown"
    counts = {phase: sum(item.phase is phase for item in items) for phase in Phase}
    fewest = min(counts, key=lambda phase: counts[phase])
    said = (
        overall.reason
        if overall.reason.startswith("no improvement shown")
        else f"no improvement shown: {overall.reason}"
    )
    return (
        f"{said}. To show one, label responses of further scenarios, {fewest} first (it has {counts[fewest]}), with "
        f"two or more raters each: {max(_ENOUGH, 2 * len(items))} labels in all let a gain of about .2 in kappa be seen"
    )


def _phase(read: _Read, gain: Improvement) -> PhaseCard:
    consensus = [item.consensus for item in read.items]
    before, after = ([LEVELS[level] for level in levels] for levels in (read.before, read.after))
    commonest = max(LEVELS, key=consensus.count)
    reference = _reference(read, after)
    return PhaseCard(
        **_gain(gain, gain.adjusted),
        exact_before=_equal(before, consensus, read.scenarios),
        exact_after=_equal(after, consensus, read.scenarios),
        exact_commonest=_equal([commonest] * len(consensus), consensus, read.scenarios),
        one_human=_number(reference.one_human) if reference else _NONE,
        best_attainable=_number(reference.best_attainable) if reference else _NONE,
        bias_before=_bias(read.items, before),
        bias_after=_bias(read.items, after),
    )


_NONE = CardNumber(value=None, reason="no labels")


def _reference(read: _Read, judge: Sequence[Grade]) -> HumanReference | None:
    if not read.items:
        return None
    grades = [[rating.grade for rating in item.ratings] for item in read.items]
    return human_reference(grades, judge, LEVELS, read.scenarios)


def _equal(one: Sequence[Grade], other: Sequence[Grade], scenarios: Sequence[str]) -> CardNumber:
    return _number(cluster_mean([float(a is b) for a, b in zip(one, other, strict=True)], scenarios))


def _bias(items: Sequence[Labelled], judge: Sequence[Grade]) -> CardNumber:
    people = [sum(rating.grade.score for rating in item.ratings) / len(item.ratings) for item in items]
    scenarios = [item.scenario for item in items]
    return _number(paired_difference(people, [grade.score for grade in judge], scenarios).difference)


def _gain(gain: Improvement, p: float | None) -> dict[str, Any]:
    return {
        "labels": gain.labels,
        "before": _number(gain.before),
        "after": _number(gain.after),
        "difference": _number(gain.difference),
        "low98": gain.low98,
        "p": p,
    }


def _number(estimate: Estimate) -> CardNumber:
    return CardNumber(value=estimate.value, low=estimate.low, high=estimate.high, reason=estimate.reason)


def _evidence(tested: Tested) -> tuple[int, int]:
    checks = [
        verdict.verified for votes in tested.votes.values() for verdict in votes.read if verdict.verified is not None
    ]
    return sum(checks), len(checks)


def _usage(tested: Tested, price: Price) -> CardUsage:
    """What 1,000 verdicts take, by the calls that these took."""
    answered = [call for call in tested.calls if call.prompt_tokens is not None and call.completion_tokens is not None]
    verdicts = sum(len(votes.verdicts) for votes in tested.votes.values())
    if not answered or not verdicts:
        return CardUsage(prompt_tokens=None, completion_tokens=None, usd=None)
    # Calls that DSPy's memory answered cost nothing here, but would elsewhere: the mean is over those that were made.
    prompt = round(1000 * sum(call.prompt_tokens or 0 for call in answered) / len(answered))
    completion = round(1000 * sum(call.completion_tokens or 0 for call in answered) / len(answered))
    return CardUsage(prompt_tokens=prompt, completion_tokens=completion, usd=price.of(prompt, completion))
