"""The roles that make one dialogue, as signatures: the inputs of each are all that it may know.

| role | never sees |
|---|---|
| planner | how the user writes |
| user | request and goal, steps, rubric, anchors but the one to mention, people whom it would give away |
| assistant | anything but the chat and the dialogue's system text |
| auditor of a message | steps, rubric, goal |
| auditor of a rubric | anchors that were not mentioned yet, steps, goal |

Names, order and types of the fields are prompt text, and so are their values' (`values`). Instructions stand in
`prompts`. What is fenced is text of others.
"""

from importlib.resources import files

import dspy

from dspy_proact.benchmarks.proactbench.generation.values import (
    Anchor,
    BlueprintAudit,
    DraftRubric,
    Order,
    PastTrigger,
    Person,
    RubricAudit,
    Scenario,
    ScenarioAudit,
    Step,
    SwappedTurn,
    TurnAudit,
    TurnPlan,
    Uptake,
    UserMessage,
)
from dspy_proact.programs.program import Question


def prompt(*names: str, room: str = "generation") -> str:
    """The texts of these names in the `prompts` of a room of this benchmark, a paragraph between them."""
    folder = files(f"dspy_proact.benchmarks.proactbench.{room}").joinpath("prompts")
    return "\n\n".join(folder.joinpath(f"{name}.txt").read_text("utf-8").strip() for name in names)


class WriteScenario(dspy.Signature):
    __doc__ = prompt("write_scenario")

    product: str = dspy.InputField(desc="The product's text")
    product_rules: list[str] = dspy.InputField(desc="What its assistant must keep to")
    never: list[str] = dspy.InputField(desc="What its assistant must never offer or do")
    who: str = dspy.InputField(desc="Who writes to the assistant")
    persona: str = dspy.InputField(desc="The person who does so here")
    may_plant: list[str] = dspy.InputField(desc="Kinds of fact that may be anchors")
    domain: str = dspy.InputField(desc="Part of life of most anchors")
    initials: str = dspy.InputField(desc="First letters of the given names")
    language: str = dspy.InputField()
    scenario: Scenario = dspy.OutputField()


class AuditScenario(dspy.Signature):
    __doc__ = prompt("audit_scenario")

    product: str = dspy.InputField(desc="The product's text")
    product_rules: list[str] = dspy.InputField(desc="What its assistant must keep to")
    never: list[str] = dspy.InputField(desc="What its assistant must never offer or do")
    scenario: Scenario = dspy.InputField()
    audit: ScenarioAudit = dspy.OutputField()


class WriteBlueprint(dspy.Signature):
    __doc__ = prompt("write_blueprint")

    scenario: Scenario = dspy.InputField()
    turns: int = dspy.InputField(desc="Turns at most")
    steps: list[Step] = dspy.OutputField()


class AuditBlueprint(dspy.Signature):
    __doc__ = prompt("audit_blueprint")

    product: str = dspy.InputField(desc="The product's text")
    product_rules: list[str] = dspy.InputField(desc="What its assistant must keep to")
    scenario: Scenario = dspy.InputField()
    steps: list[Step] = dspy.InputField()
    audit: BlueprintAudit = dspy.OutputField()


class PlanTurn(dspy.Signature):
    __doc__ = prompt("plan_turn")

    scenario: Scenario = dspy.InputField()
    step: Step = dspy.InputField(desc="The plan for this turn")
    conversation: list[SwappedTurn] = dspy.InputField(desc="What was said before this turn")
    disclosed: list[str] = dspy.InputField(desc="Ids of the anchors that the user has mentioned")
    past: list[PastTrigger] = dspy.InputField(desc="Triggers that lie behind")
    served: list[str] = dspy.InputField(desc="Ids of the anchors on which a response acted, at a trigger or not")
    plan: TurnPlan = dspy.OutputField()


class WriteRubric(dspy.Signature):
    __doc__ = prompt("write_rubric", "rubric_criteria")

    product: str = dspy.InputField(desc="The product's text")
    product_rules: list[str] = dspy.InputField(desc="What its assistant must keep to")
    forbidden: list[str] = dspy.InputField(desc="What must never be offered")
    system: str = dspy.InputField(desc="What the assistant knows before the dialogue")
    anchors: list[Anchor] = dspy.InputField(desc="All that the user has mentioned, or mentions with this message")
    conversation: list[SwappedTurn] = dspy.InputField(desc="What was said before this turn")
    step: Step = dspy.InputField(desc="The plan for this turn")
    order: Order = dspy.InputField(desc="What the user's next message will say")
    language: str = dspy.InputField()
    rubric: DraftRubric = dspy.OutputField()


class WriteMessage(dspy.Signature):
    __doc__ = prompt("write_message")

    cast: list[Person] = dspy.InputField(desc="You and the people whom you may name")
    persona: str = dspy.InputField(desc="What is true of you")
    colour: list[str] = dspy.InputField(desc="Details that you may mention")
    style: str = dspy.InputField(desc="How you write")
    most_words: int = dspy.InputField()
    language: str = dspy.InputField()
    date: str = dspy.InputField()
    conversation: list[SwappedTurn] = dspy.InputField(desc="What was said so far")
    order: Order = dspy.InputField(desc="What to say now")
    written: UserMessage = dspy.OutputField()


class AuditMessage(dspy.Signature):
    __doc__ = prompt("audit_message")

    anchors: list[Anchor] = dspy.InputField()
    cast: list[Person] = dspy.InputField()
    persona: str = dspy.InputField(desc="What is true of the user")
    colour: list[str] = dspy.InputField(desc="Details that the user may mention")
    order: Order = dspy.InputField(desc="What the message was to say")
    conversation: list[SwappedTurn] = dspy.InputField(desc="What was said before the message")
    message: str = dspy.InputField()
    audit: TurnAudit = dspy.OutputField()


class AuditRubric(dspy.Signature):
    __doc__ = prompt("audit_rubric")

    product: str = dspy.InputField(desc="The product's text")
    product_rules: list[str] = dspy.InputField(desc="What its assistant must keep to")
    forbidden: list[str] = dspy.InputField(desc="What must never be offered")
    system: str = dspy.InputField(desc="What the assistant knows before the dialogue")
    anchors: list[Anchor] = dspy.InputField(desc="Facts that the user has disclosed")
    conversation: list[SwappedTurn] = dspy.InputField(desc="The dialogue; its last turn awaits the response")
    rubric: DraftRubric = dspy.InputField()
    audit: RubricAudit = dspy.OutputField()


class AuditUptake(dspy.Signature):
    __doc__ = prompt("audit_uptake")

    anchors: list[Anchor] = dspy.InputField()
    conversation: list[SwappedTurn] = dspy.InputField(desc="The dialogue; its last turn is the one that was answered")
    response: str = dspy.InputField()
    uptake: Uptake = dspy.OutputField()


def programs() -> dict[str, Question]:
    """The programs of the making, by the name of their stage, in the order in which they are first asked."""
    return {
        "scenario": Question(WriteScenario, "product", "persona"),
        "audit of scenario": Question(AuditScenario, "product"),
        "blueprint": Question(WriteBlueprint),
        "audit of blueprint": Question(AuditBlueprint, "product"),
        "plan": Question(PlanTurn),
        "rubric": Question(WriteRubric, "product", "system"),
        "message": Question(WriteMessage),
        "audit of message": Question(AuditMessage, "message"),
        "audit of rubric": Question(AuditRubric, "product", "system"),
        "audit of reply": Question(AuditUptake, "response"),
    }
