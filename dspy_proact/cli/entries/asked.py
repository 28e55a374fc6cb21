"""What verbs ask of a benchmark: what a person typed, read, and not yet bound to what the benchmark is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dspy_proact.cli.options.kinds import Output
    from dspy_proact.cli.options.labels import Labels
    from dspy_proact.cli.options.models import Judging, NamedAssistant, NamedModel
    from dspy_proact.models import Gate, ModelSpec
    from dspy_proact.programs import Recipe
    from dspy_proact.runs import Scope, Settings


@dataclass(frozen=True)
class Answering:
    """Who answers, and what."""

    models: "Sequence[ModelSpec]"
    """One or several, each with a run of its own."""
    assistant: "NamedAssistant"
    corpus: str
    """As `--corpus` takes it."""
    revision: str | None = None
    """Of the published corpus, as it was recorded before; None for the newest."""


@dataclass(frozen=True)
class Graders:
    """Who grades, by which settings, and how calls are made."""

    models: "Sequence[ModelSpec]"
    """One or several; empty where nobody is named and the benchmark names nobody."""
    judging: "Judging"
    settings: "Settings"
    """Of the benchmark's own kind."""
    gate: "Gate"


@dataclass(frozen=True)
class Agreeing:
    """Judges to set beside people."""

    judge: "NamedModel"
    """Grades now what people rated; with no name the grades that are known stand."""
    judging: "Judging"
    settings: "Settings"
    scope: "Scope"
    gate: "Callable[[], Gate]"
    """Opened where a model is asked."""
    output: "Output"
    explain: bool = False
    """Whether what the numbers rest on is told."""


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
    phases: Sequence[str] = ()
    margins: Mapping[Any, float] = field(default_factory=dict[Any, float])
    """By guard."""


@dataclass(frozen=True)
class JudgeTuning:
    """A judge to compile."""

    judge: "ModelSpec"
    proposer: "ModelSpec"
    labels: "Labels"
    settings: "Settings"
    recipe: "Recipe"
    votes: int
    """Verdicts on each response."""
    start: Path | None
    gate: "Gate"
    guards: Sequence[Any] = ()
