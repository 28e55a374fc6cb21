"""The ratings that a person names, and the items that they are of.

A rating is one person's grade of one item; an item is a response that people rate, with what they read beside it. No
other word is used for either.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import BenchmarkChoice
from dspy_proact.cli.options.verb import Bundle, FileForm, Heading, Section
from dspy_proact.cli.views.message import say
from dspy_proact.errors import UsageError
from dspy_proact.evaluation import OWN_ROWS

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.evaluation.ratings import Ratings
    from dspy_proact.label.exchange import RunRatings
    from dspy_proact.report import PeoplesRatings, Summary
    from dspy_proact.report.marked_words import Marked
    from dspy_proact.runs import Settings

FILES = (
    FileForm(
        "Ratings, a file for --ratings",
        "CSV with these columns, or JSONL with these fields; a line is one person's grade of one item. "
        "item: its key in --items or --run. annotator: who. grade: PASS, PARTIAL or FAIL; a line without one is left "
        "out. Optional: confidence, 1 to 5; reason. Or the file of `label serve`, NAME.db, as it is.",
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
    """A run, or a file of answers."""
    items: Path | None
    chosen: BenchmarkChoice = field(default_factory=BenchmarkChoice)
    """How such a file is read."""

    def under(self, chosen: BenchmarkChoice) -> "tuple[Labels, BenchmarkChoice]":
        """The same beside a benchmark that a person chose, or else that of the study, which goes with it."""
        study = next((Path(name) for name in self.ratings if _is_study(name)), None)
        chosen = chosen.of_study(study) if study else chosen
        return replace(self, chosen=chosen), chosen

    @classmethod
    def named(cls, ratings: tuple[str, ...], run: Path | None, items: Path | None) -> "Labels":
        """What a person named; the file of a study of `label serve` knows its run.

        Raises a `UsageError` where it has several runs, or its run is gone, and none is named; or items are named
        beside it, or beside a run.
        """
        from dspy_proact.label.exchange import is_study, runs_of

        if run is not None and items is not None:
            raise UsageError("--run and --items are mutually exclusive: ratings are of one of them")
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
        return None if self.run is None else self.chosen.summary(self.run)

    @cached_property
    def studies(self) -> "dict[str, RunRatings]":
        """What each file of a study among the ratings has of the run; raises as `ratings_of_run` does."""
        return _studies(self.ratings, self.summary) if self.summary else {}

    @property
    def marked(self) -> "Marked":
        """The words that raters marked, as far as the ratings are those of studies."""
        from dspy_proact.report.marked_words import marked_of

        ratings = (rating for study in self.studies.values() for rating in study.ratings)
        return marked_of((rating.case, rating.rater, rating.spans) for rating in ratings)

    def load(self, declared: "Benchmark[Any, Any]", settings: "Settings | None" = None) -> "Ratings":
        """The ratings, joined with what they are of; raises as `load_ratings` does."""
        from dspy_proact.evaluation.ratings import ratings_named
        from dspy_proact.report.ratings import load_ratings, rated_items

        items = rated_items(self.summary, declared) if self.summary else self.items
        if self.summary and declared.name == OWN_ROWS and len(self.ratings) == 1 and not self.studies:
            # Labels in a table of one's own have other columns than a sheet, and stand with what they are of.
            own = ratings_named(declared, self.ratings[0], settings or declared.settings_type())
            if own:
                return own.among(rated_items(self.summary, declared))
        studies = {name: study.labels for name, study in self.studies.items()}
        return load_ratings(self.ratings, items, benchmark=declared, settings=settings, studies=studies)


def _is_study(named: str) -> bool:
    from dspy_proact.label.exchange import is_study

    return is_study(named)


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
        option.path("--run", "Run that the ratings file rates."),
        option.path("--items", "File of the items that the ratings file rates; see --help-all for the format."),
    )
    return Bundle("labels", Labels.named, Section(Heading.CASES, *options))


def ratings_of(named: Sequence[str], summary: "Summary") -> "PeoplesRatings":
    """Ratings of responses of a run or a results file, as `--ratings` names them: one study, or several files.

    Raises a `CorpusError` where there are no such ratings, or they are not valid, and a `UsageError` where they are of
    other responses, or no score follows from a grade of people's.
    """
    from dspy_proact.evaluation.ratings import ratings_named
    from dspy_proact.evaluation.registry import benchmark_of_run
    from dspy_proact.report.corrected import peoples_ratings
    from dspy_proact.report.ratings import load_ratings, rated_items

    declared = benchmark_of_run(summary)
    if len(named) == 1 and (own := ratings_named(declared, named[0], declared.settings_type())):
        return peoples_ratings(own, summary, declared)
    studies = {name: study.labels for name, study in _studies(named, summary).items()}
    ratings = load_ratings(named, rated_items(summary, declared), benchmark=declared, studies=studies)
    return peoples_ratings(ratings, summary, declared)


def _studies(named: Iterable[str], summary: "Summary") -> "dict[str, RunRatings]":
    """What each file of a study that is named has of a run; says what is left out."""
    from dspy_proact.evaluation.registry import benchmark_of_run
    from dspy_proact.label.exchange import is_study, ratings_of_run
    from dspy_proact.report.numbers import counted

    declared = benchmark_of_run(summary)
    studies = {name: ratings_of_run(Path(name), declared, summary) for name in named if is_study(name)}
    for name, rated in studies.items():
        if rated.changed:
            say(f"{name}: left out {counted(rated.changed, 'rating')} of texts that have changed since.")
    return studies
