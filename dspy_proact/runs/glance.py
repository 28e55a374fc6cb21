"""What a list says of a case, and which cases a person looks for."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

State = Literal["scored", "unscored", "pending"]


class Glance(NamedTuple):
    """One case in one epoch, without its texts; a tuple, for a large run has a hundred thousand."""

    key: str
    epoch: int
    stratum: str
    state: State
    label: str | None = None
    """The grade; None unless scored."""
    reason: str | None = None
    """Stage and reason of a failure; None unless unscored."""
    unverified: bool = False
    """Whether a verdict quotes nothing that stands in the response, and had to."""
    split: bool = False
    """Whether verdicts on the response differ."""


@dataclass(frozen=True)
class Sought:
    """What is looked for: cases in epochs to which all of this applies."""

    labels: Collection[str] = ()
    """One of them; any where empty."""
    strata: Collection[str] = ()
    """Likewise."""
    epoch: int | None = None
    unverified: bool = False
    unscored: bool = False
    differing: bool = False
    """Whether verdicts on a response or the grades of epochs differ; beside another run, its grade and this one's."""

    def among(self, glances: Iterable[Glance], beside: Mapping[tuple[str, int], Glance] | None = None) -> list[Glance]:
        """Those that are looked for, in their order.

        Args:
            glances: Of a run.
            beside: Those of another run, by key and epoch; None where there is none.
        """
        glances = list(glances)
        labels, strata, differing = set(self.labels), set(self.strata), self._differing(glances, beside)
        return [
            glance
            for glance in glances
            if (not labels or glance.label in labels)
            and (not strata or glance.stratum in strata)
            and (self.epoch is None or glance.epoch == self.epoch)
            and (not self.unverified or glance.unverified)
            and (not self.unscored or glance.state == "unscored")
            and (differing is None or (glance.key, glance.epoch) in differing)
        ]

    def _differing(
        self, glances: Iterable[Glance], beside: Mapping[tuple[str, int], Glance] | None
    ) -> set[tuple[str, int]] | None:
        """Key and epoch of those that differ; None where that is not looked for."""
        if not self.differing:
            return None
        if beside is None:
            moved = differing_epochs(glances)
            return {(each.key, each.epoch) for each in glances if each.split or each.key in moved}
        pairs = ((each, beside.get((each.key, each.epoch))) for each in glances)
        return {(each.key, each.epoch) for each, other in pairs if other and other.label != each.label}


def differing_epochs(glances: Iterable[Glance]) -> set[str]:
    """Keys of the cases whose grades differ from epoch to epoch."""
    labels = defaultdict[str, set[str]](set)
    for glance in glances:
        if glance.label is not None:
            labels[glance.key].add(glance.label)
    return {key for key, given in labels.items() if len(given) > 1}
