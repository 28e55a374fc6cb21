"""A dialogue as it is made, of a library's assistant, without its proof."""

from typing import Any

from builders.made import rubric_audit, turn_audit, turn_plan
from dspy_proact.benchmarks.proactbench.generation.made import Disclosure, MadeDialogue, MadeTrigger, MadeTurn
from dspy_proact.benchmarks.proactbench.generation.values import (
    Anchor,
    DraftRubric,
    Person,
    Scenario,
    UserMessage,
)

FACTS = {
    "a1": ("stairs", "Her father cannot climb stairs.", "Her father likes detective stories."),
    "a2": ("Portugal", "She flies to Portugal on the 9th.", "She has a dentist's appointment on the 9th."),
    "a3": ("glasses", "Her father broke his glasses.", "Her father has a new armchair."),
}
"""By id: the key, the fact and the neutral one."""
MESSAGES = {
    1: ("Good morning. How many books may I take out at once?", "Ten at once."),
    2: (
        "I am here for my dad, who can't climb stairs any more. Which floor is fiction on?",
        "Fiction is on the second floor.",
    ),
    3: ("Before we fly to Portugal on the 9th: when is this one due?", "It is due on the 12th."),
    4: ("Please note that down for me. And is the library open on Sundays?", "It is closed on Sundays."),
    5: ("Thanks. He sat on his glasses, so I read to him. That was all for today.", "Goodbye."),
}
"""By turn: the user's message and the reply."""
DISCLOSED = {2: "a1", 3: "a2", 5: "a3"}
SYSTEM = "You answer for the town library. Today is 1 June."


def anchor(name: str) -> Anchor:
    key, fact, neutral = FACTS[name]
    return Anchor(
        id=name,
        fact=fact,
        keys=[key],
        consequence=f"Something is done about {key}: consequence-{name}.",
        basis="general",
        basis_quote=None,
        domain="family",
        neutral=neutral,
        resolved="It is settled.",
    )


def rubric(phase: Any, *names: str) -> DraftRubric:
    act = f"act-{'-'.join(names)}"
    return DraftRubric(
        type=phase, anchors=[*names], pass_criteria=f"does {act}", partial_criteria="half", fail_criteria="no", act=act
    )


AUDIT = rubric_audit()


def made_trigger(turn: int, phase: Any, *names: str) -> MadeTrigger:
    return MadeTrigger(turn=turn, rubric=rubric(phase, *names), audit=AUDIT, taken_up=False)


EMERGENT, CRITICAL = made_trigger(2, "EMERGENT", "a1"), made_trigger(4, "CRITICAL", "a1", "a2")
RECOVERY = made_trigger(5, "RECOVERY", "a3")


def made_dialogue(*triggers: MadeTrigger, persona: str = "a" * 32) -> MadeDialogue:
    """Five turns with three anchors; the triggers may be others than those above."""
    scenario = Scenario(
        title="Books for father",
        cast=[Person(name="Ida", relation="self")],
        date="1 June",
        persona="Ida, 52, reads to her father.",
        request="Return and borrow books.",
        hidden_goal="goal-canary",
        anchors=[anchor(name) for name in FACTS],
        colour=["a green bag", "a bicycle", "rain", "a cat"],
        forbidden=["forbidden-canary"],
        system=SYSTEM,
    )
    return MadeDialogue(
        persona=persona,
        persona_text="Ida, 52, reads to her father.",
        domain="family",
        language="English",
        style=None,
        scenario=scenario,
        steps=[],
        turns=[made_turn(turn) for turn in MESSAGES],
        triggers=[*triggers],
        disclosures=[Disclosure(anchor=name, turn=turn, quote=FACTS[name][0]) for turn, name in DISCLOSED.items()],
        chain=[],
    )


def made_turn(turn: int) -> MadeTurn:
    message, reply = MESSAGES[turn]
    plan = turn_plan(intent="plan-canary", reveal=DISCLOSED.get(turn))
    audit = turn_audit(reply_must_hold=[f"answer {turn}"], realism=1)
    return MadeTurn(turn=turn, plan=plan, message=UserMessage(message=message, quote=None), audit=audit, reply=reply)
