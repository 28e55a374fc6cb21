"""A comparison as a person reads it on a terminal."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff

from rich.console import Console

from dspy_proact.report.agreement import agreement_lines
from dspy_proact.report.comparison import Comparison, Difference
from dspy_proact.report.numbers import STAND_IN, coefficient, counted, points, probability, seen_from, share
from dspy_proact.report.summary import SMALL
from dspy_proact.report.terminal import Table, each_reason, show, table
from dspy_proact.stats import Discordant, Paired

_SIGNIFICANT = 0.05
_MOST_LINES = 60
"""Of a system prompt, or of how two differ."""


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print differences with intervals, tests and the smallest that could have been seen."""
    groups = {key: rows for key in comparison.breakdowns if len(rows := comparison.breakdown(key)) > 1}
    tables = [_weighted(comparison), _passes(comparison), *([_measures(comparison)] if comparison.a.measures else [])]
    show(console, *_heading(comparison), *tables, *_said(comparison))
    show(console, *(_groups(key, rows) for key, rows in groups.items()), *_where(comparison))


def _heading(comparison: Comparison) -> Iterator[str]:
    a, b = comparison.a, comparison.b
    yield f"a: {a.model_name}{a.graded_by} ({a.path})"
    yield f"b: {b.model_name}{b.graded_by} ({b.path})"
    if a.embedded or b.embedded:
        yield STAND_IN
    for name, side in (("a", a), ("b", b)):
        if side.manifest and side.manifest.learned_on:
            rows = counted(side.manifest.learned_on, a.nouns.row, a.nouns.rows)
            yield f"{name}: compiled on {rows} of these: no test of it"
    changes = "; ".join(f"{field}: {before} -> {after}" for field, before, after in comparison.changed)
    yield f"changed: {changes or 'nothing that is recorded'}"
    if comparison.system_prompts:
        yield from _prompts(*comparison.system_prompts)


def _prompts(a: str | None, b: str | None) -> Iterator[str]:
    """Two system prompts: both texts, or how they differ by lines where that is shorter."""
    ours, theirs = (a or "").splitlines(), (b or "").splitlines()
    differing = list(unified_diff(ours, theirs, "system prompt of a", "system prompt of b", n=1, lineterm=""))
    if a and b and len(differing) < len(ours) + len(theirs):
        yield from _cut_off(differing)
        return
    for name, told, lines in (("a", a, ours), ("b", b, theirs)):
        yield f"system prompt of {name}:{'' if told else ' none'}"
        yield from _cut_off([f"  {line}" for line in lines])


def _cut_off(lines: list[str]) -> Iterator[str]:
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"  ... {counted(len(lines) - _MOST_LINES, 'further line')}; --json has all of them"


def _weighted(comparison: Comparison) -> Table:
    rows = {**comparison.rows, "micro": comparison.micro, "macro": comparison.macro}.items()
    adjusted = {name: weighted for name, (weighted, _) in comparison.adjusted.items()}
    told = ([name, *_means(row), *_tested(row.weighted, adjusted.get(name))] for name, row in rows)
    return table(("weighted", "pairs", "a", "b", "b - a", "p", "Holm", "seen from"), told)


def _passes(comparison: Comparison) -> Table:
    rows = {**comparison.rows, "micro": comparison.micro}.items()
    adjusted = {name: passes for name, (_, passes) in comparison.adjusted.items()}
    told = ([name, *_passing(row.discordant), *_tested(row.passes, adjusted.get(name))] for name, row in rows)
    return table(("pass rate", "only a", "only b", "both", "b - a", "p", "Holm", "seen from"), told)


def _groups(key: str, groups: Mapping[str, Difference]) -> Table:
    marked = {f"{group}{'*' if row.pairs < SMALL else ''}": row for group, row in groups.items()}
    told = ([name, *_means(row), points(row.weighted)] for name, row in marked.items())
    return table((key.replace("_", " "), "pairs", "a", "b", "b - a, weighted"), told)


def _measures(comparison: Comparison) -> Table:
    """A line a measure and stratum, and one over all of them."""
    told = (
        [measure.title, name, *map(coefficient, (found.a, found.b, found.difference))]
        for name, pairs in {**comparison.by_stratum, "micro": comparison.pairs}.items()
        for measure, found in zip(comparison.a.measures, comparison.measured(pairs).values(), strict=True)
    )
    return table(("measure", comparison.a.nouns.stratum, "a", "b", "b - a"), told)


def _means(row: Difference) -> list[str]:
    """Pairs, and the mean score of each."""
    return [str(row.pairs), *(share(mean.value) for mean in row.scores)]


def _passing(found: Discordant) -> list[str]:
    return [str(count) for count in (found.only_a, found.only_b, found.both)]


def _tested(paired: Paired, adjusted: float | None) -> list[str]:
    seen = seen_from(paired)
    return [points(paired), probability(paired.p), probability(adjusted), "-" if seen is None else str(seen)]


def _said(comparison: Comparison) -> Iterator[str]:
    nouns = comparison.a.nouns
    unscored = [side.case_count - len(comparison.pairs) for side in (comparison.a, comparison.b)]
    yield (
        f"{counted(len(comparison.pairs), nouns.case, nouns.cases)} scored in both, of {comparison.shared} shared; "
        f"left out: {unscored[0]} of a, {unscored[1]} of b."
    )
    if controls := comparison.controls:
        rates = [share(rate.value) for rate in controls.scores]
        yield (
            f"{comparison.a.particulars.control_rate} at {counted(controls.pairs, nouns.control, nouns.controls)} of "
            f"both: a {rates[0]}, b {rates[1]} %, "
            f"b - a {points(controls.weighted)} points, p {probability(controls.weighted.p)}; in no score above."
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
    rows = {**comparison.rows, "micro": comparison.micro, "macro": comparison.macro}.items()
    yield from each_reason((name, row.weighted.reason or row.weighted.difference.reason) for name, row in rows)


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
