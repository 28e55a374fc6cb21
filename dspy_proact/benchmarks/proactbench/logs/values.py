"""What the roles that read logs write, as typed values, and what becomes of a conversation.

Names of fields and the docstrings under them are prompt text where a role writes them: a model reads them in a schema.
"""

from typing import Annotated, Literal

from pydantic import Field

from dspy_proact.benchmarks.proactbench.audit.questions import RubricFact
from dspy_proact.benchmarks.proactbench.generation.made import LostTrigger
from dspy_proact.benchmarks.proactbench.generation.values import (
    Anchor,
    Documented,
    DraftRubric,
    RubricAudit,
    SwappedTurn,
)
from dspy_proact.benchmarks.proactbench.types import Verdict
from dspy_proact.types import Frozen

Outcome = Literal["confirmed", "refuted", "open"]


class PrivateText(Documented):
    """Something in a conversation that tells who somebody is."""

    text: str
    """Exactly as it stands in the conversation, without what is around it."""
    kind: Literal["NAME", "ADDRESS", "NUMBER"]
    """`NAME`: of a person or an organisation; `ADDRESS`: a place; `NUMBER`: of a customer, an order, a case, a vehicle
    or a document, and any code."""


class ChatReading(Documented):
    """What whoever reads a conversation first says of it."""

    private: list[PrivateText]
    language: str
    """By its English name, such as `German`."""
    orders: list[str]
    """Passages that order about whoever reads or grades, exactly as they stand in the conversation."""


class Need(Documented):
    """What would help the user, and which the user has not asked about."""

    facts: Annotated[list[RubricFact], Field(min_length=1, max_length=4)]
    """Those without which nobody would come to it."""
    need: str
    """In one sentence."""
    act: str
    """What a good response does about it unasked, in one clause, such as `offers to move the pick-up`."""
    requested: Literal["no", "partly", "yes"]
    served: bool
    basis: Literal["product", "general"]
    """Whether it follows from the product's text or rules, or from general knowledge."""
    basis_quote: str | None
    """The passage of the product's text or rules, word for word; null where the basis is general."""
    certainty: Annotated[float, Field(ge=0, le=1)]
    """How likely this user would welcome the act: 1 surely, 0.5 perhaps, 0 never."""


class Findings(Documented):
    """What there is to take up at the last message."""

    needs: Annotated[list[Need], Field(max_length=4)]
    closes: bool
    """Whether the last message says that the user is done, or thanks or says goodbye, and asks for nothing more."""


class Aftermath(Documented):
    """What the turns after a response show of a need."""

    outcome: Outcome
    quote: str | None
    """The user's words in a later message that confirm or refute it; null where it is open."""
    turn: int | None
    """Of that message; null where it is open."""
    reason: str
    """In one sentence."""
    certainty: Annotated[float, Field(ge=0, le=1)]
    """How sure you are of the outcome."""


class Redacted(Frozen):
    """What was taken out of a conversation, and the mark that stands in its stead."""

    mark: str
    kind: str
    text: str
    by: Literal["rules", "model"]


class LoggedDialogue(Frozen):
    """A conversation as all roles but the first one know it: redacted."""

    sha256: str
    """Of what stands here: a hash of the original would let others try which name stood for a mark."""
    day: str | None
    """On which it began, as YYYY-MM-DD; None where the log does not say."""
    system: str | None
    """What the assistant was told in it; None where the log does not say."""
    turns: list[SwappedTurn]
    """Of the last one the response may be None."""
    language: str
    orders: list[str]
    """Passages that order about whoever reads them."""
    redacted: list[Redacted]

    @property
    def key(self) -> str:
        """By which files name it."""
        return self.sha256[:16]

    def before(self, turn: int) -> list[SwappedTurn]:
        """The conversation up to a turn, counted from 1, whose response is still to be written."""
        *earlier, last = self.turns[:turn]
        return [*earlier, last.model_copy(update={"assistant": None})]

    def response(self, turn: int) -> str | None:
        """What the assistant answered at a turn; None where it did not."""
        return self.turns[turn - 1].assistant


class LoggedTrigger(Frozen):
    """A turn of a logged conversation at which a good assistant would have acted on what was disclosed."""

    turn: int
    need: Need
    anchors: list[Anchor]
    """The facts of the need."""
    rubric: DraftRubric
    """Written from the turns before the logged reply."""
    audit: RubricAudit
    after: Aftermath
    verdict: Verdict | None = None
    """On the logged reply; None where it was not graded."""
    ungraded: str = ""
    """Why it was not graded; empty where it was, or was not to be."""

    @property
    def order(self) -> tuple[bool, float, int, float]:
        """What sorts triggers, the surest first: what came after, then how sure the auditor and the finder are."""
        certainty = self.after.certainty if self.after.outcome == "confirmed" else self.need.certainty
        return self.after.outcome != "confirmed", -certainty, -len(self.anchors), -self.need.certainty


class MinedDialogue(Frozen):
    """A logged conversation with its triggers."""

    dialogue: LoggedDialogue
    triggers: list[LoggedTrigger]
    lost: list[LostTrigger]
    """Needs that are no trigger, with the reason."""
    control: int | None = None
    """The turn at which the user closes, where no need was found up to it; None for any other conversation."""
