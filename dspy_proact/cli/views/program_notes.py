"""What is to be known of a corpus and of compiled programs before they are used."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dspy_proact.cli.views.message import say

if TYPE_CHECKING:
    from dspy_proact.benchmarks.execution import Execution
    from dspy_proact.programs import Card
    from dspy_proact.runs import CorpusRecord


def say_of_programs(execution: "Execution") -> None:
    """Say where a compiled program has shown nothing, or was made for another model than the one it speaks through."""
    for flag, role, participants in execution.compiled():
        say_of_card(flag, participants[0].program_card, role, [each.model.name for each in participants])


def say_of_card(flag: str, card: "Card | None", role: str, models: Sequence[str]) -> None:
    """The same of one program and the models that it speaks through; nothing of one that is not compiled."""
    if card is None:
        return
    if not card.shown:
        say(f"{flag}: its card shows no improvement over the program that it was made from.")
    made = card.provenance.models[role].model
    if others := [name for name in models if name != made]:
        say(f"{flag}: it was made for {made}; what its card shows is not known of {', '.join(others)}.")


def say_of_corpus(named: str, record: "CorpusRecord") -> None:
    """Say which fields the format does not know, and which rows are no cases."""
    if record.ignored_fields:
        fields = ", ".join(f"{name} ({count})" for name, count in record.ignored_fields.items())
        say(f"{named}: fields that the format does not know are left out: {fields}")
    for reason, count in record.left_out.items():
        say(f"{named}: {count:,} of {record.rows:,} rows {'is' if count == 1 else 'are'} left out: {reason}.")
