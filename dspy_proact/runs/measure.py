from typing import Literal, Self

from pydantic import Field, model_validator

from dspy_proact.types import Frozen

Statistic = Literal["mean", "f1", "precision", "recall", "balanced_accuracy", "kappa"]


class Measure(Frozen):
    """A number of a set of cases, which a benchmark declares and reports give with its interval.

    It is of the graded cases that have all of its parts; a benchmark may give a part to some cases only.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    """Its key in JSON."""
    title: str
    """For people."""
    statistic: Statistic = "mean"
    """All are higher for better; the mean's range is its part's, kappa's [-1, 1] and the others' [0, 1]."""
    parts: tuple[str, ...]
    """Names of parts of a grade: one for a mean; what is true and what was said, each 0 or 1, for the others."""

    @model_validator(mode="after")
    def _of_as_many_parts(self) -> Self:
        if len(self.parts) != (1 if self.statistic == "mean" else 2):
            raise ValueError("a mean is of one part, every other statistic of two: what is true and what was said")
        return self
