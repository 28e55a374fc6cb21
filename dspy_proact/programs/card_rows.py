"""The rows of a card, as functions of the scores of its items alone."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Any, Literal, Self, cast

from pydantic import Field

from dspy_proact.programs.item_scores import GradedPart, ItemScores, ScoreColumn, are_shares, pick
from dspy_proact.runs import Nouns
from dspy_proact.runs.manifest import in_nouns
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
    value_change,
)
from dspy_proact.stats.agreement import Weight
from dspy_proact.types import Frozen

MARGINS: Mapping[str, float] = {"length": 0.20, "tokens": 0.50}
"""By which part of what they were the words of an answer may grow, and its tokens, the prompt's included."""
MARGIN = 0.05
"""By how much a mean of shares may get worse; any other number, such as a count, by this part of what it was."""
Unit = Literal["score", "rate", "kappa", "times", "value"]
"""A mean score or a kappa, higher is better; a rate or a ratio of means, lower is better; a mean of any range."""


class CardRow(Frozen):
    """A number out of fold, before and after, on the same cases."""

    name: str
    """By which a guard names it."""
    title: str
    unit: Unit = "score"
    count: int
    """Cases that could be graded, before and after."""
    total: int
    """Cases that were asked."""
    before: Estimate
    after: Estimate
    difference: Estimate
    """After minus before, of `times` after by before, with its 95 % interval."""
    low98: float | None = None
    """Lower end of the 98 % interval of the difference: above 0 it carries the claim."""
    p: float | None = None
    """Of exchanging before and after within whole groups; of rows of one kind adjusted by Holm."""
    low98_unread: float | None = None
    """`low98` over all cases, counting unreadable verdicts against the claim; None where all were read."""
    least: Estimate | None = None
    """The difference over all cases, the unread 1 before and 0 after; None where all were read."""
    most: Estimate | None = None
    """The difference over all cases, the unread 0 before and 1 after; None where all were read."""
    margin: float | None = None
    """How far it may get worse before it counts as a cost; None for a row that is no cost."""
    beside: dict[str, Estimate] = Field(default_factory=dict[str, Estimate])
    """Further numbers of the same cases, such as the exact agreement before and after."""

    @classmethod
    def of(cls, change: Change, *, nouns: Nouns, **further: Any) -> Self:
        """The row of a change, with its further fields; reasons are in the benchmark's nouns."""
        names = ["count", "before", "after", "difference", "low98", "p"]
        names += ["low98_unread", "least", "most"] if change.unread else []
        values = vars(in_nouns(change, nouns))
        return cls(**{name: values[name] for name in names} | further)

    @property
    def worse(self) -> float | None:
        """By how much it got worse, in the unit of its margin; negative where it got better."""
        return self._worse(self.difference.value)

    @property
    def worst(self) -> float | None:
        """The upper end of that, counting unreadable verdicts against the program; None without an interval."""
        if self.unit in ("rate", "times"):
            return self._worse((self.most or self.difference).high)
        return self._worse((self.least or self.difference).low)

    @property
    def alike(self) -> bool:
        """Whether every case has the same number before and after: no change, no spread of it, and nothing unread."""
        return self.worse == 0 and self.difference.low is None and self.most is None and self.least is None

    def _worse(self, difference: float | None) -> float | None:
        if difference is None:
            return None
        return difference - 1 if self.unit == "times" else difference if self.unit == "rate" else -difference


@dataclass(frozen=True)
class CardNumbers:
    """Everything that the scores of items say."""

    change: Change
    """Of what it was tuned for: it carries the claim."""
    target: CardRow
    rows: tuple[CardRow, ...]


def numbers_of(scores: ItemScores, nouns: Nouns) -> CardNumbers:
    """The numbers of a card; reasons are in these nouns. Jackknives and random flips are not worked out twice."""
    return _numbers(cast("Hashable", scores), cast("Hashable", nouns))


@lru_cache(maxsize=8)
def _numbers(scores: Any, nouns: Any) -> CardNumbers:
    if scores.columns:
        return _measured(scores, nouns)
    return _kappas(scores, nouns) if scores.is_kappa else _agreements(scores, nouns)


# Of an assistant


def _measured(scores: ItemScores, nouns: Nouns) -> CardNumbers:
    """A row of each column, and of each stratum where there are several; p is adjusted over strata and over measures.

    What it was tuned for is no cost.
    """
    score, *columns = scores.columns
    change = _change(score, scores.tuned, scores)
    target = CardRow.of(change, nouns=nouns, name="score", title=scores.aim, total=len(scores.tuned))
    indices = {index: scores.in_stratum(index) for index in range(len(scores.strata)) if len(scores.strata) > 1}
    strata = [
        CardRow.of(
            _change(score, own, scores),
            nouns=nouns,
            name=scores.strata[index].lower(),
            title=scores.strata[index],
            total=len(own),
            margin=None if index in scores.tuned_for else MARGIN,
        )
        for index, own in indices.items()
    ]
    measures, others = (
        [row for column in columns if column.measured == side and (row := _column_row(column, scores, nouns))]
        for side in (True, False)
    )
    return CardNumbers(change, target, (*_adjusted(strata), *_adjusted(measures), *others))


