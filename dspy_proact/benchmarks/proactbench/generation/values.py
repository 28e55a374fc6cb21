"""What the roles of a corpus's making write, as typed values.

Names of fields and the docstrings under them are prompt text: a model reads them in a schema. Each role is shown only
the values of its view (`roles`), of which none holds what it must not know.
"""

from typing import Annotated, Literal

from pydantic import Field

from dspy_proact.benchmarks.proactbench.types import Phase, Rubric
from dspy_proact.types import Frozen

PHASES = Literal["EMERGENT", "CRITICAL", "RECOVERY"]


class Documented(Frozen, use_attribute_docstrings=True):
    """A value in whose schema the line under each field stands."""


class Person(Documented):
    """Somebody in the scenario."""

    name: str
    relation: str
    """To the user, such as `sister`; `self` for the user, of whom there is one."""


class Anchor(Documented):
    """A fact that the user mentions in passing, and what follows from it that nobody asks about."""

    id: str
    """`a1`, `a2` and so on."""
    fact: str
    """One sentence, as somebody would know it of the user."""
    keys: Annotated[list[str], Field(min_length=1, max_length=3)]
    """One to three words or short phrases out of the fact, at least one of which any sentence that mentions the fact
    has. None of them occurs in anything else that is known of the user."""
    consequence: str
    """What an attentive assistant would do or say because of the fact, without being asked."""
    basis: Literal["product", "general"]
    """Whether the consequence follows from the product's text or rules, or from general knowledge."""
    basis_quote: str | None
    """The passage of the product's text or rules, word for word; null where the basis is general."""
    domain: str
    """Part of life that the fact belongs to."""
    neutral: str
    """A sentence that could stand in place of the fact: of the same kind, without any of the keys and without the
    consequence."""
    resolved: str
    """What is true once somebody has acted on the fact."""


class Scenario(Documented):
    """What one dialogue is about."""

    title: str
    cast: list[Person]
    """The user and everybody whose name may occur."""
    date: str
    """The day on which the dialogue takes place."""
    persona: str
    """Facts about the user; no manner of speaking, and no anchor."""
    request: str
    """What the user comes for, which the product can do."""
    hidden_goal: str
    """What would help the user beyond the request, and which nobody says."""
    anchors: Annotated[list[Anchor], Field(min_length=3, max_length=6)]
    colour: Annotated[list[str], Field(min_length=4, max_length=8)]
    """Details that the user may mention and from which nothing follows."""
    forbidden: list[str]
    """What must never be offered to this user."""
    system: str
    """What the assistant knows before the dialogue: the product's rules, the date, and data of the case that a real
    assistant would have; no anchor, no key of one, no goal."""

    def anchor(self, name: str) -> Anchor:
        """The anchor of this id; a `KeyError` where there is none."""
        return {anchor.id: anchor for anchor in self.anchors}[name]


class Contradiction(Documented):
    """Two passages of which one is wrong."""

    quote: str
    """A passage of the scenario, word for word."""
    against: str
    """The passage that it contradicts, word for word: of the product's text, of its rules, or of the scenario."""


class ScenarioAudit(Documented):
    """Whether a scenario can measure anything. Lists are empty where nothing is wrong."""

    contradictions: list[Contradiction]
    consequence_in_request: list[str]
    """Ids of anchors whose consequence the request asks for."""
    goal_in_system: bool
    """Whether the hidden goal can be read out of the system text."""
    anchors_in_system: list[str]
    """Ids of anchors that the system text states or implies."""
    false_consequences: list[str]
    """Ids of anchors from which the consequence does not follow, or whose consequence is forbidden."""
    advice: str
    """How to mend what is wrong, in a sentence or two; empty where nothing is."""


class Step(Documented):
    """What is to happen at one turn."""

    turn: int
    """Counted from 1."""
    request: str
    """What the user asks, reports or closes with; no wording."""
    reveal: str | None
    """Id of the anchor that the user mentions here for the first time; null for none."""
    trigger: PHASES | None
    """Null where the turn only wants an answer."""
    needs: list[str]
    """Ids of the anchors that a good response uses, where the turn is a trigger; else empty."""
    expects: str
    """What a good response does unasked, where the turn is a trigger; else empty."""
    if_seen: Literal["drop", "go on"]
    """What becomes of a trigger where the assistant has done before what it expects: `drop` for an ordinary turn,
    `go on` for a trigger all the same, since something is left to do."""


class BlueprintAudit(Documented):
    """Whether the steps of a dialogue can measure anything. Turns are those of triggers; none is wrong: empty lists."""

    forced_pairs: list[int]
    """Turns with several anchors of which one alone leads to what is expected."""
    asked_for: list[int]
    """Turns whose request asks for what is expected."""
    unsolvable: list[int]
    """Turns at which nobody could come to what is expected from what was said up to there."""
    open_recovery: list[int]
    """RECOVERY turns that expect nothing definite."""
    advice: str
    """How to mend what is wrong, in a sentence or two; empty where nothing is."""


class PastTrigger(Documented):
    """A trigger that lies behind."""

    turn: int
    anchors: list[str]
    """Ids."""
    taken_up: bool
    """Whether the assistant's response there acted on all of them."""


class TurnPlan(Documented):
    """What the user is to say next."""

    already_answered: bool
    """Whether an earlier response already gave what this step asks for."""
    already_done: bool = False
    """Whether an earlier response already did what this step expects; false where it expects nothing."""
    stop: bool
    """Whether the dialogue is over and there is no further message."""
    intent: str
    """What the user wants with the message, in a sentence; never what a good response would do unasked."""
    payload: Annotated[list[str], Field(max_length=2)]
    """Facts to mention, at most two; no anchor."""
    reveal: str | None
    """Id of the anchor to mention for the first time; null for none."""
    directive: str
    """Direction in a sentence, such as what to come back to; no wording, no tone. Empty for none."""


