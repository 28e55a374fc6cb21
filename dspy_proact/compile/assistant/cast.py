from dataclasses import dataclass

from dspy_proact.models import Model


@dataclass(frozen=True)
class Cast:
    """The four models of a compile."""

    assistant: Model
    judge: Model
    """Whose grades optimizers see."""
    report_judge: Model
    """Who tests out of fold."""
    proposer: Model
    """Who writes prompts."""
