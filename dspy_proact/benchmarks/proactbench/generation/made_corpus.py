"""A corpus that was made, with what its proof shows: what its page, its datasheet and its rows are written from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief
from dspy_proact.generation.maker import Made, Proof
from dspy_proact.stats import Estimate

ProofLevel = Proof


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

    identity: str
    """sha256 of all that decides it."""
    brief: CorpusBrief
    made: Made
    """Its items are `MadeDialogue`s."""
    level: ProofLevel
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
