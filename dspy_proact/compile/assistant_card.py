"""The card of a compiled program under test."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dspy_proact.calls import Price
from dspy_proact.compile.cross_fit import Compiled
from dspy_proact.compile.measured import Examined, Item, Measured, is_control
from dspy_proact.compile.training import instructions_of
from dspy_proact.compile.tuning import overlap, texts_in
from dspy_proact.programs import CardNumber, CardUsage, Provenance
from dspy_proact.programs.card import CandidateCard, Card, Row
from dspy_proact.runs import Nouns
from dspy_proact.stats import Change, Estimate, holm, length_change, score_change

if TYPE_CHECKING:
    from dspy_proact.compile.assistant_compile import AssistantCompile, AssistantTask

SAME_JUDGE = (
    "one model tunes and reports: what was learned may be this judge's taste; have another report with --report-judge"
)
UNCOUNTED = "the provider counted no tokens, so that --guard tokens had no effect"


def make_card(
    compiling: "AssistantCompile",
    task: "AssistantTask",
    compiled: Compiled[Any, Any, Examined],
    provenance: Provenance,
    price: Price,
) -> Card:
    """The card of a compile, at the price of the program; numbers are out of fold, by the reporting judge."""
    declared, items, seed = compiling.declared, task.items, provenance.recipe.seed
    nouns, chosen = declared.nouns, task.chosen(items)
    aim = ", ".join(task.strata) if len(task.strata) < len(declared.strata_of(compiling.case_set)) else "score"
    target = score_change(
        *compiled.numbers(chosen, lambda examined: examined.score), [item.group for item in chosen], seed=seed
    )
    rows = [_row(each, each.items(items), compiled, seed, nouns) for each in compiling.measured if each.on_card]
    of_strata = {each.lower() for each in declared.strata}
    of_measures = {each.name for each in declared.measures}
    tuned_for = {each.lower() for each in task.strata}
    for kind in (of_strata, of_measures):
        places = [place for place, row in enumerate(rows) if row.name in kind]
        for place, p in zip(places, holm([rows[place].p for place in places]), strict=True):
            margin = None if rows[place].name in tuned_for else rows[place].margin
            rows[place] = rows[place].model_copy(update={"p": p, "margin": margin})
    usages = [CardUsage.of(tested.calls, len(items), price) for tested in (compiled.before, compiled.after)]
    models = provenance.models
    same = "judge" in models and models["judge"].model == models["report_judge"].model
    guards = {guard.name: margin for guard, margin in task.guards}
    uncounted = "tokens" in guards and usages[0].tokens is None
    instruction, shown, hidden = "\n".join(instructions_of(compiled.tuned)), list[str](), list[str]()
    for item in items:
        seen = texts_in(declared.inputs(item.case.view))
        shown += seen
        hidden += [text for text in texts_in(item.case.view) if text not in {*seen}]
    unscored = sum(
        any((each.harm if is_control(item) else each.score) is None for each in _tests(compiled, item))
        for item in items
    )
    return Card(
        aim=aim,
        case=nouns.case,
        group=nouns.group,
        groups=nouns.groups,
        shown=target.shown,
        target=change_row("score", aim, target, len(chosen), nouns, p=target.p),
        rows=tuple(rows),
        items=sum(not is_control(item) for item in items),
        controls=sum(map(is_control, items)),
        group_count=len({item.group for item in items}),
        unscored=unscored,
        warnings=tuple(
            filter(None, [SAME_JUDGE if same else None, UNCOUNTED if uncounted else None, task.excerpts.told])
        ),
        notes=tuple(compiling.tuning.notes(_demos(compiled.tuned))),
        fold_scores=compiled.fold_scores,
        guards=guards,
        candidates=candidates_of(compiled),
        counts=dict(compiling.tuning.counts()),
        overlap={"hidden texts": overlap(instruction, hidden), "shown texts": overlap(instruction, shown)},
        usage_before=usages[0],
        usage_after=usages[1],
        provenance=provenance,
    )


def _tests(compiled: Compiled[Any, Any, Examined], item: Item) -> Sequence[Examined]:
    return compiled.before.results[item.key], compiled.after.results[item.key]


def _demos(program: Any) -> int:
    return sum(len(predictor.demos) for predictor in program.predictors())


def _row(
    measured: Measured, items: Sequence[Item], compiled: Compiled[Any, Any, Examined], seed: int, nouns: Nouns
) -> Row:
    groups = [item.group for item in items]
    before, after = compiled.numbers(items, measured.number)
    beyond = any(each is not None and not 0 <= each <= 1 for each in (*before, *after))
    if measured.unit != "times" and not beyond:
        change = score_change(before, after, groups, seed=seed)
        return change_row(
            measured.name,
            measured.title,
            change,
            len(items),
            nouns,
            p=change.p,
            unit=measured.unit,
            margin=measured.margin,
        )
    known, first, second = compiled.both(items, measured.number)
    length = length_change(first, second, [item.group for item in known])
    return Row(
        name=measured.name,
        title=measured.title,
        unit="times",
        count=length.count,
        total=len(items),
        before=number(length.before, nouns),
        after=number(length.after, nouns),
        difference=number(length.ratio, nouns),
        margin=measured.margin if measured.unit == "times" else None,
    )


def change_row(
    name: str, title: str, change: Change, total: int, nouns: Nouns, *, p: float | None, **further: Any
) -> Row:
    """A row of a change, of so many items that were asked."""
    unread = (
        {
            "low98_unread": change.low98_unread,
            "least": change.least and number(change.least, nouns),
            "most": change.most and number(change.most, nouns),
        }
        if change.unread
        else {}
    )
    return Row(
        name=name,
        title=title,
        count=change.count,
        total=total,
        before=number(change.before, nouns),
        after=number(change.after, nouns),
        difference=number(change.difference, nouns),
        low98=change.low98,
        p=p,
        **unread,
        **further,
    )


def number(estimate: Estimate, nouns: Nouns) -> CardNumber:
    """An estimate, its reason in the benchmark's nouns."""
    reason = estimate.reason and nouns.worded(estimate.reason)
    return CardNumber.of(Estimate(estimate.value, estimate.low, estimate.high, reason))


def candidates_of(compiled: Compiled[Any, Any, Any]) -> tuple[CandidateCard, ...]:
    """Of the last compile, in the order of trying."""
    chosen = compiled.chosen
    return tuple(
        CandidateCard(
            score=each.score,
            share=each.share,
            harm=each.harm,
            broken=chosen.broken.get(place, ()),
            chosen=place == chosen.place,
        )
        for place, each in enumerate(chosen.tried)
    )
