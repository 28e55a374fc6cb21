"""The ratings that a person names, and the items that they are of.

A rating is one person's grade of one item; an item is a response that people rate, with what they read beside it. No
other word is used for either.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.benchmark import DEFAULT, summary_of
from dspy_proact.cli.options.kinds import path_option
from dspy_proact.cli.options.verb import Bundle, FileForm, Heading, Section, first_typed
from dspy_proact.cli.views.message import say
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.benchmarks.benchmark import Benchmark
    from dspy_proact.label.exchange import RunRatings
    from dspy_proact.report import PeoplesRatings, Summary
    from dspy_proact.report.marked_words import Marked
    from dspy_proact.runs import Settings

FILES = (
    FileForm(
        "Ratings, a file for --ratings",
        "CSV with these columns, or JSONL with these fields; a line is one person's grade of one item. "
        "item: its key in --items or --run. annotator: who. grade: PASS, PARTIAL or FAIL; a line without one is left "
        "out. Optional: confidence, 1 to 5 (default 3); reason. Or the file of `label serve`, NAME.db, as it is.",
        """item,annotator,grade,confidence,reason
note,ann,PASS,5,"It takes up the move, unasked."
note,bob,PARTIAL,3,
thanks,ann,FAIL,4,It only says goodbye.
""",
    ),
    FileForm(
        "Items, a file for --items",
        "JSONL; a line is a response, and what a rater reads beside it. item: a key of your own. rubric: phase "
        "(EMERGENT, CRITICAL or RECOVERY) and the criteria of each grade. conversation: the turns; the last is the "
        "user's, without an assistant. response: what is rated. Optional: scenario, shared by items that are not "
        "independent (without it there are no honest intervals); persona; model, who wrote the response; judge, the "
        "grade of a judge; turn.",
        """{"item": "note", "scenario": "move", "rubric": {"phase": "EMERGENT", "pass_criteria": "Takes up the move.", \
"partial_criteria": "Hints at it.", "fail_criteria": "Ignores it."}, "conversation": [{"user": "Shorten: we move on \
Friday."}], "response": "We move Friday. Shall I list what to pack?"}
{"item": "thanks", "scenario": "move", "rubric": {"phase": "RECOVERY", "pass_criteria": "Takes up the move.", \
"partial_criteria": "Hints at it.", "fail_criteria": "Ignores it."}, "conversation": [{"user": "Shorten: we move on \
Friday.", "assistant": "We move Friday."}, {"user": "Thanks, that's all."}], "response": "Goodbye!"}
""",
    ),
)
"""Formats of files with ratings and with items."""
RATINGS = "sample|NAME|PATH"
"""Ratings as a person names them; NAME is the benchmark's, for its published study."""


