"""A study of raters and a judge as a JSON document."""

from dataclasses import asdict
from typing import Any

from dspy_proact.benchmarks.proactbench.report.findings import findings
from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.benchmarks.proactbench.report.parting import parting_document
from dspy_proact.benchmarks.proactbench.report.published_rule import PublishedRule
from dspy_proact.benchmarks.proactbench.report.study import Study
from dspy_proact.benchmarks.proactbench.report.study_headline import study_headline
from dspy_proact.benchmarks.proactbench.report.study_part import Part
from dspy_proact.benchmarks.proactbench.types import Grade
from dspy_proact.report.measured import worded
from dspy_proact.stats import Estimate, Standing

_NO_INTERVAL = "the share of raters over whom the judge wins: it has no interval"


def study_document(study: Study) -> dict[str, Any]:
    """The document of `agree --json`. A value that cannot be given is null, and has a reason."""
    parts = {str(phase): part for phase, part in study.phases.items()}
    apart = {each.rater for each in study.apart}
    return {
        "headline": study_headline(study),
        "ratings": {
            "name": study.ratings.name,
            "origin": study.ratings.source.origin,
            "commit": study.ratings.source.commit,
            "sha256": study.ratings.sha256,
            "items": len(study.ratings.items),
            "ratings": len(study.ratings.ratings),
            "raters": len(study.ratings.annotators),
            "excluded": list(study.excluded),
        },
        "embedded": study.embedded,
        "judge": study.judge or None,
        "consensus": study.choices.consensus,
        "min_ratings": study.choices.min_ratings,
        "phases": {name: _part(part) for name, part in parts.items()},
        "pooled": _part(study.pooled),
        "published": {name: _published(part.published, part) for name, part in parts.items()},
        "raters": [_standing(each, study) | {"apart": each.rater in apart} for each in study.whole.standings],
        "partings": [parting_document(each) for each in study.partings],
        "notes": list(findings(study)),
    }


def _part(part: Part) -> dict[str, Any]:
    reference, alternative = part.reference, part.alt_test
    rate = alternative.winning_rate if alternative else None
    missing = Estimate(None, reason=part.silence)
    estimates = {
        "alpha_nominal": part.alpha("nominal"),
        "alpha_ordinal": part.alpha("ordinal"),
        "alpha_interval": part.alpha("interval"),
        "kappa": part.kappa("none"),
        "kappa_linear": part.kappa("linear"),
        "kappa_quadratic": part.kappa("quadratic"),
        "ac1": part.ac("none"),
        "ac2": part.ac("quadratic"),
        "exact": part.exact,
        "recall_fail": part.recall(Grade.FAIL),
        "recall_partial": part.recall(Grade.PARTIAL),
        "recall_pass": part.recall(Grade.PASS),
        "human_reference": reference.one_human,
        "judge_against_one_human": reference.judge,
        "judge_minus_human": reference.difference,
        "best_attainable": reference.best_attainable,
        "bias": part.bias,
        "alt_test": Estimate(rate.value, reason=rate.reason or _NO_INTERVAL) if rate else missing,
        "alt_test_advantage": alternative.advantage if alternative else missing,
    }
    return {
        "items": len(part.enough),
        "judged": len(part.compared),
        "ratings": part.ratings,
        "paired_ratings": part.paired,
        "raters": reference.raters,
        "judge_minus_human_98": [reference.low98, reference.high98],
        "confusion": part.counts,
        **{name: _estimate(estimate) for name, estimate in estimates.items()},
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return asdict(worded(estimate, NOUNS))


def _published(rule: PublishedRule, part: Part) -> dict[str, Any]:
    missing = Estimate(None, reason=part.silence)
    return {
        "items": rule.items,
        "ratings": rule.ratings,
        "confusion": [list(row) for row in rule.confusion],
        "exact": rule.exact,
        "alpha_ordinal": _estimate(rule.alpha if rule.ratings else missing),
        "kappa": _estimate(rule.kappa if rule.items else missing),
    }


def _standing(standing: Standing, study: Study) -> dict[str, Any]:
    return {
        "rater": str(standing.rater),
        "ratings": standing.ratings,
        "against_others": _estimate(standing.against_others),
        "against_judge": _estimate(standing.against_judge),
        "excluded_by_published_rule": standing.rater in study.whole.excluded,
    }
