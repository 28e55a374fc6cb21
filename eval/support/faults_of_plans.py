"""Faults in what is planned of a dialogue: its scenario and its steps, as code may see them and in other words."""

from collections.abc import Callable
from typing import Any

from dspy_proact.benchmarks.proactbench.generation.made import MadeDialogue
from support.faulty_writers import (
    Fault,
    Honesty,
    Planting,
    Question,
    Value,
    in_audit,
    in_scenario,
)


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


def always_ulla(value: Value) -> None:
    value["cast"][0]["name"] = "Ulla"


def copied(question: Question, answer: Value) -> bool:
    """The first scenario with a cast of its own."""
    if planted := "" in question.scenarios:
        answer["scenario"] = {**question.scenarios[""], "cast": answer["scenario"]["cast"]}
    return planted


def never(_: MadeDialogue) -> bool:
    """Of what is no property of a dialogue."""
    return False


PLAN_FAULTS = [
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
        "one anchor of a step is enough for what is expected",
        "auditor",
        "blueprint",
        steps("CRITICAL", expects="Looks after the first of these facts."),
        "one of its anchors alone leads",
        has_step("CRITICAL", "expects", "Looks after the first of these facts."),
        "audit of blueprint",
        listed("forced_pairs", "CRITICAL", "Looks after the first of these facts."),
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
        "every user is Ulla, whose initial is never given",
        "rule",
        "scenario",
        scenario(always_ulla),
        "begins with none of",
        in_scenario('"Ulla"'),
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
