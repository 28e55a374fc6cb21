"""Rules in code over what is said at a turn, the message, its rubric and the reply: a sentence for each broken one.

As in `plan_rules`, an auditor's answer has rules of its own, and findings against what it audits.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from dspy_proact.benchmarks.proactbench.generation.values import (
    Anchor,
    DraftRubric,
    Order,
    Reveal,
    RubricAudit,
    Step,
    TurnAudit,
    Uptake,
    UserMessage,
)
from dspy_proact.benchmarks.proactbench.generation.wording import forbidden_in, keys_in, unknown_ids
from dspy_proact.evidence import Passage, words_of
from dspy_proact.programs.wording import advised, holds, misquoted, says, stands, word_count

REALISM = 0.6
"""The least of a user message, in [0, 1]."""
_LABEL = re.compile(r"^\s*(?:user|assistant|system|ai|customer|agent)\s*:", re.IGNORECASE | re.MULTILINE)
_META = re.compile(r"\[\[\s*##|<\|?/?\w*(?:think|im_start|im_end)|```|^\s*[\[{]\s*[\"{\[]")
_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u061f\u0964\n]")
_ASKING = "?\uff1f\u061f"
_FAULTS = {
    "speaks as the assistant": "is what the assistant would say, not the user",
    "tells its instructions": "talks about instructions or intentions",
    "contradicts": "contradicts what was said or is known",
    "overacts its style": "is overdone",
}


def message_rules(
    written: UserMessage,
    order: Order,
    *,
    hidden: Sequence[Anchor],
    withheld: Iterable[str],
    most_words: int,
    earlier: Iterable[str],
) -> list[str]:
    """What is wrong with a user message.

    Args:
        written: The message.
        order: What it was to say.
        hidden: Anchors that the user has not mentioned and is not to mention here.
        withheld: Names that nobody should know yet.
        most_words: Allowed.
        earlier: The user's messages before.
    """
    message, reveal = written.message, order.reveal
    if not message.strip():
        return ["The message is blank; write it."]
    reasons = list[str]()
    if (count := word_count(message)) > most_words:
        reasons.append(f"The message has {count} words; write {most_words} at most.")
    if _LABEL.search(message) or _META.search(message):
        reasons.append("Write the bare message: no role before it, no JSON, no code, no thoughts.")
    if any(words_of(message) == words_of(before) for before in earlier):
        reasons.append("The message was sent before in the same words; write another.")
    for _, key in keys_in(message, hidden):
        reasons.append(f"The message says {key!r}, which is in no order; leave it out.")
    for name in withheld:
        if holds(message, name):
            reasons.append(f"The message names {name}, of whom nothing was said; leave the name out.")
    return reasons + _quote_rules(message, written.quote, reveal)


def _quote_rules(message: str, quote: str | None, reveal: Reveal | None) -> list[str]:
    if reveal is None:
        return ["Nothing was to be mentioned in passing: make `quote` null."] if quote else []
    keys = ", ".join(f"{key!r}" for key in reveal.keys)
    if not quote or (where := Passage(message).quote(quote)).start is None or where.end is None:
        return ["`quote` repeats words of the message exactly: those that mention the fact of `reveal`."]
    reasons = list[str]()
    if not any(holds(quote, key) for key in reveal.keys):
        reasons.append(f"The words in `quote` have none of the keys ({keys}); mention the fact with one of them.")
    if in_question(quote, message):
        reasons.append("The fact stands in a question; mention it in a sentence that asks nothing.")
    return reasons


def in_question(quote: str, message: str) -> bool:
    """Whether a quote from a message holds a question, or stands in the sentence of one."""
    where = Passage(message).quote(quote)
    end = where.end is not None and _END.search(message, where.end)
    return any(sign in quote for sign in _ASKING) or bool(end and end.group() in _ASKING)


def message_audit_rules(audit: TurnAudit, message: str, reveal: str | None, ids: Collection[str]) -> list[str]:
    """Whether the audit of a message can be believed; `reveal` is the id of the anchor that it mentions."""
    quotes = [*(fact.quote for fact in audit.facts), *(fault.quote for fault in audit.faults)]
    reasons = [misquoted(quote, "the message") for quote in quotes if not stands(quote, message)]
    anchors = [fact.anchor for fact in audit.facts if fact.kind == "anchor"]
    if None in anchors:
        reasons.append("A fact of the kind `anchor` has the anchor's id; give it.")
    reasons += unknown_ids([name for name in anchors if name], ids)
    if reveal and reveal not in anchors:
        reasons.append(f"The message mentions {reveal} and your facts do not; list it, or read the message once more.")
    return reasons


def message_findings(
    audit: TurnAudit, reveal: str | None, *, disclosed: Collection[str], known: str, closing: bool, act: str = ""
) -> list[str]:
    """What an audit finds wrong with a message.

    Args:
        audit: The audit.
        reveal: Id of the anchor that was to be mentioned.
        disclosed: Ids of those that were mentioned before.
        known: All that the user may say.
        closing: Whether the user was to ask for nothing.
        act: What the rubric waits for, where the turn is a trigger.
    """
    reasons = list[str]()
    for fact in audit.facts:
        if fact.kind == "anchor" and fact.anchor not in {*disclosed, reveal}:
            reasons.append(f"{fact.quote!r} tells something whose turn has not come; leave it out.")
        if fact.kind == "new" and not stands(fact.quote, known):
            reasons.append(f"{fact.quote!r} is invented; leave it out, or take a detail that is known.")
    reasons += [f"{fault.quote!r} {_FAULTS[fault.kind]}; write it otherwise." for fault in audit.faults]
    if closing and audit.act == "asks":
        reasons.append("The message asks for something; here it only reports or closes.")
    if act and (held := next((part for part in audit.reply_must_hold if says(part, act)), None)):
        reasons.append(f"The message asks for what a good response does unasked ({held!r}); ask for less.")
    if audit.anchor_requested:
        reasons.append(
            "The message asks about a fact that is to be mentioned in passing only; ask about nothing of it."
        )
    if audit.joined:
        reasons.append(
            "The message links facts or draws a conclusion; state them apart, and leave that to the assistant."
        )
    if audit.realism < REALISM:
        reasons.append(f"Hardly anybody would write this (realism {audit.realism:g}; at least {REALISM} is needed).")
    return advised(reasons, audit.advice)


def rubric_rules(rubric: DraftRubric, step: Step, forbidden: Iterable[str]) -> list[str]:
    """What is wrong with the rubric of a step."""
    criteria = [rubric.pass_criteria, rubric.partial_criteria, rubric.fail_criteria]
    reasons = [f"`type` is {step.trigger} here."] if rubric.type != step.trigger else []
    if sorted(rubric.anchors) != sorted(set(step.needs)):
        reasons.append(f"`anchors` are {', '.join(sorted(set(step.needs)))} here, each once.")
    if not all(words_of(text) for text in (*criteria, rubric.act)):
        reasons.append("Pass, partial and fail criteria and `act` are all needed; write them.")
    if len({tuple(words_of(text)) for text in criteria}) < len(criteria):
        reasons.append("Pass, partial and fail must differ from one another.")
    offers = forbidden_in(rubric.act, forbidden)
    return reasons + [f"The act is forbidden ({offer!r}); ask for another that serves the user." for offer in offers]


def rubric_audit_rules(audit: RubricAudit, rubric: DraftRubric, messages: Mapping[int, str]) -> list[str]:
    """Whether the audit of a rubric can be believed; messages are the user's, by turn."""
    reasons = unknown_ids([ground.anchor for ground in audit.grounds], rubric.anchors)
    for ground in audit.grounds:
        if ground.turn not in messages or not stands(ground.quote, messages[ground.turn]):
            reasons.append(misquoted(ground.quote, f"the user's message of turn {ground.turn}"))
    return reasons


