"""Several runs: how each scored, the best first, how each differs from the first that was given, and which is best."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, isclose
from typing import Any

from rich.console import Console

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.measured_run import names_of
from dspy_proact.report.caveats import caveats_of_runs
from dspy_proact.report.comparison import Comparison, compare
from dspy_proact.report.comparison_text import comparison_document, print_comparison
from dspy_proact.report.glossary import explained
from dspy_proact.report.headline import comparison_headline
from dspy_proact.report.leaderboard import own_name
from dspy_proact.report.measured import ControlCases
from dspy_proact.report.numbers import (
    counted,
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

_MOST_NAMED = 3
"""Runs that a sentence names."""
BARE = "bare"
"""Heading of the models that are asked without a prompt or a program of a person's."""


@dataclass(frozen=True)
class Best:
    """The run with the highest strict mean, and what is shown of the others beside it."""

    run: int
    equals: tuple[int, ...]
    """The others with the same mean."""
    below: tuple[int, ...]
    """Those that are shown to score lower, by tests that are adjusted over the pairs of all runs."""
    open: tuple[int, ...]
    """The others, any of which may be better or as good."""
    pairs: int
    """Of all runs: which run is highest is seen in the data, so that every pair might have been tested."""


@dataclass(frozen=True)
class Matrix:
    """Runs that are every model with every prompt or program, each once."""

    models: tuple[str, ...]
    variants: tuple[str, ...]
    """Prompts and programs as a person calls them, in order, after `bare` for the models without one."""
    runs: tuple[tuple[int, ...], ...]
    """Numbers of the runs: one row a model, in the order of the variants."""


@dataclass(frozen=True)
class SeveralRuns:
    """Runs or results files of one benchmark, in the order in which they were given."""

    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    """Of each run but the first with the first."""

    def __repr__(self) -> str:
        return f"SeveralRuns({', '.join(self.names)})"

    @cached_property
    def names(self) -> list[str]:
        """The model of each run with its program, for people."""
        return names_of(self.summaries)

    def few(self, run: int) -> bool:
        """Whether a run has fewer than half as many scored cases as the one with most: its own score is of others."""
        counts = [len({outcome.key for outcome in summary.scored}) for summary in self.summaries]
        return 2 * counts[run] < max(counts)

    @cached_property
    def strict(self) -> list[float]:
        """Of each run the mean that ranks, in [0, 1], what is unscored counting 0; 0 where nothing was tried."""
        return [summary.leading.strict_weighted.value or 0.0 for summary in self.summaries]

    @cached_property
    def order(self) -> list[int]:
        """Numbers of the runs, from 0: by the strict mean that ranks, the best first, those of few cases last."""
        return sorted(range(len(self.strict)), key=lambda run: (self.few(run), -self.strict[run]))

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

    @cached_property
    def best(self) -> Best:
        """The highest run, with p of each difference from it multiplied by the number of pairs of all runs.

        So the chance that any run is falsely said to score lower is at most 5 %, however many runs there are, and
        though the highest is known only from the data.
        """
        highest, *others = self.order
        pairs = comb(len(self.summaries), 2)

        def is_below(run: int) -> bool:
            first, second = sorted((run, highest))
            try:
                of = (
                    self.comparisons[second - 1]
                    if first == 0
                    else compare(*(self.summaries[i] for i in (first, second)))
                )
            except UsageError:  # no case in common
                return False
            tests = [differences.overall.weighted for differences in (of.lenient, of.strict)]
            sides = {claimed_side(test, None if test.p is None else min(1.0, test.p * pairs)) for test in tests}
            return sides == {"lower" if first == highest else "higher"}

        below = [run for run in others if is_below(run)]
        equals = (run for run in others if isclose(self.strict[run], self.strict[highest]) and not self.few(run))
        return Best(highest, tuple(equals), tuple(below), tuple(run for run in others if run not in below), pairs)

    @cached_property
    def matrix(self) -> Matrix | None:
        """Models by prompts and programs, where there are two or more of both and each combination is one run."""
        titles, cells = dict[tuple[str, str | None], str](), dict[tuple[str, tuple[str, str | None]], int]()
        for run, summary in enumerate(self.summaries):
            if summary.manifest is None:
                return None
            speaking = summary.manifest.identity.assistant
            wording = (speaking.program, speaking.prompt)
            titles.setdefault(wording, self.names[run][len(summary.model) + 2 : -1] or BARE)
            cells[summary.model, wording] = run
        models = list(dict.fromkeys(model for model, _ in cells))
        titles = dict(sorted(titles.items(), key=lambda item: item[1] != BARE))
        if not len(cells) == len(self.summaries) == len(models) * len(titles) or min(len(models), len(titles)) < 2:
            return None
        rows = tuple(tuple(cells[model, wording] for wording in titles) for model in models)
        return Matrix(tuple(models), tuple(titles.values()), rows)


