"""What ProactBench says in reports beside what is said of every benchmark."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.proactbench.corpus.bundled import HUMAN_ALPHA, TRIGGERS_PER_PHASE
from dspy_proact.benchmarks.proactbench.corpus.dialogues import DATA
from dspy_proact.benchmarks.proactbench.types import Grade, Offers, Verdict
from dspy_proact.evaluation.reporting import Addition, Column, Grounds, PageSection, Reporting, View
from dspy_proact.report.leaderboard import own_name
from dspy_proact.report.pairs import PublishedPairs
from dspy_proact.report.study import RatingStudy
from dspy_proact.report.summary import Summary
from dspy_proact.runs import CONTROL, Outcome, VerdictRecord
from dspy_proact.stats import Estimate
from dspy_proact.types import Quote

JUDGE = "gpt-5.4"
"""The published judge, by its own name, without a router's prefix."""
CORPUS = "proactbench"
"""Name of the full corpus."""

CITATION = """@misc{proactbench2026,
  title         = {ProactBench: Beyond What The User Asked For},
  author        = {{The ProactBench authors}},
  year          = {2026},
  eprint        = {2605.09228},
  archivePrefix = {arXiv},
  url           = {https://arxiv.org/abs/2605.09228}
}"""


def differences(run: Summary) -> tuple[str, ...]:
    """How a run differs from the published ones, but for its model; without differences it is ranked among them."""
    manifest = run.manifest
    assert manifest is not None, "asked of runs only"
    assistant, judges = manifest.identity.assistant, manifest.identity.judges
    differing: list[str] = []
    if len(judges) != 1:
        differing.append(f"graded by a jury ({manifest.identity.judge_name}), not by {JUDGE} alone")
    elif own_name(judges[0].model) != JUDGE:
        differing.append(f"graded by {judges[0].model}, not by {JUDGE}")
    elsewhere = sorted({judge.endpoint for judge in judges if judge.endpoint})
    prompts = sorted({judge.program for judge in judges} - {"official"})
    differing += [f"the judge was called at {endpoint}, not at its provider's own" for endpoint in elsewhere]
    differing += [f"the judge's prompt is {prompt!r}, not the official one" for prompt in prompts]
    if assistant.program != "bare":
        differing.append(f"the responses are of the program {assistant.program!r}, not of the bare model")
    by_hand = [f"{role}'s {name}" for role, names in manifest.overrides.items() for name in names]
    differing += [f"the {parameter} was set by hand, not by the preset" for parameter in by_hand]
    counts = {phase: len({outcome.key for outcome in run.of_stratum(phase)}) for phase in TRIGGERS_PER_PHASE}
    if manifest.corpus.name != CORPUS:
        differing.append(f"the corpus is {manifest.corpus.name!r}, not {CORPUS}")
    elif counts != TRIGGERS_PER_PHASE:
        by_phase = ", ".join(f"{phase} {counts[phase]} of {most}" for phase, most in TRIGGERS_PER_PHASE.items())
        differing.append(f"{sum(counts.values())} of {sum(TRIGGERS_PER_PHASE.values())} triggers ({by_phase})")
    if manifest.epochs != 1:
        differing.append(f"{manifest.epochs} responses to each trigger, not 1")
    if manifest.judge_epochs != 1:
        differing.append(f"{manifest.judge_epochs} verdicts on each response, not 1")
    return tuple(differing)


