"""What a judge is tuned to: agreement with people, part by part, beyond what a constant answer earns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

from dspy_proact.compile.folds import grouped_folds
from dspy_proact.compile.target import OutOfFold
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.people import Part, graded_levels, is_cut, parts_of
from dspy_proact.evaluation.ratings import RatedItem
from dspy_proact.evaluation.tuning import Feedback, ScoredPrediction
from dspy_proact.programs.artefact import Cuts
from dspy_proact.programs.card_rows import LabelAgreement
from dspy_proact.programs.item_scores import GradedPart
from dspy_proact.runs import cut_label
from dspy_proact.stats import START_CUTS, keep_cuts

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
    """Score of verdicts against the labels of one training set, as `LabelAgreement` has it.

    Labels of other items than the training set's are out of reach.
    """

    def __init__(self, declared: Declared, items: Sequence[RatedItem]):
        self._parts = {part.name: part for part in parts_of(declared)}
        nominal = {name: part.scale == "nominal" for name, part in self._parts.items()}
        self._metric = LabelAgreement(nominal, [(item.stratum, self._labels(item)) for item in items])

    def _labels(self, item: RatedItem) -> dict[str, Sequence[float]]:
        return {name: soft(item, self._parts[name]) for name in item.grades}

    def score(self, item: RatedItem, levels: Mapping[str, int]) -> float:
        """The score of levels by part, in [0, 1], higher is better; a part without a level scores 0."""
        return self._metric.score(item.stratum, self._labels(item), levels)


def soft(item: RatedItem, part: Part) -> tuple[float, ...]:
    """Share of people's grades at each level of a part."""
    grades = [grade.grade for grade in item.grades[part.name]]
    return tuple(grades.count(level) / len(grades) for level in part.levels)


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


def graded_parts(declared: Declared, items: Sequence[RatedItem], tests: OutOfFold) -> tuple[GradedPart, ...]:
    """What a card keeps of each part that people graded: their grades, and the judge's levels before and after."""
    names = sorted({grade.rater for item in items for own in item.grades.values() for grade in own})
    raters, parts = {name: number for number, name in enumerate(names)}, list[GradedPart]()
    for part in parts_of(declared):
        grades = tuple(
            tuple((raters[grade.rater], part.levels.index(grade.grade)) for grade in item.grades.get(part.name, ()))
            for item in items
        )
        if any(grades):
            before, after = map(tuple, tests.numbers(items, partial(_level, part.name)))
            levels, scale = part.levels, part.scale
            parts.append(
                GradedPart(name=part.name, levels=levels, scale=scale, grades=grades, before=before, after=after)
            )
    return tuple(parts)


def _level(name: str, voted: Voted) -> int | None:
    return voted.levels.get(name)
