"""How well people agree on what an unwanted offer is, as far as the sample can say it."""

from collections import defaultdict
from functools import cache

from dspy_proact.corpus import load_corpus, sample_control_responses, sample_offer_ratings
from dspy_proact.stats import Estimate, alpha_estimate


@cache
def author_agreement() -> Estimate:
    """Nominal alpha of the author ratings of offers in the sample, with its jackknife interval."""
    given: defaultdict[str, list[bool]] = defaultdict(list)
    for rating in sample_offer_ratings():
        given[rating.item].append(rating.unwanted)
    responses = sample_control_responses()
    scenario_of = {each.origin.dialogue: each.origin.scenario for each in load_corpus("sample").dialogues}
    scenarios = [scenario_of[response.dialogue] for response in responses]
    return alpha_estimate([given[response.item] for response in responses], [False, True], "nominal", scenarios)