def alike(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes are of the same trigger.

    A results file holds no history: where a view has one turn, user message and rubric are compared. A message that
    the file lacks equals any.
    """
    a, b = one.view, other.view
    if a == b:
        return True
    ours: list[dict[str, Any]] = a.get("conversation") or []
    theirs: list[dict[str, Any]] = b.get("conversation") or []
    if not ours or not theirs or min(len(ours), len(theirs)) > 1 or (a.get("system") and b.get("system")):
        return False
    messages = (ours[-1].get("user"), theirs[-1].get("user"))
    return a.get("rubric") == b.get("rubric") and (messages[0] == messages[1] or None in messages)


def _user_message(outcome: Outcome, _: VerdictRecord | None) -> str | None:
    conversation: list[dict[str, Any]] = outcome.view.get("conversation") or [{}]
    return conversation[-1].get("user")


def _earlier_turns(outcome: Outcome, _: VerdictRecord | None) -> str | None:
    conversation: list[dict[str, Any]] | None = outcome.view.get("conversation")
    return json.dumps(conversation[:-1], ensure_ascii=False) if conversation else None


def _criteria(grade: str) -> Column:
    return Column(f"rubric_{grade}", "string", lambda outcome, _: outcome.view["rubric"].get(f"{grade}_criteria"))


def _evidence(_: Outcome, verdict: VerdictRecord | None) -> str | None:
    quotes: list[Mapping[str, Any]] | None = verdict.detail.get("evidence") if verdict else None
    return None if quotes is None else "\n".join(quote["text"] for quote in quotes)


def sections(view: View) -> Iterator[PageSection]:
    """What the assistant was told, the conversation up to the user's message that was answered, and the rubric.

    What a case lacks is left out.
    """
    if system := view.get("system"):
        yield PageSection("system text", "terms", (("what the assistant was told before the conversation", system),))
    turns: list[dict[str, str | None]] = view.get("conversation") or []
    messages = [(who, text) for turn in turns for who in ("user", "assistant") if (text := turn.get(who)) is not None]
    yield PageSection("conversation", "chat", tuple(messages))
    if rubric := view.get("rubric"):
        criteria = ((str(grade), rubric.get(f"{grade.lower()}_criteria")) for grade in Grade)
        yield PageSection("rubric", "terms", tuple((grade, text) for grade, text in criteria if text), hidden=True)


def grounds(verdict: VerdictRecord) -> Grounds:
    """What a reader is shown of a verdict: reasons and quotes; at a control turn the offers that were found."""
    detail = verdict.detail
    if "offers" not in detail:
        return Grounds(detail["reasoning"], tuple(map(Quote.model_validate, detail["evidence"])))
    offers = Offers.model_validate(detail)
    points = (
        (
            offer.quote.text,
            f"{'asked for' if offer.asked_for else 'not asked for'}, "
            f"{'refers to something the user said' if offer.grounded else 'would fit anybody'}",
        )
        for offer in offers.offers
    )
    # The quote of an offer may be as short as it is.
    quotes = tuple(offer.quote.model_copy(update={"short": False}) for offer in offers.offers)
    return Grounds(offers.reasoning, quotes, tuple(points))


def _agreement(study: RatingStudy) -> Addition:
    """The statistics of the published study, by its own rules."""
    from dspy_proact.benchmarks.proactbench.report.published_rule import published_document

    return Addition({"published": {name: published_document(subset) for name, subset in study.strata.items()}})


def published_pairs() -> PublishedPairs:
    """The published study of pairs, numbers and labels only (see NOTICE): do people prefer who has seen the rubric?"""
    return PublishedPairs(
        file=Path(str(DATA / "published" / "pairwise_ratings.csv")),
        about=(
            "A: the response to a RECOVERY trigger as it stands in the corpus. B: one by the same model, told the "
            "rubric and to meet PASS. Rows FAIL, PARTIAL and PASS: the judge's grade of A."
        ),
        figures={
            "all": (Estimate(0.799, 0.741, 0.855), 2.56e-13),
            "FAIL": (Estimate(0.825, 0.768, 0.887), 3.1e-9),
            "PARTIAL": (Estimate(0.852, 0.719, 1.0), 3.1e-4),
            "PASS": (Estimate(0.703, 0.559, 0.828), 0.020),
        },
        method="percentile bootstrap over items, 10,000 resamples; p-values of the exact binomial test.",
        faults=(
            "the study's file of statistics has a share of .753. That is 61 of 81, the choices of confidence 5, left "
            "over in a variable that a loop used again; all are 115 of 144, .799.",
            "the binomial test takes 144 choices as independent. They are of 45 items by 8 raters, who repeat, and "
            "raters differ widely; the bootstrap draws items again, and raters never.",
        ),
    )


REPORTING = Reporting(
    meta=frozenset(),
    about_case=(
        "A trigger is a turn at which a good assistant would act on something that the user disclosed: one detail "
        "(EMERGENT), several that belong together (CRITICAL), or something beyond the task once the user says that "
        "it is done (RECOVERY). A judge grades each response: PASS 1, PARTIAL 0.5, FAIL 0."
    ),
    notes=(
        "human reference: people agree on such grades with ordinal alpha "
        f"{', '.join(f'{phase} {alpha:.2f}' for phase, alpha in HUMAN_ALPHA.items())} (published study).",
    ),
    ungrouped=frozenset({"curated_response"}),
    breakdowns=("life_domain", "turn"),
    alike=alike,
    columns=(
        Column("dialogue", "string", lambda outcome, _: outcome.meta.get("dialogue")),
        Column("life_domain", "string", lambda outcome, _: outcome.meta.get("life_domain")),
        Column("turn", "int64", lambda outcome, _: outcome.meta.get("turn")),
        Column("system_text", "string", lambda outcome, _: outcome.view.get("system"), optional=True),
        Column("earlier_turns", "string", _earlier_turns),
        Column("user_message", "string", _user_message),
        *map(_criteria, ("pass", "partial", "fail")),
        Column("reasoning", "string", lambda _, verdict: verdict.detail.get("reasoning") if verdict else None, True),
        Column("evidence", "string", _evidence, of_verdict=True),
    ),
    detail=lambda stratum: Offers if stratum == CONTROL else Verdict,
    sections=sections,
    grounds=grounds,
    agreement=_agreement,
    citation=CITATION,
)
