"""Swaps: a conversation rewritten so that some of its facts have no consequence, by whom, and what it must keep to.

To cut a fact out breaks nearly every turn that it stands in; a swap puts another of the same kind into its place. The
names of fields and the docstrings of signatures and their values are prompt text.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

import dspy

from dspy_proact.benchmarks.proactbench.generation.roles import prompt
from dspy_proact.benchmarks.proactbench.generation.turn_rules import REALISM
from dspy_proact.benchmarks.proactbench.generation.values import Anchor, Documented, Swap, SwapAudit, SwappedTurn
from dspy_proact.evidence import words_of
from dspy_proact.programs.wording import holds, word_count

LENGTH = 0.3
"""How much longer or shorter than the conversation a swap may be, as a share of its characters."""
TERSE, EXPRESSIVE = 0.55, 0.85
"""Least likeness of a swap with the conversation, in [0, 1]: of a user of few words, and of one of many."""
FEW_WORDS = 25
"""Words of a user's message, on average, up to which a user is one of few words."""
_QUESTION = re.compile(r"[?\uff1f\u061f]+")


class Replacement(Documented):
    """A fact that must go, and what stands in its place."""

    id: str
    fact: str
    keys: list[str]
    """Words that may stand nowhere afterwards."""
    neutral: str
    """What the user says in its place."""


class WriteSwap(dspy.Signature):
    __doc__ = prompt("write_swap")

    conversation: list[SwappedTurn] = dspy.InputField()
    replacements: list[Replacement] = dspy.InputField()
    style: str = dspy.InputField(desc="How the user writes; empty where it is not laid down")
    swap: Swap = dspy.OutputField()


class AuditSwap(dspy.Signature):
    __doc__ = prompt("audit_swap")

    conversation: list[SwappedTurn] = dspy.InputField()
    removed_facts: list[str] = dspy.InputField()
    act: str = dspy.InputField()
    audit: SwapAudit = dspy.OutputField()


def objections(audit: SwapAudit, others_may_call: bool = False) -> list[str]:
    """Why an audited swap cannot stand, a sentence each; empty where it can.

    `others_may_call` where another anchor stays in it, which may call for the act as well.
    """
    reasons = {
        "The removed fact can still be inferred; take out what hints at it.": audit.implied,
        "Something else in the conversation still calls for the act; take that out, or make it as neutral.": (
            audit.other_reason and not others_may_call
        ),
        f"It does not read like a conversation that took place (realism below {REALISM}).": audit.realism < REALISM,
    }
    broken = [reason for reason, holds in reasons.items() if holds]
    return [*broken, audit.advice] if broken and audit.advice.strip() else broken


def misfits(original: Sequence[SwappedTurn], anchors: Sequence[Anchor], swap: Swap) -> list[str]:
    """What is wrong with a swap, a sentence each that says what to do; empty where it may be audited."""
    numbers = [turn.turn for turn in original]
    if [turn.turn for turn in swap.turns] != numbers:
        return [f"Return exactly the turns {numbers[0]} to {numbers[-1]}, in order, each with its number."]
    *before, last = swap.turns
    if last.assistant is not None:
        return [f"Turn {last.turn} awaits its response: leave its assistant null."]
    if any(not turn.user.strip() for turn in swap.turns) or any(not (turn.assistant or "").strip() for turn in before):
        return ["No message may be empty; only the assistant of the last turn is null."]
    reasons = [
        f"Turn {turn.turn} still holds {key!r}; no message of the user or the assistant may."
        for turn in swap.turns
        for anchor in anchors
        for key in anchor.keys
        if holds(f"{turn.user}\n{turn.assistant or ''}", key)
    ]
    for old, new in zip(original, swap.turns, strict=True):
        wanted, number = len(_QUESTION.findall(old.user)), len(_QUESTION.findall(new.user))
        if wanted != number:
            questions = f"the user's message has {number} questions and had {wanted}"
            reasons.append(f"In turn {old.turn} {questions}; keep every question and add none.")
    if not abs(length(swap.turns) / length(original) - 1) <= LENGTH:
        change = f"{length(swap.turns)} characters, not {length(original)}"
        return [*reasons, f"Keep the length within {LENGTH:.0%}: it has {change}."]
    if (alike := likeness(original, swap.turns)) < (least := least_likeness(original)):
        reasons.append(f"Change less: {alike:.2f} of the words stayed, and at least {least:.2f} must.")
    if sorted(swap.removed) != sorted(anchor.id for anchor in anchors):
        reasons.append(f"In `removed` list exactly {', '.join(anchor.id for anchor in anchors)}.")
    return reasons


def length(turns: Sequence[SwappedTurn]) -> int:
    """Characters of all messages, at least 1."""
    return max(1, sum(len(turn.user) + len(turn.assistant or "") for turn in turns))


def likeness(one: Sequence[SwappedTurn], other: Sequence[SwappedTurn]) -> float:
    """Share of words that two conversations of the same turns have in common, in each turn's order, in [0, 1].

    In scripts without blanks a character is a word.
    """
    shared = total = 0
    for old, new in zip(one, other, strict=True):
        words, others = (words_of(f"{turn.user} {turn.assistant or ''}") for turn in (old, new))
        if words == others:  # most turns are, and long ones take the square of their words
            shared += len(words)
        else:
            matcher = SequenceMatcher(None, words, others, autojunk=False)
            shared += sum(block.size for block in matcher.get_matching_blocks())
        total += len(words) + len(others)
    return 2 * shared / total if total else 1.0


def least_likeness(original: Sequence[SwappedTurn]) -> float:
    """The likeness that a swap of a conversation must have: a fact is a larger part of what few words say."""
    words = sum(word_count(turn.user) for turn in original) / len(original)
    return TERSE if words <= FEW_WORDS else EXPRESSIVE
