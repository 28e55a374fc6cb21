"""Whoever watches a run."""

from dspy_proact.runs.event import Event


class Observer:
    """Is told what happens in a run; this one keeps it to itself."""

    def started(self, todo: int, asked: int) -> None:
        """A run begins, with `todo` of the `asked` cases x epochs still to do."""

    def ended(self, event: Event, last: bool) -> None:
        """A stage ended and was kept; `last` when nothing more is to be done for its case and epoch."""

    def interrupted(self) -> None:
        """The person asked to stop; what is in flight is still awaited."""
