"""Rules in code over what the roles write: each broken one is a sentence that says what to do.

Rules of a *writer's* answer are exact. Rules of an *auditor's* answer say whether it can be believed: its quotes stand
where it says, its ids are known, and what code has seen it has seen too. What an audit finds wrong (`..._findings`) is
a reason against what was audited.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from dspy_proact.benchmarks.proactbench.generation.values import (
    Anchor,
    BlueprintAudit,
    DraftRubric,
    Order,
    Reveal,
    RubricAudit,
    Scenario,
    ScenarioAudit,
    Step,
    TurnAudit,
    TurnPlan,
    Uptake,
    UserMessage,
)
from dspy_proact.evidence import Passage, locate, words_of
from dspy_proact.generation.likeness import grams

WINDOWS = {"EMERGENT": range(1, 4), "CRITICAL": range(4, 8), "RECOVERY": range(8, 11)}
"""Turns at which triggers of a phase are planned: targets, no rule."""
TRIGGERS = range(3, 7)
"""How many a blueprint has."""
MOST_IN_A_PHASE = 2
LEAST_TURNS = 5
REALISM = 0.6
"""The least of a user message, in [0, 1]."""
_SAME = 0.5
"""Share of the runs of three words of a text that stand in another, from which on it says the same."""
_LABEL = re.compile(r"^\s*(?:user|assistant|system|ai|customer|agent)\s*:", re.IGNORECASE | re.MULTILINE)
_META = re.compile(r"\[\[\s*##|<\|?/?\w*(?:think|im_start|im_end)|```|^\s*[\[{]\s*[\"{\[]")
_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u061f\u0964\n]")
_ASKING = "?\uff1f\u061f"


def holds(text: str, phrase: str) -> bool:
    """Whether the words of a phrase stand in a text, one after another, whatever their case; no phrase stands in it."""
    words = words_of(phrase)
    return bool(words) and f" {' '.join(words)} " in f" {' '.join(words_of(text))} "


def stands(quote: str, text: str) -> bool:
    """Whether a quote, or every one of several in one string, stands in a text."""
    starts = [part.start for part in locate(quote, Passage(text))]
    return bool(starts) and None not in starts


def says(text: str, other: str) -> bool:
    """Whether a text says in much the same words what another one does."""
    wanted = grams(other)
    return bool(words_of(other)) and len(wanted & grams(text)) / len(wanted) >= _SAME


def scenario_rules(scenario: Scenario, source: str, initials: str = "", persona: str = "") -> list[str]:
    """What is wrong with a scenario; `source` is the product's text with its rules.

    A user whose name in Latin letters has none of the `initials` must have it from the `persona`; none lets any be.
    """
    shown = {
        "request": scenario.request,
        "persona": scenario.persona,
        "colour": "\n".join(scenario.colour),
        "system": scenario.system,
        "cast": "\n".join(person.relation for person in scenario.cast),
    }
    names = [person.name for person in scenario.cast]
    texts = ("title", "date", "persona", "request", "hidden_goal")
    reasons = [f"`{name}` is blank; write it." for name in texts if not getattr(scenario, name).strip()]
    reasons += _repeated([anchor.id for anchor in scenario.anchors], "anchors have the id")
    reasons += _repeated([" ".join(words_of(name)) for name in names], "persons of the cast have the name")
    reasons += [
        f"The name {name!r} in the cast has no word; give the person a name." for name in names if not words_of(name)
    ]
    if sum(person.relation == "self" for person in scenario.cast) != 1:
        reasons.append("Exactly one person of the cast is the user, with the relation `self`.")
    for name in (person.name.strip() for person in scenario.cast if person.relation == "self" and initials):
        if "A" <= name[:1].upper() <= "Z" and name[0].upper() not in initials and not holds(persona, name):
            reasons.append(f"The user's name begins with none of {initials}; take one that does, so that none repeats.")
    for name in ("request", "system"):
        if says(shown[name], scenario.hidden_goal):
            reasons.append(f"`{name}` gives the hidden goal away; leave it out there.")
    for anchor in scenario.anchors:
        reasons += [f"Anchor {anchor.id}: {reason}" for reason in _anchor_rules(anchor, scenario, shown, source)]
    return reasons


def _anchor_rules(anchor: Anchor, scenario: Scenario, shown: Mapping[str, str], source: str) -> Iterable[str]:
    for name in ("id", "fact", "consequence", "domain", "neutral", "resolved"):
        if not getattr(anchor, name).strip():
            yield f"`{name}` is blank; write it."
    others = {f"the fact of {other.id}": other.fact for other in scenario.anchors if other.id != anchor.id}
    # The system text repeats rules of the product, whatever words they have.
    texts = {f"`{name}`": text for name, text in shown.items() if name != "system"} | others
    yield from _key_rules(anchor, texts, {"`system`": shown["system"]}, source)
    if anchor.basis == "product" and not (anchor.basis_quote and stands(anchor.basis_quote, source)):
        yield (
            "its `basis_quote` does not stand in the product's text or rules; copy a passage word for word, or make "
            "the basis `general` and the quote null."
        )
    if anchor.basis == "general" and anchor.basis_quote:
        yield "its basis is `general`: make `basis_quote` null."
    if says(scenario.request, anchor.consequence):
        yield "the request asks for its consequence; let the user come for something else."
    for offer in _forbidden_in(anchor.consequence, scenario.forbidden):
        yield f"its consequence is forbidden ({offer!r}); take a fact from which something else follows."


def _key_rules(anchor: Anchor, texts: Mapping[str, str], beside: Mapping[str, str], source: str) -> Iterable[str]:
    if not any(holds(anchor.fact, key) for key in anchor.keys):
        yield "none of its keys stands in its fact; take words of the fact as they stand there."
    for key in anchor.keys:
        if not words_of(key):
            yield f"the key {key!r} has no word; take one of the fact."
        if holds(anchor.neutral, key):
            yield f"`neutral` has the key {key!r}; write it without."
        for name, text in {**texts, **({} if holds(source, key) else beside)}.items():
            if holds(text, key):
                yield f"its key {key!r} stands in {name}; take it out there, or take another key."


def scenario_audit_rules(audit: ScenarioAudit, scenario: Scenario, source: str) -> list[str]:
    """Whether an audit of a scenario can be believed."""
    text, ids = "\n".join(_strings(scenario.model_dump())), [anchor.id for anchor in scenario.anchors]
    reasons = list[str]()
    for entry in audit.contradictions:
        if not stands(entry.quote, text):
            reasons.append(_misquoted(entry.quote, "the scenario"))
        if not stands(entry.against, source) and not stands(entry.against, text):
            reasons.append(_misquoted(entry.against, "the product's text, its rules or the scenario"))
    lists = (audit.consequence_in_request, audit.anchors_in_system, audit.false_consequences)
    return reasons + _unknown([name for names in lists for name in names], ids)


def scenario_findings(audit: ScenarioAudit) -> list[str]:
    """What an audit finds wrong with a scenario."""
    reasons = [f"{entry.quote!r} contradicts {entry.against!r}; mend it." for entry in audit.contradictions]
    reasons += [f"The request asks for the consequence of {name}." for name in audit.consequence_in_request]
    reasons += [f"`system` states or implies {name}; leave it out there." for name in audit.anchors_in_system]
    reasons += [f"The consequence of {name} does not follow or is forbidden." for name in audit.false_consequences]
    reasons += ["The hidden goal can be read out of `system`."] if audit.goal_in_system else []
    return _advised(reasons, audit.advice)


def blueprint_rules(steps: Sequence[Step], scenario: Scenario, turns: int) -> list[str]:
    """What is wrong with the steps of a dialogue of so many turns at most."""
    if [step.turn for step in steps] != list(range(1, len(steps) + 1)):
        return ["Number the turns from 1 without a gap, in order."]
    reasons = list[str]()
    if not LEAST_TURNS <= len(steps) <= turns:
        reasons.append(f"Plan {LEAST_TURNS} to {turns} turns, not {len(steps)}.")
    triggers, disclosed = [step for step in steps if step.trigger], set[str]()
    ids = {anchor.id for anchor in scenario.anchors}
    reasons += _unknown([name for step in steps for name in (*step.needs, step.reveal) if name], sorted(ids))
    reasons += _repeated([step.reveal for step in steps if step.reveal], "turns reveal")
    for step in steps:
        disclosed |= ids & {step.reveal}
        hidden = [anchor for anchor in scenario.anchors if anchor.id not in disclosed]
        reasons += [f"Turn {step.turn}: {reason}" for reason in _step_rules(step, disclosed, hidden)]
    if len(triggers) not in TRIGGERS:
        reasons.append(f"Plan {TRIGGERS[0]} to {TRIGGERS[-1]} triggers, not {len(triggers)}.")
    phases = [step.trigger for step in triggers]
    for phase in WINDOWS:
        if phases.count(phase) > MOST_IN_A_PHASE:
            reasons.append(f"Plan {MOST_IN_A_PHASE} {phase} triggers at most, not {phases.count(phase)}.")
    if "RECOVERY" not in phases:
        reasons.append("Plan a RECOVERY trigger, after the request is done.")
    elif set(phases[phases.index("RECOVERY") :]) != {"RECOVERY"}:
        reasons.append("RECOVERY triggers come after all others.")
    return reasons + _repeated([", ".join(sorted(set(step.needs))) for step in triggers], "triggers need the same:")


def _step_rules(step: Step, disclosed: Collection[str], hidden: Sequence[Anchor]) -> Iterable[str]:
    if not step.request.strip():
        yield "`request` is blank; say what the user asks, reports or closes with."
    for anchor, key in _keys_in(step.request, hidden):
        yield f"`request` gives {anchor.id} away ({key!r}) before it is revealed; leave it out."
    if step.trigger:
        yield from _trigger_rules(step, disclosed)


def _trigger_rules(step: Step, disclosed: Collection[str]) -> Iterable[str]:
    count, needs = len(set(step.needs)), sorted(set(step.needs))
    if missing := [name for name in needs if name not in disclosed]:
        yield f"it needs {', '.join(missing)}, not revealed up to there; reveal it at this turn or before."
    if step.trigger == "EMERGENT" and count != 1:
        yield f"an EMERGENT trigger needs exactly one anchor, not {count}."
    if step.trigger == "CRITICAL" and count < 2:
        yield f"a CRITICAL trigger needs two anchors or more, not {count}."
    if step.trigger == "RECOVERY" and not count:
        yield "a RECOVERY trigger names the anchors whose details a response takes up; list them in `needs`."
    if step.trigger == "RECOVERY" and step.reveal:
        yield "a RECOVERY trigger reveals nothing new; reveal its anchors before."
    if not step.expects.strip():
        yield "`expects` is blank; say what a good response does unasked."
    elif says(step.request, step.expects):
        yield "`request` asks for what is expected; let the user ask for something else."


def blueprint_notes(steps: Sequence[Step], scenario: Scenario) -> list[str]:
    """What is unusual about steps and breaks no rule."""
    triggers = [step for step in steps if step.trigger]
    revealed = {step.reveal for step in steps}
    return [
        *(
            f"Turn {step.turn}: outside the usual turns of {step.trigger} ({window[0]} to {window[-1]})."
            for step in triggers
            if step.trigger and step.turn not in (window := WINDOWS[step.trigger])
        ),
        *(
            f"Turns {one.turn} and {other.turn}: triggers follow each other directly."
            for one, other in pairwise(triggers)
            if other.turn == one.turn + 1
        ),
        *(f"{anchor.id} is never revealed." for anchor in scenario.anchors if anchor.id not in revealed),
    ]


def blueprint_audit_rules(audit: BlueprintAudit, steps: Sequence[Step]) -> list[str]:
    """Whether an audit of steps can be believed."""
    triggers = {step.turn for step in steps if step.trigger}
    recoveries = {step.turn for step in steps if step.trigger == "RECOVERY"}
    listed = {*audit.forced_pairs, *audit.asked_for, *audit.unsolvable, *audit.open_recovery}
    reasons = [f"Turn {turn} is no trigger; list turns of triggers only." for turn in sorted(listed - triggers)]
    wrong = sorted({*audit.open_recovery} & triggers - recoveries)
    return reasons + [f"Turn {turn} is no RECOVERY; leave it out of `open_recovery`." for turn in wrong]


def blueprint_findings(audit: BlueprintAudit) -> list[str]:
    """What an audit finds wrong with steps."""
    kinds = {
        "one of its anchors alone leads to what is expected; need that one, or expect what follows from all.": (
            audit.forced_pairs
        ),
        "its request asks for what is expected; let the user ask for something else.": audit.asked_for,
        "nobody could come to what is expected from what was said; reveal more before, or expect less.": (
            audit.unsolvable
        ),
        "it expects nothing definite; name the details and what to do about them.": audit.open_recovery,
    }
    reasons = [f"Turn {turn}: {reason}" for reason, turns in kinds.items() for turn in turns]
    return _advised(reasons, audit.advice)


def plan_rules(plan: TurnPlan, step: Step, scenario: Scenario, disclosed: Collection[str], ahead: bool) -> list[str]:
    """What is wrong with the plan of a turn; `ahead` is whether a trigger is still to come, here or later."""
    if plan.stop:
        return ["Go on: a trigger of the plan is still to come."] if ahead else []
    reveal = None if step.reveal in disclosed else step.reveal
    text = "\n".join((plan.intent, *plan.payload, plan.directive))
    hidden = [anchor for anchor in scenario.anchors if anchor.id not in {*disclosed, reveal}]
    reasons = ["`intent` is blank; say what the user wants."] if not plan.intent.strip() else []
    if plan.reveal != reveal:
        reasons.append(f"`reveal` is {f'`{reveal}`' if reveal else 'null'} at this turn.")
    for anchor, key in _keys_in(text, hidden):
        reasons.append(f"The order gives {anchor.id} away ({key!r}), which is not its turn; leave it out.")
    if step.trigger and says(text, step.expects):
        reasons.append("The order asks for what a good response does unasked; let the user ask for something else.")
    return reasons


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
    for _, key in _keys_in(message, hidden):
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
    end = _END.search(message, where.end)
    if any(sign in quote for sign in _ASKING) or (end and end.group() in _ASKING):
        reasons.append("The fact stands in a question; mention it in a sentence that asks nothing.")
    return reasons


def word_count(text: str) -> int:
    """Words of a message; in scripts without blanks two characters count as one."""
    unspaced = sum(len(word) == 1 and ord(word) >= 0x0E00 for word in words_of(text))
    return unspaced // 2 if unspaced > len(text) / 2 else len(text.split())


def message_audit_rules(audit: TurnAudit, message: str, reveal: str | None, ids: Collection[str]) -> list[str]:
    """Whether the audit of a message can be believed; `reveal` is the id of the anchor that it mentions."""
    quotes = [*(fact.quote for fact in audit.facts), *(fault.quote for fault in audit.faults)]
    reasons = [_misquoted(quote, "the message") for quote in quotes if not stands(quote, message)]
    anchors = [fact.anchor for fact in audit.facts if fact.kind == "anchor"]
    if None in anchors:
        reasons.append("A fact of the kind `anchor` has the anchor's id; give it.")
    reasons += _unknown([name for name in anchors if name], ids)
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
    return _advised(reasons, audit.advice)


_FAULTS = {
    "speaks as the assistant": "is what the assistant would say, not the user",
    "tells its instructions": "talks about instructions or intentions",
    "contradicts": "contradicts what was said or is known",
    "overacts its style": "is overdone",
}


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
    offers = _forbidden_in(rubric.act, forbidden)
    return reasons + [f"The act is forbidden ({offer!r}); ask for another that serves the user." for offer in offers]


def rubric_audit_rules(audit: RubricAudit, rubric: DraftRubric, messages: Mapping[int, str]) -> list[str]:
    """Whether the audit of a rubric can be believed; messages are the user's, by turn."""
    reasons = _unknown([ground.anchor for ground in audit.grounds], rubric.anchors)
    for ground in audit.grounds:
        if ground.turn not in messages or not stands(ground.quote, messages[ground.turn]):
            reasons.append(_misquoted(ground.quote, f"the user's message of turn {ground.turn}"))
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
    return _advised([*reasons, *(reason for reason, broken in flags.items() if broken)], audit.advice)


