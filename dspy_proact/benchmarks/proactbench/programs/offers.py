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
from dspy_proact.programs.asking import Asking, ask, ask_for_fields, ask_now, rendered, run_now
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


class OfferDetector(dspy.Module):
    """Lists the offers in a response.

    An answer that cannot be read is asked for once more, and so is one with a quote that does not stand in the
    response; what then still does not stand there does not count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.detect = dspy.Predict(DetectOffers)

    def __repr__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride] - as if DSPy's had said more
        return "OfferDetector()"

    def forward(self, conversation: list[Turn], response: str) -> dspy.Prediction:
        """A prediction with `reasoning` and `offers`; raises a `StageError` when there is none."""
        return run_now(self._detected(ask_now, conversation, response))

    async def aforward(self, conversation: list[Turn], response: str) -> dspy.Prediction:
        """Async version of `forward`."""
        return await self._detected(ask, conversation, response)

    async def look(self, view: ControlView, response: str, asking: Asking | None = None) -> Offers:
        """The offers of a response at a control turn, their quotes located, asked as `Judge.judge` does."""
        inputs = _inputs(view, response)
        return located(await (self._detected(asking, **inputs) if asking else self.acall(**inputs)), response)

    def messages(self, view: ControlView, response: str) -> list[dict[str, Any]]:
        """What `look` sends first."""
        return rendered(self.detect, IndentedText(), _inputs(view, response))

    def fingerprint(self) -> str:
        """Hash of what it says to its model."""
        return fingerprint((self.detect, IndentedText()), (self.detect, _again("{quote}")))

    async def _detected(self, asking: Asking, conversation: list[Turn], response: str) -> dspy.Prediction:
        shown = {"conversation": conversation, "response": response}
        said = await ask_for_fields(asking, self.detect, lambda note: IndentedText(note=note), **shown)
        unfound = next((offer.quote for offer in located(said, response).offers if offer.quote.start is None), None)
        if unfound is None:
            return said
        try:
            return (await asking(self.detect, _again(unfound.text), **shown)).prediction
        except StageError:
            return said  # what is there is paid for; what does not stand in the response does not count


def located(said: dspy.Prediction, response: str) -> Offers:
    """What a detector said, with the places of its quotes in the response."""
    passage = Passage(response)
    places: dict[tuple[int, int] | str, Offer] = {}
    for each in passage.within_budget(said.offers):
        found = [(part.start, part.end) for part in islice(locate(each.quote, passage), _MAX_PARTS)]
        starts = [start for start, _ in found if start is not None]
        ends = [end for _, end in found if end is not None]
        quote, place = Quote(text=each.quote), each.quote
        if found and len(starts) == len(found):
            quote, place = Quote(text=each.quote, start=min(starts), end=max(ends)), (min(starts), max(ends))
        if place not in places or places[place].asked_for:  # the same words twice are one offer, unwanted if once said
            places[place] = Offer(quote=quote, grounded=each.grounded, asked_for=each.asked_for)
    return Offers(reasoning=said.reasoning, offers=tuple(places.values()))


def _inputs(view: ControlView, response: str) -> dict[str, Any]:
    return {"conversation": list(view.conversation), "response": response}


def _again(quote: str) -> IndentedText:
    """The adapter under the second question, which shows on one line a quote that does not stand in the response."""
    return IndentedText(note=f"{_UNFOUND}\n{indented(' '.join(quote.split())[:_MAX_SHOWN])}")
