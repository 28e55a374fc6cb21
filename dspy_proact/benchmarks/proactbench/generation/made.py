"""A corpus that was made: its dialogues turn by turn, how far they are proved, and what that shows of the whole.

Page, datasheet and rows are written from these values; what roles write of them is in `values`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief
from dspy_proact.benchmarks.proactbench.generation.values import (
    DraftRubric,
    RubricAudit,
    Scenario,
    Step,
    Swap,
    SwapAudit,
    SwappedTurn,
    TurnAudit,
    TurnPlan,
    UserMessage,
)
from dspy_proact.benchmarks.proactbench.types import Grade
from dspy_proact.generation.maker import Made, Proof
from dspy_proact.stats import Estimate
from dspy_proact.types import Frozen

UNSCORED = "UNSCORED"
"""Stands for the grade of a response where it or its verdict could not be used."""


class MadeTurn(Frozen):
    """One turn of a made dialogue."""

    turn: int
    plan: TurnPlan
    message: UserMessage
    audit: TurnAudit
    reply: str
    served: list[str] = Field(default_factory=list[str])
    """Ids of the anchors on which the reply acts, as the auditor says."""


class LostTrigger(Frozen):
    """A trigger of the steps that became an ordinary turn."""

    turn: int
    reason: str


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


class Sampled(Frozen):
    """Grades of the responses to one trigger in both arms, in the order of samples.

    `UNSCORED` stands for a response or a verdict that could not be used.
    """

    with_anchors: list[str]
    without_anchors: list[str]

    @property
    def graded(self) -> tuple[list[str], list[str]]:
        """Both arms without what is unscored."""
        with_anchors, without = (
            [grade for grade in arm if grade != UNSCORED] for arm in (self.with_anchors, self.without_anchors)
        )
        return with_anchors, without

    @property
    def shares(self) -> tuple[float, float] | None:
        """The shares of passes with the anchors and without, in [0, 1]; None where nothing was graded in an arm."""
        if not all(self.graded):
            return None
        with_share, without = (arm.count(Grade.PASS) / len(arm) for arm in self.graded)
        return with_share, without


class TriggerProof(Frozen):
    """What the anchor test of a trigger showed."""

    swap: Swap | None
    """The conversation without the rubric's anchors; None where no rewriting kept to the rules."""
    audit: SwapAudit | None
    """Of the swap; None without one."""
    looking: Sampled | None
    """Of the assistant that is told to look; None without a swap."""
    bare: Sampled | None
    """Of the assistant without that text, which decides nothing."""
    fresh: Sampled | None = None
    """Of what was kept: answers that selected nothing."""
    leave_one_out: dict[str, list[str]] = Field(default_factory=dict[str, list[str]])
    """Of a CRITICAL trigger: by the anchor that was swapped alone, the grades of the assistant that is told to look."""
    repeats: int = 0
    """Fresh responses that equal, word for word, one by which the trigger was kept."""
    replaced: DraftRubric | None = None
    """The CRITICAL rubric that one anchor alone could pass, where the trigger has an EMERGENT one in its stead."""
    kept: bool
    reason: str = ""
    """Why it was not kept; empty where it was."""


class MadeTrigger(Frozen):
    """A trigger of a made dialogue, with what it rests on."""

    turn: int
    rubric: DraftRubric
    audit: RubricAudit
    taken_up: bool
    """Whether the corpus's assistant acted on its anchors, as the auditor says."""
    proof: TriggerProof | None = None
    """None in drafts."""

    @property
    def published(self) -> bool:
        """Whether it is a trigger of the corpus: as a draft, or because its proof holds."""
        return self.proof is None or self.proof.kept


class MadeDialogue(Frozen):
    """A dialogue as it was made, with everything that the page and the datasheet tell of it."""

    persona: str
    """Key of the persona, the unit of clustering."""
    persona_text: str
    domain: str
    """Part of life that most of its facts were asked for from."""
    language: str
    style: int | None
    """Of the 24, counted from 1; None without styles."""
    scenario: Scenario
    steps: list[Step]
    turns: list[MadeTurn]
    triggers: list[MadeTrigger]
    lost: list[LostTrigger] = Field(default_factory=list[LostTrigger])
    """Triggers of the steps that became ordinary turns."""
    notes: list[str] = Field(default_factory=list[str])
    """What is unusual about it and breaks no rule."""
    disclosures: list[Disclosure]
    chain: list[Link]
    matrix: dict[str, dict[int, str]] = Field(default_factory=dict[str, dict[int, str]])
    """By planted assistant, its grade at each trigger's turn; empty without that proof."""
    charged: dict[int, bool] = Field(default_factory=dict[int, bool])
    """Whether the checklist of offers was charged with an unwanted one, by the turn of the swap that it answered."""

    def before(self, turn: int) -> list[SwappedTurn]:
        """The conversation up to a turn, counted from 1, whose response is still to be written."""
        return [
            SwappedTurn(turn=made.turn, user=made.message.message, assistant=made.reply if made.turn < turn else None)
            for made in self.turns[:turn]
        ]


@dataclass(frozen=True)
class Effect:
    """How often answers pass with the planted facts and without them."""

    triggers: int
    personas: int
    """The units of clustering."""
    answers: int
    """Graded answers in both arms together."""
    with_anchors: Estimate
    """Share of passes in [0, 1]."""
    without_anchors: Estimate
    difference: Estimate
    """With minus without, in [-1, 1]; without bounds below 12 triggers or 5 personas, with the reason."""


@dataclass(frozen=True)
class PlantedCell:
    """How often a planted assistant passed at the triggers of one phase, beside what it must keep to."""

    passed: int
    graded: int
    low: float = 0.0
    """The least share of passes that the bar allows."""
    high: float = 1.0

    @property
    def missed(self) -> bool:
        """Whether the share is outside the bar; never where nothing was graded."""
        return bool(self.graded) and not self.low <= self.passed / self.graded <= self.high


@dataclass(frozen=True)
class CorpusProof:
    """What the proof shows of a corpus as one."""

    tested: int
    """Triggers whose anchor test was done, those that were not kept among them."""
    tester: str
    """The model of the fresh answers; empty where none were made."""
    fresh: Mapping[str, Effect]
    """From answers that selected nothing: of `all` triggers, and by phase; empty where none were made."""
    looking: Mapping[str, Effect]
    """Of all that were tested, kept or not, by the answers that decided; the assistant is told to look."""
    bare: Mapping[str, Effect]
    """Of the same triggers, by the assistant that is told nothing."""
    repeats: int = 0
    """Fresh answers that equal, word for word, one by which their trigger was kept."""
    matrix: Mapping[str, Mapping[str, PlantedCell]] = field(default_factory=dict[str, Mapping[str, PlantedCell]])
    """By planted assistant and phase."""
    matrix_dialogues: int = 0


@dataclass(frozen=True)
class MadeCorpus:
    """The dialogues of a corpus, how they were made, and what was shown of them."""

    brief: CorpusBrief
    made: Made
    """Its items are `MadeDialogue`s."""
    level: Proof
    prompts: Mapping[str, str]
    """sha256 of what a stage says to its model, by stage."""
    proof: CorpusProof | None
    """None for drafts."""
    controls: int = 0
    """Rows of `controls.jsonl`."""
    keys: Mapping[int, str] = field(default_factory=dict[int, str])
    """By which rows name a dialogue, by slot."""

    @property
    def models(self) -> dict[str, list[str]]:
        """Names of the models, by role."""
        return {role: [identity.name for identity in models] for role, models in self.made.models.items()}
