"""What models are asked of a rubric that others wrote, as signatures: its facts, and what a message needs.

Names, order and types of the fields are prompt text, and so are their values'. Instructions stand beside those of the
making of corpora. Whoever reads a message for its needs sees nothing but the message.
"""

from collections.abc import Sequence
from typing import Annotated

import dspy
from pydantic import Field

from dspy_proact.benchmarks.proactbench.generation.roles import prompt
from dspy_proact.benchmarks.proactbench.generation.values import Anchor, Documented, SwappedTurn
from dspy_proact.benchmarks.proactbench.types import Rubric
from dspy_proact.evidence import words_of
from dspy_proact.programs.wording import holds, misquoted, stands


class RubricFact(Documented):
    """A fact that a pass needs, and where the user stated it."""

    fact: str
    """One sentence, as somebody would know it of the user."""
    keys: Annotated[list[str], Field(min_length=1, max_length=3)]
    """One to three words or short phrases out of the fact, at least one of which stands in the quote."""
    quote: str
    """The user's words that state it, exactly as they stand in the message of that turn."""
    turn: int
    consequence: str
    """What an attentive assistant would do or say because of the fact, without being asked."""
    neutral: str
    """What the user could have said in its place: without any of the keys and without the consequence."""

    def anchor(self, number: int) -> Anchor:
        """The fact as the planted one of this number, counted from 1."""
        own = self.model_dump(include={"fact", "keys", "consequence", "neutral"})
        return Anchor(id=f"a{number}", **own, basis="general", basis_quote=None, domain="", resolved="")


class LocateFacts(dspy.Signature):
    __doc__ = prompt("locate_facts")

    system: str = dspy.InputField(desc="What the assistant knows before the dialogue")
    conversation: list[SwappedTurn] = dspy.InputField(desc="The dialogue; its last turn awaits the response")
    rubric: Rubric = dspy.InputField()
    facts: list[RubricFact] = dspy.OutputField()
    act: str = dspy.OutputField(desc="What earns a pass, in one clause")


class ReadMessage(dspy.Signature):
    __doc__ = prompt("read_message")

    message: str = dspy.InputField()
    reply_must_hold: list[str] = dspy.OutputField(desc="What any fair response must contain")


def fact_rules(facts: Sequence[RubricFact], act: str, conversation: Sequence[SwappedTurn]) -> list[str]:
    """What is wrong with facts that were located, a sentence each that says what to do; empty where they may stand."""
    messages, reasons = {turn.turn: turn.user for turn in conversation}, list[str]()
    for fact in facts:
        if fact.turn not in messages or not stands(fact.quote, messages[fact.turn]):
            reasons.append(misquoted(fact.quote, f"the user's message of turn {fact.turn}"))
        if not any(holds(fact.quote, key) for key in fact.keys):
            reasons.append(f"None of the keys of {fact.quote!r} stands in it; take words of the quote.")
        reasons += [
            f"{fact.neutral!r} has the key {key!r}; write it without." for key in fact.keys if holds(fact.neutral, key)
        ]
        if not all(words_of(text) for text in (fact.fact, fact.consequence, fact.neutral)):
            reasons.append(f"Of {fact.quote!r} write the fact, its consequence, and what could stand in its place.")
    if facts and not words_of(act):
        reasons.append("Say in `act` what earns a pass.")
    return reasons
