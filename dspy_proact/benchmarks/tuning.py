"""What a compile is asked for, read and not yet bound to a benchmark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dspy_proact.models import Gate, ModelSpec
    from dspy_proact.programs import Recipe
    from dspy_proact.runs import Settings


@dataclass(frozen=True)
class AssistantTuning:
    """An assistant to compile."""

    model: "ModelSpec"
    judge: "ModelSpec"
    """Tunes."""
    report_judge: "ModelSpec"
    """Tests."""
    proposer: "ModelSpec"
    corpus: str
    revision: str | None
    settings: "Settings"
    recipe: "Recipe"
    start: Path | None
    gate: "Gate"
    system_prompt: str | None = None
    strata: Sequence[str] = ()
    margins: Mapping[Any, float] = field(default_factory=dict[Any, float])
    """By guard."""


@dataclass(frozen=True)
class JudgeTuning:
    """A judge to compile."""

    judge: "ModelSpec"
    proposer: "ModelSpec"
    labels: "Callable[[], Any]"
    """Reads the ratings."""
    settings: "Settings"
    recipe: "Recipe"
    votes: int
    """Verdicts on each response."""
    start: Path | None
    gate: "Gate"
    guards: Sequence[Any] = ()