def rubric_findings(audit: RubricAudit, rubric: DraftRubric) -> list[str]:
    """What an audit finds wrong with a rubric."""
    missing = [name for name in rubric.anchors if name not in {ground.anchor for ground in audit.grounds}]
    reasons = [f"No user message states {name}, on which a pass rests." for name in missing]
    flags = {
        "Nobody could come to the act from what was said; ask for less.": not audit.solvable,
        "The user's message asks for the act, so that any answer passes; reward what goes beyond it.": audit.asked_for,
        "Only one thing or wording could pass; state the principle that any form serves.": audit.one_artefact,
        "A pass needs what is forbidden or excluded; reward another act.": audit.forbidden,
        "Partial is not distinct from pass and fail; draw the lines anew.": not audit.partial_distinct,
        "The act does not follow from the facts, or is wrong.": audit.consequence_true == "no",
    }
    return advised([*reasons, *(reason for reason, broken in flags.items() if broken)], audit.advice)


def reply_rules(response: str) -> list[str]:
    """What is wrong with a response of the corpus's assistant."""
    if not response.strip():
        return ["The response is blank."]
    return ["Write the assistant's response only, no message of the user."] if _LABEL.search(response) else []


def uptake_rules(uptake: Uptake, response: str, ids: Collection[str]) -> list[str]:
    """Whether the audit of a response can be believed."""
    reasons = [misquoted(entry.quote, "the response") for entry in uptake.served if not stands(entry.quote, response)]
    return reasons + unknown_ids([entry.anchor for entry in uptake.served], ids)
