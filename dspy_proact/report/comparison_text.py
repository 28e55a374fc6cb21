"""A comparison as a JSON document and on a terminal."""

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from rich.console import Console

from dspy_proact.evaluation.measured_run import MeasuredRun, names_of
from dspy_proact.report.agreement import agreement_lines
from dspy_proact.report.caveats import caveats, caveats_of_runs
from dspy_proact.report.glossary import explained
from dspy_proact.report.headline import comparison_headline
from dspy_proact.report.measured import SMALL
from dspy_proact.report.numbers import counted, document, fields_of, points_of, probability, seen_from, share
from dspy_proact.report.terminal import TerminalTable, reason_lines, show, table
from dspy_proact.stats import Paired
from dspy_proact.stats.paired import ENOUGH_TO_TELL, FROM_AN_END

if TYPE_CHECKING:
    from dspy_proact.report.comparison import CasePair, Comparison, Difference, Differences


def comparison_document(comparison: "Comparison") -> dict[str, Any]:
    """The document of `compare --json`: differences are b minus a; `p_holm` is adjusted over the strata.

    `strict` is over what both have tried, the unscored counting 0; the others are over what both have scored.
    """
    nouns = comparison.a.nouns
    lenient, strict = comparison.lenient, comparison.strict

    def of_stratum(differences: "Differences", name: str) -> dict[str, Any]:
        adjusted = zip(("weighted", "pass_rate"), differences.adjusted[name], strict=True)
        return document(differences.rows[name], nouns) | {"p_holm": dict(adjusted)}

    def macro(differences: "Differences") -> dict[str, Any]:
        return {name: item for name, item in document(differences.macro, nouns).items() if name != "passes"}

    def of_measures(pairs: "Sequence[CasePair]", by_stratum: bool = False) -> dict[str, Any]:
        measures = document(comparison.measured(pairs, by_stratum))
        return {"measures": measures} if measures else {}

    strata = {
        name: of_stratum(lenient, name) | {"strict": of_stratum(strict, name)} | of_measures(lenient.by_stratum[name])
        for name in lenient.rows
    }
    controls: dict[str, Any] = {"controls": None, "controls_reason": f"no {nouns.control} was scored in both"}
    if row := comparison.controls:
        sides = {"a": row.a, "b": row.b, "difference": row.weighted}
        controls = {"controls": document(sides, nouns)}
    first = comparison_headline(comparison)
    return {
        "headline": first.text,
        "claim": first.claim,
        "a": _side(comparison.a, comparison) | {"unscored": comparison.unscored[0], "caveats": caveats(comparison.a)},
        "b": _side(comparison.b, comparison) | {"unscored": comparison.unscored[1], "caveats": caveats(comparison.b)},
        "changed": [{"field": field, "a": a, "b": b} for field, a, b in comparison.changed],
        nouns.cases: {
            "shared": comparison.shared,
            "compared": len(comparison.pairs),
            "tried": len(comparison.tried),
            "rephrased": comparison.rephrased,
        },
        nouns.strata: strata,
        "overall": {
            "micro": document(lenient.micro, nouns) | {"strict": document(strict.micro, nouns)},
            "macro": macro(lenient)
            | {"strict": macro(strict)}
            | (of_measures(comparison.pairs, by_stratum=True) if comparison.a.leading_mean == "macro" else {}),
            **of_measures(comparison.pairs),
        },
        **controls,
        "grades": comparison.flips,
        "breakdowns": {
            key: {group: document(row, nouns) for group, row in rows.items()}
            for key, rows in comparison.breakdowns.items()
        },
        f"farthest_{nouns.groups}": [
            {nouns.group: name, "pairs": pairs, "score_sum": total} for name, pairs, total in comparison.farthest
        ],
        "judges": comparison.agreement and document(comparison.agreement, nouns),
        **({} if comparison.agreement else {"judges_reason": "the two did not grade the same responses"}),
    }


