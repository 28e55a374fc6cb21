"""The models of a compile, as a person names them, by what each is asked for."""

from collections.abc import Mapping

from dspy_proact.models import ModelSpec, Role
from dspy_proact.programs.embedded import proposer

PROPOSER = Role("proposer", "--proposer", "verdict", proposer.answer)
"""Who writes instructions for a compile."""
SAME_JUDGE = (
    "one model tunes and reports: what was learned may be this judge's taste; have another report with --report-judge"
)
Named = Mapping[str, tuple[ModelSpec, Role]]
"""With the role of each; the one under tuning stands first."""


def two_judges(
    tuned: tuple[ModelSpec | str, Role],
    judge: tuple[ModelSpec | str, Role],
    report_judge: tuple[ModelSpec | str, Role],
    proposed_by: ModelSpec | str | None,
) -> Named:
    """The models of a compile that one judge tunes and another one tests.

    Args:
        tuned: Under the assistant.
        judge: Whose verdicts optimizers see.
        report_judge: Who tests out of fold; with what is said of the tuning judge where it is the same model.
        proposed_by: Who writes instructions; the tuning judge where None.
    """
    tuning = ModelSpec.of(judge[0])
    return {
        "assistant": (ModelSpec.of(tuned[0]), tuned[1]),
        "judge": (tuning, judge[1]),
        "report_judge": (ModelSpec.of(report_judge[0]).beside(tuning), report_judge[1]),
        "proposer": (ModelSpec.of(proposed_by or tuning), PROPOSER),
    }
