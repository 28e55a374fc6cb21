"""A turn of a trace, what an agent does at it, and how that is graded.

Source: Lu et al. 2024 (arXiv 2410.12361) and its evaluator, whose measures are those of decisions that a judge makes
right or wrong: a proposal that is accepted is a true positive, one that is rejected a false positive, silence that is
accepted a true negative, and silence that is rejected a false negative.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from dspy_proact.evaluation.stream import Decision, Rules
from dspy_proact.runs import Scored, Settings
from dspy_proact.types import Frozen

ACCEPTED, REJECTED = "ACCEPTED", "REJECTED"
Kind = Literal["coding", "writing"]
_SILENCE = frozenset({"", "null", "none"})


class StreamEvent(Frozen):
    """Something that was observed. Names and order of the fields are prompt text."""

    time: str
    """As the recording has it."""
    event: str


class ProactiveAgentSettings(Rules, Settings):
    """The settings of ProactiveAgent."""

    of_grading: ClassVar[frozenset[str]] = frozenset({"cost"})
    of_ratings: ClassVar[frozenset[str]] = frozenset({"silence"})
    window: int = Field(default=50, ge=1, le=1000)
    """Events that agent and judge see, the last one included; no official trace has more than 21."""
    candidates: int = Field(default=1, ge=1, le=3)
    """Proposals that an agent may make at a turn; it is right where one is accepted. 3 is the published pred@3."""
    history: int = Field(default=0, ge=0, le=1000)
    """Its own proposals that the agent is shown: those of the last so many turns at which it made any. Turns of a trace
    are then answered one after another."""
    cost: float = Field(default=1.0, ge=0, le=100)
    """What a rejected proposal costs, in accepted ones."""
    silence: bool = Field(default=False, exclude=True)
    """Also read votes on silence, for agree and optimize judge; the official label contradicts most of them."""

    upstream_rule: bool = False
    """Read the authors' archive of outputs, for rejudge, as their evaluator did: the word null is a proposal, and so is
    the object that stands where an agent did not answer."""

    @property
    def without_effect(self) -> Mapping[str, str]:
        """Settings without effect, each with the setting that makes it so."""
        unused = dict(self.rules_without_effect)
        if self.baseline != "none":
            unused |= dict.fromkeys(("candidates", "history"), f"baseline={self.baseline}")
        return unused | {"silence": "eval, which reads no votes", "upstream_rule": "eval, which reads no archive"}


class TurnView(Frozen):
    """What is seen at a turn."""

    events: tuple[StreamEvent, ...]
    """Up to now, the last one included."""
    origin: str
    """Hash of the trace's first event, by which compiled programs know the traces they have seen; never sent."""


class Assistance(Frozen):
    """What an agent does at a turn."""

    purpose: str = ""
    """What the user is after, as the agent says."""
    proposals: tuple[str, ...] = ()
    """Tasks, the best first; none where the agent stays silent."""
    message: str = ""
    """To the user."""


class Earlier(Frozen):
    """What an agent proposed at an earlier turn. Names and order of the fields are prompt text."""

    events_ago: int
    proposals: tuple[str, ...]

    @classmethod
    def of(cls, answers: Sequence[Assistance | None], most: int) -> "list[Earlier]":
        """Of the last `most` turns with a proposal, oldest first, from the answers up to now, None where one failed."""
        ago = range(len(answers), 0, -1)
        made = [(n, answer.proposals) for n, answer in zip(ago, answers, strict=True) if answer and answer.proposals]
        return [cls(events_ago=n, proposals=proposals) for n, proposals in made[-most:]] if most else []


class Verdict(Frozen):
    """What a judge says of one proposal, or of silence."""

    reason: str
    accepted: bool
    confidence: float = Field(ge=0, le=1)
    """Probability that a user would accept."""


class AssistanceGrade(Frozen):
    """What a judge says of what an agent did."""

    verdicts: tuple[Verdict, ...]
    """One a proposal, in their order; the only one of silence."""


def stripped(proposal: object) -> str:
    """A proposal without blanks around it; empty for silence, also where "null" or "none" was written out."""
    text = proposal.strip() if isinstance(proposal, str) else ""
    return "" if text.strip("\"'`.").casefold() in _SILENCE else text


def graded(answer: Assistance, verdicts: tuple[Verdict, ...], cost: float) -> Scored[AssistanceGrade]:
    """The grade: 1 where silence or one of the proposals is accepted, which is the published accuracy, else 0."""
    accepted = [verdict.accepted for verdict in verdicts]
    decision = Decision.judged(bool(answer.proposals), any(accepted))
    parts = decision.parts(cost) | ({"accept_rate": sum(accepted) / len(accepted)} if decision.acted else {})
    label = ACCEPTED if decision.right else REJECTED
    return Scored(float(decision.right), label, AssistanceGrade(verdicts=verdicts), parts=parts)


def likelihoods(scored: Scored[AssistanceGrade]) -> dict[str, float]:
    """How probable the judge finds it that a person accepts."""
    return {"": scored.detail.verdicts[0].confidence}