def _side(summary: MeasuredRun, comparison: "Comparison") -> dict[str, Any]:
    manifest = summary.manifest
    judges = manifest.identity.judges if manifest else ()
    return {
        **fields_of(summary, "path", "model", "embedded"),
        "judge": summary.judge or None,
        "program": manifest.identity.assistant.program if manifest else None,
        "judge_program": judges[0].program if judges else None,
        "system_prompt": manifest.system_prompt if manifest else None,
        comparison.a.nouns.cases: summary.case_count,
        "left_out": summary.case_count - len(comparison.pairs),
    }


_SEEN = ("80 %", "50 %")
"""How often a true difference of so many points is seen."""
_MOST_LINES = 60
"""Of a system prompt, or of how two differ."""


def print_comparison(comparison: "Comparison", console: Console | None = None, explain: bool = False) -> None:
    """Print headline and differences, lenient and strict; with `explain`, passes, breakdowns, methods and prompts."""
    sides = (("a", comparison.a), ("b", comparison.b))
    names = names_of((comparison.a, comparison.b))
    legend = [f"{of}: {name}{side.graded_by} ({side.path})" for name, (of, side) in zip(names, sides, strict=True)]
    changes = "; ".join(f"{field}: {before} -> {after}" for field, before, after in comparison.changed)
    doubts = caveats_of_runs(dict(sides))
    show(console, *comparison_headline(comparison).lines, *doubts, *legend, f"changed: {changes or 'nothing recorded'}")
    if comparison.a.ordered:
        show(console, _weighted(comparison.lenient, "score"))
    if any(comparison.unscored) and comparison.a.ordered:
        show(console, _weighted(comparison.strict, "strict"))
    if comparison.a.measures:
        show(console, _measures(comparison, explain))
    show(console, *_notes(comparison))
    if not explain:
        return
    if comparison.a.ordered:
        show(console, _passes(comparison))
    for key, rows in comparison.breakdowns.items():
        if len(rows) > 1:
            marked = (
                [f"{name}{'*' if row.pairs < SMALL else ''}", *_means(row), points_of(row.weighted.difference)]
                for name, row in rows.items()
            )
            show(console, table((key.replace("_", " "), "pairs", "a", "b", "b - a, score"), marked))
            show(console, *reason_lines((name, row.weighted.difference.reason) for name, row in rows.items()))
    show(console, *_rests_on(comparison))
    if comparison.a.manifest and comparison.b.manifest:
        show(console, *_prompts(comparison.a.manifest.system_prompt, comparison.b.manifest.system_prompt))


def _prompts(a: str | None, b: str | None) -> Iterator[str]:
    """Two system prompts that differ: both texts, or how they differ by lines where that is shorter."""
    if a == b:
        return
    ours, theirs = (a or "").splitlines(), (b or "").splitlines()
    differing = list(unified_diff(ours, theirs, "system prompt of a", "system prompt of b", n=1, lineterm=""))
    if a and b and len(differing) < len(ours) + len(theirs):
        yield from _cut_off(differing)
        return
    for name, prompt, lines in (("a", a, ours), ("b", b, theirs)):
        yield f"system prompt of {name}:{'' if prompt else ' none'}"
        yield from _cut_off([f"  {line}" for line in lines])


def _cut_off(lines: list[str]) -> Iterator[str]:
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"  ... {counted(len(lines) - _MOST_LINES, 'further line')}; the JSON has all of them"


def _weighted(differences: "Differences", title: str) -> TerminalTable:
    adjusted = {name: weighted for name, (weighted, _) in differences.adjusted.items()}
    rows = differences.ordered.items()
    cells = ([name, *_means(row), *_tested(row.weighted, adjusted.get(name))] for name, row in rows)
    return table((title, "pairs", "a", "b", "b - a", "p", "Holm", *_SEEN), cells)


def _passes(comparison: "Comparison") -> TerminalTable:
    rows = [(name, row) for name, row in comparison.lenient.ordered.items() if name != "macro"]
    adjusted = {name: passes for name, (_, passes) in comparison.lenient.adjusted.items()}
    cells = (
        [name, str(passes.only_a), str(passes.only_b), str(passes.both), *_tested(row.pass_rate, adjusted.get(name))]
        for name, row in rows
        for passes in [row.passes]
    )
    return table(("pass rate", "only a", "only b", "both", "b - a", "p", "Holm", *_SEEN), cells)


