"""How the programs of rows of one's own are compiled."""

from dspy_proact.benchmarks.rows.levels import RowSettings
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.tuning import Tuning, proposals_of
from dspy_proact.programs.artefact import ProgramRole


class OwnTuning(Tuning):
    """By the score of a level, and a judge by its agreement with the labels."""

    proposals = proposals_of(
        judge=(
            "Say what each level of the scale means, so that people would draw the same lines.",
            "Say what people see in a response that the judge misses, or gives too much for.",
            "Draw the line between neighbouring levels more clearly.",
        )
    )

    def require(self, role: ProgramRole) -> None:
        """Raise a `UsageError` where an assistant is to be tuned for labels without an order."""
        super().require(role)
        if role == "assistant" and RowSettings.of(self.settings).nominal:
            raise UsageError("labels without an order have no score for which an assistant could be tuned")
