"""Who has an assistant answer at probes and says what the answers are worth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import TypeVar

import dspy

from dspy_proact.benchmarks.proactbench.compile.assistant.probe import Probe
from dspy_proact.benchmarks.proactbench.programs import Assistant, Judge, OfferDetector
from dspy_proact.benchmarks.proactbench.types import Offers, Verdict
from dspy_proact.benchmarks.proactbench.views import ControlView, JudgeView
from dspy_proact.calls import Call, collect_calls
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.errors import ContentError

V = TypeVar("V")
T = TypeVar("T")


@dataclass(frozen=True)
class Examined:
    """What an assistant answered at a probe, and what was found of it."""

    response: str | None
    """None where there is none that could be used."""
    verdict: Verdict | None = None
    """At a trigger; None where it could not be read."""
    offers: Offers | None = None
    """At a control turn; None where they could not be read."""
    tokens: int | None = None
    """Of prompt and answer of all calls that the response took; None where they were not counted."""

    @property
    def score(self) -> float | None:
        """At a trigger, in [0, 1], higher is better: no response is worth nothing, an unread verdict is unknown."""
        if self.response is None:
            return 0.0
        return self.verdict.grade.score if self.verdict else None

    @property
    def pushed(self) -> float | None:
        """At a control turn, whether it offers what nobody asked for: 1 or 0."""
        return float(bool(self.offers.unwanted)) if self.offers else None

    @property
    def words(self) -> int | None:
        """Words of the response."""
        return len(self.response.split()) if self.response is not None else None


@dataclass(frozen=True)
class Examiner:
    """A model that answers, and a judge and a detector of offers on one model."""

    assistant_lm: dspy.LM
    judge_lm: dspy.LM
    judge: Judge
    width: int = 1
    """Probes at once."""
    detector: OfferDetector = field(default_factory=OfferDetector)

    def examine(self, assistant: Assistant, probe: Probe) -> Examined:
        """What an assistant answers at a probe, and what is found of it."""
        with collect_calls() as calls:
            response = self._response(assistant, probe)
        tokens = tokens_of(calls)
        if response is None:
            return Examined(None, tokens=tokens)
        if isinstance(probe.view, JudgeView):
            return Examined(response, verdict=self.verdict(probe.view, response), tokens=tokens)
        return Examined(response, offers=self.offers(probe.view, response), tokens=tokens)

    def examine_all(self, assistant: Assistant, probes: Sequence[Probe]) -> dict[str, Examined]:
        """The same at probes, by key, in their order."""
        found = side_by_side([partial(self.examine, assistant, probe) for probe in probes], self.width)
        return {probe.key: each for probe, each in zip(probes, found, strict=True)}

    def verdict(self, view: JudgeView, response: str) -> Verdict | None:
        """The judge's verdict on a response to a trigger; None where it cannot be read."""
        return self._found(self.judge.judge_now, view, response)

    def offers(self, view: ControlView, response: str) -> Offers | None:
        """What a response to a control turn offers; None where that cannot be read."""
        return self._found(self.detector.look_now, view, response)

    def _response(self, assistant: Assistant, probe: Probe) -> str | None:
        try:
            with dspy.context(lm=self.assistant_lm, trace=None):
                return assistant(**probe.example.inputs()).response
        except ContentError:
            return None

    def _found(self, look: Callable[[V, str], T], view: V, response: str) -> T | None:
        try:
            with dspy.context(lm=self.judge_lm, trace=None):  # what is found is no step of the assistant's
                return look(view, response)
        except ContentError:
            return None


def tokens_of(calls: Sequence[Call]) -> int | None:
    """Tokens of prompts and answers of calls; None where those of an answer were not counted, or there is none."""
    counts = [(call.prompt_tokens, call.completion_tokens) for call in calls if call.error is None]
    known = [asked + answered for asked, answered in counts if asked is not None and answered is not None]
    return sum(known) if known and len(known) == len(counts) else None


def mean_of(
    number: Callable[[Examined], float | None], examined: Mapping[str, Examined], probes: Sequence[Probe]
) -> float | None:
    """The mean of a number over the probes that have it; None where none has."""
    known = [each for probe in probes if (each := number(examined[probe.key])) is not None]
    return fmean(known) if known else None
