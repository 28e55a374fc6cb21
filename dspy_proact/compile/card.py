"""The numbers of a compile's card, of an assistant or a judge, out of fold; its sentences stand in `programs.card`."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from dspy_proact.compile.agreement import disagreement, is_cut, plain_cuts, soft
from dspy_proact.compile.training import Compiled, instructions_of
from dspy_proact.compile.tuning import GradedAnswer
from dspy_proact.evaluation.benchmark import Part
from dspy_proact.evaluation.participant import fingerprint_of
from dspy_proact.programs import CardUsage, Provenance
from dspy_proact.programs.card import CandidateCard, Card, CardRow
from dspy_proact.runs import Nouns
from dspy_proact.stats import (
    Change,
    Estimate,
    Judged,
    Panel,
    holm,
    human_reference,
    improvement,
    length_change,
    score_change,
    smallest_gain,
    value_change,
)

if TYPE_CHECKING:
    from dspy_proact.compile.assistant_compile import AssistantCompile
    from dspy_proact.compile.compile import Compile
    from dspy_proact.compile.judge_compile import JudgeCompile

SAME_JUDGE = "one model tunes and reports, so that the gain may only reflect its preferences; report by another judge"
UNCOUNTED = "the provider counted no tokens, so that the guard on tokens had no effect"
_ENOUGH = 200
"""Items from which on gains that are worth having can be shown, by simulation (eval/README.md)."""
_WIDE, _RATERS = 25, 8
"""Groups and raters that such a study should have."""


def assistant_card(compiling: "AssistantCompile", compiled: Compiled, made: Provenance) -> Card:
    """The card of a program under test, by the reporting judge."""
    declared, items, seed = compiling.declared, compiling.items, made.recipe.seed
    chosen, groups = compiling.chosen(items), [item.group for item in compiling.chosen(items)]
    aim = (
        ", ".join(compiling.strata) if len(compiling.strata) < len(declared.strata_of(compiling.case_set)) else "score"
    )
    target = score_change(*compiled.numbers(chosen, lambda examined: examined.score), groups, seed=seed)
    rows = _measured_rows(compiling, compiled, seed)
    guards = {guard.name: margin for guard, margin in compiling.guards}
    instruction, shown, hidden = "\n".join(instructions_of(compiled.tuned)), list[str](), list[str]()
    for item in items:
        seen = texts_in(declared.inputs(item.case.view))
        shown += seen
        hidden += [text for text in texts_in(item.case.view) if text not in {*seen}]
    tests = [(item, [tested.results[item.key] for tested in (compiled.before, compiled.after)]) for item in items]
    unscored = sum(any((each.harm if item.is_control else each.score) is None for each in both) for item, both in tests)
    models, card = made.models, _card_of(compiling, compiled, made, len(items))
    same = "judge" in models and models["judge"].model == models["report_judge"].model
    uncounted = "tokens" in guards and card["usage_before"].tokens is None
    warnings = [SAME_JUDGE if same else None, UNCOUNTED if uncounted else None, compiling.excerpts.warning]
    return Card(
        **card,
        aim=aim,
        case=declared.nouns.case,
        shown=target.shown and not card["unchanged"],
        target=_row(declared.nouns, "score", aim, target, len(chosen)),
        rows=tuple(rows),
        items=sum(not item.is_control for item in items),
        target_groups=len({*groups}),
        controls=sum(item.is_control for item in items),
        unscored=unscored,
        warnings=tuple(filter(None, warnings)),
        notes=tuple(compiling.tuning.notes(max(len(each.demos) for each in compiled.tuned.predictors()))),
        guards=guards,
        counts=dict(compiling.tuning.counts()),
        overlap={"hidden texts": overlap(instruction, hidden), "shown texts": overlap(instruction, shown)},
    )


def judge_card(compiling: "JudgeCompile", compiled: Compiled, made: Provenance) -> Card:
    """The card of a judge, against people's grades."""
    items, tuned, declared = compiling.items, compiled.tuned, compiling.declared
    shown, target, rows = (_kappas if is_cut(declared) else _shares)(compiling, compiled, made.recipe.seed)
    counts: dict[str, tuple[int, int]] = {}
    for when, tested in (("before", compiled.before), ("after", compiled.after)):
        verdicts = [verdict.scored.verified for graded in tested.results.values() for verdict in graded.votes]
        if checks := [verified for verified in verdicts if verified is not None]:
            counts[f"evidence {when}"] = sum(checks), len(checks)
    if tuned.cases:
        of = len(declared.worked_cases())
        counts |= {"cases before": (tuned.cases[0], of), "cases after": (tuned.cases[1], of)}
    demos = max(len(each.demos) for each in tuned.judge.predictors())
    cuts = {f"{stratum} {cut.partial:g}/{cut.full:g}" for stratum, cut in tuned.cuts.items()}
    notes = [f"{demos} worked examples, cuts on the mean level: {', '.join(sorted(cuts)) or 'none'}"]
    if not shown and is_cut(declared):
        notes.insert(0, _advice(compiling))
    texts = [text for item in items for text in texts_in(compiling.inputs(item))]
    texts += [grade.reason for item in items for grades in item.grades.values() for grade in grades]
    card = _card_of(compiling, compiled, made, compiling.votes * len(items))
    plain = plain_cuts(declared)
    card["unchanged"] &= all(cut == plain[stratum] for stratum, cut in tuned.cuts.items())
    return Card(
        **card,
        aim="agreement with people",
        case="graded answer",
        shown=shown and not card["unchanged"],
        target=target,
        rows=tuple(rows),
        items=len(items),
        unscored=target.total - target.count,
        raters=compiling.graded.raters,
        notes=(*notes, *compiling.tuning.notes(0)),
        guards={"cases": 0.0} if tuned.cases else {},
        counts=counts,
        overlap={"items": overlap("\n".join(instructions_of(tuned.judge)), texts)},
    )


