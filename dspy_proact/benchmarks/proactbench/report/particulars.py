"""What ProactBench says in reports beside what is said of every benchmark."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from dspy_proact.benchmarks.proactbench.corpus import (
    CONTROL_RULE,
    HUMAN_ALPHA,
    load_corpus,
    sample_control_responses,
    sample_offer_ratings,
)
from dspy_proact.benchmarks.proactbench.types import Grade, Offer, Offers, Verdict
from dspy_proact.report.measured import Controls
from dspy_proact.report.numbers import coefficient, document, percent
from dspy_proact.report.particulars import Column, Grounds, Particulars, Section, View
from dspy_proact.runs import CONTROL, GivenVerdict, Nouns, Outcome
from dspy_proact.stats import Estimate, Panel, alpha_estimate
from dspy_proact.types import Quote

NOUNS = Nouns(
    case="trigger",
    cases="triggers",
    stratum="phase",
    strata="phases",
    group="scenario",
    groups="scenarios",
    control="control turn",
    controls="control turns",
    row="dialogue",
    rows="dialogues",
)
"""Of a results file, which has no manifest to name them."""


CITATION = """@misc{proactbench2026,
  title         = {ProactBench: Beyond What The User Asked For},
  author        = {{The ProactBench authors}},
  year          = {2026},
  eprint        = {2605.09228},
  archivePrefix = {arXiv},
  url           = {https://arxiv.org/abs/2605.09228}
}"""


@cache
def author_agreement() -> Estimate:
    """Nominal alpha of the author ratings of offers in the sample, with its jackknife interval."""
    given: defaultdict[str, list[bool]] = defaultdict(list)
    raters: defaultdict[str, list[str]] = defaultdict(list)
    for rating in sample_offer_ratings():
        given[rating.item].append(rating.unwanted)
        raters[rating.item].append(rating.annotator)
    responses = sample_control_responses()
    scenario_of = {each.origin.dialogue: each.origin.scenario for each in load_corpus("sample").dialogues}
    scenarios = [scenario_of[response.dialogue] for response in responses]
    items = [response.item for response in responses]
    ratings, people = [given[item] for item in items], [raters[item] for item in items]
    return alpha_estimate(Panel.of(ratings, [False, True], people), "nominal", scenarios)


def grounded(controls: Controls) -> tuple[int, int]:
    """Unwanted offers that refer to a detail of the conversation, and all of them, over all verdicts."""
    told = [offer for verdict in controls.verdicts for offer in Offers.model_validate(verdict.detail).unwanted]
    return sum(offer.grounded for offer in told), len(told)


def control_document(controls: Controls) -> dict[str, Any]:
    """Control turns as JSON: how often something was offered that nobody asked for."""
    tied, unwanted = grounded(controls)
    return controls.counts() | {
        "unwanted_offers": controls.rate.for_json(),
        "offers": {"unwanted": unwanted, "grounded": tied},
        "evidence": document(controls.evidence),
        "rule": CONTROL_RULE,
    }


def control_lines(controls: Controls) -> Iterator[str]:
    """The rate of unwanted offers."""
    evidence, rate, (tied, unwanted) = controls.evidence, controls.rate, grounded(controls)
    told = f" ({rate.reason})" if rate.reason else ""
    yield (
        f"unwanted offers: {percent(rate)} % of {controls.count('scored')}/{len(controls.outcomes)} control turns"
        f"{told}. {evidence.verified} of {evidence.checked} verdicts that name an offer, asked for or not, quote words "
        "found in the response. Not included in the scores."
    )
    if unwanted:
        yield f"{tied:,} of {unwanted:,} unwanted offers refer to the conversation; the others would fit anybody."


def control_notes() -> Iterator[str]:
    """What a control turn is, and how far people agree on unwanted offers."""
    yield f"{CONTROL_RULE}."
    yield (
        f"author reference: the sample's raters agree on unwanted offers with nominal alpha "
        f"{coefficient(author_agreement())} (author ratings, {author_agreement().reason}, no human study)."
    )


def alike(one: View, other: View) -> bool:
    """Whether two views are of one trigger; a results file has the last message and the rubric of it, or less."""
    ours: list[dict[str, Any]] = one.get("conversation") or []
    theirs: list[dict[str, Any]] = other.get("conversation") or []
    if not ours or not theirs or min(len(ours), len(theirs)) > 1:
        return one == other
    said = (ours[-1].get("user"), theirs[-1].get("user"))
    return one.get("rubric") == other.get("rubric") and (said[0] == said[1] or None in said)


def _user_message(outcome: Outcome, _: GivenVerdict | None) -> str | None:
    conversation: list[dict[str, Any]] = outcome.view.get("conversation") or [{}]
    return conversation[-1].get("user")


def _earlier_turns(outcome: Outcome, _: GivenVerdict | None) -> str | None:
    conversation: list[dict[str, Any]] | None = outcome.view.get("conversation")
    return json.dumps(conversation[:-1], ensure_ascii=False) if conversation else None


def _criteria(grade: str) -> Column:
    return Column(f"rubric_{grade}", "string", lambda outcome, _: outcome.view["rubric"].get(f"{grade}_criteria"))


def _evidence(_: Outcome, verdict: GivenVerdict | None) -> str | None:
    quotes: list[Mapping[str, Any]] | None = verdict.detail.get("evidence") if verdict else None
    return None if quotes is None else "\n".join(quote["text"] for quote in quotes)


def sections(view: View) -> Iterator[Section]:
    """The conversation up to the user's message that was answered, and the rubric where there is one."""
    turns: list[dict[str, str | None]] = view.get("conversation") or []
    said = [(who, text) for turn in turns for who in ("user", "assistant") if (text := turn.get(who)) is not None]
    yield Section("conversation", "chat", tuple(said))
    if rubric := view.get("rubric"):
        criteria = ((str(grade), rubric.get(f"{grade.lower()}_criteria")) for grade in Grade)
        yield Section("rubric", "terms", tuple((grade, text) for grade, text in criteria if text))


def grounds(verdict: GivenVerdict) -> Grounds:
    """Reasons and quotes of a verdict on a trigger, or the offers that were found at a control turn."""
    detail = verdict.detail
    if "offers" not in detail:
        return Grounds(detail["reasoning"], tuple(map(Quote.model_validate, detail["evidence"])))
    offers = Offers.model_validate(detail)
    told = ((offer.quote.text, _offer(offer)) for offer in offers.offers)
    # The quote of an offer may be as short as it is.
    quotes = tuple(offer.quote.model_copy(update={"short": False}) for offer in offers.offers)
    return Grounds(offers.reasoning, quotes, tuple(told))


def _offer(offer: Offer) -> str:
    asked = "asked for" if offer.asked_for else "not asked for"
    return f"{asked}, {'refers to the conversation' if offer.grounded else 'would fit anybody'}"


PARTICULARS = Particulars(
    notes=(
        "human reference: people agree on such grades with ordinal alpha "
        f"{', '.join(f'{phase} {alpha:.2f}' for phase, alpha in HUMAN_ALPHA.items())} (published study).",
    ),
    ungrouped=frozenset({"curated_response"}),
    breakdowns=("life_domain", "turn"),
    alike=alike,
    control_rate="unwanted offers",
    control_key="unwanted_offers",
    gain="RECOVERY",
    control_document=control_document,
    control_lines=control_lines,
    control_notes=control_notes,
    case_columns=(
        Column("dialogue", "string", lambda outcome, _: outcome.meta.get("dialogue")),
        Column("life_domain", "string", lambda outcome, _: outcome.meta.get("life_domain")),
        Column("turn", "int64", lambda outcome, _: outcome.meta.get("turn")),
        Column("earlier_turns", "string", _earlier_turns),
        Column("user_message", "string", _user_message),
        *map(_criteria, ("pass", "partial", "fail")),
    ),
    verdict_columns=(
        Column("reasoning", "string", lambda _, verdict: verdict.detail.get("reasoning") if verdict else None),
        Column("evidence", "string", _evidence),
    ),
    detail=lambda stratum: Offers if stratum == CONTROL else Verdict,
    sections=sections,
    grounds=grounds,
    citation=CITATION,
)
