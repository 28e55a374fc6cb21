"""What a judge is tuned to: agreement with people, part by part, beyond what a constant answer earns."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from dspy_proact.compile.folds import grouped_folds
from dspy_proact.compile.tuning import GradedAnswer, ScoredPrediction
from dspy_proact.evaluation.benchmark import Benchmark, Part
from dspy_proact.programs.artefact import Cuts
from dspy_proact.runs import cut_label
from dspy_proact.stats import START_CUTS, keep_cuts

_FOLDS = 5
_PLAIN = Cuts(partial=START_CUTS[0], full=START_CUTS[1])
"""The middle between neighbouring levels: of one verdict, its own level."""
Declared = Benchmark[Any, Any]


Votes = Sequence[ScoredPrediction]
"""The verdicts on one answer that could be read."""


def is_cut(declared: Declared) -> bool:
    """Whether people grade answers as a whole on an ordinal scale of three, so that cuts and kappas are made of it.

    A run applies cuts to labels, so that those of a part with a name would change scores that people did not grade.
    """
    parts = declared.graded_by_people
    return len(parts) == 1 and not parts[0].name and parts[0].scale == "ordinal" and len(parts[0].levels) == 3


def plain_cuts(declared: Declared) -> dict[str, Cuts]:
    """Cuts that change nothing, by stratum; none where no cuts are made."""
    return dict.fromkeys(map(str, declared.strata), _PLAIN) if is_cut(declared) else {}


def levels_given(declared: Declared, votes: Votes, part: Part) -> list[int]:
    """The level of a part in each verdict that could be read and grades it."""
    said = (declared.graded_parts(verdict.scored).get(part.name) for verdict in votes)
    return [part.levels.index(level) for level in said if level in part.levels]


def level_of(declared: Declared, votes: Votes, part: Part, cuts: Cuts | None = None) -> int | None:
    """The level of a part that verdicts make: of an ordinal one by cuts on their mean, else the commonest.

    Ties of a nominal part go to the first of its levels. None where no verdict could be read.
    """
    given = levels_given(declared, votes, part)
    if not given:
        return None
    if part.scale == "nominal":
        return max(range(len(part.levels)), key=given.count)
    bounds = (cuts.partial, cuts.full) if cuts else [level + 0.5 for level in range(len(part.levels) - 1)]
    label = cut_label([part.levels[level] for level in given], part.levels[::-1], bounds)
    return part.levels.index(label)


def levels_of(declared: Declared, votes: Votes, cuts: Cuts | None = None) -> dict[str, int]:
    """The level of each part that people grade; of one that no verdict grades there is none."""
    levels = {part.name: level_of(declared, votes, part, cuts) for part in declared.graded_by_people}
    return {name: level for name, level in levels.items() if level is not None}


class Agreement:
    """Score of verdicts against the labels of one training set.

    Of a part: the verdict's mean disagreement with the labels of the *other* items of its stratum, minus that with its
    own item's, mapped to [0, 1]: a judge that always answers alike scores 0.5 on average, whatever it answers. Of an
    item: the mean over the parts that people graded.

    Args:
        declared: The benchmark.
        items: The training set; labels of anything else are out of reach.
    """

    def __init__(self, declared: Declared, items: Sequence[GradedAnswer]):
        self._parts = {part.name: part for part in declared.graded_by_people}
        self._counts = Counter((name, item.case.stratum) for item in items for name in item.grades)
        self._sums: defaultdict[tuple[str, str], Sequence[float]] = defaultdict(list)
        for item in items:
            for name in item.grades:
                place, own = (name, item.case.stratum), soft(item, self._parts[name])
                before = self._sums[place] or [0.0] * len(own)
                self._sums[place] = [a + b for a, b in zip(before, own, strict=True)]

    def score(self, item: GradedAnswer, levels: Mapping[str, int]) -> float:
        """The score of levels by part, in [0, 1], higher is better; a part without a level scores 0."""
        return fmean(self._of_part(item, name, levels[name]) if name in levels else 0.0 for name in item.grades)

    def _of_part(self, item: GradedAnswer, name: str, level: int) -> float:
        """0.5 where its stratum has no other item."""
        part, place = self._parts[name], (name, item.case.stratum)
        if (others := self._counts[place] - 1) < 1:
            return 0.5
        own = soft(item, part)
        rest = [(all_of - mine) / others for all_of, mine in zip(self._sums[place], own, strict=True)]
        return 0.5 + (disagreement(part, level, rest) - disagreement(part, level, own)) / 2


def soft(item: GradedAnswer, part: Part) -> tuple[float, ...]:
    """Share of people's grades at each level of a part."""
    given = [each.grade for each in item.grades[part.name]]
    return tuple(given.count(level) / len(given) for level in part.levels)


def disagreement(part: Part, level: int, labels: Sequence[float]) -> float:
    """Mean distance of a level from labels, in [0, 1]; of a nominal part the share of other labels."""
    if part.scale == "nominal":
        return 1 - labels[level]
    return sum(share * abs(level - other) for other, share in enumerate(labels)) / (len(part.levels) - 1)


def fitted_cuts(
    declared: Declared, items: Sequence[GradedAnswer], votes: Sequence[Votes], seed: int
) -> dict[str, Cuts]:
    """The cuts of each stratum, plain where fitted ones do not gain by more than chance.

    Args:
        declared: The benchmark.
        items: To fit on; none of them may be a demo of the judge that voted.
        votes: Its verdicts, aligned.
        seed: Of the inner folds.
    """
    (part,) = declared.graded_by_people
    given = [(item, levels_given(declared, each, part)) for item, each in zip(items, votes, strict=True)]
    cuts = dict.fromkeys(map(str, declared.strata), _PLAIN)
    for stratum in cuts:
        read = [(item, sum(levels) / len(levels)) for item, levels in given if levels and item.case.stratum == stratum]
        of = [item for item, _ in read]
        if (units := len({item.unit for item in of})) < 2:
            continue
        folds = grouped_folds(of, min(_FOLDS, units), seed)
        place = {item.key: number for number, fold in enumerate(folds) for item in fold.test}
        partial, full = keep_cuts(
            [level for _, level in read],
            [soft(item, part) for item in of],
            [item.group for item in of],
            [place[item.key] for item in of],
        )
        cuts[stratum] = Cuts(partial=partial, full=full)
    return cuts
