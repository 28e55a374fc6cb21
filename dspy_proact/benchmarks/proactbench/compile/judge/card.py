"""The card of a compile: everything that it showed, in one value."""

from collections.abc import Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
from dspy_proact.benchmarks.proactbench.compile.judge.labels import LEVELS, TIES, Labelled, raters_of
from dspy_proact.benchmarks.proactbench.compile.judge.task import CutJudge, Graded
from dspy_proact.benchmarks.proactbench.compile.texts import criteria_of, said_in
from dspy_proact.benchmarks.proactbench.programs import Gain, Judge, JudgeCard, PhaseCard
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.calls import Price
from dspy_proact.compile.cross_fit import Compiled
from dspy_proact.compile.task import Tested
from dspy_proact.compile.texts import overlap
from dspy_proact.programs import CardNumber, CardUsage, Provenance
from dspy_proact.stats import Improvement, Judged, Panel, human_reference, improvement, smallest_gain

CompiledJudge = Compiled[Judge, CutJudge, Graded]
_ENOUGH = 200
"""Items from which on gains that are worth having can be shown, by simulation (eval/README.md)."""
_WIDE, _RATERS = 25, 8
"""Scenarios and raters that such a study should have: as many as the corpus has, and as plans begin with."""


def make_card(
    items: Sequence[Labelled], votes: int, compiled: CompiledJudge, provenance: Provenance, price: Price
) -> JudgeCard:
    """The card of a compile on these items, so many verdicts on each, at the judge's price; numbers are out of fold."""
    before, after = compiled.numbers(items, _level)
    gains = improvement(
        before,
        after,
        _panel(items),
        [item.phase for item in items],
        [item.scenario for item in items],
        order=list(Phase),
        seed=provenance.recipe.seed,
    )
    phases = dict(zip(Phase, gains.strata, strict=True))
    return JudgeCard(
        statement=_statement(gains.overall, items),
        shown=gains.overall.shown,
        overall=Gain(**_gain(gains.overall, gains.overall.p)),
        phases={
            phase: _phase([item for item in items if item.phase is phase], compiled, gain)
            for phase, gain in phases.items()
        },
        scenarios=gains.overall.groups,
        raters=raters_of(items),
        unread=gains.overall.unread,
        evidence_before=_evidence(compiled.before),
        evidence_after=_evidence(compiled.after),
        usage_before=CardUsage.of(compiled.before.calls, votes * len(items), price),
        usage_after=CardUsage.of(compiled.after.calls, votes * len(items), price),
        fold_scores=compiled.fold_scores,
        cases=compiled.tuned.cases,
        overlap=overlap(compiled.tuned.judge.instruction, (text for item in items for text in _texts(item))),
        provenance=provenance,
    )


def _level(graded: Graded) -> int | None:
    return graded.level


def _texts(item: Labelled) -> list[str]:
    shown = [*said_in(item.view.conversation), *criteria_of(item.view.rubric), item.response]
    return [*shown, *(rating.reason for rating in item.ratings)]


def _statement(overall: Improvement, items: Sequence[Labelled]) -> str:
    if overall.shown:
        return overall.reason.partition(";")[0]
    counts = {phase: sum(item.phase is phase for item in items) for phase in Phase}
    reason = ProactBench.nouns.worded(overall.reason)
    said = reason if reason.startswith("no improvement shown") else f"no improvement shown: {reason}"
    return f"{said}. {advice(counts)}"


def advice(counts: Mapping[Phase, int]) -> str:
    """What to have rated next, after so many items of each phase."""
    fewest, more = min(counts, key=lambda phase: counts[phase]), max(_ENOUGH, 2 * sum(counts.values()))
    gain = smallest_gain(more, _WIDE, _RATERS)
    return (
        f"To show one, have responses of further scenarios rated, {fewest} first (it has {counts[fewest]}): "
        f"{more} items in {_WIDE} scenarios, by {_RATERS} raters, let a gain of {gain:.2f} in kappa be seen"
    )


def _phase(items: Sequence[Labelled], compiled: CompiledJudge, gain: Improvement) -> PhaseCard:
    read, *levels = compiled.both(items, _level)
    before, after = ([LEVELS[level] for level in each] for each in levels)
    consensus, scenarios = [item.consensus for item in read], [item.scenario for item in read]
    commonest = [max(LEVELS, key=consensus.count)] * len(read)
    grades, raters = _ratings(read)
    reference = human_reference(grades, after, LEVELS, scenarios, raters=raters) if read else None
    panel = _panel(read)
    first, second, constant = (Judged.of(panel, judge, LEVELS, scenarios, TIES) for judge in (before, after, commonest))
    return PhaseCard(
        **_gain(gain, gain.adjusted),
        exact_before=CardNumber.of(first.exact()),
        exact_after=CardNumber.of(second.exact()),
        exact_commonest=CardNumber.of(constant.exact()),
        one_human=CardNumber.of(reference.one_human) if reference else _NONE,
        best_attainable=CardNumber.of(reference.best_attainable) if reference else _NONE,
        bias_before=CardNumber.of(first.bias(_SCORES)),
        bias_after=CardNumber.of(second.bias(_SCORES)),
    )


_NONE = CardNumber(value=None, reason="no items")


_SCORES = [grade.score for grade in LEVELS]


def _panel(items: Sequence[Labelled]) -> Panel:
    grades, raters = _ratings(items)
    return Panel.of(grades, LEVELS, raters)


def _ratings(items: Sequence[Labelled]) -> tuple[list[list[Grade]], list[list[str]]]:
    """The grades of each item, and who gave them."""
    grades = [[rating.grade for rating in item.ratings] for item in items]
    return grades, [[rating.annotator for rating in item.ratings] for item in items]


def _gain(gain: Improvement, p: float | None) -> dict[str, Any]:
    return {**dict(Gain.model_validate(gain, from_attributes=True)), "p": p}


def _evidence(tested: Tested[Graded]) -> tuple[int, int]:
    checks = [
        verdict.verified
        for graded in tested.results.values()
        for verdict in graded.votes.read
        if verdict.verified is not None
    ]
    return sum(checks), len(checks)
