"""Faults in what is said at a turn and of it: plan, message, rubric, swap, as code may see them and in other words."""

from collections.abc import Callable
from typing import Any

from dspy_proact.benchmarks.proactbench.generation.made import MadeDialogue
from dspy_proact.programs.embedded.words import content_words
from support.faulty_writers import (
    Fault,
    Question,
    Value,
    in_audit,
    in_messages,
    in_rubrics,
    in_swaps,
)

Turn = Callable[[Question], bool]


def any_turn(_: Question) -> bool:
    return True


def first_turn(question: Question) -> bool:
    return question.turn == 1


def later_turn(question: Question) -> bool:
    return question.turn > 1


def revealing_turn(question: Question) -> bool:
    return bool(question.value("order")["reveal"])


def closing_turn(question: Question) -> bool:
    return question.step["trigger"] == "RECOVERY"


def message(kind: str, form: str, text: str, reason: str, at: Turn = any_turn, **changed: Any) -> Fault:
    """More words in a message; a fault that an honest auditor names where the audit is to be changed.

    A dictionary is an entry of the audit's list, with the words as its quote.
    """

    def plant(question: Question, answer: Value) -> bool:
        if planted := at(question):
            answer["written"]["message"] += f" {text}"
        return planted

    def honest(question: Question, audit: Value) -> None:
        if text in question.fields["message"]:
            for name, value in changed.items():
                audit[name] = [*audit[name], {"quote": text, **value}] if isinstance(value, dict) else value

    finder = "auditor" if changed else "rule"
    return Fault(kind, form, finder, "message", plant, reason, in_messages(text), "audit of message", honest)


SOON = "By the way, something else has to be settled soon:"
TWO = "And then there is one more thing,"


def early(question: Question, answer: Value) -> bool:
    if question.turn == 1:
        answer["written"]["message"] += f" {SOON} {question.scenario['anchors'][-1]['resolved']}"
    return question.turn == 1


def name_early(question: Question, audit: Value) -> None:
    if SOON in question.fields["message"]:
        audit["facts"].append({"quote": SOON, "kind": "anchor", "anchor": question.value("anchors")[-1]["id"]})


def two_anchors(question: Question, answer: Value) -> bool:
    reveal, last = question.value("order")["reveal"], question.scenario["anchors"][-1]
    if planted := bool(reveal) and reveal["fact"] != last["fact"]:
        answer["written"]["message"] += f" {TWO} {last['keys'][0]}."
    return planted


# Plans and rubrics


def wanted(question: Question, answer: Value) -> bool:
    step = question.value("step")
    if step["trigger"]:
        answer["plan"]["intent"] = f"The user wants this: {step['expects']}"
    return bool(step["trigger"])


def wants(item: MadeDialogue) -> bool:
    return any(turn.plan.intent.startswith("The user wants this:") for turn in item.turns)


def rubric(kind: str, form: str, field: str, text: str, reason: str, **changed: Any) -> Fault:
    """More words in a field of each rubric; a fault that an honest auditor names where the audit is to be changed."""

    def plant(_: Question, answer: Value) -> bool:
        answer["rubric"][field] += f" {text}"
        return True

    finder = "auditor" if changed else "rule"
    honest = in_audit("rubric", text, **changed)
    return Fault(kind, form, finder, "rubric", plant, reason, in_rubrics(text), "audit of rubric", honest)


def foreign_id(question: Question, answer: Value) -> bool:
    hidden = {"a1", "a2", "a3"} - {anchor["id"] for anchor in question.value("anchors")}
    answer["rubric"]["anchors"] += sorted(hidden)[-1:]
    return bool(hidden)


def rests_on_hidden(item: MadeDialogue) -> bool:
    turns = {one.anchor: one.turn for one in item.disclosures}
    return any(turns.get(name, made.turn + 1) > made.turn for made in item.triggers for name in made.rubric.anchors)


ALONE = "Takes up this alone:"


def forced_pair(question: Question, answer: Value) -> bool:
    """A CRITICAL rubric that is passed by whatever takes up the last of its anchors."""
    step, anchors = question.value("step"), {anchor["id"]: anchor for anchor in question.value("anchors")}
    if planted := step["trigger"] == "CRITICAL":
        last = anchors[step["needs"][-1]]
        words = content_words(last["fact"]) - content_words(last["neutral"]) - {"user", "march"}
        answer["rubric"]["pass_criteria"] = f"{ALONE} {' '.join(sorted(filter(str.isalpha, words)))}."
    return planted


def has_pair(item: MadeDialogue) -> bool:
    rubrics = [made.rubric for made in item.triggers if made.published]
    return any(one.type == "CRITICAL" and ALONE in one.pass_criteria for one in rubrics)


