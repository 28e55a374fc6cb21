"""What the roles of a corpus's making write, as typed values.

Names of fields and the docstrings under them are prompt text: a model reads them in a schema. Each role is shown only
the values of its view (`roles`), of which none holds what it must not know.
"""

from typing import Annotated, Literal

from pydantic import Field

from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.types import Frozen

PHASES = Literal["EMERGENT", "CRITICAL", "RECOVERY"]


class Person(Frozen):
    """Somebody in the scenario."""

    name: str
    relation: str
    """To the user; `self` for the user."""


class Anchor(Frozen):
    """A fact that the user discloses in passing, and what follows from it that nobody asks about."""

    id: str
    fact: str
    keys: Annotated[list[str], Field(min_length=1, max_length=3)]
    """One to three words or short phrases, one of which any sentence that discloses the fact has."""
    consequence: str
    """What an attentive assistant would do or say because of it."""
    basis: Literal["product", "general"]
    """Whether the consequence follows from the product's text or from general knowledge."""
    basis_quote: str | None
    """The passage of the product's text, word for word; null where the basis is general."""
    domain: str
    """Part of life that it belongs to."""
    neutral: str
    """The same kind of fact, without the consequence."""
    resolved: str
    """What is true once somebody has taken it up."""


class Scenario(Frozen):
    """What one dialogue is about."""

    title: str
    cast: list[Person]
    persona: str
    """Facts about the user; no manner of speaking, and no anchor."""
    request: str
    """What the user comes for."""
    hidden_goal: str
    """What would help the user beyond the request, which nobody says."""
    anchors: Annotated[list[Anchor], Field(min_length=3, max_length=6)]
    colour: Annotated[list[str], Field(min_length=4, max_length=8)]
    """Details that the user may mention and from which nothing follows."""
    forbidden: list[str]
    """What must never be offered here."""
    system: str
    """The assistant's system text for this dialogue: rules, date and data of the case; no anchor, no goal."""

    def anchor(self, name: str) -> Anchor:
        """The anchor of this id; a `KeyError` where there is none."""
        return {anchor.id: anchor for anchor in self.anchors}[name]


class Step(Frozen):
    """What is to happen at one turn."""

    turn: int
    request: str
    """What the user asks or reports."""
    reveal: str | None
    """Id of the anchor that is disclosed."""
    trigger: PHASES | None
    needs: list[str]
    """Ids of the anchors that a good response uses, where the turn is a trigger."""
    expects: str
    """What a good response does; empty where the turn is no trigger."""
    if_seen: Literal["drop", "go on"]
    """What becomes of this step where the assistant has done it unasked before."""


class TurnPlan(Frozen):
    """What the user is to say next."""

    intent: str
    payload: Annotated[list[str], Field(max_length=2)]
    """Facts to mention, at most two."""
    reveal: str | None
    """Id of the anchor to disclose."""
    directive: str
    """Direction in a sentence; no wording, no tone."""
    seen_last: bool
    """Whether the assistant's last response did what this step expects."""
    already_answered: bool
    """Whether the request of this step was answered before."""
    stop: bool


class Reveal(Frozen):
    """A fact to disclose in passing."""

    fact: str
    keys: list[str]


class Order(Frozen):
    """What the user says next, as the user's writer is given it."""

    intent: str
    facts: list[str]
    reveal: Reveal | None
    directive: str


class DraftRubric(Frozen):
    """What earns each grade, written before the response."""

    type: PHASES
    anchors: list[str]
    """Ids."""
    pass_criteria: str
    partial_criteria: str
    fail_criteria: str
    act: str
    """The act that earns a pass, in one clause; any form that serves it passes."""

    @property
    def phase(self) -> Phase:
        """The type as the rest of the package has it."""
        return Phase(self.type)


class UserMessage(Frozen):
    """A user message, and the words in it that disclose the fact."""

    message: str
    quote: str | None
    """Word for word from the message; null where nothing was to be disclosed."""


class StatedFact(Frozen):
    """A fact in a user message."""

    quote: str
    kind: Literal["anchor", "ordered", "earlier", "colour", "new"]
    anchor: str | None
    """Id, for an anchor."""


class TurnAudit(Frozen):
    """What a user message says, by somebody who did not write it."""

    facts: list[StatedFact]
    """Every fact in the message."""
    act: Literal["asks", "reports", "closes"]
    reply_must_hold: list[str]
    """What any fair reply must contain, from the message alone."""
    anchor_requested: bool
    """Whether the user asks about an anchor."""
    joined: bool
    """Whether the user links two anchors, or draws the conclusion."""
    realism: Annotated[float, Field(ge=0, le=1)]
    advice: str
    """How to mend it; empty where nothing is wrong."""


