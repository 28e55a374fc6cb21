"""The card of a compiled judge."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dspy_proact.benchmarks.benchmark import Part
from dspy_proact.calls import Price
from dspy_proact.compile.agreement import disagreement, is_cut, soft
from dspy_proact.compile.assistant_card import candidates_of, change_row, number
from dspy_proact.compile.cross_fit import Compiled, Tested
from dspy_proact.compile.training import instructions_of
from dspy_proact.compile.tuning import GradedAnswer, overlap, texts_in
from dspy_proact.programs import CardNumber, CardUsage, Provenance
from dspy_proact.programs.card import Card, Row
from dspy_proact.stats import (
    Change,
    Judged,
    Panel,
    holm,
    human_reference,
    improvement,
    score_change,
    smallest_gain,
)

if TYPE_CHECKING:
    from dspy_proact.compile.judge_compile import CutJudge, Graded, JudgeCompile

_ENOUGH = 200
"""Items from which on gains that are worth having can be shown, by simulation (eval/README.md)."""
_WIDE, _RATERS = 25, 8
"""Groups and raters that such a study should have."""
_NONE = CardNumber(value=None, reason="no items")


def make_card(
    compiling: "JudgeCompile", compiled: Compiled[Any, "CutJudge", "Graded"], provenance: Provenance, price: Price
) -> Card:
    """The card of a compile, at the judge's price; numbers are out of fold."""
    items, nouns, tuned = compiling.items, compiling.declared.nouns, compiled.tuned
    shown, target, rows = (_kappas if is_cut(compiling.declared) else _shares)(compiling, compiled, provenance)
    usages = [
        CardUsage.of(tested.calls, compiling.votes * len(items), price) for tested in (compiled.before, compiled.after)
    ]
    instruction = "\n".join(instructions_of(tuned.judge))
    texts = [text for item in items for text in _texts(compiling, item)]
    counts = {
        f"evidence {when}": count
        for when, tested in (("before", compiled.before), ("after", compiled.after))
        if (count := _evidence(tested))[1]
    }
    if tuned.cases:
        of = len(compiling.declared.worked_cases())
        counts |= {"cases before": (tuned.cases[0], of), "cases after": (tuned.cases[1], of)}
    demos = sum(len(each.demos) for each in tuned.judge.predictors())
    cuts = {f"{stratum} {cut.partial:g}/{cut.full:g}" for stratum, cut in tuned.cuts.items()}
    notes = [f"{demos} worked examples, cuts on the mean level: {', '.join(sorted(cuts)) or 'none'}"]
    if not shown and is_cut(compiling.declared):
        notes.insert(0, _advice(items, compiling))
    return Card(
        aim="agreement with people",
        case="graded answer",
        group=nouns.group,
        groups=nouns.groups,
        shown=shown,
        target=target,
        rows=tuple(rows),
        items=len(items),
        group_count=len({item.group for item in items}),
        unscored=target.total - target.count,
        raters=compiling.graded.raters,
        notes=(*notes, *compiling.tuning.notes(0)),
        fold_scores=compiled.fold_scores,
        guards={"cases": 0.0} if tuned.cases else {},
        candidates=candidates_of(compiled),
        counts=counts,
        overlap={"items": overlap(instruction, texts)},
        usage_before=usages[0],
        usage_after=usages[1],
        provenance=provenance,
    )


def _texts(compiling: "JudgeCompile", item: GradedAnswer) -> list[str]:
    asked = texts_in(compiling.tuning.judge_inputs(item.case, item.answer))
    return [*asked, *(grade.reason for grades in item.grades.values() for grade in grades)]


def _evidence(tested: "Tested[Graded]") -> tuple[int, int]:
    """Verdicts whose quote stands in the answer, of those that had to quote."""
    verdicts = [verdict.scored.verified for graded in tested.results.values() for verdict in graded.votes.read]
    checks = [verified for verified in verdicts if verified is not None]
    return sum(checks), len(checks)


def _advice(items: Sequence[GradedAnswer], compiling: "JudgeCompile") -> str:
    """What to have graded next."""
    counts = {stratum: sum(item.case.stratum == stratum for item in items) for stratum in compiling.declared.strata}
    fewest, more = min(counts, key=lambda stratum: counts[stratum]), max(_ENOUGH, 2 * len(items))
    gain, groups = smallest_gain(more, _WIDE, _RATERS), compiling.declared.nouns.groups
    return (
        f"To show an improvement, have answers of further {groups} graded, {fewest} first (it has {counts[fewest]}): "
        f"{more} answers in {_WIDE} {groups}, by {_RATERS} raters, have 80 % power to detect a gain of {gain:.2f} in "
        "kappa"
    )


