"""How reports show control turns: the rate of unwanted offers, what is offered, and how far people agree on it."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from dspy_proact.benchmarks.proactbench.cases import OWN_ROW
from dspy_proact.benchmarks.proactbench.corpus.bundled import sample_control_responses, sample_offer_ratings
from dspy_proact.benchmarks.proactbench.corpus.dialogues import CONTROL_RULE, load_corpus
from dspy_proact.benchmarks.proactbench.types import CONTROL_LABELS, LOGGED, ControlView, Offers
from dspy_proact.evaluation.controls import Controls
from dspy_proact.evaluation.people import HumanGrade
from dspy_proact.evaluation.reporting import Addition
from dspy_proact.runs import Outcomes

if TYPE_CHECKING:
    from dspy_proact.stats import Estimate


@cache
def author_agreement() -> "Estimate":
    """How far the sample's raters agree on unwanted offers: nominal alpha with a jackknife over scenarios."""
    from dspy_proact.stats import Panel, alpha_estimate

    rows = defaultdict[str, list[HumanGrade]](list)
    for row in sample_offer_ratings():
        rows[row.key].append(row)
    responses = sample_control_responses()
    scenario_of = {dialogue.origin.dialogue: dialogue.origin.scenario for dialogue in load_corpus("sample").dialogues}
    grades = [[row.grade for row in rows[response.item]] for response in responses]
    raters = [[row.rater for row in rows[response.item]] for response in responses]
    panel = Panel.of(grades, CONTROL_LABELS, raters)
    return alpha_estimate(panel, "nominal", [scenario_of[response.dialogue] for response in responses])


def _report(turns: Outcomes) -> Addition:
    """What verdicts quote, and how many unwanted offers fit this user."""
    evidence, details = turns.evidence, [verdict.detail for verdict in turns.verdicts]
    unwanted = [offer for detail in details for offer in Offers.model_validate(detail).unwanted]
    grounded = sum(offer.grounded for offer in unwanted)
    lines = [
        f"{evidence.verified} of {evidence.checked} verdicts that name an offer, wanted or not, quote only words found "
        "in the response."
    ]
    if unwanted:
        others = "; the others would fit anybody" if grounded < len(unwanted) else ""
        lines.append(f"{grounded:,} of {len(unwanted):,} unwanted offers refer to what the user said{others}.")
    offers = {"unwanted": len(unwanted), "grounded": grounded}
    own = [outcome.meta.get("scenario_id") == LOGGED for outcome in turns.outcomes if OWN_ROW in outcome.meta]
    kinds = {
        "are rewritten triggers, in which what is to be taken up was replaced": own.count(False),
        "end conversations that took place, in which a model found nothing to be taken up": own.count(True),
    }
    lines += [f"{count:,} of {len(turns.outcomes):,} control turns {kind}." for kind, count in kinds.items() if count]
    return Addition({"offers": offers, "rule": CONTROL_RULE}, _references(), lines)


def _references() -> Iterator[str]:
    """The rule, and how far people agree."""
    agreement = author_agreement()
    yield f"{CONTROL_RULE}."
    yield (
        "author reference: the sample's raters agree on unwanted offers with nominal alpha "
        f"{agreement} (author ratings, {agreement.reason}, no human study)."
    )


def _prompt() -> str:
    from dspy_proact.benchmarks.proactbench.programs import OfferDetector

    return OfferDetector().fingerprint()


CONTROLS = Controls(CONTROL_LABELS, ControlView, _prompt, rate="unwanted offers", gain="RECOVERY", report=_report)
