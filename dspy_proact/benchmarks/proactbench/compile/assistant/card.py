"""The card of a compiled assistant: what was bought, and what it cost."""

from collections.abc import Callable, Sequence

from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
from dspy_proact.benchmarks.proactbench.compile.assistant.costs import Costs
from dspy_proact.benchmarks.proactbench.compile.assistant.examiner import Examined
from dspy_proact.benchmarks.proactbench.compile.assistant.probe import Probe, controls_among, of_phases
from dspy_proact.benchmarks.proactbench.compile.assistant.task import AssistantTask
from dspy_proact.benchmarks.proactbench.compile.texts import criteria_of, said_in
from dspy_proact.benchmarks.proactbench.programs import Assistant, AssistantCard, CandidateCard
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.benchmarks.proactbench.views import JudgeView
from dspy_proact.calls import Price
from dspy_proact.compile.cross_fit import Compiled
from dspy_proact.compile.named import SAME_JUDGE
from dspy_proact.compile.texts import overlap
from dspy_proact.programs import CardNumber, CardUsage, Provenance
from dspy_proact.programs.card import Change
from dspy_proact.stats import LengthChange, ScoreChange, holm, length_change, score_change

UNCOUNTED = "nobody counted tokens, so that --guard tokens kept nothing out"
CompiledAssistant = Compiled[Assistant, Assistant, Examined]
NO_CONTROLS = "the corpus has no control turns"


def make_card(task: AssistantTask, compiled: CompiledAssistant, provenance: Provenance, price: Price) -> AssistantCard:
    """The card of a compile, at the price of the assistant; numbers are out of fold, by the reporting judge."""
    probes, seed = task.items, provenance.recipe.seed
    chosen, controls = of_phases(probes, task.phases), controls_among(probes)
    target = _compared(chosen, compiled, lambda examined: examined.score, seed)
    phases = {
        phase: _compared(of_phases(probes, [phase]), compiled, lambda examined: examined.score, seed) for phase in Phase
    }
    adjusted = dict(zip(phases, holm([change.p for change in phases.values()]), strict=True))
    counts = {phase: len(of_phases(probes, [phase])) for phase in Phase}
    offers = _compared(controls, compiled, lambda examined: examined.pushed, seed)
    length = _grown(of_phases(probes, list(Phase)), compiled, lambda examined: examined.words)
    tokens = _grown(probes, compiled, lambda examined: examined.tokens)
    rubrics = [text for probe in probes if isinstance(probe.view, JudgeView) for text in criteria_of(probe.view.rubric)]
    turns = [text for probe in probes for text in said_in(probe.conversation)]
    usages = [CardUsage.of(tested.calls, len(probes), price) for tested in (compiled.before, compiled.after)]
    card = AssistantCard(
        statement="",
        shown=target.shown,
        warnings=_warnings(task, provenance, usages[0]),
        chosen=tuple(task.phases),
        target=_change(target, len(chosen), target.p),
        phases={phase: _change(change, counts[phase], adjusted[phase]) for phase, change in phases.items()},
        offers=_change(offers, len(controls), offers.p) if controls else _none(NO_CONTROLS),
        length=_change(length, sum(counts.values()), None),
        tokens=_change(tokens, len(probes), None),
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
        usage_before=usages[0],
        usage_after=usages[1],
        provenance=provenance,
    )
    return card.model_copy(update={"statement": _statement(target, task.phases, Costs.of(card), offers.count > 0)})


def _warnings(task: AssistantTask, provenance: Provenance, usage: CardUsage) -> tuple[str, ...]:
    models = provenance.models
    same = [SAME_JUDGE] if models["judge"].model == models["report_judge"].model else []
    uncounted = [UNCOUNTED] if "tokens" in task.margins and usage.tokens is None else []
    return (*same, *uncounted)


def _statement(target: ScoreChange, chosen: Sequence[Phase], costs: Costs, known: bool) -> str:
    names = ", ".join(chosen)
    if not target.count:
        return f"no improvement shown in {names}: nothing could be graded"
    gain = f"{CardNumber.of(target.difference).points} points"
    said = (
        f"improvement shown in {names}, {gain}"
        if target.shown
        else f"no improvement shown in {names}, {gain}: {ProactBench.nouns.worded(target.reason)}"
    )
    paid = f"it cost {', '.join(costs.beyond)}" if costs.beyond else ""
    if known and costs.nothing:
        paid = "nothing beyond the usual margins was paid for it"
    said = "; ".join(filter(None, [said, paid, costs.doubt]))
    return said if known else f"{said}; what it did to unwanted offers is not known"


def _compared(
    probes: Sequence[Probe], compiled: CompiledAssistant, number: Callable[[Examined], float | None], seed: int
) -> ScoreChange:
    return score_change(*compiled.numbers(probes, number), [probe.scenario for probe in probes], seed=seed)


def _grown(
    probes: Sequence[Probe], compiled: CompiledAssistant, number: Callable[[Examined], int | None]
) -> LengthChange:
    known, before, after = compiled.both(probes, number)
    return length_change(before, after, [probe.scenario for probe in known])


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


def _change(change: ScoreChange | LengthChange, total: int, p: float | None) -> Change:
    scores = isinstance(change, ScoreChange)
    at_worst = (
        {
            "low98_unread": change.low98_unread,
            "least": CardNumber.of(change.least),
            "most": CardNumber.of(change.most),
        }
        if scores and change.unread
        else {}
    )
    return Change(
        **at_worst,
        count=change.count,
        total=total,
        before=CardNumber.of(change.before),
        after=CardNumber.of(change.after),
        difference=CardNumber.of(change.difference if scores else change.ratio),
        low98=change.low98 if scores else None,
        p=p,
    )


def _none(reason: str) -> Change:
    nothing = CardNumber(value=None, reason=reason)
    return Change(count=0, total=0, before=nothing, after=nothing, difference=nothing)
