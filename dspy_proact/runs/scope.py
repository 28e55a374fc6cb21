from dspy_proact.types import Frozen

MOST_EPOCHS = 1000
"""Answers to a case, or verdicts on an answer: more are a mistake, be it in a command or in a file."""


class Scope(Frozen):
    """How much of a benchmark a command asks for: no part of a run's identity, so that a run can be widened."""

    limit: int | None = None
    """The most cases, spread over groups and strata, 1 or more; None for all. As many control cases come beside."""
    strata: tuple[str, ...] = ()
    """Only these; empty for all."""
    epochs: int | None = None
    """How often each case is answered, 1 or more; None for once, or as often as copied responses are."""
    judge_epochs: int | None = None
    """How often each judge grades each response, 1 or more; None for once, or as often as its program asks."""
    retry_unscored: bool = False
    """Try again also what failed for its content, which the report counts."""
    controls: bool = False
    """Ask for control cases too."""