def compare_several(summaries: Sequence[Summary]) -> SeveralRuns:
    """Pair each of several runs with the first by case; raises a `UsageError` as `compare` does, and without scores."""
    first, *others = summaries
    if others and not all(summary.ordered for summary in summaries):
        raise UsageError(
            "labels without an order have no score by which several runs are ranked; compare two at a time"
        )
    return SeveralRuns(tuple(summaries), tuple(compare(first, other) for other in others))


def several_headline(several: SeveralRuns) -> Headline:
    """How many runs score higher and lower than the first, one test each, adjusted over them; of two, by how much."""
    summaries, nouns = several.summaries, several.summaries[0].nouns
    doubts = caveats_of_runs({letter(run): summary for run, summary in enumerate(summaries)})
    if len(several.comparisons) == 1:
        of_two = comparison_headline(several.comparisons[0], letter(0), letter(1))
        return replace(of_two, caveats=(*of_two.caveats, *doubts))
    runs, higher, lower = len(several.sides), several.sides.count("higher"), several.sides.count("lower")
    counts = ((higher, "scores", "score", " higher"), (lower, "scores", "score", " lower"))
    counts = (*counts, (runs - higher - lower, "is", "are", " not shown to differ"))
    shown = [f"{count} {one if count == 1 else more}{how}" for count, one, more, how in counts if count]
    result = listed(shown) if higher or lower else "none is shown to score higher or lower"
    text = f"Of {counted(runs, 'run')} compared with {_called(several, 0)}: {result} (Holm)"
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
        ("Not complete, so that numbers will change", [letter(n) for n, of in enumerate(summaries) if not of.complete]),
    )
    return Headline(
        f"{demonstration(role for summary in summaries for role in summary.roles)}{text}.",
        test=f"permutation tests that flip whole {nouns.groups}, Holm over {counted(runs, 'run')}",
        count=runs,
        caveats=(*(f"{what}: {listed(names)}." for what, names in marked if names), *doubts),
    )


def best_line(several: SeveralRuns) -> str:
    """Which run has the highest score, and beside which others that is shown.

    Beside the first run alone there are fewer tests. Where one of them shows what is open here, it is said why.
    """
    best, highest = several.best, letter(several.best.run)
    equals = [letter(run) for run in sorted(best.equals)]
    equals = equals if len(equals) <= _MOST_NAMED else [f"{len(equals)} other runs"]
    enough = "Of runs with enough scored cases " if any(map(several.few, several.order)) else ""
    has, beside = ("shares", f", with {listed(equals)}") if equals else ("has", "")
    score = share(several.strict[best.run])
    first = f"{enough}{_called(several, best.run)}, {has} the highest strict score, {score}{beside}."
    open_runs = [letter(run) for run in sorted(best.open)]
    named = listed(open_runs) if len(open_runs) <= _MOST_NAMED else f"{len(open_runs)} other runs"
    shown = f"Whether {highest} is better than {named} is open"
    if not best.open:
        shown = f"{highest} scores higher than each other run"
    elif not best.below:
        shown = f"No other run is shown to score lower than {highest}"
    lower = {0 if side == "higher" else run for run, side in enumerate(several.sides, start=1) if side}
    less = "; with so many pairs it takes a larger difference than beside A alone" if lower & {*best.open} else ""
    return f"{first} {shown} (p adjusted over all {counted(best.pairs, 'pair')}{less})."


def _called(several: SeveralRuns, run: int) -> str:
    """The letter of a run, and its name where that is short."""
    name = name_or(several.names[run], "")
    return f"{letter(run)}, {name}" if name else letter(run)


def _learned(summary: Summary) -> bool:
    return bool(summary.manifest and summary.manifest.learned_on)


def several_document(several: SeveralRuns) -> dict[str, Any]:
    """The document of `compare --json` of more than two runs: the runs in order, and each comparison as of two.

    In a comparison `p_holm` is of the overall difference, adjusted over the comparisons. `best` has the letter of the
    highest run, of those with the same score, and of those that are shown to score lower, or not. `matrix` has letters
    by model and variant, or null.
    """
    first, nouns, best, matrix = several_headline(several), several.summaries[0].nouns, several.best, several.matrix
    holms = zip(several.comparisons, several.adjusted, several.sides, strict=True)
    return {
        "headline": first.text,
        "claim": first.claim,
        "runs": [
            {"run": letter(run), "name": several.names[run], **fields_of(summary, "path", "model")}
            | {"variant": summary.variant, "judge": summary.judge or None}
            | {"few": several.few(run), nouns.cases: summary.counts(), "usd": summary.usd}
            | {"weighted": document(summary.leading.weighted), "strict": document(summary.leading.strict_weighted)}
            | {nouns.strata: {name: document(summary.scores(name).weighted) for name in summary.strata}}
            | ({} if summary.controls.reason else {summary.controls.key: document(summary.controls.rate)})
            for run, summary in ((run, several.summaries[run]) for run in several.order)
        ],
        "best": {
            "headline": best_line(several),
            "run": letter(best.run),
            **{name: [letter(run) for run in getattr(best, name)] for name in ("equals", "below", "open")},
            "pairs": best.pairs,
        },
        "matrix": matrix
        and {
            "variants": list(matrix.variants),
            "models": {
                model: [letter(run) for run in runs] for model, runs in zip(matrix.models, matrix.runs, strict=True)
            },
        },
        "comparisons": [comparison_document(of) | {"p_holm": p, "side": side} for of, p, side in holms],
    }


