from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.benchmarks.proactbench.views import JudgeView
from dspy_proact.types import Frozen


def _phase(value: object) -> Phase:
    word = value.strip().upper() if isinstance(value, str) else value
    if word not in tuple(Phase):
        raise PydanticCustomError("phase", "A phase is EMERGENT, CRITICAL or RECOVERY")
    return Phase(word)


PhaseWord = Annotated[Phase, BeforeValidator(_phase)]
"""A phase in any case."""


class RatedItem(Frozen):
    """One response that people rated, or were asked to.

    Raises:
        ValidationError: The view's rubric or turn is another than the item's.
    """

    key: str = Field(min_length=1)
    """What ratings refer to; unique in a study."""
    phase: Phase
    scenario: str
    """The unit of clustering, as `Origin.scenario` has it; empty where it is not known."""
    persona: str = ""
    """The unit of splitting; empty where it is not known."""
    judge: Grade | None = None
    """The judge's grade; None where it is not known."""
    view: JudgeView | None = None
    """What a judge sees beside the response; None where only labels are known."""
    response: str | None = None
    """None where only labels are known, or where a run has none."""
    turn: int | None = Field(default=None, ge=1)
    """Of the trigger, counted from 1; the view's where there is one."""
    model: str = ""
    """Who wrote the response; empty where it is not known."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.view and (self.phase is not self.view.rubric.phase or self.turn not in {None, self.view.turn}):
            raise ValueError(f"{self.phase} at turn {self.turn} is another trigger than the view's")
        return self


def scenario_of(item_id: str) -> tuple[str, str]:
    """Scenario and persona in an official id, `{uuid}__{scenario_id}__s{style}...`; two empty texts where it has none.

    The scenario has the form of `Origin.scenario`, so that ratings and dialogues of one scenario are one group.
    """
    parts = item_id.split("__")
    if len(parts) < 3 or not all(parts[:2]) or not (parts[2][:1] == "s" and parts[2][1:].isdecimal()):
        return "", ""
    return f"{parts[0]}/{parts[1]}", parts[0]
