"""The card of a compiled agent: what each stage scored before and after."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.probe.agents import AgentModule
from dspy_proact.benchmarks.probe.benchmark import Probe
from dspy_proact.benchmarks.probe.compile.people import people_of
from dspy_proact.benchmarks.probe.compile.task import AgentTask
from dspy_proact.benchmarks.probe.scoring import ProbeGrade
from dspy_proact.calls import Price
from dspy_proact.compile.cross_fit import Compiled
from dspy_proact.compile.folds import Grouped
from dspy_proact.compile.named import SAME_JUDGE
from dspy_proact.programs import AgentCandidate, AgentCard, CardNumber, CardUsage, Provenance
from dspy_proact.programs.card import Change
from dspy_proact.stats import Estimate, ScoreChange, holm, score_change

STAGES: Mapping[str, Callable[[ProbeGrade], float]] = {
    "search (F1)": lambda grade: grade.search.f1,
    "identification": lambda grade: grade.identification,
    "task": lambda grade: grade.task,
    "end to end": lambda grade: float(grade.solved),
}
"""What is told of each task, by title."""
CompiledAgent = Compiled[AgentModule, AgentModule, ProbeGrade | None]


def make_card(task: AgentTask, compiled: CompiledAgent, provenance: Provenance, price: Price) -> AgentCard:
    """The card of a compile, at the price of the agent; numbers are out of fold, by the reporting judge."""
    count, seed = len(task.items), provenance.recipe.seed
    target = _compared(task, compiled, lambda grade: grade.overall, seed)
    stages = {title: _compared(task, compiled, of, seed) for title, of in STAGES.items()}
    models = provenance.models
    same_judge = SAME_JUDGE if models["judge"].model == models["report_judge"].model else None
    return card_of(
        compiled,
        task.items,
        provenance,
        price,
        aim="overall",
        case=Probe.nouns.case,
        target=target,
        stages={title: (change, count) for title, change in stages.items()},
        warnings=tuple(filter(None, (same_judge, task.shown.told))),
    )


def card_of(
    compiled: Compiled[Any, Any, Any],
    items: Sequence[Grouped],
    provenance: Provenance,
    price: Price,
    *,
    aim: str,
    case: str,
    target: ScoreChange,
    stages: Mapping[str, tuple[ScoreChange, int]],
    warnings: tuple[str, ...],
) -> AgentCard:
    """The card of a compile on items of people.

    Args:
        compiled: What came of it.
        items: All that it was compiled on.
        provenance: With what it was made.
        price: Of the model under what was tuned.
        aim: What it was tuned for.
        case: What an item is called.
        target: How the aim changed.
        stages: What is told beside it, by title, each with the number of items that were asked; p is adjusted by Holm.
        warnings: What a person must know first.
    """
    count, chosen = len(items), compiled.chosen
    rows = zip(stages.items(), holm([change.p for change, _ in stages.values()]), strict=True)
    before, after = (CardUsage.of(tested.calls, count, price) for tested in (compiled.before, compiled.after))
    return AgentCard(
        statement=_statement(target),
        shown=target.shown,
        warnings=warnings,
        aim=aim,
        target=_change(target, count, target.p),
        case=case,
        stages={title: _change(change, asked, p) for (title, (change, asked)), p in rows},
        cases=count,
        unscored=count - target.count,
        group=Probe.nouns.group,
        groups=Probe.nouns.groups,
        candidates=tuple(
            AgentCandidate(score=each.score, share=each.share, chosen=place == chosen.place)
            for place, each in enumerate(chosen.tried)
        ),
        scenarios=people_of(items),
        fold_scores=compiled.fold_scores,
        usage_before=before,
        usage_after=after,
        provenance=provenance,
    )


def _compared(task: AgentTask, compiled: CompiledAgent, of: Callable[[ProbeGrade], float], seed: int) -> ScoreChange:
    before, after = compiled.numbers(task.items, lambda grade: of(grade) if grade else None)
    return score_change(before, after, [item.unit for item in task.items], seed=seed)


def _change(change: ScoreChange, total: int, p: float | None) -> Change:
    """As a card has it, of so many that were asked."""
    before, after, difference = (_number(each) for each in (change.before, change.after, change.difference))
    return Change(
        count=change.count,
        total=total,
        before=before,
        after=after,
        difference=difference,
        low98=change.low98,
        p=p,
        low98_unread=change.low98_unread if change.unread else None,
    )


def _number(estimate: Estimate) -> CardNumber:
    return CardNumber.of(
        Estimate(estimate.value, estimate.low, estimate.high, estimate.reason and Probe.nouns.worded(estimate.reason))
    )


def _statement(target: ScoreChange) -> str:
    """Whether a rise may be claimed, and why not."""
    if target.difference.value is None:
        return "no improvement shown: nothing could be graded"
    told = f"{CardNumber.of(target.difference).points} points"
    if target.shown:
        return f"improvement shown, {told}"
    return f"no improvement shown, {told}: {Probe.nouns.worded(target.reason)}"
