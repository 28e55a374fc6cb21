"""The card of a compiled assistant: what was bought, and what it cost."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.proactbench import ProactBench
from dspy_proact.calls import Price
from dspy_proact.compile.assistant.examiner import Examined
from dspy_proact.compile.assistant.guards import MARGINS
from dspy_proact.compile.assistant.probe import Probe, controls_among, of_phases
from dspy_proact.compile.assistant.task import AssistantTask
from dspy_proact.compile.cross_fit import Compiled
from dspy_proact.compile.overlap import overlap
from dspy_proact.compile.usage import usage_of
from dspy_proact.programs import Assistant, AssistantCard, CandidateCard, CardNumber, Change, Provenance
from dspy_proact.stats import Estimate, LengthChange, ScoreChange, holm, length_change, score_change
from dspy_proact.types import Phase
from dspy_proact.views import JudgeView

SAME_JUDGE = (
    "one model tunes and reports: what was learned may be this judge's taste; have another report with --report-judge"
)
CompiledAssistant = Compiled[Assistant, Assistant, Examined]
NO_CONTROLS = "the corpus has no control turns"


def make_card(task: AssistantTask, compiled: CompiledAssistant, provenance: Provenance, price: Price) -> AssistantCard:
    """The card of a compile; numbers are out of fold, by the reporting judge.

    Args:
        task: What was tuned, to what.
        compiled: What came of it.
        provenance: With what it was made.
        price: Of the assistant.
    """
    probes, seed, models = task.items, provenance.recipe.seed, provenance.models
    chosen, controls = of_phases(probes, task.phases), controls_among(probes)
    target = _scores(chosen, compiled, seed)
    phases = {phase: _scores(of_phases(probes, [phase]), compiled, seed) for phase in Phase}
    adjusted = dict(zip(phases, holm([change.p for change in phases.values()]), strict=True))
    counts = {phase: len(of_phases(probes, [phase])) for phase in Phase}
    offers = _pushing(controls, compiled, seed)
    length = _lengths(of_phases(probes, list(Phase)), compiled)
    rubrics = [text for probe in probes for text in _criteria(probe)]
    turns = [text for probe in probes for turn in probe.conversation for text in (turn.user, turn.assistant or "")]
    return AssistantCard(
        statement=_statement(target, task.phases, costs(task.phases, phases, offers, length), offers.count > 0),
        shown=target.shown,
        warnings=(SAME_JUDGE,) if models["judge"].model == models["report_judge"].model else (),
        chosen=tuple(task.phases),
        target=_change(target, len(chosen), target.p),
        phases={phase: _change(change, counts[phase], adjusted[phase]) for phase, change in phases.items()},
        offers=_change(offers, len(controls), offers.p) if controls else _none(NO_CONTROLS),
        length=_words(length, sum(counts.values())),
        unscored=len(probes) - offers.count - sum(change.count for change in phases.values()),
        scenarios=len({probe.scenario for probe in probes}),
        triggers=len(probes) - len(controls),
        controls=len(controls),
        fold_scores=compiled.fold_scores,
        guards={str(guard): margin for guard, margin in task.margins.items()},
        candidates=_candidates(compiled),
        withheld=(task.withheld.sentences, task.withheld.of),
        rubric_overlap=overlap(compiled.tuned.instruction, rubrics),
        conversation_overlap=overlap(compiled.tuned.instruction, turns),
        usage_before=usage_of(compiled.before.calls, price),
        usage_after=usage_of(compiled.after.calls, price),
        provenance=provenance,
    )


def costs(
    chosen: Sequence[Phase], phases: Mapping[Phase, ScoreChange], offers: ScoreChange, length: LengthChange
) -> list[str]:
    """What rose or fell by more than the usual margin of its guard, each with its interval."""
    told: list[str] = []
    if offers.difference.value is not None and offers.difference.value > MARGINS["offers"]:
        told.append(f"unwanted offers {_points(offers.difference)} points")
    for phase, change in phases.items():
        fallen = change.difference.value is not None and change.difference.value < -MARGINS["phases"]
        if phase not in chosen and fallen:
            told.append(f"{phase} {_points(change.difference)} points")
    if length.ratio.value is not None and length.ratio.value > 1 + MARGINS["length"]:
        told.append(f"responses {_times(length.ratio)} as long")
    return told


def _statement(target: ScoreChange, chosen: Sequence[Phase], cost: Sequence[str], known: bool) -> str:
    names = ", ".join(chosen)
    if not target.count:
        return f"no improvement shown in {names}: nothing could be graded"
    gain = f"{_points(target.difference)} points"
    said = (
        f"improvement shown in {names}, {gain}"
        if target.shown
        else f"no improvement shown in {names}, {gain}: {ProactBench.nouns.worded(target.reason)}"
    )
    if cost:
        said += f"; it cost {', '.join(cost)}"
    elif known:
        said += "; nothing beyond the usual margins was paid for it"
    return said if known else f"{said}; what it did to unwanted offers is not known"


def _scores(probes: Sequence[Probe], compiled: CompiledAssistant, seed: int) -> ScoreChange:
    return _compared(probes, compiled, lambda examined: examined.score, seed)


def _pushing(probes: Sequence[Probe], compiled: CompiledAssistant, seed: int) -> ScoreChange:
    return _compared(
        probes, compiled, lambda examined: None if examined.pushed is None else float(examined.pushed), seed
    )


def _compared(
    probes: Sequence[Probe], compiled: CompiledAssistant, number: Callable[[Examined], float | None], seed: int
) -> ScoreChange:
    rows = _both(probes, compiled, number)
    before, after, scenarios = ([row[place] for row in rows] for place in range(3))
    return score_change(before, after, scenarios, seed=seed)


def _lengths(probes: Sequence[Probe], compiled: CompiledAssistant) -> LengthChange:
    rows = _both(probes, compiled, lambda examined: None if examined.words is None else float(examined.words))
    before, after, scenarios = ([row[place] for row in rows] for place in range(3))
    return length_change(before, after, scenarios)


def _both(
    probes: Sequence[Probe], compiled: CompiledAssistant, number: Callable[[Examined], float | None]
) -> list[tuple[Any, Any, Any]]:
    """Before, after and scenario of the probes that have the number both times."""
    examined = [(compiled.before.results[probe.key], compiled.after.results[probe.key], probe) for probe in probes]
    return [
        (first, second, probe.scenario)
        for before, after, probe in examined
        if (first := number(before)) is not None and (second := number(after)) is not None
    ]


def _candidates(compiled: CompiledAssistant) -> tuple[CandidateCard, ...]:
    chosen = compiled.chosen
    return tuple(
        CandidateCard(
            score=each.score,
            share=each.share,
            offers=each.harm,
            broken=chosen.broken.get(place, ()),
            chosen=place == chosen.place,
        )
        for place, each in enumerate(chosen.tried)
    )


def _change(change: ScoreChange, total: int, p: float | None) -> Change:
    return Change(
        count=change.count,
        total=total,
        before=CardNumber.of(change.before),
        after=CardNumber.of(change.after),
        difference=CardNumber.of(change.difference),
        low98=change.low98,
        p=p,
    )


def _words(length: LengthChange, total: int) -> Change:
    return Change(
        count=length.count,
        total=total,
        before=CardNumber.of(length.before),
        after=CardNumber.of(length.after),
        difference=CardNumber.of(length.ratio),
    )


def _none(reason: str) -> Change:
    nothing = CardNumber(value=None, reason=reason)
    return Change(count=0, total=0, before=nothing, after=nothing, difference=nothing)


def _points(difference: Estimate) -> str:
    if difference.value is None:
        return "unknown"
    told = f"{100 * difference.value:+.0f}"
    if difference.low is None or difference.high is None:
        return told
    return f"{told} [{100 * difference.low:+.0f}, {100 * difference.high:+.0f}]"


def _times(ratio: Estimate) -> str:
    bounds = "" if ratio.low is None or ratio.high is None else f" [{ratio.low:.2f}, {ratio.high:.2f}]"
    return f"{ratio.value:.2f}{bounds} times"


def _criteria(probe: Probe) -> list[str]:
    if not isinstance(probe.view, JudgeView):
        return []
    rubric = probe.view.rubric
    return [rubric.pass_criteria, rubric.partial_criteria, rubric.fail_criteria]