def _column_row(column: ScoreColumn, scores: ItemScores, nouns: Nouns) -> CardRow | None:
    """The row of a column; None of a measure that no item has, being one of another kind of answers."""
    indices = scores.of(column)
    before, after = pick(column.before, indices), pick(column.after, indices)
    values = [value for value in (*before, *after) if value is not None]
    if column.measured and not values:
        return None
    kind = {"nouns": nouns, "name": column.name, "title": column.title, "total": len(indices)}
    margin = MARGINS.get(column.kind, MARGIN)
    if column.kind not in MARGINS and are_shares(values):
        unit = "score" if column.kind == "measure" else "rate"
        return CardRow.of(_change(column, indices, scores), **kind, unit=unit, margin=margin)
    rows = zip(before, after, indices, strict=True)
    known = [(old, new, scores.groups[index]) for old, new, index in rows if old is not None and new is not None]
    first, second, groups = ([row[index] for row in known] for index in range(3))
    if any(value < 0 for value in (*first, *second)):  # no ratio can be told of these
        return CardRow.of(value_change(first, second, groups), **kind, unit="value")
    return CardRow.of(
        length_change(first, second, groups), **kind, unit="times", margin=None if column.measured else margin
    )


def _change(column: ScoreColumn, indices: Sequence[int], scores: ItemScores) -> Change:
    groups = [scores.groups[index] for index in indices]
    return score_change(pick(column.before, indices), pick(column.after, indices), groups)


def _adjusted(rows: Sequence[CardRow]) -> list[CardRow]:
    """Rows that are read together, their p values adjusted by Holm."""
    adjusted = holm([row.p for row in rows])
    return [row.model_copy(update={"p": p}) for row, p in zip(rows, adjusted, strict=True)]


# Of a judge


class LabelAgreement:
    """Score of verdicts against the labels of one set of items.

    Of a part: the verdict's mean disagreement with the labels of the *other* items of its stratum, minus that with its
    own item's, mapped to [0, 1]: a judge that always answers alike scores 0.5 on average, whatever it answers. Of an
    item: the mean over the parts that people graded.

    Args:
        nominal: Whether the scale of each part is nominal, by its name.
        items: Stratum, and by part the share of people's grades at each level, of each item.
    """

    def __init__(self, nominal: Mapping[str, bool], items: Sequence[tuple[Any, Mapping[str, Sequence[float]]]]):
        self._nominal = nominal
        self._counts = Counter((name, stratum) for stratum, labels in items for name in labels)
        self._sums: defaultdict[tuple[str, Any], Sequence[float]] = defaultdict(list)
        for stratum, labels in items:
            for name, own in labels.items():
                before = self._sums[name, stratum] or [0.0] * len(own)
                self._sums[name, stratum] = [a + b for a, b in zip(before, own, strict=True)]

    def score(self, stratum: Any, labels: Mapping[str, Sequence[float]], levels: Mapping[str, int]) -> float:
        """The score of levels by part, in [0, 1], higher is better; a part without a level scores 0."""
        return fmean(
            self._of_part(name, stratum, own, levels[name]) if name in levels else 0.0 for name, own in labels.items()
        )

    def _of_part(self, name: str, stratum: Any, own: Sequence[float], level: int) -> float:
        """0.5 where its stratum has no other item."""
        if (others := self._counts[name, stratum] - 1) < 1:
            return 0.5
        rest = [(all_of - mine) / others for all_of, mine in zip(self._sums[name, stratum], own, strict=True)]
        nominal = self._nominal[name]
        return 0.5 + (disagreement(level, rest, nominal=nominal) - disagreement(level, own, nominal=nominal)) / 2


def disagreement(level: int, labels: Sequence[float], *, nominal: bool) -> float:
    """Mean distance of a level from labels, in [0, 1]; on a nominal scale the share of other labels."""
    if nominal:
        return 1 - labels[level]
    return sum(share * abs(level - other) for other, share in enumerate(labels)) / (len(labels) - 1)


