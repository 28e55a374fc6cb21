"""The roles that make the tasks of a person, as signatures: the inputs of each are all that it may know.

| role | never sees |
|---|---|
| planner | what solvers answer |
| writer | actions but the one of its bottleneck; of distractors: actions |
| auditor of actions | which action was made for what |
| solvers | bottlenecks, plans, ledger, reasons, reviews, other tasks of the person |
| adversary | the text of any item |

Names, order and types of the fields are prompt text, and so are their values' (`values`). Instructions stand in
`prompts`. What is fenced is text of others.
"""

from importlib.resources import files

import dspy

from dspy_proact.benchmarks.probe.generation.values import (
    ActionAudit,
    BottleneckAudit,
    DistractorOrder,
    DistractorReview,
    DraftAction,
    DraftBottleneck,
    DraftDistractor,
    DraftWorld,
    EvidenceReview,
    FilledParameter,
    ListedItem,
    NumberedItem,
    OfferedAction,
    PlannedItem,
    Shortcut,
    WrittenEvidence,
)
from dspy_proact.programs.program import Question


def prompt(name: str) -> str:
    """The text of this name in `prompts`."""
    folder = files("dspy_proact.benchmarks.probe.generation").joinpath("prompts")
    return folder.joinpath(f"{name}.txt").read_text("utf-8").strip()


class WriteWorld(dspy.Signature):
    __doc__ = prompt("write_world")

    work: str = dspy.InputField(desc="The line of work")
    work_roles: list[str] = dspy.InputField(desc="Roles that people have in it; the first is the person's")
    systems: list[str] = dspy.InputField(desc="Tools and systems that are in use")
    documents: list[str] = dspy.InputField(desc="Kinds of documents that are in use")
    persona: str = dspy.InputField(desc="The person")
    relationships: list[int] = dspy.InputField(desc="The least and the most relationships")
    team: list[int] = dspy.InputField(desc="The smallest and the largest team")
    initials: str = dspy.InputField(desc="First letters of given names")
    today: str = dspy.InputField(desc="The day on which the tests are set")
    language: str = dspy.InputField()
    world: DraftWorld = dspy.OutputField()


class WriteBottlenecks(dspy.Signature):
    __doc__ = prompt("write_bottlenecks")

    work: str = dspy.InputField(desc="The line of work")
    kinds: list[str] = dspy.InputField(desc="What a bottleneck is there")
    world: DraftWorld = dspy.InputField()
    count: int = dspy.InputField()
    window: list[str] = dspy.InputField(desc="First and last day on which items are written; the last is today")
    language: str = dspy.InputField()
    bottlenecks: list[DraftBottleneck] = dspy.OutputField()


class AuditBottlenecks(dspy.Signature):
    __doc__ = prompt("audit_bottlenecks")

    work: str = dspy.InputField(desc="The line of work")
    world: DraftWorld = dspy.InputField()
    bottlenecks: list[DraftBottleneck] = dspy.InputField()
    audit: BottleneckAudit = dspy.OutputField()


class WriteActions(dspy.Signature):
    __doc__ = prompt("write_actions")

    world: DraftWorld = dspy.InputField()
    bottlenecks: list[DraftBottleneck] = dspy.InputField()
    count: int = dspy.InputField()
    language: str = dspy.InputField()
    actions: list[DraftAction] = dspy.OutputField()


class AuditActions(dspy.Signature):
    __doc__ = prompt("audit_actions")

    world: DraftWorld = dspy.InputField()
    bottleneck: DraftBottleneck = dspy.InputField()
    actions: list[OfferedAction] = dspy.InputField()
    audit: ActionAudit = dspy.OutputField()


class PlanEvidence(dspy.Signature):
    __doc__ = prompt("plan_evidence")

    world: DraftWorld = dspy.InputField()
    bottleneck: DraftBottleneck = dspy.InputField()
    action: DraftAction = dspy.InputField(desc="What resolves it")
    kinds: list[str] = dspy.InputField(desc="Kinds of the items, in their order")
    items: list[PlannedItem] = dspy.OutputField()


class WriteEvidence(dspy.Signature):
    __doc__ = prompt("write_evidence")

    world: DraftWorld = dspy.InputField()
    bottleneck: DraftBottleneck = dspy.InputField()
    action: DraftAction = dspy.InputField(desc="What resolves it")
    planned: PlannedItem = dspy.InputField(desc="The item to write")
    others: list[PlannedItem] = dspy.InputField(desc="What other items state")
    difficulty: str = dspy.InputField()
    words: int = dspy.InputField(desc="Of the text, about")
    window: list[str] = dspy.InputField(desc="First and last day on which items are written")
    language: str = dspy.InputField()
    written: WrittenEvidence = dspy.OutputField()


class FillParameters(dspy.Signature):
    __doc__ = prompt("fill_parameters")

    world: DraftWorld = dspy.InputField()
    bottleneck: DraftBottleneck = dspy.InputField()
    action: DraftAction = dspy.InputField(desc="What resolves it")
    items: list[NumberedItem] = dspy.InputField(desc="The evidence")
    parameters: list[FilledParameter] = dspy.OutputField()


class ReviewEvidence(dspy.Signature):
    __doc__ = prompt("review_evidence")

    world: DraftWorld = dspy.InputField()
    bottleneck: DraftBottleneck = dspy.InputField()
    action: DraftAction = dspy.InputField(desc="What resolves it")
    items: list[NumberedItem] = dspy.InputField(desc="The evidence")
    review: EvidenceReview = dspy.OutputField()


class WriteDistractors(dspy.Signature):
    __doc__ = prompt("write_distractors")

    world: DraftWorld = dspy.InputField()
    bottlenecks: list[DraftBottleneck] = dspy.InputField()
    orders: list[DistractorOrder] = dspy.InputField()
    templates: list[NumberedItem] = dspy.InputField(desc="Items whose form some orders take")
    window: list[str] = dspy.InputField(desc="First and last day on which items are written")
    language: str = dspy.InputField()
    distractors: list[DraftDistractor] = dspy.OutputField()


class ReviewDistractors(dspy.Signature):
    __doc__ = prompt("review_distractors")

    world: DraftWorld = dspy.InputField()
    bottlenecks: list[DraftBottleneck] = dspy.InputField()
    items: list[NumberedItem] = dspy.InputField(desc="Items that should be no evidence")
    review: DistractorReview = dspy.OutputField()


class FindShortcut(dspy.Signature):
    __doc__ = prompt("find_shortcut")

    world: DraftWorld = dspy.InputField()
    actions: list[OfferedAction] = dspy.InputField()
    items: list[ListedItem] = dspy.InputField(desc="All items, without their texts")
    shortcut: Shortcut = dspy.OutputField()


def programs() -> dict[str, Question]:
    """The programs of the making, by the name of their stage, in the order in which they are first asked."""
    return {
        "world": Question(WriteWorld, "work", "persona"),
        "bottlenecks": Question(WriteBottlenecks, "work"),
        "audit of bottlenecks": Question(AuditBottlenecks, "work"),
        "actions": Question(WriteActions),
        "audit of actions": Question(AuditActions),
        "plan": Question(PlanEvidence),
        "evidence": Question(WriteEvidence),
        "parameters": Question(FillParameters),
        "review of evidence": Question(ReviewEvidence),
        "distractors": Question(WriteDistractors),
        "review of distractors": Question(ReviewDistractors),
        "adversary": Question(FindShortcut),
    }
