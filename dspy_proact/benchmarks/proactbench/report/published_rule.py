"""The statistics of ProactBench's human study by its own rules, to be reproduced and not to be relied on.

The more people rate an item, the better their majority agrees with anything; kappa is unweighted; percentile intervals
over items are about 15 % narrower than ours. Ours stand beside it: `human_reference`, `Judged.kappa`, `alpha_estimate`.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspy_proact.benchmarks.proactbench.corpus import bundled
from dspy_proact.benchmarks.proactbench.corpus.bundled import TRIGGERS_PER_PHASE, published_models
from dspy_proact.benchmarks.proactbench.types import NOUNS, Grade, Phase
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.published import pooled
from dspy_proact.report.measured import in_nouns
from dspy_proact.report.plan import PublishedRatings, components_of
from dspy_proact.report.study import Subset
from dspy_proact.stats import DESIGN_EFFECT, Estimate, alphas, coincidences, cross_tables, kappas, tally
from dspy_proact.stats.plan import Kind, PlanFrame

RESAMPLES = 10_000
ALPHA_SEED = 2026
KAPPA_SEED = 2027

SCENARIOS = 25
"""Of the published corpus."""


@dataclass(frozen=True)
class PublishedRule:
    """What the published study prints for one phase."""

    items: int
    """Items with a consensus."""
    ratings: int
    """Ratings, of all items."""
    confusion: tuple[tuple[int, ...], ...]
    """Items by their consensus (row) and the judge's grade (column), labels in rising order."""
    exact: int
    """Items at which both are equal."""
    kappa: Estimate
    """Cohen's kappa of the consensus and the judge, unweighted, in [-1, 1]."""
    alpha: Estimate
    """Krippendorff's ordinal alpha of all ratings, in [-1, 1]."""


def published_rule(subset: Subset) -> PublishedRule:
    """Apply the published rules to the items of one phase that have a judge's grade.

    Intervals are percentiles of 10,000 resamples of the rated items; resamples in which a statistic is undefined are
    left out. All gradings equal (0 / 0): no value. One item, or resamples that do not enclose the value: no bounds. An
    item with too few ratings for a consensus counts for alpha all the same.
    """
    judged = [item for item in subset.rated if subset.part.name in item.judged]
    counts = tally([subset.grades(item) for item in judged], subset.part.levels)
    consensus = [item.consensus(subset.part) for item in subset.compared]
    tables = cross_tables(consensus, [subset.judged(item) for item in subset.compared], subset.part.levels)
    confusion, kappa, alpha = tables.sum(axis=0), partial(kappas, weight="none"), partial(alphas, metric="ordinal")
    return PublishedRule(
        items=len(tables),
        ratings=int(counts.sum()),
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
        exact=int(np.trace(confusion)),
        kappa=_percentiles(tables, kappa, KAPPA_SEED) if subset.compared else subset.missing,
        alpha=_percentiles(coincidences(counts), alpha, ALPHA_SEED) if judged else subset.missing,
    )


def published_document(subset: Subset) -> dict[str, Any]:
    """The same as JSON."""
    rule = published_rule(subset)
    return {
        "items": rule.items,
        "ratings": rule.ratings,
        "confusion": [list(row) for row in rule.confusion],
        "exact": rule.exact,
        "alpha_ordinal": asdict(in_nouns(rule.alpha, NOUNS)),
        "kappa": asdict(in_nouns(rule.kappa, NOUNS)),
    }


def published_study(declared: Benchmark[Any, Any]) -> PublishedRatings:
    """How ratings vary in the published study, and the corpus as the published models are graded on average."""
    ratings, sizes = bundled.published_study(declared), Counter[Kind]()
    of = components_of(ratings, {str(grade): grade.score for grade in Grade})
    for phase in Phase:
        counts = pooled((row.counts or {})[phase] for row in published_models())
        triggers = TRIGGERS_PER_PHASE[phase]
        full, partial = (round(triggers * count / counts.scored) for count in counts.labels[:2])
        by_grade = {Grade.PASS: full, Grade.PARTIAL: partial, Grade.FAIL: triggers - full - partial}
        sizes.update({(phase, grade): count for grade, count in by_grade.items()})
    total = sum(sizes.values())
    theta = sum(size * of.means[kind] for kind, size in sizes.items()) / total
    variance = sum(size * (of.means[kind] - theta) ** 2 for kind, size in sizes.items()) / total
    frame = PlanFrame({**sizes}, theta, DESIGN_EFFECT * variance / total, (1 / SCENARIOS,) * SCENARIOS)
    about = "the triggers of the published corpus, graded as published models are"
    return PublishedRatings(of, "the published study, 275 ratings by 18 people", frame, about, ratings.seconds)


def _percentiles(
    tables: NDArray[np.float64], statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], seed: int
) -> Estimate:
    """A statistic of the sum of tables, one an item, with percentiles over resampled items."""
    value = float(statistic(tables.sum(axis=0)))
    if math.isnan(value):
        return Estimate(None, reason="gradings that do not vary")
    items = len(tables)
    if items == 1:
        return Estimate(value, reason="rests on one item")
    # How often each item is in each resample: shape (RESAMPLES, items).
    drawn_items = np.random.default_rng(seed).integers(0, items, size=(RESAMPLES, items))
    drawn_items += items * np.arange(RESAMPLES)[:, None]
    drawn = np.bincount(drawn_items.ravel(), minlength=RESAMPLES * items).reshape(RESAMPLES, items).astype(np.float64)
    resampled = statistic(np.tensordot(drawn, tables, axes=1))
    low, high = (float(end) for end in np.nanpercentile(resampled, [2.5, 97.5]))
    if not low <= value <= high:
        return Estimate(value, reason="the resamples do not enclose it")
    return Estimate(value, low, high)