def reply_rules(response: str) -> list[str]:
    """What is wrong with a response of the corpus's assistant."""
    if not response.strip():
        return ["The response is blank."]
    return ["Write the assistant's response only, no message of the user."] if _LABEL.search(response) else []


def uptake_rules(uptake: Uptake, response: str, ids: Collection[str]) -> list[str]:
    """Whether the audit of a response can be believed."""
    misquoted = [
        _misquoted(entry.quote, "the response") for entry in uptake.served if not stands(entry.quote, response)
    ]
    return misquoted + _unknown([entry.anchor for entry in uptake.served], ids)


def _keys_in(text: str, hidden: Iterable[Anchor]) -> list[tuple[Anchor, str]]:
    return [(anchor, key) for anchor in hidden for key in anchor.keys if holds(text, key)]


def _forbidden_in(text: str, forbidden: Iterable[str]) -> list[str]:
    words = set(words_of(text))
    return [offer for offer in forbidden if words_of(offer) and set(words_of(offer)) <= words]


def _unknown(names: Iterable[str], known: Collection[str]) -> list[str]:
    return [
        f"There is no anchor {name!r} here; the ids are {', '.join(known) or 'none'}."
        for name in dict.fromkeys(names)
        if name not in known
    ]


def _repeated(names: Sequence[str], what: str) -> list[str]:
    return [f"Two {what} {name!r}; every one has its own." for name in dict.fromkeys(names) if names.count(name) > 1]


def _misquoted(quote: str, text: str) -> str:
    return f"{quote!r} does not stand in {text}; copy the words exactly, or leave the entry out."


def _advised(reasons: list[str], advice: str) -> list[str]:
    """Reasons with an auditor's advice behind them; none where there is no reason."""
    return [*reasons, advice.strip()] if reasons and advice.strip() else reasons


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
