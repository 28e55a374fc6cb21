"""A brief that a model drafts from a page about a product, for a person to edit."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.files.toml import read_text
from dspy_proact.generation.attempt import Attempt, RuleError
from dspy_proact.models import Gate, ModelSpec, open_model
from dspy_proact.programs.direct import Direct
from dspy_proact.runs import run_to_end

if TYPE_CHECKING:
    from dspy_proact.generation.maker import Making


@dataclass(frozen=True)
class Draft:
    """A drafted brief."""

    text: str
    """Of its file."""
    notes: Sequence[str]
    """What was left out and why, a sentence each."""


def draft_brief(declared: Benchmark[Any, Any], page: Path, model: ModelSpec | str, gate: Gate | None = None) -> Draft:
    """A brief for a benchmark, drafted by a model.

    Raises:
        UsageError: The benchmark makes no corpora, the page cannot be used, or no answer of the model's can.
        ProviderError: The model cannot be reached.
        Halt: It ended early.
    """
    making: Making | None = declared.corpus.making and declared.corpus.making()
    if not (making and (role := making.drafter) and (draft := making.draft)):
        own = "edit a copy of the brief.toml in the folder of a corpus that `generate` made" if making else ""
        raise UsageError(f"{declared.name}: no brief can be drafted for it; {own or 'name another `benchmark`'}")
    text = read_text(page, "a page about the product")
    drafter = open_model(model, role, gate or Gate())
    drafter.require_key()

    async def drafted() -> Draft:
        attempt = Attempt(0, 1, 1, {role.name: Direct(drafter.lm)}, {role.name: drafter.name})
        try:
            return await draft(attempt, text)
        finally:
            await drafter.aclose()

    try:
        return run_to_end(drafted())
    except RuleError as error:
        reasons = " ".join(error.reasons)
        raise UsageError(f"`model` {drafter.name}: no brief can be made of its answers: {reasons}") from error
