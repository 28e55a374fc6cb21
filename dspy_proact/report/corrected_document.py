"""What people would have given, as JSON."""

from typing import Any

from dspy_proact.report.corrected import WHOLE, Corrected, CorrectedComparison, CorrectedDifference, PeoplesRatings
from dspy_proact.report.corrected_headline import corrected_headline, difference_headline
from dspy_proact.runs import Nouns
from dspy_proact.stats import CorrectedMean


def corrected_document(corrected: Corrected) -> dict[str, Any]:
    """What `report --ratings --json` has under `corrected`."""
    nouns = corrected.nouns
    rows = {name: _row(row, nouns) for name, row in corrected.rows.items()}
    return {
        "headline": corrected_headline(corrected),
        "ratings": _ratings(corrected.ratings),
        nouns.strata: {name: rows[name] for name in corrected.summary.strata},
        "overall": {WHOLE: rows[WHOLE]},
    }


def corrected_comparison_document(compared: CorrectedComparison) -> dict[str, Any]:
    """What `compare --ratings --json` has under `corrected`: differences are b minus a, and not adjusted."""
    nouns = compared.comparison.a.nouns
    rows = {name: _difference(row, nouns) for name, row in compared.rows.items()}
    return {
        "headline": difference_headline(compared),
        "ratings": {name: _ratings(each) for name, each in zip("ab", compared.ratings, strict=True)},
        nouns.strata: {name: rows[name] for name in compared.comparison.strata},
        "overall": {WHOLE: rows[WHOLE]},
    }


def _row(row: CorrectedMean, nouns: Nouns) -> dict[str, Any]:
    return {
        "scored": row.cases,
        "rated": row.rated,
        nouns.groups: row.groups,
        "ratings": row.ratings,
        "raters": row.raters,
        "judge": row.judge.for_json(),
        "mean_of_the_rated": row.rated_mean,
        **({} if row.rated else {"mean_of_the_rated_reason": "nothing is rated"}),
        "corrected": row.corrected.for_json(),
    }


def _difference(row: CorrectedDifference, nouns: Nouns) -> dict[str, Any]:
    return {
        "pairs": row.pairs,
        "a": _row(row.a, nouns),
        "b": _row(row.b, nouns),
        "difference": row.difference.for_json(),
    }


def _ratings(ratings: PeoplesRatings) -> dict[str, Any]:
    return {"name": ratings.name, "notes": list(ratings.notes)}
