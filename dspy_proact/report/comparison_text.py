"""A comparison, as JSON and on a terminal."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from dspy_proact.report.comparison import BREAKDOWNS, Comparison, Row
from dspy_proact.report.document import agreement_document, paired_document
from dspy_proact.report.numbers import STAND_IN, cell, counted, points, probability, seen_from
from dspy_proact.report.summary import SMALL, Summary
from dspy_proact.report.terminal import agreement_lines
from dspy_proact.stats import Paired

_SIGNIFICANT = 0.05


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The document of `compare --json`: differences are b minus a; `p_holm` is adjusted over the phases."""
    phases = {name: _row(row) | _adjusted(*comparison.adjusted[name]) for name, row in comparison.rows.items()}
    return {
        "a": _side(comparison.a, comparison),
        "b": _side(comparison.b, comparison),
        "changed": [{"field": field, "a": a, "b": b} for field, a, b in comparison.changed],
        "triggers": {
            "shared": comparison.shared,
            "compared": len(comparison.pairs),
            "worded_otherwise": comparison.otherwise,
        },
        "phases": phases,
        "overall": {"micro": _row(comparison.micro), "macro": _row(comparison.macro, describe=False)},
        "controls": _offers(comparison.offers) if comparison.offers else None,
        **({} if comparison.offers else {"controls_reason": "no control turn was scored in both"}),
        "grades": comparison.flips,
        "breakdowns": {
            key: {group: _row(row) for group, row in comparison.breakdown(key).items()} for key in BREAKDOWNS
        },
        "farthest_scenarios": [
            {"scenario": name, "pairs": pairs, "score_sum": total} for name, pairs, total in comparison.farthest
        ],
        "judges": agreement_document(comparison.agreement) if comparison.agreement else None,
        **({} if comparison.agreement else {"judges_reason": "the two did not grade the same responses"}),
    }