def fold_scores_of(scores: ItemScores) -> tuple[float | None, ...]:
    """Mean score of each fold's program on its test items; None where none could be scored.

    Of a judge the agreement with the labels of the fold alone (`LabelAgreement`): what could not be read scores 0.
    """
    by_fold = [[index for index in scores.tuned if scores.folds[index] == fold] for fold in sorted({*scores.folds})]
    if scores.columns:
        known = ([score for score in pick(scores.columns[0].after, own) if score is not None] for own in by_fold)
        return tuple(fmean(own) if own else None for own in known)
    shares = {part.name: part.shares for part in scores.parts}

    def labels(index: int) -> dict[str, tuple[float, ...]]:
        return {name: own[index] for name, own in shares.items() if own[index]}

    means = list[float]()
    for own in by_fold:
        items = [(scores.stratum[index], labels(index)) for index in own]
        metric = LabelAgreement({part.name: part.scale == "nominal" for part in scores.parts}, items)
        levels = [
            {part.name: level for part in scores.parts if (level := part.after[index]) is not None} for index in own
        ]
        means.append(fmean(metric.score(*item, level) for item, level in zip(items, levels, strict=True)))
    return tuple(means)


def _agreements(scores: ItemScores, nouns: Nouns) -> CardNumbers:
    """Mean agreement over the parts of an answer, 1 minus the disagreement with people; and of each part."""
    shares = [part.shares for part in scores.parts]

    def agreement(parts: Sequence[int], indices: Sequence[int]) -> Change:
        def agreed(index: int, side: str) -> float | None:
            own = [(scores.parts[part], shares[part][index]) for part in parts if shares[part][index]]
            levels = [getattr(part, side)[index] for part, _ in own]
            if None in levels:
                return None
            return 1 - fmean(
                disagreement(level, labels, nominal=part.scale == "nominal")
                for level, (part, labels) in zip(levels, own, strict=True)
            )

        before, after = ([agreed(index, side) for index in indices] for side in ("before", "after"))
        return score_change(before, after, [scores.groups[index] for index in indices])

    change = agreement(range(len(scores.parts)), scores.graded)
    target = CardRow.of(change, nouns=nouns, name="agreement", title="agreement", total=len(scores.graded))
    rows = list[CardRow]()
    for number, part in enumerate(scores.parts if len(scores.parts) > 1 else ()):
        if own := [index for index, grades in enumerate(part.grades) if grades]:
            kind = {"nouns": nouns, "name": part.name, "title": part.name, "total": len(own)}
            rows.append(CardRow.of(agreement([number], own), **kind))
    return CardNumbers(change, target, tuple(_adjusted(rows)))


def _kappas(scores: ItemScores, nouns: Nouns) -> CardNumbers:
    """Kappa against people's soft labels: the average of the strata, and each of them."""
    part, items = scores.parts[0], len(scores.groups)
    strata = [index for index in range(len(scores.strata)) if index in scores.stratum]
    weight: Weight = "quadratic" if part.scale == "ordinal" else "none"
    gains = improvement(
        part.before, part.after, _panel(part, range(items)), scores.stratum, scores.groups, order=strata, weight=weight
    )
    target = CardRow.of(gains.overall, nouns=nouns, name="average", title="average", total=items, unit="kappa")
    rows = list[CardRow]()
    for index, gain in zip(strata, gains.strata, strict=True):
        own, title = scores.in_stratum(index), scores.strata[index]
        kind = {"nouns": nouns, "name": title.lower(), "title": title, "total": len(own)}
        rows.append(CardRow.of(gain, **kind, unit="kappa", beside=_beside(scores, own, nouns)))
    return CardNumbers(gains.overall, target, tuple(rows))


def _beside(scores: ItemScores, indices: Sequence[int], nouns: Nouns) -> dict[str, Estimate]:
    """Exact agreement and bias of the judge, beside the commonest grade and people."""
    (part,) = scores.parts
    read = [index for index in indices if None not in (part.before[index], part.after[index])]
    labels, last = range(len(part.levels)), len(part.levels) - 1
    ties = (1, 2, 0) if last == 2 else labels[::-1]  # of equally common grades of three the middle one, then the best
    weight: Weight = "quadratic" if part.scale == "ordinal" else "none"
    groups, panel = [scores.groups[index] for index in read], _panel(part, read)
    consensus = [max(ties, key=[level for _, level in part.grades[index]].count) for index in read]
    sides = (pick(part.before, read), pick(part.after, read), [max(labels, key=consensus.count)] * len(read))
    first, second, constant = (Judged.of(panel, side, labels, groups, ties) for side in sides)
    beside = {"exact before": first.exact(), "exact after": second.exact(), "exact commonest": constant.exact()}
    if part.scale == "ordinal":
        worth = [level / last for level in labels]
        beside |= {"bias before": first.bias(worth), "bias after": second.bias(worth)}
    numbers = {name: in_nouns(estimate, nouns) for name, estimate in beside.items()}
    if not read:
        return numbers | dict.fromkeys(("one human", "best attainable"), Estimate(None, reason="no items"))
    people = human_reference(second, weight)
    return numbers | {"one human": people.one_human, "best attainable": people.best_attainable}


def _panel(part: GradedPart, indices: Sequence[int]) -> Panel:
    grades = [part.grades[index] for index in indices]
    return Panel.of(
        [[level for _, level in own] for own in grades],
        range(len(part.levels)),
        [[rater for rater, _ in own] for own in grades],
    )
