"""A comparison as a person reads it on a terminal."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.table import Table

from dspy_proact.report.agreement_text import agreement_lines
from dspy_proact.report.comparison import Comparison, Difference
from dspy_proact.report.numbers import STAND_IN, cell, coefficient, counted, headed, points, probability, seen_from
from dspy_proact.report.summary import SMALL
from dspy_proact.stats import Paired

_SIGNIFICANT = 0.05


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print differences with intervals, tests and the smallest that could have been seen."""
    for line in _heading(comparison):
        console.print(cell(line))
    console.print(_weighted(comparison))
    console.print(_passes(comparison))
    if comparison.a.measures:
        console.print(_measures(comparison))
    for line in _said(comparison):
        console.print(cell(line))
    for key in comparison.breakdowns:
        if len(groups := comparison.breakdown(key)) > 1:
            console.print(_groups(key, groups))
    for line in _where(comparison):
        console.print(cell(line))


def _heading(comparison: Comparison) -> Iterator[str]:
    a, b = comparison.a, comparison.b
    yield f"a: {a.model}{a.graded_by} ({a.path})"
    yield f"b: {b.model}{b.graded_by} ({b.path})"
    if a.embedded or b.embedded:
        yield STAND_IN
    for name, side in (("a", a), ("b", b)):
        if side.manifest and side.manifest.learned_on:
            rows = counted(side.manifest.learned_on, a.nouns.row, a.nouns.rows)
            yield f"{name}: compiled on {rows} of these: no test of it"
    changes = "; ".join(f"{field}: {before} -> {after}" for field, before, after in comparison.changed)
    yield f"changed: {changes or 'nothing that is recorded'}"


def _weighted(comparison: Comparison) -> Table:
    table = headed("weighted", "pairs", "a", "b", "b - a", "p", "Holm", "seen from")
    for name, row in {**comparison.rows, "micro": comparison.micro, "macro": comparison.macro}.items():
        means = [_share(row.a.value), _share(row.b.value)]
        adjusted = comparison.adjusted.get(name, (None, None))[0]
        table.add_row(*map(cell, [name, str(row.pairs), *means, *_tested(row.weighted, adjusted)]))
    return table


def _passes(comparison: Comparison) -> Table:
    table = headed("pass rate", "only a", "only b", "both", "b - a", "p", "Holm", "seen from")
    for name, row in {**comparison.rows, "micro": comparison.micro}.items():
        found, adjusted = row.discordant, comparison.adjusted.get(name, (None, None))[1]
        counts = [str(count) for count in (found.only_a, found.only_b, found.both)]
        table.add_row(*map(cell, [name, *counts, *_tested(row.passes, adjusted)]))
    return table


def _groups(key: str, groups: Mapping[str, Difference]) -> Table:
    table = headed(key.replace("_", " "), "pairs", "a", "b", "b - a, weighted")
    for group, row in groups.items():
        means = [_share(row.a.value), _share(row.b.value)]
        small = "*" if row.pairs < SMALL else ""
        table.add_row(*map(cell, [f"{group}{small}", str(row.pairs), *means, points(row.weighted)]))
    return table


def _measures(comparison: Comparison) -> Table:
    """A line a measure and stratum, and one over all of them."""
    table = headed("measure", comparison.a.nouns.stratum, "a", "b", "b - a")
    chosen = {name: [pair for pair in comparison.pairs if pair.stratum == name] for name in comparison.strata}
    for name, pairs in {**chosen, "micro": comparison.pairs}.items():
        for measure, found in zip(comparison.a.measures, comparison.measured(pairs).values(), strict=True):
            table.add_row(*map(cell, [measure.title, name, *map(coefficient, (found.a, found.b, found.difference))]))
    return table


def _tested(paired: Paired, adjusted: float | None) -> list[str]:
    seen = seen_from(paired)
    return [points(paired), probability(paired.p), probability(adjusted), "-" if seen is None else str(seen)]


def _said(comparison: Comparison) -> Iterator[str]:
    nouns = comparison.a.nouns
    unscored = [len({o.key for o in side.outcomes}) - len(comparison.pairs) for side in (comparison.a, comparison.b)]
    yield (
        f"{counted(len(comparison.pairs), nouns.case, nouns.cases)} scored in both, of {comparison.shared} shared; "
        f"left out: {unscored[0]} of a, {unscored[1]} of b."
    )
    if controls := comparison.controls:
        rates = [_share(controls.a.value), _share(controls.b.value)]
        yield (
            f"{comparison.a.particulars.control_rate} at {counted(controls.pairs, nouns.control, nouns.controls)} of "
            f"both: a {rates[0]}, b {rates[1]} %, b - a {points(controls.weighted)} points, "
            f"p {probability(controls.weighted.p)}; in no score above."
        )
    if comparison.otherwise:
        otherwise = counted(comparison.otherwise, nouns.case, nouns.cases)
        yield f"{otherwise} of one name are worded otherwise, and left out."
    yield (
        f"In points of 100; above 0, b is better. Intervals are cluster-robust over {nouns.groups} and not adjusted; p "
        f"flips whole {nouns.groups}; Holm adjusts it over the {nouns.strata}. micro and macro are single tests, each "
        "fair only if it was chosen before looking. Who passes where (only a, only b) describes, and tests nothing."
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
    nouns = comparison.a.nouns
    shown = [
        f"{name} {'up' if (row.weighted.difference.value or 0) > 0 else 'down'}"
        for name, row in comparison.rows.items()
        if (p := comparison.adjusted[name][0]) is not None and p <= _SIGNIFICANT and row.weighted.reason is None
    ]
    if shown:
        yield f"Shown at 5 %, adjusted: {', '.join(shown)}."
        return
    yield f"No difference shown in any {nouns.stratum}."
    # The smallest p of G flipped groups is 2 / 2^G, and Holm multiplies the smallest by the number of strata.
    groups = max(row.weighted.groups for row in comparison.rows.values())
    if len(comparison.rows) * 2 / 2**groups > _SIGNIFICANT:
        few = counted(groups, nouns.group, nouns.groups)
        yield f"None could have been: {few} are too few for {len(comparison.rows)} {nouns.strata}."
        return
    seen = [points for row in comparison.rows.values() if (points := seen_from(row.weighted)) is not None]
    if seen:
        yield f"Differences below {min(seen)} points could hardly have been seen in any."


def _where(comparison: Comparison) -> Iterator[str]:
    if any(row.pairs < SMALL for key in comparison.breakdowns for row in comparison.breakdown(key).values()):
        yield f"* fewer than {SMALL} {comparison.a.nouns.cases}."
    if comparison.farthest:
        moved = ", ".join(f"{name} ({total:+.1f} over {pairs})" for name, pairs, total in comparison.farthest)
        yield f"{comparison.a.nouns.groups} that move the difference most, by sum of scores: {moved}."
    if comparison.agreement:
        yield "The responses are the same, so what differs is the judging:"
        yield from agreement_lines(comparison.agreement)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"
