"""Who answers at probes and who says what the answers are worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import dspy

from dspy_proact.compile.assistant.probe import Probe
from dspy_proact.errors import ContentError
from dspy_proact.programs import Assistant, Judge, OfferDetector
from dspy_proact.types import Offers, Verdict
from dspy_proact.views import JudgeView

NO_VERDICT = 0.5
"""The middle of the scale."""


@dataclass(frozen=True)
class Played:
    """What an assistant answered at a probe, and what was found of it."""

    response: str | None
    """None where there is none that could be used."""
    verdict: Verdict | None = None
    """At a trigger; None where it could not be read."""
    offers: Offers | None = None
    """At a control turn; None where they could not be read."""

    @property
    def score(self) -> float | None:
        """At a trigger, in [0, 1], higher is better: no response is worth nothing, an unread verdict is unknown."""
        if self.response is None:
            return 0.0
        return self.verdict.grade.score if self.verdict else None

    @property
    def pushed(self) -> bool | None:
        """Whether it offers what nobody asked for."""
        return bool(self.offers.unwanted) if self.offers else None

    @property
    def words(self) -> int | None:
        """Words of the response."""
        return len(self.response.split()) if self.response is not None else None


@dataclass(frozen=True)
class Panel:
    """A model that answers, and a judge and a detector of offers on one model."""

    assistant_lm: dspy.LM
    judge_lm: dspy.LM
    judge: Judge
    detector: OfferDetector = field(default_factory=OfferDetector)

    @staticmethod
    def detecting() -> str:
        """Hash of what detectors of offers say to their model."""
        return OfferDetector().fingerprint()

    def play(self, assistant: Assistant, probes: Sequence[Probe]) -> dict[str, Played]:
        """What an assistant answers at probes and what is found of it, by key, in their order."""
        return {probe.key: self._played(assistant, probe) for probe in probes}

    def verdict(self, probe: Probe, response: str) -> Verdict | None:
        """The judge's verdict on a response to a trigger; None where it cannot be read."""
        assert isinstance(probe.view, JudgeView), "a trigger has a rubric"
        try:
            with dspy.context(lm=self.judge_lm, trace=None):  # a verdict is no step of the assistant's
                return self.judge.judge_now(probe.view, response)
        except ContentError:
            return None

    def _played(self, assistant: Assistant, probe: Probe) -> Played:
        try:
            with dspy.context(lm=self.assistant_lm, trace=None):
                response: str = assistant(**probe.example.inputs()).response
        except ContentError:
            return Played(None)
        if isinstance(probe.view, JudgeView):
            return Played(response, verdict=self.verdict(probe, response))
        try:
            with dspy.context(lm=self.judge_lm, trace=None):
                return Played(response, offers=self.detector.look_now(probe.view, response))
        except ContentError:
            return Played(response)


def tuning_score(played: Played) -> float:
    """What an optimizer counts: an unread verdict is the middle, for the judge's failure is not the assistant's."""
    return NO_VERDICT if played.score is None else played.score


def scores(played: Mapping[str, Played], probes: Sequence[Probe]) -> list[float]:
    """The scores that there are, of triggers."""
    return [score for probe in probes if (score := played[probe.key].score) is not None]
