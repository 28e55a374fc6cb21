"""More than two runs: how each scored, the best first, and how each differs from the first that was given."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rich.console import Console

from dspy_proact.report.caveats import caveats_of_runs
from dspy_proact.report.comparison import Comparison, compare
from dspy_proact.report.comparison_text import comparison_document, print_comparison
from dspy_proact.report.glossary import explained
from dspy_proact.report.leaderboard import own_name
from dspy_proact.report.numbers import (
    document,
    fields_of,
    letter,
    listed,
    name_or,
    percent,
    points_of,
    probability,
    share,
)
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import TerminalTable, reason_lines, show, table
from dspy_proact.stand_in import demonstration
from dspy_proact.stats import Headline, Side, holm
from dspy_proact.stats.paired import claimed_side


@dataclass(frozen=True)
class SeveralRuns:
    """Runs or results files of one benchmark, in the order in which they were given."""

    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    """Of each run but the first with the first."""

    def __repr__(self) -> str:
        return f"SeveralRuns({', '.join(summary.model_name for summary in self.summaries)})"

    def few(self, run: int) -> bool:
        """Whether a run has fewer than half as many scored cases as the one with most: its own score is of others."""
        counts = [len({outcome.key for outcome in summary.scored}) for summary in self.summaries]
        return 2 * counts[run] < max(counts)

    @cached_property
    def order(self) -> list[int]:
        """Numbers of the runs, from 0: by the strict mean that ranks, the best first, those of few cases last."""
        scores = [summary.leading.strict_weighted.value or 0.0 for summary in self.summaries]
        return sorted(range(len(scores)), key=lambda run: (self.few(run), -scores[run]))

    @cached_property
    def adjusted(self) -> list[float | None]:
        """Of each comparison: p of the overall difference, Holm-adjusted over the comparisons."""
        known = [comparison.lenient.overall.weighted.p for comparison in self.comparisons]
        # A run that shares no scored case with the first counts as a test too, as it does where unscored ones count 0.
        adjusted = holm([1.0 if p is None else p for p in known])
        return [None if p is None else of_all for p, of_all in zip(known, adjusted, strict=True)]

    @cached_property
    def sides(self) -> list[Side | None]:
        """Where each run lies beside the first, by that test, if leaving out the unscored and counting 0 show it."""
        strict = holm([comparison.strict.overall.weighted.p for comparison in self.comparisons])
        sides: list[Side | None] = []
        for comparison, p, other in zip(self.comparisons, self.adjusted, strict, strict=True):
            side = claimed_side(comparison.lenient.overall.weighted, p)
            sides.append(side if side == claimed_side(comparison.strict.overall.weighted, other) else None)
        return sides


def compare_several(summaries: Sequence[Summary]) -> SeveralRuns:
    """Pair each of several runs with the first by case; raises a `UsageError` as `compare` does."""
    first, *others = summaries
    return SeveralRuns(tuple(summaries), tuple(compare(first, other) for other in others))


def several_headline(several: SeveralRuns) -> Headline:
    """How many runs score higher and lower than the first, by one test each, adjusted over the runs."""
    summaries, nouns = several.summaries, several.summaries[0].nouns
    runs, higher, lower = len(several.sides), several.sides.count("higher"), several.sides.count("lower")
    model = name_or(summaries[0].model_name, "")
    first = f"{letter(0)}, {model}" if model else letter(0)
    if higher or lower:
        counts = [f"{higher} scored higher" if higher else "", f"{lower} {'' if higher else 'scored '}lower"]
        rest = runs - higher - lower
        text = ", ".join(filter(None, counts if lower else counts[:1]))
        text = f"Of {runs} runs beside {first}: {text} (Holm){f'; for {rest} no side can be claimed' if rest else ''}"
    else:
        text = f"No side can be claimed for any of {runs} runs beside {first}"
    others = list(enumerate(several.comparisons, start=1))
    marked = (
        ("Not known to be judged as A was", [letter(run) for run, of in others if not of.judged_alike]),
        (
            f"Fewer than half as many scored {nouns.cases} as another run (*), so last",
            [letter(run) for run in several.order if several.few(run)],
        ),
        (
            "The same responses as A's, word for word",
            [letter(run) for run, of in others if of.pairs and of.repeated == len(of.pairs)],
        ),
        (f"Compiled on some of these {nouns.rows}", [letter(run) for run, of in enumerate(summaries) if _learned(of)]),
    )
    doubts = caveats_of_runs({letter(run): summary for run, summary in enumerate(summaries)})
    return Headline(
        f"{demonstration(role for summary in summaries for role in summary.roles)}{text}.",
        test=f"permutation tests that flip whole {nouns.groups}, Holm over {runs} runs",
        count=runs,
        caveats=(*(f"{what}: {listed(names)}." for what, names in marked if names), *doubts),
    )


def _learned(summary: Summary) -> bool:
    return bool(summary.manifest and summary.manifest.learned_on)


def several_document(several: SeveralRuns) -> dict[str, Any]:
    """The document of `compare --json` of more than two runs: the runs in order, and each comparison as of two.

    In a comparison `p_holm` is of the overall difference, adjusted over the comparisons.
    """
    first, nouns = several_headline(several), several.summaries[0].nouns
    holms = zip(several.comparisons, several.adjusted, several.sides, strict=True)
    return {
        "headline": first.text,
        "claim": first.claim,
        "runs": [
            {"run": letter(run), **fields_of(summary, "path", "model"), "judge": summary.judge or None}
            | {"few": several.few(run), nouns.cases: summary.counts(), "usd": summary.usd}
            | {"weighted": document(summary.leading.weighted), "strict": document(summary.leading.strict_weighted)}
            for run, summary in ((run, several.summaries[run]) for run in several.order)
        ],
        "comparisons": [comparison_document(of) | {"p_holm": p, "side": side} for of, p, side in holms],
    }


def print_several(several: SeveralRuns, console: Console | None = None, explain: bool = False) -> None:
    """Print headline, scores, differences from the first run and what each is; with `explain` all comparisons."""
    first = several_headline(several)
    show(console, *first.lines, _scores(several), _differences(several))
    for run, summary in enumerate(several.summaries):
        show(console, f"{letter(run)}: {summary.model_name}{summary.graded_by} ({summary.path})")
    nouns, leading = several.summaries[0].nouns, several.summaries[0].leading_mean
    show(
        console,
        f"score, strict: {leading}, in %, score with 95 % intervals; {explained(nouns, 'strict')}",
        f"minus A: by the same mean, in points of 100, on the {nouns.cases} that both have scored (pairs); intervals "
        "are not adjusted. Holm: p adjusted over the runs.",
        explained(nouns, "p"),
    )
    differences = enumerate((of.lenient.overall.weighted for of in several.comparisons), start=1)
    show(console, *reason_lines((letter(run), of.reason or of.difference.reason) for run, of in differences))
    for run, comparison in enumerate(several.comparisons if explain else (), start=1):
        show(console, "", f"{letter(run)} (b) and A (a):")
        print_comparison(comparison, console)


def _scores(several: SeveralRuns) -> TerminalTable:
    def row(run: int) -> list[str]:
        summary, scores = several.summaries[run], several.summaries[run].leading
        usd = "-" if summary.usd is None else f"{summary.usd:.4f}"
        cells = [_named(several, run), percent(scores.weighted), share(scores.strict_weighted.value)]
        return [*cells, f"{len(summary.scored):,}/{len(summary.outcomes):,}", usd]

    return table(("run", "score", "strict", "scored", "USD"), map(row, several.order))


def _differences(several: SeveralRuns) -> TerminalTable:
    def row(run: int) -> list[str]:
        difference, p = several.comparisons[run - 1].lenient.overall.weighted, several.adjusted[run - 1]
        tests = [f"{difference.count:,}", probability(difference.p), probability(p)]
        return [_named(several, run), points_of(difference.difference), *tests]

    return table(("run", "minus A", "pairs", "p", "Holm"), map(row, filter(None, several.order)))


def _named(several: SeveralRuns, run: int) -> str:
    return f"{letter(run)}{'*' if several.few(run) else ''} {own_name(several.summaries[run].model_name)}"
