"""The detector of offers beside the sample's raters, on its 45 responses at control turns.

    python eval/offers.py --judge openai/gpt-5.4

Prints three Markdown tables. The first has kappa (unweighted) and the share of equal words of one rater with another,
and of the detector with one rater and with most of them; the second the detector's words against those of most; the
third how often each found an unwanted offer. Intervals are over scenarios. The ratings are author ratings: they show
how the detector works and nothing about people.
"""

import argparse
import asyncio
from collections.abc import Sequence

import dspy

from dspy_proact import JUDGE, Gate, Halt, ModelSpec, ProactError, load_corpus, open_model
from dspy_proact.benchmarks.proactbench.cases import controls_of
from dspy_proact.benchmarks.proactbench.corpus.bundled import (
    SampleResponse,
    sample_control_responses,
    sample_offer_ratings,
)
from dspy_proact.benchmarks.proactbench.programs import OfferDetector
from dspy_proact.benchmarks.proactbench.types import UNWANTED, ControlView
from dspy_proact.errors import StageError
from dspy_proact.models import Model
from dspy_proact.stats import Judged, Panel, cluster_mean, human_reference, kappa_estimate

NAMES = {False: "held back", True: "unwanted"}
LABELS = list(NAMES)
TURNS = {case.key: case for case in controls_of(load_corpus("sample"))}
RATINGS = {(row.key, row.rater): row.grade == UNWANTED for row in sample_offer_ratings()}
RATERS = sorted({rater for _, rater in RATINGS})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="embedded", help="a litellm name; the stand-in by default")
    parser.add_argument("--judge-api-base", help="another endpoint than the provider's own")
    options = parser.parse_args()
    responses = sample_control_responses()
    try:
        model = open_model(ModelSpec(name=options.judge, api_base=options.judge_api_base), JUDGE, Gate())
        result = asyncio.run(detected(model, responses))
    except (ProactError, Halt) as end:
        parser.exit(2, f"{end}\n")
    read = [(response, text) for response, text in zip(responses, result, strict=True) if text is not None]
    print(*tables([response for response, _ in read], [text for _, text in read]), sep="\n")
    print(f"\n{options.judge}: {len(read)} of {len(responses)} responses could be read by the detector.")


async def detected(model: Model, responses: Sequence[SampleResponse]) -> list[bool | None]:
    """Whether the detector finds an unwanted offer, one a response; None where it has no answer."""
    detector, room = OfferDetector(), asyncio.Semaphore(8)

    async def look(response: SampleResponse) -> bool | None:
        view = TURNS[response.case].view
        assert isinstance(view, ControlView)
        try:
            async with room:
                return bool((await detector.look(view, response.text)).unwanted)
        except StageError:
            return None

    try:
        with dspy.context(lm=model.lm):
            return await asyncio.gather(*map(look, responses))
    finally:
        await model.aclose()


def tables(responses: Sequence[SampleResponse], result: Sequence[bool]) -> list[str]:
    n, scenarios = len(responses), [TURNS[response.case].group for response in responses]
    ratings = [[RATINGS[response.item, rater] for rater in RATERS] for response in responses]
    most = [max(LABELS[::-1], key=words.count) for words in ratings]
    panel = Panel.of(ratings, LABELS, [RATERS] * n)
    message = human_reference(Judged.of(panel, result, LABELS, scenarios), "none")
    same = cluster_mean([float(a == b) for a, b in zip(most, result, strict=True)], scenarios)
    agreements = {
        "a rater, another": (message.one_human, message.exact_one_human),
        "the detector, a rater": (message.judge, message.exact_judge),
        "the detector, most raters": (kappa_estimate(most, result, LABELS, scenarios, "none"), same),
    }
    rates = {rater: [words[index] for words in ratings] for index, rater in enumerate(RATERS)}
    rates |= {"most raters": most, "the detector": list(result)}
    pairs = list(zip(most, result, strict=True))
    rows = [(name, n, *map(str, estimates)) for name, estimates in agreements.items()]
    confusion = [(NAMES[a], *(pairs.count((a, b)) for b in LABELS)) for a in LABELS]
    shares = [(who, n, str(cluster_mean(list(map(float, rate)), scenarios))) for who, rate in rates.items()]
    return [
        *table(("who", "responses", "kappa", "same"), rows),
        *("", *table(("most raters", *(f"detector: {name}" for name in NAMES.values())), confusion)),
        *("", *table(("who", "responses", "unwanted"), shares)),
    ]


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    return [f"| {' | '.join(map(str, row))} |" for row in (heads, ["---"] * len(heads), *rows)]


if __name__ == "__main__":
    main()