def print_several(several: SeveralRuns, console: Console | None = None, explain: bool = False) -> None:
    """Print headline, scores, differences from the first run and what each is; with `explain` all comparisons.

    Where the runs are every model with every prompt, a table of these comes first.
    """
    first = several_headline(several)
    show(console, first.text, *([best_line(several)] if len(several.comparisons) > 1 else []), *first.caveats)
    if several.matrix:
        show(console, _by_model(several, several.matrix))
    show(console, _scores(several), _differences(several))
    for run, summary in enumerate(several.summaries):
        show(console, f"{letter(run)}: {several.names[run]}{summary.graded_by} ({summary.path})")
    nouns, leading = several.summaries[0].nouns, several.summaries[0].leading_mean
    show(
        console,
        f"score, strict: {leading}, in %, score with 95 % intervals; {explained(nouns, 'strict')}",
        f"minus A: by the same mean, in points of 100, on the {nouns.cases} that both have scored (pairs); intervals "
        "are not adjusted. Holm: p adjusted over the runs.",
        explained(nouns, "p"),
        *(f"{of.title}: in % of {of.nouns.controls}; lower is better." for of in _controls(several)[:1]),
    )
    differences = enumerate((of.lenient.overall.weighted for of in several.comparisons), start=1)
    show(console, *reason_lines((letter(run), of.reason or of.difference.reason) for run, of in differences))
    for run, comparison in enumerate(several.comparisons if explain else (), start=1):
        show(console, "", f"{letter(run)} (b) and A (a):")
        print_comparison(comparison, console)


def _controls(several: SeveralRuns) -> list[ControlCases]:
    """Those of the runs that have some."""
    return [of.controls for of in several.summaries if not of.controls.reason]


def _by_model(several: SeveralRuns, matrix: Matrix) -> TerminalTable:
    """The score of every model with every variant, with the letter of its run."""

    def row(model: str, runs: Sequence[int]) -> list[str]:
        scores = (several.summaries[run].leading.weighted.value for run in runs)
        return [own_name(model), *(f"{letter(run)} {share(score)}" for run, score in zip(runs, scores, strict=True))]

    rows = (row(model, runs) for model, runs in zip(matrix.models, matrix.runs, strict=True))
    return table(("score", *matrix.variants), rows)


def _scores(several: SeveralRuns) -> TerminalTable:
    strata, with_controls = several.summaries[0].strata, _controls(several)

    def row(run: int) -> list[str]:
        summary, scores = several.summaries[run], several.summaries[run].leading
        usd = "-" if summary.usd is None else f"{summary.usd:.4f}"
        cells = [_named(several, run), percent(scores.weighted), share(scores.strict_weighted.value)]
        counts = [f"{len(summary.scored):,}/{len(summary.outcomes):,}", usd]
        rate = [share(summary.controls.rate.value)] if with_controls else []
        return [*cells, *counts, *(share(summary.scores(name).weighted.value) for name in strata), *rate]

    headings = ("run", "score", "strict", "scored", "USD", *strata, *(of.title for of in with_controls[:1]))
    return table(headings, map(row, several.order))


def _differences(several: SeveralRuns) -> TerminalTable:
    def row(run: int) -> list[str]:
        difference, p = several.comparisons[run - 1].lenient.overall.weighted, several.adjusted[run - 1]
        tests = [f"{difference.count:,}", probability(difference.p), probability(p)]
        return [_named(several, run), points_of(difference.difference), *tests]

    return table(("run", "minus A", "pairs", "p", "Holm"), map(row, filter(None, several.order)))


def _named(several: SeveralRuns, run: int) -> str:
    """A run in a table: by its model, or by its prompt alone where all have one model."""
    name, summary = own_name(several.names[run]), several.summaries[run]
    if len({of.model for of in several.summaries}) == 1 and len(set(several.names)) > 1:
        name = several.names[run][len(summary.model) + 2 : -1] or BARE
    return f"{letter(run)}{'*' if several.few(run) else ''} {name}"
