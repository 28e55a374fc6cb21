"""The detector of offers: what a response puts forward, and whether anybody asked for it.

It is the other side of the measurement: at control turns, which have no trigger, an assistant should hold back. Names,
order and types of the fields are prompt text, those of `DetectedOffer` included, and so are the descriptions of inputs;
the instruction stands in `offers.txt`.
"""

from importlib.resources import files
from itertools import islice
from typing import Any

import dspy

from dspy_proact.benchmarks.proactbench.programs.adapters import IndentedText, fingerprint, indented
from dspy_proact.benchmarks.proactbench.types import ControlView, Offer, Offers, Turn
from dspy_proact.errors import StageError
from dspy_proact.evidence import Passage, locate
from dspy_proact.programs.asking import SYSTEM, Asking, ask_for_fields
from dspy_proact.programs.program import Program
from dspy_proact.types import Frozen, Quote

_INSTRUCTION = files("dspy_proact.benchmarks.proactbench.programs").joinpath("offers.txt").read_text("utf-8").strip()
_UNFOUND = (
    "Your indented quote does not stand in the response. Answer once more, each offer with words that stand there "
    "exactly so, and leave out what does not."
)
_MAX_SHOWN = 200
"""Characters of a quote that the second question shows."""
_MAX_PARTS = 10
"""Quotes in the string of one offer that are looked up; further ones are passed over."""


class DetectedOffer(Frozen):
    """One offer."""

    quote: str
    grounded: bool
    asked_for: bool


class DetectOffers(dspy.Signature):
    __doc__ = _INSTRUCTION

    conversation: list[Turn] = dspy.InputField(desc="Conversation")
    response: str = dspy.InputField(desc="Response to look at")
    reasoning: str = dspy.OutputField()
    offers: list[DetectedOffer] = dspy.OutputField()


class OfferDetector(Program):
    """Lists the offers in a response.

    An answer that cannot be read is asked for once more, and so is one with a quote that does not stand in the
    response; what then still does not stand there does not count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.detect = dspy.Predict(DetectOffers)

    async def answer_by(
        self, asking: Asking, conversation: list[Turn], response: str, system: str | None = None
    ) -> dspy.Prediction:
        """A prediction with `reasoning` and `offers`; raises a `StageError` when there is none.

        `system` is what the assistant was told in this conversation alone.
        """
        inputs: dict[str, Any] = {"conversation": conversation, "response": response}
        inputs |= {SYSTEM: system} if system else {}
        detected = await ask_for_fields(asking, self.detect, self.wording, **inputs)
        unfound = next((offer.quote for offer in located(detected, response).offers if offer.quote.start is None), None)
        if unfound is None:
            return detected
        try:
            return (await asking(self.detect, _again(unfound.text), **inputs)).prediction
        except StageError:
            return detected  # what is there is paid for; what does not stand in the response does not count

    async def look(self, view: ControlView, response: str, asking: Asking | None = None) -> Offers:
        """The offers of a response at a control turn, their quotes located, asked as `Judge.judge` does."""
        inputs = view.inputs(response)
        return located(await (self.answer_by(asking, **inputs) if asking else self.acall(**inputs)), response)

    def wording(self, note: str = "") -> IndentedText:
        """The adapter under its question; the note says why it is asked again."""
        return IndentedText(note)

    def fingerprint(self) -> str:
        """Hash of what it says to its model."""
        return fingerprint(self, (self.detect, _again("{quote}")))


def located(detected: dspy.Prediction, response: str) -> Offers:
    """The offers of a detector, with the places of their quotes in the response."""
    passage = Passage(response)
    offers: dict[tuple[int, int] | str, Offer] = {}
    for offer in passage.within_budget(detected.offers):
        spans = [(part.start, part.end) for part in islice(locate(offer.quote, passage), _MAX_PARTS)]
        starts = [start for start, _ in spans if start is not None]
        ends = [end for _, end in spans if end is not None]
        quote, key = Quote(text=offer.quote), offer.quote
        if spans and len(starts) == len(spans):
            quote, key = Quote(text=offer.quote, start=min(starts), end=max(ends)), (min(starts), max(ends))
        if key not in offers or offers[key].asked_for:  # the same words twice are one offer, unwanted if once said
            offers[key] = Offer(quote=quote, grounded=offer.grounded, asked_for=offer.asked_for)
    return Offers(reasoning=detected.reasoning, offers=tuple(offers.values()))


def _again(quote: str) -> IndentedText:
    """The adapter under the second question, which shows on one line a quote that does not stand in the response."""
    return IndentedText(note=f"{_UNFOUND}\n{indented(' '.join(quote.split())[:_MAX_SHOWN])}")
