"""The 22 kinds of fault that writers of a corpus have, in one form or two: as code may see it, and in other words."""

from collections.abc import Callable
from typing import Any

from dspy_proact.benchmarks.proactbench.generation.values import MadeDialogue
from dspy_proact.programs.embedded.words import content_words
from support.faulty_writers import Fault, Honesty, Planting, Question, Value

Turn = Callable[[Question], bool]


# Where a text stands in what is published


def in_messages(text: str) -> Callable[[MadeDialogue], bool]:
    """Whether a user message has it."""
    return lambda item: any(text in turn.message.message for turn in item.turns)


def in_rubrics(text: str) -> Callable[[MadeDialogue], bool]:
    """Whether the rubric of a published trigger has it."""
    return lambda item: any(text in made.rubric.model_dump_json() for made in item.triggers if made.published)


def in_scenario(text: str) -> Callable[[MadeDialogue], bool]:
    """Whether the scenario has it."""
    return lambda item: text in item.scenario.model_dump_json()


def in_swaps(text: str) -> Callable[[MadeDialogue], bool]:
    """Whether the swap of a published trigger has it."""

    def has(item: MadeDialogue) -> bool:
        swaps = [made.proof.swap for made in item.triggers if made.published and made.proof]
        return any(swap and text in swap.model_dump_json() for swap in swaps)

    return has


# Messages


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


def in_audit(name: str, text: str, **changed: Any) -> Honesty:
    """An audit that says so of whatever has a text in the input of this name."""

    def honest(question: Question, audit: Value) -> None:
        if text in question.fields[name]:
            audit |= changed

    return honest


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


# Steps


def steps(phase: str, **changed: Any) -> Planting:
    """Has the triggers of a phase say something else."""

    def plant(_: Question, answer: Value) -> bool:
        for step in answer["steps"]:
            step.update(changed if step["trigger"] == phase else {})
        return True

    return plant


def has_step(phase: str, name: str, value: Any) -> Callable[[MadeDialogue], bool]:
    return lambda item: any(step.trigger == phase and getattr(step, name) == value for step in item.steps)


def listed(name: str, phase: str, text: str) -> Honesty:
    """An audit of steps that lists the triggers of a phase that expect this."""

    def honest(question: Question, audit: Value) -> None:
        triggers = [step for step in question.value("steps") if step["trigger"] == phase]
        audit[name] = [step["turn"] for step in triggers if step["expects"] == text]

    return honest


# Scenarios


def scenario(change: Callable[[Value], None]) -> Planting:
    """Has every scenario changed."""

    def plant(_: Question, answer: Value) -> bool:
        change(answer["scenario"])
        return True

    return plant


SUNDAY, HOURS = (
    "comes on Sundays, when the desk is open",
    "Opening hours: Tuesday to Friday 10 to 18, Saturday 9 to 13.",
)
GLAD = "Whoever asks here would be glad of more than that."


def sunday(value: Value) -> None:
    value["colour"][-1] = SUNDAY


def stated_goal(value: Value) -> None:
    value["system"] += f"\n{value['hidden_goal']}"


def hinted_goal(value: Value) -> None:
    value["system"] += f"\n{GLAD}"


def namesake(value: Value) -> None:
    value["cast"][1]["name"] = value["cast"][0]["name"]


def has_namesake(item: MadeDialogue) -> bool:
    return len({person.name for person in item.scenario.cast}) < len(item.scenario.cast)


def always_anna(value: Value) -> None:
    value["cast"][0]["name"] = "Anna"


def copied(question: Question, answer: Value) -> bool:
    """The first scenario with a cast of its own."""
    if planted := "" in question.scenarios:
        answer["scenario"] = {**question.scenarios[""], "cast": answer["scenario"]["cast"]}
    return planted


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


def never(_: MadeDialogue) -> bool:
    """Of what is no property of a dialogue."""
    return False


FAULTS = [
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
        "undisclosed id",
        "a step needs one that is not revealed yet",
        "rule",
        "blueprint",
        steps("EMERGENT", needs=["a3"]),
        "not revealed up to there",
        has_step("EMERGENT", "needs", ["a3"]),
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
    Fault(
        "contradiction",
        "of a scenario with its own data",
        "auditor",
        "scenario",
        scenario(sunday),
        "contradicts",
        in_scenario(SUNDAY),
        "audit of scenario",
        in_audit("scenario", SUNDAY, contradictions=[{"quote": SUNDAY, "against": HOURS}]),
    ),
    message(
        "contradiction",
        "of a message with what was said",
        "I never was in a library.",
        "contradicts what was said",
        faults={"kind": "contradicts"},
    ),
    Fault(
        "goal in the system text",
        "in its words",
        "rule",
        "scenario",
        scenario(stated_goal),
        "`system` gives the hidden goal away",
        lambda item: item.scenario.hidden_goal in item.scenario.system,
    ),
    Fault(
        "goal in the system text",
        "in other words",
        "auditor",
        "scenario",
        scenario(hinted_goal),
        "can be read out of `system`",
        in_scenario(GLAD),
        "audit of scenario",
        in_audit("scenario", GLAD, goal_in_system=True),
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
    Fault(
        "forced pair",
        "one anchor of a step is enough for what is expected",
        "auditor",
        "blueprint",
        steps("CRITICAL", expects="Looks after the first of these facts."),
        "one of its anchors alone leads",
        has_step("CRITICAL", "expects", "Looks after the first of these facts."),
        "audit of blueprint",
        listed("forced_pairs", "CRITICAL", "Looks after the first of these facts."),
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
    Fault("duplicate scenario", "the first one each time", "rule", "scenario", copied, "too like", never),
    Fault(
        "repeated name",
        "two of a cast have the same",
        "rule",
        "scenario",
        scenario(namesake),
        "persons of the cast have the name",
        has_namesake,
    ),
    Fault(
        "repeated name",
        "every user is Anna",
        "rule",
        "scenario",
        scenario(always_anna),
        "begins with none of",
        in_scenario('"Anna"'),
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
    Fault(
        "open RECOVERY",
        "without anchors",
        "rule",
        "blueprint",
        steps("RECOVERY", needs=[]),
        "names the anchors",
        has_step("RECOVERY", "needs", []),
    ),
    Fault(
        "open RECOVERY",
        "with anchors, and nothing definite expected",
        "auditor",
        "blueprint",
        steps("RECOVERY", expects="Offers any further help."),
        "expects nothing definite",
        has_step("RECOVERY", "expects", "Offers any further help."),
        "audit of blueprint",
        listed("open_recovery", "RECOVERY", "Offers any further help."),
    ),
]
"""All but a rubric that is written after the reply, which no writer's answer can bring about."""
