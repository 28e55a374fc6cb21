"""Rules in code over what is planned of a dialogue, its scenario, steps and orders: a sentence for each broken one.

Rules of a *writer's* answer are exact. Rules of an *auditor's* answer say whether it can be believed: its quotes stand
where it says, its ids are known, and what code has seen it has seen too. What an audit finds wrong (`..._findings`) is
a reason against what was audited.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from dspy_proact.benchmarks.proactbench.generation.values import (
    Anchor,
    BlueprintAudit,
    Scenario,
    ScenarioAudit,
    Step,
    TurnPlan,
)
from dspy_proact.benchmarks.proactbench.generation.wording import forbidden_in, keys_in, unknown_ids
from dspy_proact.evidence import words_of
from dspy_proact.programs.wording import advised, holds, misquoted, says, stands

WINDOWS = {"EMERGENT": range(1, 4), "CRITICAL": range(4, 8), "RECOVERY": range(8, 11)}
"""Turns at which triggers of a phase are planned: targets, no rule."""
TRIGGERS = range(3, 7)
"""How many a blueprint has."""
MOST_IN_A_PHASE = 2
LEAST_TURNS = 5


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
    for offer in forbidden_in(anchor.consequence, scenario.forbidden):
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
            reasons.append(misquoted(entry.quote, "the scenario"))
        if not stands(entry.against, source) and not stands(entry.against, text):
            reasons.append(misquoted(entry.against, "the product's text, its rules or the scenario"))
    lists = (audit.consequence_in_request, audit.anchors_in_system, audit.false_consequences)
    return reasons + unknown_ids([name for names in lists for name in names], ids)


def scenario_findings(audit: ScenarioAudit) -> list[str]:
    """What an audit finds wrong with a scenario."""
    reasons = [f"{entry.quote!r} contradicts {entry.against!r}; mend it." for entry in audit.contradictions]
    reasons += [f"The request asks for the consequence of {name}." for name in audit.consequence_in_request]
    reasons += [f"`system` states or implies {name}; leave it out there." for name in audit.anchors_in_system]
    reasons += [f"The consequence of {name} does not follow or is forbidden." for name in audit.false_consequences]
    reasons += ["The hidden goal can be read out of `system`."] if audit.goal_in_system else []
    return advised(reasons, audit.advice)


def blueprint_rules(steps: Sequence[Step], scenario: Scenario, turns: int) -> list[str]:
    """What is wrong with the steps of a dialogue of so many turns at most."""
    if [step.turn for step in steps] != list(range(1, len(steps) + 1)):
        return ["Number the turns from 1 without a gap, in order."]
    reasons = list[str]()
    if not LEAST_TURNS <= len(steps) <= turns:
        reasons.append(f"Plan {LEAST_TURNS} to {turns} turns, not {len(steps)}.")
    triggers, disclosed = [step for step in steps if step.trigger], set[str]()
    ids = {anchor.id for anchor in scenario.anchors}
    reasons += unknown_ids([name for step in steps for name in (*step.needs, step.reveal) if name], sorted(ids))
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
    for anchor, key in keys_in(step.request, hidden):
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
    return advised(reasons, audit.advice)


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
    for anchor, key in keys_in(text, hidden):
        reasons.append(f"The order gives {anchor.id} away ({key!r}), which is not its turn; leave it out.")
    if step.trigger and says(text, step.expects):
        reasons.append("The order asks for what a good response does unasked; let the user ask for something else.")
    return reasons


def _repeated(names: Sequence[str], what: str) -> list[str]:
    return [f"Two {what} {name!r}; every one has its own." for name in dict.fromkeys(names) if names.count(name) > 1]


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