def _offers(row: Row) -> dict[str, Any]:
    """Rates of unwanted offers at the control turns of both."""
    a, b = (rate.for_json() for rate in row.scores)
    return {"a": a, "b": b, "difference": paired_document(row.weighted)}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print differences with intervals, tests and the smallest that could have been seen."""
    for line in _heading(comparison):
        console.print(cell(line))
    console.print(_weighted(comparison))
    console.print(_passes(comparison))
    for line in _said(comparison):
        console.print(cell(line))
    for key in BREAKDOWNS:
        if len(groups := comparison.breakdown(key)) > 1:
            console.print(_groups(key, groups))
    for line in _where(comparison):
        console.print(cell(line))


def _heading(comparison: Comparison) -> Iterator[str]:
    a, b = comparison.a, comparison.b
    yield f"a: {a.model} judged by {a.judge} ({a.path})"
    yield f"b: {b.model} judged by {b.judge} ({b.path})"
    if a.embedded or b.embedded:
        yield STAND_IN
    for name, side in (("a", a), ("b", b)):
        if side.manifest and side.manifest.learned_on:
            yield f"{name}: compiled on {counted(side.manifest.learned_on, 'dialogue')} of these: no test of it"
    changes = "; ".join(f"{field}: {before} -> {after}" for field, before, after in comparison.changed)
    yield f"changed: {changes or 'nothing that is recorded'}"


def _weighted(comparison: Comparison) -> Table:
    table = _table("weighted", "pairs", "a", "b", "b - a", "p", "Holm", "seen from")
    for name, row in {**comparison.rows, "micro": comparison.micro, "macro": comparison.macro}.items():
        means = [_share(row.scores[side].value) for side in (0, 1)]
        adjusted = comparison.adjusted.get(name, (None, None))[0]
        table.add_row(*map(cell, [name, str(row.pairs), *means, *_tested(row.weighted, adjusted)]))
    return table


def _passes(comparison: Comparison) -> Table:
    table = _table("pass rate", "only a", "only b", "both", "b - a", "p", "Holm", "seen from")
    for name, row in {**comparison.rows, "micro": comparison.micro}.items():
        found, adjusted = row.discordant, comparison.adjusted.get(name, (None, None))[1]
        counts = [str(count) for count in (found.only_a, found.only_b, found.both)]
        table.add_row(*map(cell, [name, *counts, *_tested(row.passes, adjusted)]))
    return table


def _groups(key: str, groups: Mapping[str, Row]) -> Table:
    table = _table(key.replace("_", " "), "pairs", "a", "b", "b - a, weighted")
    for group, row in groups.items():
        means = [_share(row.scores[side].value) for side in (0, 1)]
        small = "*" if row.pairs < SMALL else ""
        table.add_row(*map(cell, [f"{group}{small}", str(row.pairs), *means, points(row.weighted)]))
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column(cell(first), overflow="fold")
    for heading in others:
        table.add_column(cell(heading), justify="right", no_wrap=True)
    return table


def _tested(paired: Paired, adjusted: float | None) -> list[str]:
    seen = seen_from(paired)
    return [points(paired), probability(paired.p), probability(adjusted), "-" if seen is None else str(seen)]


def _said(comparison: Comparison) -> Iterator[str]:
    unscored = [len({o.key for o in side.outcomes}) - len(comparison.pairs) for side in (comparison.a, comparison.b)]
    yield (
        f"{counted(len(comparison.pairs), 'trigger')} scored in both, of {comparison.shared} shared; "
        f"left out: {unscored[0]} of a, {unscored[1]} of b."
    )
    if offers := comparison.offers:
        rates = [_share(rate.value) for rate in offers.scores]
        yield (
            f"unwanted offers at {counted(offers.pairs, 'control turn')} of both: a {rates[0]}, b {rates[1]} %, b - a "
            f"{points(offers.weighted)} points, p {probability(offers.weighted.p)}; in no score above."
        )
    if comparison.otherwise:
        yield f"{counted(comparison.otherwise, 'trigger')} of one name are worded otherwise, and left out."
    yield (
        "In points of 100; above 0, b is better. Intervals are cluster-robust over scenarios and not adjusted; p flips "
        "whole scenarios; Holm adjusts it over the phases. micro and macro are single tests, each fair only if it was "
        "chosen before looking. Who passes where (only a, only b) describes, and tests nothing."
    )
    yield "seen from: the smallest true difference, in points, that such runs show in four cases of five."
    yield from _verdict(comparison)
    concerned: defaultdict[str, list[str]] = defaultdict(list)
    for name, row in {**comparison.rows, "micro": comparison.micro, "macro": comparison.macro}.items():
        if reason := row.weighted.reason or row.weighted.difference.reason:
            concerned[reason].append(name)
    yield from (f"{', '.join(names)}: {reason}." for reason, names in concerned.items())


def _verdict(comparison: Comparison) -> Iterator[str]:
    """Whether anything was shown, and whether it could have been."""
    shown = [
        f"{name} {'up' if (row.weighted.difference.value or 0) > 0 else 'down'}"
        for name, row in comparison.rows.items()
        if (p := comparison.adjusted[name][0]) is not None and p <= _SIGNIFICANT and row.weighted.reason is None
    ]
    if shown:
        yield f"Shown at 5 %, adjusted: {', '.join(shown)}."
        return
    yield "No difference shown in any phase."
    # The smallest p of G flipped scenarios is 2 / 2^G, and Holm multiplies the smallest by the number of phases.
    scenarios = max(row.weighted.clusters for row in comparison.rows.values())
    if len(comparison.rows) * 2 / 2**scenarios > _SIGNIFICANT:
        yield f"None could have been: {counted(scenarios, 'scenario')} are too few for {len(comparison.rows)} phases."
        return
    seen = [points for row in comparison.rows.values() if (points := seen_from(row.weighted)) is not None]
    if seen:
        yield f"Differences below {min(seen)} points could hardly have been seen in any."


def _where(comparison: Comparison) -> Iterator[str]:
    if any(row.pairs < SMALL for key in BREAKDOWNS for row in comparison.breakdown(key).values()):
        yield f"* fewer than {SMALL} triggers."
    if comparison.farthest:
        moved = ", ".join(f"{name} ({total:+.1f} over {pairs})" for name, pairs, total in comparison.farthest)
        yield f"scenarios that move the difference most, by sum of scores: {moved}."
    if comparison.agreement:
        yield "The responses are the same, so what differs is the judging:"
        yield from agreement_lines(comparison.agreement)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _row(row: Row, describe: bool = True) -> dict[str, Any]:
    found = row.discordant
    discordant = {"both": found.both, "only_a": found.only_a, "only_b": found.only_b, "neither": found.neither}
    return {
        "pairs": row.pairs,
        "a": row.scores[0].for_json(),
        "b": row.scores[1].for_json(),
        "weighted": paired_document(row.weighted),
        "pass_rate": paired_document(row.passes),
        **({"passes": discordant} if describe else {}),
    }


def _adjusted(weighted: float | None, passes: float | None) -> dict[str, Any]:
    return {"p_holm": {"weighted": weighted, "pass_rate": passes}}


def _side(summary: Summary, comparison: Comparison) -> dict[str, Any]:
    asked = len({outcome.key for outcome in summary.outcomes})
    named = {"path": summary.path, "model": summary.model, "judge": summary.judge, "embedded": summary.embedded}
    return named | {"triggers": asked, "left_out": asked - len(comparison.pairs)}