def _card_of(compiling: "Compile", compiled: Compiled, made: Provenance, answers: int) -> dict[str, Any]:
    """The fields that are the same of every program; the usage is of so many answers."""
    chosen, price = compiled.chosen, compiling.models[compiling.role].price
    program = getattr(compiled.tuned, "judge", compiled.tuned)
    return {
        "unchanged": fingerprint_of(program) == made.start,
        "group": compiling.declared.nouns.group,
        "groups": compiling.declared.nouns.groups,
        "group_count": len({item.group for item in compiling.items}),
        "fold_scores": compiled.fold_scores,
        "candidates": tuple(
            CandidateCard(
                score=each.score,
                share=each.share,
                harm=each.harm,
                broken=chosen.broken.get(place, ()),
                chosen=place == chosen.place,
            )
            for place, each in enumerate(chosen.tried)
        ),
        "usage_before": CardUsage.of(compiled.before.calls, answers, price),
        "usage_after": CardUsage.of(compiled.after.calls, answers, price),
        "provenance": made,
    }


def _measured_rows(compiling: "AssistantCompile", compiled: Compiled, seed: int) -> list[CardRow]:
    """A row of each measured number; p values are adjusted over strata and over measures."""
    declared, rows = compiling.declared, list[CardRow]()
    measures = {each.name for each in declared.measures}
    for measured in compiling.measured:
        if not measured.on_card:
            continue
        items = measured.items(compiling.items)
        before, after = compiled.numbers(items, measured.number)
        if measured.name in measures and all(each is None for each in (*before, *after)):
            continue  # of another kind of answers, as set
        beyond = any(each is not None and not 0 <= each <= 1 for each in (*before, *after))
        of, total = (declared.nouns, measured.name, measured.title), len(items)
        if measured.unit != "times" and not beyond:
            change = score_change(before, after, [item.group for item in items], seed=seed)
            rows.append(_row(*of, change, total, unit=measured.unit, margin=measured.margin))
            continue
        known, first, second = compiled.both(items, measured.number)
        groups = [item.group for item in known]
        if any(each < 0 for each in (*first, *second)):  # no ratio can be told of these
            rows.append(_row(*of, value_change(first, second, groups), total, unit="value"))
        else:
            margin = measured.margin if measured.unit == "times" else None
            rows.append(_row(*of, length_change(first, second, groups), total, unit="times", margin=margin))
    tuned_for = {each.lower() for each in compiling.strata}
    for kind in ({each.lower() for each in declared.strata}, measures):
        places = [place for place, row in enumerate(rows) if row.name in kind]
        for place, p in zip(places, holm([rows[place].p for place in places]), strict=True):
            margin = None if rows[place].name in tuned_for else rows[place].margin
            rows[place] = rows[place].model_copy(update={"p": p, "margin": margin})
    return rows


def _row(nouns: Nouns, name: str, title: str, change: Change, total: int, **further: Any) -> CardRow:
    """A row of a change, of so many items that were tested."""
    further = {"p": change.p} | further
    if change.unread:
        further["low98_unread"] = change.low98_unread
        for bound, each in (("least", change.least), ("most", change.most)):
            further[bound] = each and _number(each, nouns)
    return CardRow(
        name=name,
        title=title,
        count=change.count,
        total=total,
        before=_number(change.before, nouns),
        after=_number(change.after, nouns),
        difference=_number(change.difference, nouns),
        low98=change.low98,
        **further,
    )


def _number(estimate: Estimate, nouns: Nouns) -> Estimate:
    """An estimate, its reason in the benchmark's nouns."""
    return replace(estimate, reason=estimate.reason and nouns.translated(estimate.reason))


def _advice(compiling: "JudgeCompile") -> str:
    """Which answers people should grade next."""
    items, groups = compiling.items, compiling.declared.nouns.groups
    counts = {stratum: sum(item.case.stratum == stratum for item in items) for stratum in compiling.declared.strata}
    fewest, more = min(counts, key=lambda stratum: counts[stratum]), max(_ENOUGH, 2 * len(items))
    return (
        f"To show an improvement, have answers of further {groups} graded, {fewest} first (it has {counts[fewest]}): "
        f"{more} answers in {_WIDE} {groups}, by {_RATERS} raters, have 80 % power to detect a gain of "
        f"{smallest_gain(more, _WIDE, _RATERS):.2f} in kappa"
    )


