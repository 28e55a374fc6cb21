"""What reviews show of a corpus: how much was reviewed, what was rejected and edited, and how far reviewers agree.

Shares are of the items on which a verdict stands, with intervals over groups of items. Agreement is that of one
reviewer with another on the items that both reviewed, by verdict: two edits agree whatever their texts.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from dspy_proact.evaluation.reviewing import REALISM_QUESTIONS, VERDICTS, Realism, Review, ReviewItem, Settled, settle
from dspy_proact.stats.agreement import Weight, coincidences, kappa_of_items
from dspy_proact.stats.cluster import cluster_mean
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.raters import Panel


@dataclass(frozen=True)
class ReviewAgreement:
    """How far one reviewer agrees with another in one question."""

    items: int
    """Reviewed by two or more."""
    same: int
    """Of these, those to which all gave the same answer."""
    kappa: Estimate
    """Of one reviewer with another, in [-1, 1]; with quadratic weights where answers have an order."""


@dataclass(frozen=True)
class ReviewSummary:
    """What reviews show of a corpus."""

    items: int
    reviewers: int
    settled: Settled
    rejected: Estimate
    """Share of the items that are settled."""
    edited: Estimate
    """Likewise."""
    verdicts: ReviewAgreement
    realism: Mapping[str, Counter[str]]
    """How often each answer was given, by the field of the question."""
    realism_agreement: Mapping[str, ReviewAgreement]
    """By the field of the question."""

    @property
    def counts(self) -> dict[str, int]:
        """Items by what becomes of them."""
        of = self.settled
        named = {"accepted": of.accepted, "edited": of.edited, "rejected": of.rejected}
        named |= {"unresolved": of.unresolved, "not reviewed": of.unreviewed}
        return {name: len(keys) for name, keys in named.items()}


def review_summary(items: Sequence[ReviewItem], reviews: Sequence[Review], source: str) -> ReviewSummary:
    """Sum up the reviews of a corpus, of which `source` is the name; raises as `settle` does."""
    settled = settle(items, reviews, source)
    groups = {item.key: item.group or item.key for item in items}
    left = {*settled.unresolved, *settled.unreviewed}
    decided = [item.key for item in items if item.key not in left]
    by_item = defaultdict[str, list[Review]](list)
    for review in reviews:
        if not review.decision:
            by_item[review.item].append(review)
    of_people = [by_item[item.key] for item in items]

    def share(keys: Sequence[str] | Mapping[str, Any]) -> Estimate:
        return cluster_mean([float(key in keys) for key in decided], [groups[key] for key in decided])

    def agreement(field: str, labels: Sequence[str], weight: Weight) -> ReviewAgreement:
        answers = [[getattr(review, field) for review in of if getattr(review, field)] for of in of_people]
        raters = [[review.reviewer for review in of if getattr(review, field)] for of in of_people]
        return _agreement(Panel.of(answers, labels, raters), [groups[item.key] for item in items], weight)

    return ReviewSummary(
        items=len(items),
        reviewers=len({review.reviewer for of in of_people for review in of}),
        settled=settled,
        rejected=share(settled.rejected),
        edited=share(settled.edited),
        verdicts=agreement("verdict", VERDICTS, "none"),
        realism={
            name: Counter(answer for of in of_people for review in of if (answer := getattr(review, name)))
            for name in REALISM_QUESTIONS
        },
        realism_agreement={name: agreement(name, get_args(Realism), "quadratic") for name in REALISM_QUESTIONS},
    )


def _agreement(panel: Panel, groups: Sequence[Hashable], weight: Weight) -> ReviewAgreement:
    """Kappa of one person with another, each against the others of an item, as the human reference has it."""
    shared = panel.counts.sum(axis=1) >= 2
    keys = [key for key, pairs in zip(groups, shared, strict=True) if pairs]
    if not keys:
        return ReviewAgreement(0, 0, Estimate(None, reason="no item with two reviews"))
    panel = panel.where(shared)

    def of_items(counts: NDArray[np.float64], _: NDArray[np.intp]) -> NDArray[np.float64]:
        return coincidences(counts) / np.maximum(counts.sum(axis=1), 1)[:, None, None]

    tables, changes = panel.parts(of_items)
    same = int(np.sum(panel.counts.max(axis=1) == panel.counts.sum(axis=1)))
    return ReviewAgreement(len(keys), same, kappa_of_items(tables, keys, weight, changes))
