"""A comparison as a JSON document."""

from collections.abc import Sequence
from typing import Any

from dspy_proact.report.agreement import agreement_document, paired_document
from dspy_proact.report.comparison import Comparison
from dspy_proact.report.difference import CasePair, Difference, Differences
from dspy_proact.report.document import document
from dspy_proact.report.headline import comparison_headline
from dspy_proact.report.summary import Summary
from dspy_proact.runs import Nouns


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The document of `compare --json`: differences are b minus a; `p_holm` is adjusted over the strata.

    `strict` is over what both have tried, the unscored counting 0; the others are over what both have scored.
    """
    nouns = comparison.a.nouns
    lenient, strict = comparison.lenient, comparison.strict
    strata = {
        name: _row(row, nouns)
        | _holm(lenient, name)
        | {"strict": _row(strict.rows[name], nouns) | _holm(strict, name)}
        | _measures(comparison, comparison.by_stratum[name])
        for name, row in lenient.rows.items()
    }
    return {
        "headline": comparison_headline(comparison),
        "a": _side(comparison.a, comparison) | {"unscored": comparison.unscored[0]},
        "b": _side(comparison.b, comparison) | {"unscored": comparison.unscored[1]},
        "changed": [{"field": field, "a": a, "b": b} for field, a, b in comparison.changed],
        nouns.cases: {
            "shared": comparison.shared,
            "compared": len(comparison.pairs),
            "tried": len(comparison.tried),
            "worded_otherwise": comparison.otherwise,
        },
        nouns.strata: strata,
        "overall": {
            "micro": _row(lenient.micro, nouns) | {"strict": _row(strict.micro, nouns)},
            "macro": _row(lenient.macro, nouns, describe=False) | {"strict": _row(strict.macro, nouns, describe=False)},
            **_measures(comparison, comparison.pairs),
        },
        "controls": _controls(comparison.controls, nouns) if comparison.controls else None,
        **({} if comparison.controls else {"controls_reason": f"no {nouns.control} was scored in both"}),
        "grades": comparison.flips,
        "breakdowns": {
            key: {group: _row(row, nouns) for group, row in comparison.breakdown(key).items()}
            for key in comparison.breakdowns
        },
        f"farthest_{nouns.groups}": [
            {nouns.group: name, "pairs": pairs, "score_sum": total} for name, pairs, total in comparison.farthest
        ],
        "judges": agreement_document(comparison.agreement) if comparison.agreement else None,
        **({} if comparison.agreement else {"judges_reason": "the two did not grade the same responses"}),
    }


def _holm(differences: Differences, name: str) -> dict[str, Any]:
    """The adjusted p values of a stratum."""
    return {"p_holm": dict(zip(("weighted", "pass_rate"), differences.adjusted[name], strict=True))}


def _controls(row: Difference, nouns: Nouns) -> dict[str, Any]:
    """Shares of the worst label at the control cases of both."""
    return {
        "a": row.scores[0].for_json(),
        "b": row.scores[1].for_json(),
        "difference": paired_document(row.weighted, nouns),
    }


def _row(row: Difference, nouns: Nouns, describe: bool = True) -> dict[str, Any]:
    return {
        "pairs": row.pairs,
        "a": row.scores[0].for_json(),
        "b": row.scores[1].for_json(),
        "weighted": paired_document(row.weighted, nouns),
        "pass_rate": paired_document(row.passes, nouns),
        **({"passes": document(row.discordant)} if describe else {}),
    }


def _measures(comparison: Comparison, pairs: Sequence[CasePair]) -> dict[str, Any]:
    """The measures of some pairs; nothing where the benchmark declares none."""
    found = {name: document(each) for name, each in comparison.measured(pairs).items()}
    return {"measures": found} if found else {}


def _side(summary: Summary, comparison: Comparison) -> dict[str, Any]:
    manifest = summary.manifest
    named = {"path": summary.path, "model": summary.model, "judge": summary.judge or None, "embedded": summary.embedded}
    judges = manifest.identity.judges if manifest else ()
    programs = {
        "program": manifest.identity.assistant.program if manifest else None,
        "judge_program": judges[0].program if judges else None,
        "system_prompt": manifest.system_prompt if manifest else None,
    }
    return (
        named
        | programs
        | {
            comparison.a.nouns.cases: summary.case_count,
            "left_out": summary.case_count - len(comparison.pairs),
        }
    )
