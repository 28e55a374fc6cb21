"""What a judge is tuned to: agreement with people, part by part, beyond what a constant answer earns."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from dspy_proact.compile.folds import grouped_folds
from dspy_proact.compile.target import OutOfFold
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.people import Part, graded_levels, is_cut, parts_of
from dspy_proact.evaluation.ratings import RatedItem
from dspy_proact.evaluation.tuning import Feedback, ScoredPrediction
from dspy_proact.programs.artefact import Cuts
from dspy_proact.programs.card import CardRow
from dspy_proact.runs import Nouns, cut_label
from dspy_proact.runs.manifest import in_nouns
from dspy_proact.stats import (
    START_CUTS,
    Change,
    Estimate,
    Judged,
    Panel,
    holm,
    human_reference,
    improvement,
    keep_cuts,
    score_change,
)

_FOLDS = 5
_NEAREST = 0.5 + 1e-9
"""Of an ordinal scale: no level is nearer to a mean than one at this distance."""
PLAIN = Cuts(partial=START_CUTS[0], full=START_CUTS[1])
"""The middle between neighbouring levels: of one verdict, its own level."""
Declared = Benchmark[Any, Any]
Votes = Sequence[ScoredPrediction]
"""The verdicts on one answer that could be read."""


@dataclass(frozen=True)
class Voted:
    """Verdicts of a judge on one answer."""

    votes: Votes
    levels: Mapping[str, int]
    """By part, by the cuts; empty where no verdict could be read."""


def plain_cuts(declared: Declared) -> dict[str, Cuts]:
    """Cuts that change nothing, by stratum; none where no cuts are made."""
    return dict.fromkeys(map(str, declared.strata), PLAIN) if is_cut(declared) else {}


def levels_in(declared: Declared, votes: Votes, part: Part) -> list[int]:
    """The level of a part in each verdict that could be read and grades it."""
    levels = (graded_levels(declared, judgement.scored).get(part.name) for judgement in votes)
    return [part.levels.index(level) for level in levels if level in part.levels]


def level_of(declared: Declared, votes: Votes, part: Part, cuts: Cuts | None = None) -> int | None:
    """The level of a part that verdicts make: of an ordinal one by cuts on their mean, else the commonest.

    Ties of a nominal part go to the first of its levels. None where no verdict could be read.
    """
    levels = levels_in(declared, votes, part)
    if not levels:
        return None
    if part.scale == "nominal":
        return max(range(len(part.levels)), key=levels.count)
    bounds = (cuts.partial, cuts.full) if cuts else [level + 0.5 for level in range(len(part.levels) - 1)]
    label = cut_label([part.levels[level] for level in levels], part.levels[::-1], bounds)
    return part.levels.index(label)


def levels_of(declared: Declared, votes: Votes, cuts: Cuts | None = None) -> dict[str, int]:
    """The level of each part that people grade; of one that no verdict grades there is none."""
    levels = {part.name: level_of(declared, votes, part, cuts) for part in parts_of(declared)}
    return {name: level for name, level in levels.items() if level is not None}


class Agreement:
    """Score of verdicts against the labels of one training set.

    Of a part: the verdict's mean disagreement with the labels of the *other* items of its stratum, minus that with its
    own item's, mapped to [0, 1]: a judge that always answers alike scores 0.5 on average, whatever it answers. Of an
    item: the mean over the parts that people graded. Labels of other items than the training set's are out of reach.
    """

    def __init__(self, declared: Declared, items: Sequence[RatedItem]):
        self._parts = {part.name: part for part in parts_of(declared)}
        self._counts = Counter((name, item.stratum) for item in items for name in item.grades)
        self._sums: defaultdict[tuple[str, str], Sequence[float]] = defaultdict(list)
        for item in items:
            for name in item.grades:
                cell, own = (name, item.stratum), soft(item, self._parts[name])
                before = self._sums[cell] or [0.0] * len(own)
                self._sums[cell] = [a + b for a, b in zip(before, own, strict=True)]

    def score(self, item: RatedItem, levels: Mapping[str, int]) -> float:
        """The score of levels by part, in [0, 1], higher is better; a part without a level scores 0."""
        return fmean(self._of_part(item, name, levels[name]) if name in levels else 0.0 for name in item.grades)

    def _of_part(self, item: RatedItem, name: str, level: int) -> float:
        """0.5 where its stratum has no other item."""
        part, cell = self._parts[name], (name, item.stratum)
        if (others := self._counts[cell] - 1) < 1:
            return 0.5
        own = soft(item, part)
        rest = [(all_of - mine) / others for all_of, mine in zip(self._sums[cell], own, strict=True)]
        return 0.5 + (disagreement(part, level, rest) - disagreement(part, level, own)) / 2


def soft(item: RatedItem, part: Part) -> tuple[float, ...]:
    """Share of people's grades at each level of a part."""
    grades = [grade.grade for grade in item.grades[part.name]]
    return tuple(grades.count(level) / len(grades) for level in part.levels)


