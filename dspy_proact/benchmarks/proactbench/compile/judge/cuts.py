"""Cuts on the mean of several verdicts, by phase: how strict a judge has to be read to meet people."""

from collections.abc import Sequence

from dspy_proact.benchmarks.proactbench.compile.judge.labels import LEVELS, Labelled
from dspy_proact.benchmarks.proactbench.compile.judge.votes import Votes
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.compile.folds import grouped_folds
from dspy_proact.programs.artefact import Cuts
from dspy_proact.runs import cut_label
from dspy_proact.stats import START_CUTS, keep_cuts

_FOLDS = 5
PLAIN = dict.fromkeys(Phase, Cuts(partial=START_CUTS[0], full=START_CUTS[1]))
"""The middle between neighbouring grades: of one verdict, its own grade."""


def fitted(items: Sequence[Labelled], levels: Sequence[float | None], seed: int) -> dict[Phase, Cuts]:
    """The cuts of each phase, plain where fitted ones do not gain by more than chance.

    Args:
        items: To fit on; none of them may be a demo of the judge that voted.
        levels: Mean levels of its verdicts, aligned; None where none could be read.
        seed: Of the inner folds.
    """
    read = [(item, level) for item, level in zip(items, levels, strict=True) if level is not None]
    return {phase: _fitted([each for each in read if each[0].phase is phase], phase, seed) for phase in Phase}


def level_of(votes: Votes, cuts: Cuts) -> int | None:
    """The level of the grade that verdicts make: FAIL 0, PARTIAL 1, PASS 2; None where none could be read."""
    given = [verdict.grade for verdict in votes.read]
    return LEVELS.index(cut_label(given, LEVELS[::-1], (cuts.partial, cuts.full))) if given else None


def _fitted(read: Sequence[tuple[Labelled, float]], phase: Phase, seed: int) -> Cuts:
    items = [item for item, _ in read]
    units = {item.unit for item in items}
    if len(units) < 2:
        return PLAIN[phase]
    folds = grouped_folds(items, min(_FOLDS, len(units)), seed)
    place = {item.key: number for number, fold in enumerate(folds) for item in fold.test}
    kept = keep_cuts(
        [level for _, level in read],
        [item.soft for item in items],
        [item.scenario for item in items],
        [place[item.key] for item in items],
    )
    return Cuts(partial=kept.cuts[0], full=kept.cuts[1])
