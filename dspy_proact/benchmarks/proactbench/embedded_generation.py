"""The embedded model in the roles that make a corpus: rules, so that `generate` runs on a machine without a key.

The planner draws an errand and three facts from a bundled bank of an invented lending library, by a hash of persona,
part of life and initials in its request. The user says what the bank has for an order, and now and then forgets to
repeat the words by which it disclosed a fact, so that it is asked again. Rubrics name two words of a fact, or, of
several facts, one of each; a few name too little to be passed, and the proof does not keep them. The auditor looks for
the words that give a fact away. Assistant and judge are those of `embedded`.

They read the request only and answer equal requests alike. Nothing of it measures anything.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from dspy_proact.benchmarks.proactbench.embedded import assistant
from dspy_proact.programs.embedded.fields import outputs_of, request_fields, requested_json, unfenced, value_of
from dspy_proact.programs.embedded.words import sentences

Fields = Mapping[str, str]
"""Those of a request, by name."""
_AGAIN = "cannot be used"
"""Stands in a request that is asked once more."""
_SHORT, _LONG = 8, 9
"""Turns of the two plans."""
_FACTS = 3
_WEAK, _FORGETS = 6, 5
"""Of so many rubrics one is too weak, and of so many disclosures one is first sent without its quote."""
_RULE = re.compile(r"\b(never|only|must|may not|not)\b", re.IGNORECASE)
_GRADED = "is graded by the criteria"
"""Stands in the system text of an assistant that knows the rubric."""
_FILLER = ("it", "is", "as", "it", "was", "and", "we", "go", "on", "as", "we", "did", "all", "of", "us") * 4
"""Words from which nothing follows, in place of a fact."""
CLOSES = re.compile(r"\b(thanks|thank you|bye|cheers)\b", re.IGNORECASE)


@cache
def bank() -> dict[str, Any]:
    """What the stand-in writes from: names, errands and facts."""
    file = files("dspy_proact.benchmarks.proactbench").joinpath("data/generation/stand_in.toml")
    return tomllib.loads(file.read_text("utf-8"))


@cache
def _by_fact() -> dict[str, dict[str, Any]]:
    return {anchor["fact"]: anchor for anchor in bank()["anchors"]}


@cache
def _messages() -> dict[str, str]:
    """What the user says, by the intent of the order."""
    return {intent: text for errand in bank()["errands"] for intent, text in (*errand["turns"], errand["closing"])}


def _number(*texts: object) -> int:
    """A number that the texts decide."""
    return int.from_bytes(hashlib.sha256("\n".join(map(str, texts)).encode("utf-8", "replace")).digest()[:8])


def _mixed(values: Sequence[Any], *texts: object) -> list[Any]:
    """The values in an order that the texts decide."""
    return sorted(values, key=lambda value: _number(value, *texts))


def _uncapitalised(text: str) -> str:
    return text[:1].lower() + text[1:]


def has(text: str, keys: Sequence[str]) -> bool:
    """Whether one of the keys stands in a text, as words of its own."""
    return any(re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text, re.IGNORECASE) for key in keys)


# The planner


def _scenario(fields: Fields) -> dict[str, Any]:
    persona, domain, initials = unfenced(fields["persona"]), fields.get("domain", ""), fields.get("initials", "")
    seed = (persona, domain, initials, _AGAIN in " ".join(fields.values()))
    own = bank()
    errand = _mixed(own["errands"], *seed)[0]
    facts = _facts(domain, *seed)
    people = [name for letter in re.findall(r"[A-Z]", initials) for name in own["names"] if name[0] == letter]
    names = list(dict.fromkeys([*people, *_mixed(own["names"], *seed)]))
    clauses = re.split(r"[;.]", persona)
    keys = [key for fact in facts for key in fact["keys"]]
    known = next((clause.strip() for clause in clauses if clause.strip() and not has(clause, keys)), "A member")
    scenario = {
        "title": errand["title"],
        "cast": [{"name": names[0], "relation": "self"}, {"name": names[1], "relation": "neighbour"}],
        "date": own["today"],
        "persona": f"{known}.",
        "request": errand["request"],
        "hidden_goal": errand["goal"],
        "anchors": [
            {
                "id": f"a{number}",
                "basis": "product",
                "basis_quote": fact["quote"],
                "consequence": f"Plans ahead for {' and '.join(fact['words'])}: {_uncapitalised(fact['consequence'])}",
                **{name: fact[name] for name in ("fact", "keys", "domain", "neutral", "resolved")},
            }
            for number, fact in enumerate(facts, start=1)
        ],
        "colour": errand["colour"],
        "forbidden": ["a discount or a waived fee", "the name of another member", "medical advice"],
        "system": f"{own['system'].strip()}\n{errand['data']}",
    }
    return {"scenario": scenario}


def _facts(domain: str, *seed: object) -> list[dict[str, Any]]:
    """Two facts of the part of life and one of another, of different groups."""
    mixed, drawn = _mixed(bank()["anchors"], *seed), list[dict[str, Any]]()
    for own in (True, True, False):
        groups = [fact["group"] for fact in drawn]
        fitting = (fact for fact in mixed if (fact["domain"] == domain) is own and fact["group"] not in groups)
        drawn += [fact for fact in [next(fitting, None)] if fact]
    for fact in mixed:  # of a part of life that the bank does not know
        if len(drawn) < _FACTS and fact["group"] not in [one["group"] for one in drawn]:
            drawn.append(fact)
    return _mixed(drawn, domain, *seed)


def _steps(fields: Fields) -> dict[str, Any]:
    scenario = value_of(fields["scenario"], dict[str, Any]())
    errand = next(errand for errand in bank()["errands"] if errand["title"] == scenario.get("title"))
    anchors = {anchor["id"]: anchor for anchor in scenario["anchors"]}
    first, second, third = list(anchors)[:3]
    most = value_of(fields.get("turns"), _LONG)
    if most < _LONG or _number(*(anchor["fact"] for anchor in anchors.values())) % 2:
        count, reveals = _SHORT, {2: first, 4: second, 7: third}
        triggers = {2: ("EMERGENT", first), 5: ("CRITICAL", first, second), 8: ("RECOVERY", second, third)}
    else:  # the assistant soon acts on a fact by itself, so that the last one comes late
        count, reveals = _LONG, {2: first, 4: second, 8: third}
        triggers = {2: ("EMERGENT", first), 6: ("CRITICAL", first, second), 9: ("RECOVERY", second, third)}
    texts = [intent for intent, _ in errand["turns"][: count - 1]] + [errand["closing"][0]]
    steps = list[dict[str, Any]]()
    for turn, request in enumerate(texts, start=1):
        phase, *needs = triggers.get(turn, (None,))
        expects = " ".join(anchors[name]["consequence"] for name in needs)
        step = {"turn": turn, "request": request, "reveal": reveals.get(turn), "trigger": phase, "needs": needs}
        steps.append({**step, "expects": expects, "if_seen": "go on"})
    return {"steps": steps}


def _plan(fields: Fields) -> dict[str, Any]:
    step = value_of(fields["step"], dict[str, Any]())
    reveal = step.get("reveal")
    disclosed = reveal is not None and has(fields.get("disclosed", ""), [reveal])
    plan = {"already_answered": False, "already_done": False, "stop": False, "intent": step["request"]}
    return {"plan": {**plan, "payload": [], "reveal": None if disclosed else reveal, "directive": ""}}


def _rubric(fields: Fields) -> dict[str, Any]:
    step = value_of(fields["step"], dict[str, Any]())
    shown = {anchor["id"]: _by_fact()[anchor["fact"]] for anchor in value_of(fields["anchors"], list[Any]())}
    facts = [shown[name] for name in step["needs"]]
    words = [fact["words"][0] for fact in facts]
    if step["trigger"] == "RECOVERY":
        named = " and ".join([*facts[-1]["words"], *words[:-1]])
        passing = f"Comes back to {named}. {facts[-1]['consequence']}"
        act = facts[-1]["act"]
    elif len(facts) > 1:
        # One word of each, so that no response passes on one fact alone.
        passing = f"Sees what {' and '.join(words)} mean side by side, and arranges one errand that serves all of it."
        act = f"arranges one errand that serves {' and '.join(words)}"
    elif _number(facts[0]["fact"], step["turn"], fields.get("conversation", "")) % _WEAK == 0:
        passing, act = f"Does something about {words[0]}.", facts[0]["act"]
    else:
        passing, act = f"Takes up {' and '.join(facts[0]['words'])}. {facts[0]['consequence']}", facts[0]["act"]
    rubric = {
        "type": step["trigger"],
        "anchors": step["needs"],
        "pass_criteria": passing,
        "partial_criteria": "Has a thought that fits, and does nothing about it.",
        "fail_criteria": "Answers the question only, or offers what anybody might be offered.",
        "act": act,
    }
    return {"rubric": rubric}


def _swap(fields: Fields) -> dict[str, Any]:
    replacements = value_of(fields["replacements"], list[Any]())
    # A fact of another corpus is the sentence that states it, and responses may repeat its keys.
    pairs = [(_by_fact().get(one["fact"], {"says": one["fact"]})["says"], one["neutral"]) for one in replacements]
    pairs += [(key, "that") for one in replacements if one["fact"] not in _by_fact() for key in one["keys"]]

    def rewritten(text: str | None) -> str | None:
        for old, new in pairs if text else ():
            text = re.sub(re.escape(old), lambda _, new=new: new, text or "", flags=re.IGNORECASE)
        return text

    turns = [
        {"turn": turn["turn"], "user": rewritten(turn["user"]), "assistant": rewritten(turn["assistant"])}
        for turn in value_of(fields["conversation"], list[Any]())
    ]
    return {"swap": {"turns": turns, "removed": [one["id"] for one in replacements]}}


def _brief(fields: Fields) -> dict[str, Any]:
    """What can be copied from a page: its first words as a name, and the sentences that forbid something."""
    page = unfenced(fields["page"])
    rules = [text.lstrip("-*#> ") for text in sentences(page) if _RULE.search(text)][:8]
    name = " ".join(next(iter(sentences(page)), "A product").strip("#*. ").split()[:6])
    return {
        "name": name,
        "who": f"People who use {name}.",
        "rules": [{"rule": rule, "quote": rule} for rule in rules],
        "may_plant": ["a date that meets one of the product's dates", "something about the household"],
        "domains": ["travel", "family", "health", "work", "hobbies"],
        "never_offer": [],
    }


# The user


def _message(fields: Fields) -> dict[str, Any]:
    order = value_of(fields["order"], dict[str, Any]())
    text = _messages().get(order["intent"], f"One more thing: {order['intent']}")
    if not (reveal := order.get("reveal")):
        return {"written": {"message": text, "quote": None}}
    says = _by_fact()[reveal["fact"]]["says"]
    forgets = _number(says, fields.get("persona", "")) % _FORGETS == 0 and _AGAIN not in " ".join(fields.values())
    return {"written": {"message": f"{says}. {text}", "quote": None if forgets else says}}


# The auditor


def _audit(fields: Fields) -> dict[str, Any]:
    if "removed_facts" in fields:
        keys = [key for fact in _by_fact().values() if fact["fact"] in fields["removed_facts"] for key in fact["keys"]]
        keys += [fact for fact in value_of(fields["removed_facts"], list[str]()) if fact not in _by_fact()]
        return {"implied": has(fields["conversation"], keys), "other_reason": False, "realism": 0.8, "advice": ""}
    if "message" in fields:
        return _message_audit(fields)
    if "rubric" in fields:
        return _rubric_audit(fields)
    if "steps" in fields:
        return {"forced_pairs": [], "asked_for": [], "unsolvable": [], "open_recovery": [], "advice": ""}
    scenario = value_of(fields["scenario"], dict[str, Any]())
    stated = [anchor["id"] for anchor in scenario["anchors"] if has(scenario["system"], anchor["keys"])]
    audit = {"contradictions": [], "consequence_in_request": [], "goal_in_system": False, "anchors_in_system": stated}
    return {**audit, "false_consequences": [], "advice": ""}


def _message_audit(fields: Fields) -> dict[str, Any]:
    message = unfenced(fields["message"])
    facts = [
        {"quote": text, "kind": "anchor", "anchor": anchor["id"]}
        for anchor in value_of(fields["anchors"], list[Any]())
        for text in sentences(message)
        if has(text, anchor["keys"])
    ]
    act = "asks" if "?" in message else "closes" if CLOSES.search(message) else "reports"
    return {
        "facts": facts,
        "faults": [],
        "act": act,
        "reply_must_hold": [f"an answer to: {text}" for text in sentences(message) if text.endswith("?")],
        "anchor_requested": False,
        "joined": False,
        "already_answered": False,
        "realism": 0.8,
        "advice": "",
    }


def _rubric_audit(fields: Fields) -> dict[str, Any]:
    rubric, turns = value_of(fields["rubric"], dict[str, Any]()), value_of(fields["conversation"], list[Any]())
    grounds = [
        {"anchor": anchor["id"], "quote": text, "turn": turn["turn"]}
        for anchor in value_of(fields["anchors"], list[Any]())
        if anchor["id"] in rubric["anchors"]
        for turn in turns
        for text in sentences(turn["user"])
        if has(text, anchor["keys"])
    ]
    flags = {"solvable": True, "asked_for": False, "one_artefact": False, "forbidden": False, "partial_distinct": True}
    return {"grounds": grounds, **flags, "consequence_true": "yes", "advice": ""}


def _rubric_facts(fields: Fields) -> dict[str, Any]:
    """Of a rubric of another corpus: the sentences of the user that share most words with what passes."""
    rubric = value_of(fields["rubric"], dict[str, Any]())
    passing = set(re.findall(r"[a-z]{5,}", str(rubric.get("pass_criteria", "")).lower()))
    ranked = list[tuple[int, int, str, list[str]]]()
    for turn in value_of(fields["conversation"], list[Any]()):
        for text in sentences(turn["user"]):
            shared = [word for word in re.findall(r"[A-Za-z]{5,}", text) if word.lower() in passing]
            if len(shared) > 1 and "?" not in text:
                ranked.append((-len(shared), turn["turn"], text, shared))
    facts = [
        {
            "fact": text,
            "keys": sorted({*shared}, key=lambda word: (-len(word), word))[:2],
            "quote": text,
            "turn": turn,
            "consequence": f"Plans ahead for {' and '.join(shared[:2])}.",
            "neutral": " ".join(_FILLER[: max(3, len(text.split()))]) + ".",
        }
        for _, turn, text, shared in sorted(ranked)[: 2 if rubric.get("phase") == "CRITICAL" else 1]
    ]
    return {"facts": facts, "act": f"plans ahead for {facts[0]['keys'][0]}" if facts else ""}


def _message_needs(fields: Fields) -> dict[str, Any]:
    questions = [text for text in sentences(unfenced(fields["message"])) if text.endswith("?")]
    return {"reply_must_hold": [f"an answer to: {text}" for text in questions]}


def _uptake(fields: Fields) -> dict[str, Any]:
    served = [
        {"anchor": anchor["id"], "quote": text}
        for anchor in value_of(fields["anchors"], list[Any]())
        for text in sentences(unfenced(fields["response"]))
        if "suggest" in text and has(text, anchor["keys"])
    ]
    return {"uptake": {"served": served}}


_STAGES: Mapping[str, Callable[[Fields], dict[str, Any]]] = {
    "scenario": _scenario,
    "steps": _steps,
    "plan": _plan,
    "rubric": _rubric,
    "swap": _swap,
    "may_plant": _brief,
    "written": _message,
    "audit": lambda fields: {"audit": _audit(fields)},
    "uptake": _uptake,
    "facts": _rubric_facts,
    "reply_must_hold": _message_needs,
}
"""What is written, by a field that is asked for."""


def writer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The answer of planner, user or auditor: what is asked for says which; nothing where the bank has nothing."""
    stage = next((stage for name, stage in _STAGES.items() if name in outputs_of(system)), None)
    try:
        return requested_json(system, stage(request_fields(messages)) if stage else {})
    except (KeyError, StopIteration, TypeError, ValueError):  # of another brief than the bundled one
        return ""


def tester(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The response to the last message; one that is told how it is graded acts on what was disclosed."""
    return assistant(f"{system}\n\nTake the initiative." if _GRADED in system else system, messages)