def disagreement(part: Part, level: int, labels: Sequence[float]) -> float:
    """Mean distance of a level from labels, in [0, 1]; of a nominal part the share of other labels."""
    if part.scale == "nominal":
        return 1 - labels[level]
    return sum(share * abs(level - other) for other, share in enumerate(labels)) / (len(part.levels) - 1)


def feedback_on(declared: Declared, item: RatedItem, judgement: ScoredPrediction) -> Feedback:
    """Direction and size of a verdict's distance from people's grades, part by part; never their reasons."""
    levels, known = graded_levels(declared, judgement.scored), parts_of(declared)
    compared = [_compared(part, item, levels.get(part.name)) for part in known if part.name in item.grades]
    if len(compared) > 1:
        wrong = [(line, error) for line, error in compared if error]
        compared = [*wrong, ("all else right" if wrong else "all right", "")]
    return Feedback("\n".join(line for line, _ in compared), error=compared[0][1])


def _compared(part: Part, item: RatedItem, level: str | None) -> tuple[str, str]:
    """A judge's level of a part beside people's, and the kind of error; empty where no level is nearer to theirs."""
    people = [grade.grade for grade in item.grades[part.name]]
    counts = ", ".join(f"{people.count(name)} {name}" for name in part.levels[::-1] if name in people)
    line = f"{f'{part.name}: ' if part.name else ''}people {counts}; the judge {level or 'nothing'}: "
    if level not in part.levels:
        return f"{line}no level", "no level"
    if part.scale == "nominal":
        if people.count(level) == max(map(people.count, people)):
            return f"{line}right", ""
        return f"{line}another word", f"{f'{part.name}: ' if part.name else ''}another word"
    off = part.levels.index(level) - fmean(map(part.levels.index, people))
    if abs(off) <= _NEAREST:
        return f"{line}right", ""
    error = "too lenient" if off > 0 else "too strict"
    return f"{line}{error} by {abs(off):.1f} level{'s' * (f'{abs(off):.1f}' != '1.0')}", error


def fitted_cuts(
    declared: Declared, items: Sequence[RatedItem], units: Mapping[str, str], votes: Sequence[Votes], seed: int
) -> dict[str, Cuts]:
    """The cuts of each stratum, plain where fitted ones do not gain by more than chance.

    `votes` are a judge's verdicts on the items, none of which may be a demo of it; inner folds keep `units` together.
    """
    (part,) = parts_of(declared)
    levels = [levels_in(declared, verdicts, part) for verdicts in votes]
    means = [(item, fmean(own)) for item, own in zip(items, levels, strict=True) if own]
    cuts = dict.fromkeys(map(str, declared.strata), PLAIN)
    for stratum in cuts:
        own = [(item, mean) for item, mean in means if item.stratum == stratum]
        count = len({units[item.key] for item, _ in own})
        if count < 2:
            continue
        folds = grouped_folds([item for item, _ in own], units, min(_FOLDS, count), seed)
        numbers = {item.key: number for number, fold in enumerate(folds) for item in fold.test}
        partial, full = keep_cuts(
            [mean for _, mean in own],
            [soft(item, part) for item, _ in own],
            [item.group for item, _ in own],
            [numbers[item.key] for item, _ in own],
        )
        cuts[stratum] = Cuts(partial=partial, full=full)
    return cuts


