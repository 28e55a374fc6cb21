"""Numbers as a card holds them."""

import re
from collections.abc import Iterable, Sequence

from dspy_proact.calls import Call, Price
from dspy_proact.programs import CardUsage

_RUN = 8
"""Words in a row that make an overlap."""


def usage_of(calls: Sequence[Call], price: Price) -> CardUsage:
    """What 1,000 answers take, by the mean of calls whose tokens were counted; unknown where there are none.

    Answers that DSPy's memory gave cost nothing here, but would elsewhere: they are not among the calls.
    """
    counted = [(call.prompt_tokens, call.completion_tokens) for call in calls]
    known = [(prompt, completion) for prompt, completion in counted if prompt is not None and completion is not None]
    if not known:
        return CardUsage(prompt_tokens=None, completion_tokens=None, usd=None)
    prompt, completion = (round(1000 * sum(each[place] for each in known) / len(known)) for place in (0, 1))
    return CardUsage(prompt_tokens=prompt, completion_tokens=completion, usd=price.of(prompt, completion))


def overlap(text: str, others: Iterable[str]) -> float:
    """Share in [0, 1] of a text's runs of eight words that stand in one of the others; 0 where it has none."""
    own = _runs(text)
    seen = {run for other in others for run in _runs(other)} if own else set[tuple[str, ...]]()
    return sum(run in seen for run in own) / len(own) if own else 0.0


def _runs(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return [tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1)]
