"""Cuts on the mean of several verdicts, by phase: how strict a judge has to be read to meet people."""

from collections.abc import Mapping, Sequence

from dspy_proact.compile.folds import grouped_folds
from dspy_proact.compile.judge.labels import Labelled
from dspy_proact.compile.judge.votes import Votes
from dspy_proact.programs import Cuts
from dspy_proact.stats.cuts import START as START_CUTS
from dspy_proact.stats.cuts import apply_cuts, keep_cuts
from dspy_proact.types import Phase

_FOLDS = 5
PLAIN = dict.fromkeys(Phase, Cuts(partial=START_CUTS[0], full=START_CUTS[1]))
"""The middle between neighbouring grades: of one verdict, its own grade."""


def fitted(items: Sequence[Labelled], votes: Mapping[str, Votes], seed: int) -> dict[Phase, Cuts]:
    """The cuts of each phase, plain where fitted ones do not gain by more than chance.

    Args:
        items: To fit on; none of them may be a demo of the judge that voted.
        votes: Its verdicts, by key.
        seed: Of the inner folds.
    """
    return {phase: _fitted([item for item in items if item.phase is phase], votes, seed) for phase in Phase}


def level_of(mean: float | None, cuts: Cuts) -> int | None:
    """The level of a mean level: FAIL 0, PARTIAL 1, PASS 2; None where no verdict could be read."""
    return None if mean is None else int(apply_cuts([mean], (cuts.partial, cuts.full))[0])


def _fitted(items: Sequence[Labelled], votes: Mapping[str, Votes], seed: int) -> Cuts:
    read = [(item, level) for item in items if (level := votes[item.key].level) is not None]
    units = {item.unit for item, _ in read}
    if len(units) < 2:
        return PLAIN[Phase.EMERGENT]
    folds = grouped_folds([item for item, _ in read], min(_FOLDS, len(units)), seed)
    place = {item.key: number for number, fold in enumerate(folds) for item in fold.test}
    kept = keep_cuts(
        [level for _, level in read],
        [item.soft for item, _ in read],
        [item.scenario for item, _ in read],
        [place[item.key] for item, _ in read],
    )
    return Cuts(partial=kept.cuts[0], full=kept.cuts[1])