# Rows of the card


def share_rows(
    declared: Declared, items: Sequence[RatedItem], tests: OutOfFold, seed: int
) -> tuple[Change, list[CardRow]]:
    """Mean agreement over the parts of an answer, 1 minus the disagreement with people; rows of it and of each part."""
    parts = {part.name: part for part in parts_of(declared)}

    def agreement(own: Sequence[RatedItem], *part: str) -> Change:
        def agreed(item: RatedItem, voted: Voted) -> float | None:
            names = part or tuple(item.grades)
            if not all(name in voted.levels for name in names):
                return None
            return 1 - fmean(disagreement(parts[name], voted.levels[name], soft(item, parts[name])) for name in names)

        before, after = (
            [agreed(item, tested.results[item.key]) for item in own] for tested in (tests.before, tests.after)
        )
        return score_change(before, after, [item.group for item in own], seed=seed)

    change, nouns = agreement(items), declared.nouns
    rows = [CardRow.of(change, nouns=nouns, name="agreement", title="agreement", total=len(items))]
    graded = {name: [item for item in items if name in item.grades] for name in parts if len(parts) > 1}
    changes = {name: agreement(own, name) for name, own in graded.items() if own}
    adjusted = holm([own.p for own in changes.values()])
    for (name, own), p in zip(changes.items(), adjusted, strict=True):
        rows.append(CardRow.of(own, nouns=nouns, name=name, title=name, total=len(graded[name]), p=p))
    return change, rows


def kappa_rows(
    declared: Declared, items: Sequence[RatedItem], tests: OutOfFold, seed: int
) -> tuple[Change, list[CardRow]]:
    """Quadratic kappa against people's soft labels: the average of the strata, and rows of it and of each of them."""
    (part,), nouns = parts_of(declared), declared.nouns
    there = {item.stratum for item in items}
    strata = [stratum for stratum in declared.strata if stratum in there]
    gains = improvement(
        *tests.numbers(items, lambda voted: voted.levels.get(part.name)),
        _panel(items, part),
        [item.stratum for item in items],
        [item.group for item in items],
        order=strata,
        seed=seed,
    )
    rows = [CardRow.of(gains.overall, nouns=nouns, name="average", title="average", total=len(items), unit="kappa")]
    for stratum, gain in zip(strata, gains.strata, strict=True):
        own = [item for item in items if item.stratum == stratum]
        kind = {"nouns": nouns, "name": stratum.lower(), "title": stratum, "total": len(own)}
        rows.append(CardRow.of(gain, **kind, unit="kappa", beside=_beside(own, tests, part, nouns)))
    return gains.overall, rows


def _beside(items: Sequence[RatedItem], tests: OutOfFold, part: Part, nouns: Nouns) -> dict[str, Estimate]:
    """Exact agreement and bias of the judge, beside the commonest grade and people."""
    read, *levels = tests.both(items, lambda voted: voted.levels.get(part.name))
    before, after = ([part.levels[level] for level in side] for side in levels)
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
    numbers = {name: in_nouns(estimate, nouns) for name, estimate in beside.items()}
    if not read:
        return numbers | dict.fromkeys(("one human", "best attainable"), Estimate(None, reason="no items"))
    people = human_reference(second)
    return numbers | {"one human": people.one_human, "best attainable": people.best_attainable}


def _panel(items: Sequence[RatedItem], part: Part) -> Panel:
    grades = [item.grades[part.name] for item in items]
    raters = [[grade.rater for grade in own] for own in grades]
    return Panel.of([[grade.grade for grade in own] for own in grades], part.levels, raters)