def _shares(
    compiling: "JudgeCompile", compiled: Compiled[Any, Any, "Graded"], provenance: Provenance
) -> tuple[bool, Row, list[Row]]:
    """Mean agreement over the parts of an answer, and that of each part: 1 minus the disagreement with people."""
    nouns, seed = compiling.declared.nouns, provenance.recipe.seed
    parts = {part.name: part for part in compiling.declared.graded_by_people}

    def agreed(item: GradedAnswer, graded: "Graded", names: Sequence[str]) -> float | None:
        if not all(name in graded.levels for name in names):
            return None
        apart = [disagreement(parts[name], graded.levels[name], soft(item, parts[name])) for name in names]
        return 1 - sum(apart) / len(apart)

    def compared(items: Sequence[GradedAnswer], *part: str) -> Any:
        before, after = (
            [agreed(item, tested.results[item.key], part or tuple(item.grades)) for item in items]
            for tested in (compiled.before, compiled.after)
        )
        return score_change(before, after, [item.group for item in items], seed=seed)

    target = compared(compiling.items)
    of_part = {name: [item for item in compiling.items if name in item.grades] for name in parts if len(parts) > 1}
    changes = {name: compared(items, name) for name, items in of_part.items() if items}
    adjusted = holm([change.p for change in changes.values()])
    rows = [
        change_row(name, name, change, len(of_part[name]), nouns, p=p)
        for (name, change), p in zip(changes.items(), adjusted, strict=True)
    ]
    total = len(compiling.items)
    return target.shown, change_row("agreement", "agreement", target, total, nouns, p=target.p), rows


def _kappas(
    compiling: "JudgeCompile", compiled: Compiled[Any, Any, "Graded"], provenance: Provenance
) -> tuple[bool, Row, list[Row]]:
    """Quadratic kappa against the soft labels of people, within strata."""
    declared, items = compiling.declared, compiling.items
    (part,) = declared.graded_by_people
    before, after = compiled.numbers(items, lambda graded: graded.levels.get(part.name))
    there = {item.case.stratum for item in items}
    strata = [stratum for stratum in declared.strata if stratum in there]
    gains = improvement(
        before,
        after,
        _panel(items, part),
        [item.case.stratum for item in items],
        [item.group for item in items],
        order=strata,
        seed=provenance.recipe.seed,
    )
    rows = [
        _stratum(compiling, compiled, part, stratum, gain) for stratum, gain in zip(strata, gains.strata, strict=True)
    ]
    return gains.overall.shown, _gain(compiling, "average", gains.overall, len(items)), rows


def _stratum(
    compiling: "JudgeCompile", compiled: Compiled[Any, Any, "Graded"], part: Part, stratum: str, gain: Change
) -> Row:
    items = [item for item in compiling.items if item.case.stratum == stratum]
    read, *levels = compiled.both(items, lambda graded: graded.levels.get(part.name))
    before, after = ([part.levels[level] for level in each] for each in levels)
    consensus, groups = [item.consensus(part) for item in read], [item.group for item in read]
    commonest = [max(part.levels, key=consensus.count)] * len(read)
    panel, ties = _panel(read, part), (part.levels[1], part.levels[2], part.levels[0])
    first, second, constant = (
        Judged.of(panel, judge, part.levels, groups, ties) for judge in (before, after, commonest)
    )
    reference, scores = human_reference(second) if read else None, [0.0, 0.5, 1.0]
    beside = {
        "exact before": first.exact(),
        "exact after": second.exact(),
        "exact commonest": constant.exact(),
        "bias before": first.bias(scores),
        "bias after": second.bias(scores),
    }
    numbers = {name: number(each, compiling.declared.nouns) for name, each in beside.items()}
    numbers["one human"] = CardNumber.of(reference.one_human) if reference else _NONE
    numbers["best attainable"] = CardNumber.of(reference.best_attainable) if reference else _NONE
    return _gain(compiling, stratum, gain, len(items), beside=numbers)


def _gain(compiling: "JudgeCompile", title: str, gain: Change, total: int, **further: Any) -> Row:
    return change_row(title.lower(), title, gain, total, compiling.declared.nouns, p=gain.p, unit="kappa", **further)


def _panel(items: Sequence[GradedAnswer], part: Part) -> Panel:
    """The grades of each item, and who gave them."""
    given = [item.grades[part.name] for item in items]
    grades, raters = [[each.grade for each in of] for of in given], [[each.rater for each in of] for of in given]
    return Panel.of(grades, part.levels, raters)