def _measures(comparison: "Comparison", explain: bool) -> TerminalTable:
    """A line a measure and stratum, one over all of them, and the mean of the strata where that is published."""
    rows = {**comparison.lenient.by_stratum, "micro": comparison.pairs}
    measures = {name: comparison.measured(pairs) for name, pairs in rows.items()}
    if comparison.a.leading_mean == "macro":
        measures["macro"] = comparison.measured(comparison.pairs, by_stratum=True)
    cells = (
        [f"{measure.title} of {name}", *map(str, (values.a, values.b, values.difference))]
        for name, measured in measures.items()
        for measure in comparison.a.shown_measures(explain)
        for values in [measured[measure.name]]
    )
    return table(("measure", "a", "b", "b - a"), cells)


def _means(row: "Difference") -> list[str]:
    """Pairs, and the mean score of each."""
    return [str(row.pairs), *(share(mean.value) for mean in (row.a, row.b))]


def _tested(paired: Paired, adjusted: float | None) -> list[str]:
    seen = map(str, seen_from(paired) or ("-", "-"))
    return [points_of(paired.difference), probability(paired.p), probability(adjusted), *seen]


def _notes(comparison: "Comparison") -> Iterator[str]:
    nouns = comparison.a.nouns
    scored = len(comparison.pairs)
    yield (
        f"{counted(scored, nouns.case, nouns.cases)} scored in both, of {comparison.shared} shared; "
        f"left out: {comparison.a.case_count - scored} of a, {comparison.b.case_count - scored} of b."
    )
    if controls := comparison.controls:
        rates = [share(rate.value) for rate in (controls.a, controls.b)]
        yield (
            f"{comparison.a.controls.title} at {counted(controls.pairs, nouns.control, nouns.controls)} of "
            f"both: a {rates[0]}, b {rates[1]} %, "
            f"b - a {points_of(controls.weighted.difference)} points, p {probability(controls.weighted.p)}; "
            "not included in the scores."
        )
    if comparison.rephrased:
        yield f"{counted(comparison.rephrased, nouns.case, nouns.cases)} left out: same name, different text."
    if any(comparison.unscored):
        yield "strict: over what both tried; unscored ones count 0."
    tests = explained(nouns, "Holm", "80 %, 50 %")
    if comparison.a.ordered:
        yield f"In points of 100; above 0, b is better. Intervals are not adjusted. {tests}"
    yield from cautions(comparison)
    if comparison.agreement:
        yield from agreement_lines(comparison.agreement)


def cautions(comparison: "Comparison") -> Iterator[str]:
    """Why rows have no test or interval, or a poor one; that of the first row stands in the headline or below it."""
    _, *rows = comparison.lenient.ordered.items()
    reasons = ((name, why) for name, row in rows for why in (row.weighted.reason, row.weighted.difference.reason))
    return reason_lines(reasons)


def _rests_on(comparison: "Comparison") -> Iterator[str]:
    nouns = comparison.a.nouns
    if any(row.pairs < SMALL for rows in comparison.breakdowns.values() for row in rows.values()):
        yield f"* fewer than {SMALL} {nouns.cases}."
    if comparison.farthest:
        moved = ", ".join(f"{name} ({total:+.1f} over {pairs})" for name, pairs, total in comparison.farthest)
        yield f"{nouns.groups} that contribute most to the difference, by sum of scores: {moved}."
    yield from (explained(nouns, term) for term in ("interval", "p", "micro", "macro", "only a, only b"))
    leading = comparison.a.leading_mean
    yield f"{leading}, the mean that ranks, is one test; the other mean is one only if it was chosen in advance."
    few = f"fewer than {ENOUGH_TO_TELL} degrees of freedom, as with few or very unequal {nouns.groups}"
    yield f"Power is that of a test at 5 %; it is not estimated with {few}."
    yield f"Nor is it from a mean of both scores below {share(FROM_AN_END, 0)} or above {share(1 - FROM_AN_END, 0)}."
