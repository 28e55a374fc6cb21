from collections.abc import Sequence

from dspy_proact.calls import Call, Price
from dspy_proact.programs import CardUsage


def usage_of(calls: Sequence[Call], price: Price) -> CardUsage:
    """What 1,000 answers take, by the mean of calls whose tokens were counted; unknown where there are none.

    An answer that stood in the record counts with the calls that it took when it was asked for.
    """
    counted = [(call.prompt_tokens, call.completion_tokens) for call in calls]
    known = [(prompt, completion) for prompt, completion in counted if prompt is not None and completion is not None]
    if not known:
        return CardUsage(prompt_tokens=None, completion_tokens=None, usd=None)
    prompt, completion = (round(1000 * sum(each[place] for each in known) / len(known)) for place in (0, 1))
    return CardUsage(prompt_tokens=prompt, completion_tokens=completion, usd=price.of(prompt, completion))