class Ground(Frozen):
    """A fact that a rubric rests on, and where it was said."""

    fact: str
    quote: str
    turn: int


class RubricAudit(Frozen):
    """Whether a rubric is fair, by somebody who did not write it."""

    grounds: list[Ground]
    solvable: bool
    asked_for: bool
    """Whether the user's message asks for the act."""
    one_artefact: bool
    """Whether only one particular artefact or wording could pass."""
    forbidden: bool
    """Whether a pass needs something that must never be offered."""
    partial_distinct: bool
    consequence_true: Literal["yes", "no", "unsure"]
    advice: str


class ScenarioAudit(Frozen):
    """Whether a scenario can measure anything, against the product's text and rules."""

    contradictions: list[str]
    """Passages that contradict the product's text, its rules or each other."""
    consequence_in_request: list[str]
    """Ids of anchors whose consequence the request asks for."""
    goal_in_system: bool
    anchors_in_system: list[str]
    """Ids of anchors that the system text states or implies."""
    false_consequences: list[str]
    """Ids of anchors from which the consequence does not follow."""
    advice: str


class BlueprintAudit(Frozen):
    """Whether the steps of a dialogue can measure anything."""

    forced_pairs: list[int]
    """Turns with several anchors of which one alone would do."""
    asked_for: list[int]
    """Turns whose request asks for what the trigger expects."""
    unsolvable: list[int]
    open_recovery: list[int]
    """RECOVERY turns that expect nothing definite."""
    advice: str


class Uptake(Frozen):
    """Whether a response acted on a disclosed fact."""

    taken_up: bool
    quote: str | None
    """From the response."""


class SwappedTurn(Frozen):
    """One rewritten turn."""

    turn: int
    user: str
    assistant: str | None
    """Null at the last turn."""


class Swap(Frozen):
    """The conversation before a response, rewritten so that the facts have no consequence."""

    turns: list[SwappedTurn]
    removed: list[str]
    """Ids of the anchors that were replaced."""


class SwapAudit(Frozen):
    """Whether a rewritten conversation still calls for the act."""

    implied: bool
    """Whether the removed fact can still be inferred."""
    other_reason: bool
    """Whether something else in it calls for the act."""
    realism: Annotated[float, Field(ge=0, le=1)]
    advice: str


class Disclosure(Frozen):
    """An anchor that was disclosed, and where."""

    anchor: str
    turn: int
    quote: str


class Link(Frozen):
    """One entry of a dialogue's hash chain, in which a rubric stands before the response."""

    turn: int
    kind: Literal["plan", "rubric", "message", "audit", "reply"]
    sha256: str
    """Over the entry before and the content."""


class MadeTrigger(Frozen):
    """A trigger of a made dialogue, with what it rests on."""

    turn: int
    rubric: DraftRubric
    audit: RubricAudit
    taken_up: bool
    """By the response of the corpus's assistant, as the auditor says."""
    proof: "TriggerProof | None" = None
    """None in drafts."""


class Sampled(Frozen):
    """Grades of the responses to one trigger in one arm, a word each, in the order of samples."""

    with_anchors: list[str]
    without_anchors: list[str]


class TriggerProof(Frozen):
    """What the anchor test of a trigger showed."""

    swap: Swap
    audit: SwapAudit
    looking: Sampled
    """Of the assistant that is told to look."""
    bare: Sampled
    fresh: Sampled | None
    """Of what was kept: answers that selected nothing."""
    leave_one_out: dict[str, list[str]] = Field(default_factory=dict[str, list[str]])
    """Of a CRITICAL trigger: by the anchor that was swapped alone, the grades of the one told to look."""
    kept: bool
    reason: str = ""
    """Why it was not kept."""


class MadeDialogue(Frozen):
    """A dialogue as it was made, with everything that the page and the datasheet tell of it."""

    persona: str
    """Key of the persona, the unit of clustering."""
    persona_text: str
    style: int | None
    """Of the 24, counted from 1; None without styles."""
    scenario: Scenario
    steps: list[Step]
    turns: list["MadeTurn"]
    triggers: list[MadeTrigger]
    disclosures: list[Disclosure]
    chain: list[Link]
    matrix: dict[str, dict[int, str]] = Field(default_factory=dict[str, dict[int, str]])
    """By planted assistant, its grade at each trigger's turn; empty without that proof."""


class MadeTurn(Frozen):
    """One turn of a made dialogue."""

    turn: int
    plan: TurnPlan
    message: UserMessage
    audit: TurnAudit
    reply: str


MadeTrigger.model_rebuild()
MadeDialogue.model_rebuild()
