"""One file that shows runs: their scores, and every case to be read.

The data of the cases are put together in `cases`, the numbers here, in `_Page`. What others wrote is never obeyed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dspy_proact.evaluation.measured_run import names_of
from dspy_proact.evaluation.published import published_rows
from dspy_proact.evaluation.registry import find_benchmark
from dspy_proact.plain_text import encodable
from dspy_proact.report.caveats import caveats_of_runs
from dspy_proact.report.comparison import Comparison
from dspy_proact.report.comparison_text import cautions, comparison_document
from dspy_proact.report.headline import comparison_headline, headline
from dspy_proact.report.leaderboard import Leaderboard, leaderboard, own_name
from dspy_proact.report.leaderboard_text import leaderboard_document, legend
from dspy_proact.report.measured import SMALL
from dspy_proact.report.numbers import counted, letter, share
from dspy_proact.report.page.cases import block, longest_text
from dspy_proact.report.page.figures import (
    PAGE,
    Cited,
    Step,
    colour,
    look,
    mark,
    one_file,
    page_text,
    pointer,
    templates,
)
from dspy_proact.report.page.method import method
from dspy_proact.report.page.scatter import ScatterPoint, clipped, scatter_svg
from dspy_proact.report.run_list import ListedRun
from dspy_proact.report.several import SeveralRuns, best_line, compare_several, several_document, several_headline
from dspy_proact.report.summary import Summary
from dspy_proact.report.summary_text import summary_document, warnings
from dspy_proact.report.terminal import reason_lines
from dspy_proact.runs import Measure
from dspy_proact.stand_in import stand_in_note
from dspy_proact.stats import Headline


def page(summaries: Sequence[Summary], by: Sequence[str] = ()) -> str:
    """The page of one or several runs, as HTML that needs no other file.

    Of several runs, each is compared with the first. `by` are keys of the cases to break down by, beside the
    benchmark's. Raises a `UsageError` where two runs cannot be compared or no case has such a key, and a `RunError`
    where a case cannot be read.
    """
    shown = _Page(tuple(summaries), tuple(by))
    data = Markup("\n".join(block(shown.summaries, shown.longest)))
    functions = (
        best_line,
        cautions,
        colour,
        legend,
        letter,
        look,
        mark,
        method,
        own_name,
        pointer,
        share,
        short,
        warnings,
    )
    own = {function.__name__: function for function in functions}
    style, script = page_text(PAGE, "page.css"), page_text(PAGE, "page.js")
    template = templates().get_template("page.html")
    return encodable(one_file(template, style, script, "data:", page=shown, cited=shown.cited, data=data, **own))


@dataclass(frozen=True)
class _TableRow:
    """A row of a table: its name, and where its numbers stand."""

    name: str
    path: tuple[Step, ...]
    marked: bool = False
    """Whether there are too few cases to make much of it."""


@dataclass(frozen=True)
class _Page:
    summaries: tuple[Summary, ...]
    by: tuple[str, ...]

    @cached_property
    def cited(self) -> Cited:
        """What numbers are from: documents of `report --json`, `compare --json` and `leaderboard --json`."""

        def breakdowns(summary: Summary) -> list[str]:
            known = {name for outcome in summary.outcomes for name in outcome.meta}
            return list(dict.fromkeys([*(key for key in summary.reporting.breakdowns if key in known), *self.by]))

        return Cited(
            {
                "runs": [summary_document(summary, breakdowns(summary)) for summary in self.summaries],
                "comparisons": (
                    several_document(self.together)["comparisons"]
                    if self.many
                    else [comparison_document(comparison) for comparison in self.comparisons]
                ),
                "ranking": self.board and leaderboard_document(self.board),
            }
        )

    @property
    def first(self) -> Summary:
        return self.summaries[0]

    @property
    def nouns(self) -> Any:
        return self.first.nouns

    @property
    def several(self) -> bool:
        return len(self.summaries) > 1

    @property
    def title(self) -> str:
        runs = f"{len(self.names)} runs" if self.many else " and ".join(map(short, self.names))
        return f"{self.first.benchmark}: {runs}"

    @cached_property
    def names(self) -> list[str]:
        """The model of each run with its program."""
        return names_of(self.summaries)

    @property
    def stand_in(self) -> str:
        return stand_in_note(role for summary in self.summaries for role in summary.roles)

    @cached_property
    def longest(self) -> int | None:
        """Characters of a text of what was asked that it holds; None where it holds every text whole."""
        return longest_text(self.summaries)

    @property
    def many(self) -> bool:
        """Whether there are more than two runs, which stand in order."""
        return len(self.summaries) > 2

    @cached_property
    def together(self) -> SeveralRuns:
        return compare_several(self.summaries)

    @property
    def marked(self) -> bool:
        """Whether a run has too few cases to stand beside the others."""
        return self.several and any(map(self.together.few, self.together.order))

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return self.together.comparisons

    @property
    def about(self) -> str:
        """What the benchmark measures, which a run records, and what a case of it is."""
        declared, manifest = find_benchmark(self.first.benchmark), self.first.manifest
        about = declared.about if declared else manifest.about if manifest else ""
        return " ".join(filter(None, [about, self.first.reporting.about_case]))

    @property
    def answer(self) -> Headline:
        """What comes first: the headline of the run, of the comparison by the letters of both, or of several runs."""
        if self.many:
            return several_headline(self.together)
        return self.compared_in_words(0) if self.several else headline(self.first)

    def compared_in_words(self, number: int) -> Headline:
        """The headline of a comparison, by the letters of its runs."""
        return comparison_headline(self.comparisons[number], letter(0), letter(number + 1))

    @property
    def caveats(self) -> list[str]:
        """What makes the numbers of each of two runs doubtful, after its letter; one and several say it themselves."""
        return caveats_of_runs(dict(zip("AB", self.summaries, strict=True))) if len(self.summaries) == 2 else []

    def rows(self, run: int, mean: str = "") -> list[_TableRow]:
        """Of a run: all together, by the mean that comes first or another one, and its strata."""
        mean = mean or self.first.leading_mean
        strata = [_TableRow(name, ("runs", run, self.nouns.strata, name)) for name in self.first.strata]
        return [_TableRow(mean, ("runs", run, "overall", mean)), *strata]

    @property
    def unscored(self) -> bool:
        """Whether something was tried and is unscored."""
        return any(summary.count("unscored") for summary in self.summaries)

    @property
    def controlled(self) -> bool:
        """Whether a run has control cases."""
        return any(not summary.controls.reason for summary in self.summaries)

    def missing(self, run: int) -> list[str]:
        """States of cases that have no grade, as far as there are such cases."""
        return [state for state in ("unscored", "pending") if self.summaries[run].count(state)]

    @cached_property
    def scatter(self) -> Markup | None:
        """The score of one stratum against the rate at control cases; None of one run, or where no run has both."""
        gain, rate = self.first.controls.declared.gain, self.first.controls.title
        if not (gain and self.several and self.controlled):
            return None
        points = [
            ScatterPoint(
                self.names[run],
                summary.controls.rate,
                summary.scores(gain).weighted,
                colour=f"var(--run-{colour(run)})",
                letter=letter(run),
                mark=mark(run),
            )
            for run, summary in enumerate(self.summaries)
        ]
        if not any(point.placed for point in points):
            return None
        axes = {"x": f"{self.nouns.controls} with {rate}", "y": f"{gain}, mean score"}
        title = f"{gain} against {rate}"
        return Markup(scatter_svg(points, title=title, note=self.stand_in, in_page=True, **axes))

    def breakdowns(self, *path: Step) -> dict[str, list[_TableRow]]:
        """The rows of each breakdown of a run or a comparison that has more than one group."""
        breakdowns: dict[str, dict[str, Any]] = self.cited.at(*path).get("breakdowns", {})
        return {
            key: [
                _TableRow(name, (*path, "breakdowns", key, name), row.get("small") or row.get("pairs", SMALL) < SMALL)
                for name, row in groups.items()
            ]
            for key, groups in breakdowns.items()
            if len(groups) > 1
        }

    def compared(self, number: int, *inner: str) -> list[_TableRow]:
        """The rows of a comparison, or what stands in each under further keys."""
        overall = {name: ("overall", name) for name in ("micro", "macro")}
        paths = {
            name: overall.get(name, (self.nouns.strata, name)) for name in self.comparisons[number].lenient.ordered
        }
        return [_TableRow(name, ("comparisons", number, *path, *inner)) for name, path in paths.items()]

    def tables(self, comparison: Comparison) -> list[tuple[str, tuple[str, ...], str]]:
        """Score, further keys and title of each table of a comparison; strict ones where something is unscored."""
        scores = (("weighted", "Score"), ("pass_rate", "Pass rate"))
        kinds = [((), ""), *([(("strict",), ", strict")] if any(comparison.unscored) else [])]
        return [(score, inner, f"{title}{strict}") for score, title in scores for inner, strict in kinds]

    def reasons(self, rows: Sequence[_TableRow], *inner: str) -> list[str]:
        """Why rows have no interval or a poor one; further keys lead to the estimate."""
        return list(reason_lines((row.name, self.cited.at(*row.path, *inner).get("reason")) for row in rows))

    @cached_property
    def board(self) -> Leaderboard | None:
        """The leaderboard with these runs, if anything was published; with one run only if it stands in it."""
        declared = find_benchmark(self.first.benchmark)
        if not declared or not published_rows(declared):
            return None
        board = leaderboard(self.summaries, declared)
        return board if self.several or board.stands else None

    @property
    def runs(self) -> dict[str | None, int]:
        """The number of each run, by its path; published rows of the leaderboard have none."""
        return {summary.path: number for number, summary in enumerate(self.summaries)}

    def measures(self, row: _TableRow, comparison: int | None = None) -> tuple[Step, ...]:
        """Where the measures of a run's row stand, or those of the same row of a comparison."""
        of, number, *within = row.path[:-1] if row.path[-1] == "micro" else row.path
        return (*((of, number) if comparison is None else ("comparisons", comparison)), *within, "measures")

    @property
    def further_measures(self) -> list[Measure]:
        """Those that not every report shows."""
        return [
            measure for measure in self.first.shown_measures(every=True) if measure not in self.first.shown_measures()
        ]

    @property
    def small(self) -> str:
        return f"fewer than {SMALL} {self.nouns.cases}"


def short(text: str) -> str:
    """A name on one line, its middle left out where it is long."""
    return clipped(encodable(text), 120)


def runs_page(runs: Sequence[ListedRun], pages: Mapping[Path, str]) -> str:
    """The page of a list of runs, as HTML that needs no other file; `pages` are addresses by the paths of runs."""
    only_stand_in = {run.embedded for run in runs if run.reason is None} == {True}
    template = templates().get_template("runs.html")
    title = counted(len(runs), "run")
    shown = {"runs": runs, "pages": pages, "title": title, "stand_in": only_stand_in, "share": share}
    return encodable(one_file(template, page_text(PAGE, "page.css"), "", "", **shown))
