"""What is to be known of a compiled program before it is used."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dspy_proact.cli.views.message import say

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.programs import Assistant, AssistantCard, JudgeCard
    from dspy_proact.models import ModelSpec
    from dspy_proact.programs.artefact import JudgeArtefact


def say_of_judge(program: "JudgeArtefact | None", judges: "Sequence[ModelSpec]") -> None:
    """Say where a compiled judge has shown nothing, or was made for another model than a judge's."""
    if program:
        _say("--judge-program", program.card, "judge", judges)


def say_of_assistant(program: "Assistant", models: "Sequence[ModelSpec]") -> None:
    """The same of a compiled assistant and the models under test."""
    if program.card:
        _say("--program", program.card, "assistant", models)


def _say(flag: str, card: "JudgeCard | AssistantCard", role: str, used: "Iterable[ModelSpec]") -> None:
    if not card.shown:
        say(f"{flag}: its card shows no improvement over the program that it was made from.")
    made = card.provenance.models[role].model
    if others := [spec.name for spec in used if spec.name != made]:
        say(f"{flag}: it was made for {made}; what its card shows is not known of {', '.join(others)}.")
