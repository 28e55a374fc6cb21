"""Another run or results file, whose cases stand beside those of the one that a person looks at."""

from collections.abc import Collection, Iterable
from functools import cached_property

from dspy_proact.cli.views.looked import Looked
from dspy_proact.runs import Glance


class Beside:
    """The other one.

    Args:
        looked: What is looked at.
        other: What is beside it.
    """

    def __init__(self, looked: Looked, other: Looked):
        self._looked, self.other = looked, other

    @cached_property
    def placed(self) -> dict[tuple[str, int], Glance]:
        """What it says of every case in every epoch, by key and epoch."""
        return {(glance.key, glance.epoch): glance for glance in self.other.glances}

    def of(self, glance: Glance) -> Glance | None:
        """What it says of the same case and epoch; None where it was not asked."""
        return self.placed.get((glance.key, glance.epoch))

    def otherwise(self, glances: Iterable[Glance]) -> set[str]:
        """Keys of those of these cases that it was asked in other words: they are not to be compared."""
        keys = {glance.key for glance in glances if self.of(glance)}
        return self._differing(keys) if keys else set()

    def _differing(self, keys: Collection[str]) -> set[str]:
        from dspy_proact.report.particulars import particulars_of

        alike = particulars_of(self._looked.benchmark).alike
        ours, theirs = self._looked.views(keys), self.other.views(keys)
        return {key for key in keys if not alike(ours[key], theirs[key])}