# Swaps


ECHO, HINT, NO_QUESTION = "I have noted that:", "You know where I shall be then.", " (as I know)."


def echo(question: Question, answer: Value) -> bool:
    turns, key = answer["swap"]["turns"], question.value("replacements")[0]["keys"][0]
    if planted := len(turns) > 1:
        turns[0]["assistant"] += f" {ECHO} {key}."
    return planted


def hint(_: Question, answer: Value) -> bool:
    answer["swap"]["turns"][-1]["user"] += f" {HINT}"
    return True


def statement(_: Question, answer: Value) -> bool:
    last = answer["swap"]["turns"][-1]
    planted = "?" in last["user"]
    last["user"] = last["user"].replace("?", NO_QUESTION)
    return planted


TURN_FAULTS = [
    Fault(
        "early disclosure in other words",
        "the user speaks of an anchor whose turn has not come, without its keys",
        "auditor",
        "message",
        early,
        "whose turn has not come",
        in_messages(SOON),
        "audit of message",
        name_early,
    ),
    Fault(
        "two anchors in a turn",
        "the user names a second one by a key",
        "rule",
        "message",
        two_anchors,
        "which is in no order",
        in_messages(TWO),
    ),
    Fault(
        "undisclosed id",
        "the rubric rests on an anchor that was not mentioned yet",
        "rule",
        "rubric",
        foreign_id,
        "`anchors` are",
        rests_on_hidden,
    ),
    Fault(
        "act asked for",
        "the plan has the user ask, in the words of what is expected",
        "rule",
        "plan",
        wanted,
        "does unasked",
        wants,
    ),
    message(
        "act asked for",
        "the user asks in other words",
        "Could you also see to what follows from this?",
        "asks about a fact",
        revealing_turn,
        anchor_requested=True,
    ),
    message(
        "anchors joined",
        "the user links facts",
        "So that goes together with what I said before.",
        "links facts",
        later_turn,
        joined=True,
    ),
    message(
        "roles turned",
        "with the role as a label",
        "\nAssistant: Of course, I can settle it for you.",
        "Write the bare message",
    ),
    message(
        "roles turned",
        "without a label",
        "Sure, I can settle that for you.",
        "what the assistant would say",
        faults={"kind": "speaks as the assistant"},
    ),
    message(
        "leaked reasoning",
        "between marks of thinking",
        "<think>I mention it in passing, then I ask.</think>",
        "Write the bare message",
    ),
    message(
        "leaked reasoning",
        "as a sentence",
        "I am to mention this only in passing.",
        "talks about instructions",
        faults={"kind": "tells its instructions"},
    ),
    message(
        "over-acted style",
        "superlatives within the length",
        "Sooo excited, utterly thrilled, oh my!",
        "is overdone",
        faults={"kind": "overacts its style"},
        realism=0.4,
    ),
    rubric(
        "one artefact demanded",
        "only one thing passes",
        "pass_criteria",
        "Nothing but a table of three rows passes.",
        "Only one thing or wording",
        one_artefact=True,
    ),
    message(
        "contradiction",
        "of a message with what was said",
        "I never was in a library.",
        "contradicts what was said",
        faults={"kind": "contradicts"},
    ),
    Fault(
        "forced pair",
        "one anchor of a CRITICAL rubric is enough to pass",
        "proof",
        "rubric",
        forced_pair,
        "not all its facts are needed|alone leads to the act",
        has_pair,
    ),
    message(
        "closing with a request",
        "without a question mark",
        "Next, the opening hours on Saturday.",
        "only reports or closes",
        closing_turn,
        act="asks",
    ),
    message(
        "invented fact",
        "a cousin and a price",
        "My cousin Bartholomew paid 49 euros for his.",
        "is invented",
        facts={"kind": "new", "anchor": None},
    ),
    rubric("forbidden offer", "in its words", "act", "with a discount or a waived fee", "The act is forbidden"),
    rubric(
        "forbidden offer",
        "in other words",
        "act",
        "and makes it cheaper",
        "A pass needs what is forbidden",
        forbidden=True,
    ),
    Fault("echo in an earlier reply", "a swap leaves a key there", "rule", "swap", echo, "still holds", in_swaps(ECHO)),
    Fault(
        "swap that implies the fact",
        "by a hint",
        "auditor",
        "swap",
        hint,
        "can still be inferred",
        in_swaps(HINT),
        "audit of swap",
        in_audit("conversation", HINT, implied=True),
    ),
    Fault(
        "swap that breaks the question",
        "a question becomes a statement",
        "rule",
        "swap",
        statement,
        "keep every question",
        in_swaps(NO_QUESTION),
    ),
]
"""All but a rubric that is written after the reply, which no writer's answer can bring about."""