class Reveal(Documented):
    """A fact to mention in passing."""

    fact: str
    keys: list[str]
    """Words of the fact, of which the sentence that mentions it must have at least one."""


class Order(Documented):
    """What the user says next."""

    intent: str
    """What the user wants with the message."""
    facts: list[str]
    """To mention as well."""
    reveal: Reveal | None
    """Null where nothing is to be mentioned in passing."""
    directive: str
    """Empty for none."""


class DraftRubric(Documented):
    """What earns each grade, written before the response."""

    type: PHASES
    anchors: list[str]
    """Ids of the anchors that a pass rests on."""
    pass_criteria: str
    """A principle that any form of a useful act can meet, and the anchors by what they say."""
    partial_criteria: str
    """What goes beyond the request without meeting the pass criteria."""
    fail_criteria: str
    act: str
    """The act that earns a pass, in one clause, such as `moves the pick-up to before the closing time`."""

    @property
    def criteria(self) -> Rubric:
        """What a judge is shown of it."""
        return Rubric(
            phase=Phase(self.type),
            pass_criteria=self.pass_criteria,
            partial_criteria=self.partial_criteria,
            fail_criteria=self.fail_criteria,
        )


class UserMessage(Documented):
    """A user message, and the words in it that mention the fact."""

    message: str
    quote: str | None
    """The words that mention the fact, exactly as they stand in the message; null where nothing was to be mentioned."""


class StatedFact(Documented):
    """A fact in a user message."""

    quote: str
    """The words that state it, exactly as they stand in the message."""
    kind: Literal["anchor", "ordered", "earlier", "colour", "new"]
    """The first that fits. `anchor`: one of the anchors, in whatever words; `ordered`: the order's intent or facts;
    `earlier`: in an earlier message or response; `colour`: in the colour, the persona or the cast; `new`: in none of
    these. A turn of phrase that states nothing is no fact."""
    anchor: str | None
    """Its id, for an anchor; else null."""


class MessageFault(Documented):
    """What no such user would write."""

    quote: str
    """Exactly as it stands in the message."""
    kind: Literal["speaks as the assistant", "tells its instructions", "contradicts", "overacts its style"]
    """`contradicts`: what was said before, the cast or the persona; `tells its instructions`: reasons about its task,
    or announces what it intends."""


class TurnAudit(Documented):
    """What a user message says, by somebody who did not write it."""

    facts: list[StatedFact]
    """Every fact in the message about the user, other people, dates, places or things."""
    faults: list[MessageFault]
    act: Literal["asks", "reports", "closes"]
    """What the message does in the end: it asks for something, tells how things stand, or ends the dialogue."""
    reply_must_hold: list[str]
    """What any fair response must contain, from the message alone."""
    anchor_requested: bool
    """Whether the user asks about an anchor or what follows from it."""
    joined: bool
    """Whether the user links two anchors, or draws the conclusion from one."""
    already_answered: bool
    """Whether an earlier response already gave what the message asks for."""
    realism: Annotated[float, Field(ge=0, le=1)]
    """How likely a person of this kind would write this at this point: 1 surely, 0.5 perhaps, 0 never."""
    advice: str
    """How to mend the message, in a sentence; empty where nothing is wrong."""


class Ground(Documented):
    """Where a fact was said that a rubric rests on."""

    anchor: str
    """Its id."""
    quote: str
    """The user's words, exactly as they stand in the message of that turn."""
    turn: int


class RubricAudit(Documented):
    """Whether a rubric is fair, by somebody who did not write it."""

    grounds: list[Ground]
    """One for every anchor of the rubric that a user message states."""
    solvable: bool
    """Whether a strong assistant could come to the act from the conversation alone."""
    asked_for: bool
    """Whether the user's last message asks for the act, so that whoever answers it passes."""
    one_artefact: bool
    """Whether only one particular thing or wording could pass, though others serve the user as well."""
    forbidden: bool
    """Whether a pass needs something that must never be offered, or that the product's text or rules exclude."""
    partial_distinct: bool
    """Whether partial is something else than pass and fail."""
    consequence_true: Literal["yes", "no", "unsure"]
    """Whether the act is right, by the product's text or by general knowledge."""
    advice: str
    """How to mend the rubric, in a sentence; empty where nothing is wrong."""


class ServedAnchor(Documented):
    """An anchor on which a response acts."""

    anchor: str
    """Its id."""
    quote: str
    """The words of the response that do or offer what follows from it, exactly as they stand there."""


class Uptake(Documented):
    """On which anchors a response acts."""

    served: list[ServedAnchor]
    """Empty where the response only answers."""


class SwappedTurn(Documented):
    """One turn, with its number."""

    turn: int
    user: str
    assistant: str | None
    """Null at the last turn, which awaits its response."""


class Swap(Documented):
    """The conversation before a response, rewritten so that the facts have no consequence."""

    turns: list[SwappedTurn]
    removed: list[str]
    """Ids of the anchors that were replaced."""


class SwapAudit(Documented):
    """Whether a rewritten conversation still calls for the act."""

    implied: bool
    """Whether the removed fact can still be inferred."""
    other_reason: bool
    """Whether something else in it calls for the act."""
    realism: Annotated[float, Field(ge=0, le=1)]
    advice: str
    """How to rewrite it; empty where nothing is wrong."""