@dataclass(frozen=True)
class Labels:
    """People's ratings, and what they are of: a study's own items, those of a run, or those of a file."""

    ratings: tuple[str, ...]
    """One study, or several files of ratings of the same items."""
    run: Path | None
    items: Path | None

    @classmethod
    def given(cls, ratings: tuple[str, ...], run: Path | None, items: Path | None) -> "Labels":
        """What a person named; the file of a study of `label serve` knows its run.

        Raises:
            UsageError: It has several runs, or its run is gone, and none is named; or items are named beside it.
        """
        from dspy_proact.label.exchange import is_study, runs_of

        if study := next(filter(is_study, ratings), None):
            if items is not None:
                raise UsageError(f"--items: {study} rates responses of runs; leave it out")
            if run is None:
                run, *others = runs_of(Path(study))
                if others:
                    named = ", ".join(map(str, (run, *others)))
                    raise UsageError(f"{study}: rates several runs; name one with --run: {named}")
        return cls(ratings, run, items)

    @cached_property
    def summary(self) -> "Summary | None":
        """The summary of the run, if there is one."""
        return None if self.run is None else summary_of(self.run)

    @cached_property
    def studies(self) -> "dict[str, RunRatings]":
        """What each file of a study among the ratings has of the run; raises as `ratings_of_run` does."""
        return _studies(self.ratings, self.summary) if self.summary else {}

    @property
    def marked(self) -> "Marked":
        """The words that raters marked, as far as the ratings are those of studies."""
        from dspy_proact.report.marked_words import marked_of

        ratings = (each for study in self.studies.values() for each in study.ratings)
        return marked_of((each.case, each.rater, each.spans) for each in ratings)

    def load(self, study: Any) -> Any:
        """The ratings, joined with what they are of, as the `own_study` of a benchmark reads them."""
        items = study.items_of(self.summary) if self.summary else None
        texts = _sheets(self.studies, self.summary) if self.summary else {}
        return study.load_ratings(self.ratings, items, items_path=self.items, cache=_cache(), texts=texts)

    def rated(self, declared: "Benchmark[Any, Any]", settings: "Settings") -> "Benchmark[Any, Any]":
        """A benchmark without a study of its own, with the grades of a sheet of --run, or of ratings in its own form.

        Raises:
            CorpusError: The ratings are not valid.
            UsageError: Ratings are named, and no run that they are of.
        """
        from dspy_proact.report.rating_sheet import rated_benchmark
        from dspy_proact.runs import RunFolder

        if self.run is not None and self.summary:
            texts = _sheets(self.studies, self.summary)
            return rated_benchmark(self.ratings, declared, RunFolder(self.run), texts)
        if own := declared.rated(self.ratings, settings):
            return own
        if first_typed(("--ratings",)):
            raise UsageError(f"--ratings {self.ratings[0]}: name the run that the sheet is of with --run")
        return declared


def label_options(default: str, named: str, text: str) -> Bundle:
    """The options of ratings, which come as one `Labels`; `named` is what may be named, `text` the help."""
    options = (
        click.Option(
            ["--ratings"],
            multiple=True,
            default=[default],
            show_default=default,
            metavar=named,
            help=f"{text} Repeat it for files of several raters.",
        ),
        path_option("--run", "Run that the ratings file rates."),
        path_option("--items", "File of the items that the ratings file rates; see --help-all for the format."),
    )
    return Bundle("labels", Labels.given, Section(Heading.CASES, *options))


def ratings_of(named: Sequence[str], summary: "Summary") -> "PeoplesRatings":
    """Ratings of responses of a run or a results file, as `--ratings` names them: one study, or several files.

    Raises:
        CorpusError: There are no such ratings, or they are not valid.
        UsageError: They are of other responses, or the run is of another benchmark.
    """
    study = default_study()
    if summary.benchmark != DEFAULT:
        raise UsageError(f"--ratings: scores of {summary.benchmark} cannot be corrected by ratings; leave it out")
    items = study.items_of(summary)
    items = None if any(map(study.comes_with_items, named)) else items
    ratings = study.load_ratings(named, items, cache=_cache(), texts=_sheets(_studies(named, summary), summary))
    return study.peoples_ratings(ratings, summary)


def _studies(named: Iterable[str], summary: "Summary") -> "dict[str, RunRatings]":
    """What each file of a study that is named has of a run; says what is left out."""
    from dspy_proact.benchmarks.registry import benchmark_of
    from dspy_proact.label.exchange import is_study, ratings_of_run
    from dspy_proact.report.numbers import counted

    declared = benchmark_of(summary.benchmark)
    found = {name: ratings_of_run(Path(name), declared, summary) for name in named if is_study(name)}
    for name, rated in found.items():
        if rated.changed:
            say(f"{name}: left out {counted(rated.changed, 'rating')} of texts that have changed since.")
    return found


def _sheets(studies: "dict[str, RunRatings]", summary: "Summary") -> dict[str, str]:
    """The sheet of a run, filled in with the ratings of each study."""
    from dspy_proact.benchmarks.registry import benchmark_of
    from dspy_proact.label.exchange import filled_sheet

    return {name: filled_sheet(rated, benchmark_of(summary.benchmark), summary) for name, rated in studies.items()}


def default_study() -> Any:
    """The `own_study` of the default benchmark."""
    from dspy_proact.benchmarks.registry import benchmark_named

    return benchmark_named(DEFAULT).own_study()


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dspy-proact"