def _shares(compiling: "JudgeCompile", compiled: Compiled, seed: int) -> tuple[bool, CardRow, list[CardRow]]:
    """Mean agreement over the parts of an answer, and that of each part: 1 minus the disagreement with people."""
    nouns, items = compiling.declared.nouns, compiling.items
    parts = {part.name: part for part in compiling.declared.graded_by_people}

    def compared(items: Sequence[GradedAnswer], *part: str) -> Change:
        def agreed(item: GradedAnswer, levels: Any) -> float | None:
            names = part or tuple(item.grades)
            if not all(name in levels for name in names):
                return None
            apart = [disagreement(parts[name], levels[name], soft(item, parts[name])) for name in names]
            return 1 - sum(apart) / len(apart)

        before, after = (
            [agreed(item, tested.results[item.key].levels) for item in items]
            for tested in (compiled.before, compiled.after)
        )
        return score_change(before, after, [item.group for item in items], seed=seed)

    target = compared(items)
    of_part = {name: [item for item in items if name in item.grades] for name in parts if len(parts) > 1}
    changes = {name: compared(graded, name) for name, graded in of_part.items() if graded}
    rows = [
        _row(nouns, name, name, change, len(of_part[name]), p=p)
        for (name, change), p in zip(changes.items(), holm([each.p for each in changes.values()]), strict=True)
    ]
    return target.shown, _row(nouns, "agreement", "agreement", target, len(items)), rows


def _kappas(compiling: "JudgeCompile", compiled: Compiled, seed: int) -> tuple[bool, CardRow, list[CardRow]]:
    """Quadratic kappa against the soft labels of people, within strata."""
    declared, items = compiling.declared, compiling.items
    (part,) = declared.graded_by_people
    there = {item.case.stratum for item in items}
    strata = [stratum for stratum in declared.strata if stratum in there]
    gains = improvement(
        *compiled.numbers(items, lambda graded: graded.levels.get(part.name)),
        _panel(items, part),
        [item.case.stratum for item in items],
        [item.group for item in items],
        order=strata,
        seed=seed,
    )
    rows: list[CardRow] = []
    for stratum, gain in zip(strata, gains.strata, strict=True):
        of = [item for item in items if item.case.stratum == stratum]
        beside = _beside(of, compiled, part, declared.nouns)
        rows.append(_row(declared.nouns, stratum.lower(), stratum, gain, len(of), unit="kappa", beside=beside))
    target = _row(declared.nouns, "average", "average", gains.overall, len(items), unit="kappa")
    return gains.overall.shown, target, rows


def _beside(items: Sequence[GradedAnswer], compiled: Compiled, part: Part, nouns: Nouns) -> dict[str, Estimate]:
    """Exact agreement and bias of the judge, beside the commonest grade and people."""
    read, *levels = compiled.both(items, lambda graded: graded.levels.get(part.name))
    before, after = ([part.levels[level] for level in each] for each in levels)
    consensus, groups = [item.consensus(part) for item in read], [item.group for item in read]
    commonest = [max(part.levels, key=consensus.count)] * len(read)
    panel, ties = _panel(read, part), (part.levels[1], part.levels[2], part.levels[0])
    first, second, constant = (
        Judged.of(panel, judge, part.levels, groups, ties) for judge in (before, after, commonest)
    )
    scores = [0.0, 0.5, 1.0]
    beside = {
        "exact before": first.exact(),
        "exact after": second.exact(),
        "exact commonest": constant.exact(),
        "bias before": first.bias(scores),
        "bias after": second.bias(scores),
    }
    numbers = {name: _number(each, nouns) for name, each in beside.items()}
    if not read:
        return numbers | dict.fromkeys(("one human", "best attainable"), Estimate(None, reason="no items"))
    people = human_reference(second)
    return numbers | {"one human": people.one_human, "best attainable": people.best_attainable}


def _panel(items: Sequence[GradedAnswer], part: Part) -> Panel:
    """The grades of each item, and who gave them."""
    given = [item.grades[part.name] for item in items]
    grades, raters = [[each.grade for each in of] for of in given], [[each.rater for each in of] for of in given]
    return Panel.of(grades, part.levels, raters)


def texts_in(value: Any) -> list[str]:
    """Every text in a value, in its order."""
    match value:
        case str():
            return [value]
        case BaseModel():
            return [text for name in type(value).model_fields for text in texts_in(getattr(value, name))]
        case list() | tuple():
            return [text for each in value for text in texts_in(each)]
        case dict():
            return [text for each in value.values() for text in texts_in(each)]
        case _:
            return []


_RUN = 8
"""Words in a row that make an overlap."""


def overlap(text: str, others: Iterable[str]) -> float:
    """Share in [0, 1] of a text's runs of eight words that stand in one of the others; 0 where it has none."""

    def runs(of: str) -> list[tuple[str, ...]]:
        words = re.findall(r"\w+", of.casefold())
        return [tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1)]

    own = runs(text)
    seen = {run for other in others for run in runs(other)} if own else set[tuple[str, ...]]()
    return sum(run in seen for run in own) / len(own) if own else 0.0
