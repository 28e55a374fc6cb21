from dataclasses import dataclass

from dspy_proact.programs import Assistant


@dataclass(frozen=True)
class Candidate:
    """A program that an optimizer tried, by the tuning judge, on what it compared candidates on."""

    program: Assistant
    score: float
    """Mean score on triggers of the chosen phases, in [0, 1], higher is better."""
    offers: float | None = None
    """Share of control turns with an unwanted offer; None where that was not looked at."""
