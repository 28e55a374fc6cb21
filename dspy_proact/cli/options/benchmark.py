"""Options that say what a command is about: the benchmark and its settings, runs, and the corpus."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.next_step import Typed
from dspy_proact.cli.options import option
from dspy_proact.cli.options.models import EMBEDDED, ROLES, NamedModel, text_of
from dspy_proact.cli.options.paths import answers_of, is_answers, recorded_benchmark, recorded_settings, summary_of
from dspy_proact.cli.options.verb import Bundle, Heading, Section, flags_of, typed
from dspy_proact.errors import UsageError
from dspy_proact.evaluation import DEFAULT_BENCHMARK, OWN_ROWS

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.evaluation.results import ResultsCheck
    from dspy_proact.models import ModelSpec
    from dspy_proact.report import Summary
    from dspy_proact.runs import Nouns, Settings


def _has_judge(declared: "Benchmark[Any, Any]") -> bool:
    from dspy_proact.evaluation.benchmark import has_judge

    return has_judge(declared)


def _takes_demos(declared: "Benchmark[Any, Any]") -> bool:
    tuning = declared.tuning(declared.settings_type())
    return tuning is None or any(proposal.demos for proposal in tuning.proposals.values())


LACKED: "Mapping[str, tuple[str, Callable[[Benchmark[Any, Any]], Any]]]" = {
    **dict.fromkeys(flags_of(ROLES), ("further roles", lambda declared: declared.roles)),
    "--judge-prompt": ("choice of judge prompts", lambda declared: declared.models.judge_prompts),
    "--judge-program": ("compiled judge", _has_judge),
    "--min-kappa": ("compiled judge", _has_judge),
    "--max-demos": ("worked examples", _takes_demos),
    "--ratings": ("choice of ratings", lambda declared: declared.people),
    "--run": ("ratings of runs", lambda declared: declared.people),
    "--items": ("ratings of items", lambda declared: declared.people and declared.people.layout),
}
"""Options that not every benchmark has, what one lacks that does not have them, and whether a benchmark has them."""
_OF_ANSWERS = ("key", "response", "epoch")
"""Roles of columns in a table of answers to rows of a person's own."""


@dataclass(frozen=True)
class BenchmarkChoice:
    """The benchmark that a person names, if any, and what it is set to."""

    benchmark: str | None = None
    values: tuple[tuple[str, str], ...] = ()
    """Names and values, as they were typed."""
    columns: tuple[tuple[str, str], ...] = ()
    """Roles in the table of `--answers`, each with its column."""

    @classmethod
    def named(
        cls,
        benchmark: str | None,
        values: tuple[tuple[str, str], ...] = (),
        scale: str | None = None,
        nominal: bool = False,
        criteria: str | None = None,
        columns: tuple[tuple[str, str], ...] = (),
    ) -> "BenchmarkChoice":
        """What a person named; a scale, criteria or columns are settings of rows of their own, and choose these."""
        own = [("scale", scale)] if scale is not None else []
        own += [("nominal", "true")] if nominal else []
        own += [("criteria", text)] if (text := text_of(criteria)) is not None else []
        benchmark, answered = benchmark or (OWN_ROWS if own else None), tuple[tuple[str, str], ...]()
        if (file := typed().get("--answers")) is not None:  # the columns are its own, and of rows in the same table
            answered = tuple(pair for pair in columns if pair[0] in _OF_ANSWERS or benchmark != OWN_ROWS)
            shared = file == typed().get("--corpus")
            columns = tuple(pair for pair in columns if pair not in answered or (shared and pair[0] != "epoch"))
            columns = columns if benchmark == OWN_ROWS else ()
        own += [("columns", json.dumps(columns))] if columns else []
        return cls(benchmark or (OWN_ROWS if own else None), (*values, *own), answered)

    @property
    def words(self) -> list[str]:
        """What chooses the benchmark as it was typed, to be repeated in the next command."""
        return Typed().options("--benchmark", *ROW_FLAGS)

    def require(self, *paths: Path) -> None:
        """Raise a `UsageError` where these runs are of several benchmarks, or of another one than is named."""
        if self.benchmark:
            self.known(*paths)
        of: dict[str, Path] = {}
        for path in paths:
            if recorded := recorded_benchmark(path):
                of.setdefault(recorded, path)
        if len(of) > 1:
            runs = " and ".join(f"{path} ({benchmark})" for benchmark, path in of.items())
            raise UsageError(f"runs of several benchmarks are given: {runs}; name those of one")

    def known(self, *paths: Path) -> "Benchmark[Any, Any]":
        """The benchmark that is named, or of the runs, or the default; a `UsageError` if there is none, or several."""
        from dspy_proact.evaluation.registry import benchmark_as_set, benchmark_named, find_benchmark

        named = benchmark_named(self.benchmark) if self.benchmark else None
        # A results file does not say what it is of: it is taken as the benchmark's that is named.
        recorded = {path: of for path in paths if (of := recorded_benchmark(path)) and not (named and path.is_file())}
        for path, benchmark in recorded.items():
            if named and benchmark != named.name:
                raise UsageError(
                    f"--benchmark {named.name}: {path} is of {benchmark}; leave it out, or name another run"
                )
        path, benchmark = next(iter(recorded.items()), (None, DEFAULT_BENCHMARK))
        if path and not named and find_benchmark(benchmark) is None:
            raise UsageError(f"{path}: a run of {benchmark!r}, which is not installed; name its file with --benchmark")
        declared = named or benchmark_named(benchmark)
        settings = recorded_settings(path)
        if not settings and self.values:
            return self.settings(declared, answers=False).applied_to(declared)
        return benchmark_as_set(None, settings, declared)

    def declared(self, *paths: Path) -> "Benchmark[Any, Any]":
        """Like `known`, but raises a `UsageError` for an option that this benchmark does not have."""
        declared = self.known(*paths)
        if "--phase" in typed():
            require_phases(declared.nouns, declared.name)
        for flag in typed():
            if flag in LACKED and not LACKED[flag][1](declared):
                raise UsageError(f"{flag}: {declared.name} has no {LACKED[flag][0]}; leave it out")
        return declared

    def settings(self, declared: "Benchmark[Any, Any]", answers: bool = True, run: Path | None = None) -> "Settings":
        """The settings, for a command that asks for answers or not; `UsageError` if one is not valid or without use.

        Where labels follow from settings, those that are not named are as the `run` has recorded them.
        """
        from dspy_proact.cli.options.settings import read_settings
        from dspy_proact.runs import Settings

        kind = declared.settings_type
        recorded = {} if kind.applied_to is Settings.applied_to else recorded_settings(run)
        settings = read_settings(kind, self.values, declared.name, recorded)
        if answers:
            settings.require_effect(name for name, _ in self.values)
        return settings

    def of_study(self, study: Path) -> "BenchmarkChoice":
        """What a study of a file of answers records, where a person names nothing: a run records it itself."""
        from contextlib import closing

        from dspy_proact.label.store import Store

        with closing(Store.open(study)) as store:
            benchmark, settings = store.study.benchmark, store.study.settings
        if not settings or self.benchmark or self.values:
            return self
        return replace(
            self, benchmark=benchmark, values=tuple((name, _typed(value)) for name, value in settings.items())
        )

    def summary(self, path: Path) -> "Summary":
        """The summary of a run's folder, or of a file of answers as the chosen benchmark reads it.

        Raises a `UsageError` where it is neither, and a `CorpusError` where the file is not valid.
        """
        from dspy_proact.report import summarize

        if self.benchmark in (None, DEFAULT_BENCHMARK) or not path.exists() or not is_answers(path):
            return summary_of(path)
        if self.benchmark == OWN_ROWS and "scale" not in dict(self.values):
            grade = f"dspy-proact rejudge {path} --scale bad,ok,good --judge MODEL --out DIR"
            raise UsageError(f"{path}: a table of your own has no verdicts to read; have it graded: `{grade}`")
        declared = self.known(path)
        return summarize(answers_of(path, declared, self.settings(declared, answers=False)))

    def check(self, path: Path, corpus: str | None) -> "ResultsCheck | None":
        """What is wrong with a results file, beside the corpus that it answers, if one is named; None of a run."""
        results = self.known(path).results if is_answers(path) else None
        return results.check(path, corpus) if results and results.check else None

    def settings_of_grading(self, declared: "Benchmark[Any, Any]", before: Mapping[str, Any]) -> "Settings":
        """The settings of a new grading of existing answers, which were made with the settings `before`.

        Raises a `UsageError` where a value is not valid, would change the answers, or has no effect.
        """
        from dspy_proact.cli.options.settings import plain, read_settings

        settings = read_settings(declared.settings_type, self.values, declared.name, before)
        usual, of_grading = declared.settings_type(), declared.settings_type.of_grading
        for name, _ in self.values:
            if name not in of_grading and plain(settings, name) != before.get(name, plain(usual, name)):
                free = f"; only {', '.join(sorted(of_grading))} may be set" if of_grading else ""
                raise UsageError(f"--set {name}: would change the answers, which exist already{free}; leave it out")
        settings.require_effect(name for name, _ in self.values if name in of_grading)
        return settings


def _typed(value: Any) -> str:
    """A setting as a person would type it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Names of benchmarks that begin with an incomplete word, for completion in a shell."""
    from dspy_proact.evaluation.registry import benchmarks

    return [name for name in benchmarks() if name.startswith(incomplete)]


def _options(default: str, *more: click.Option) -> Bundle:
    named = click.Option(
        ["--benchmark"],
        metavar="NAME|FILE.py",
        help=f"Benchmark of `dspy-proact benchmarks`, or your own FILE.py, which is run. Default: {default}.",
        shell_complete=_names,
    )
    return Bundle("chosen", BenchmarkChoice.named, Section(Heading.CASES, named, *more))


_OF_RUN = f"that of the run, if one is given, else {DEFAULT_BENCHMARK}"
_SET = option.text(
    "--set",
    "NAME=VALUE",
    "Setting of the benchmark, listed there; repeatable.",
    "values",
    several=True,
    read=option.name_value,
)
_ROWS = (
    option.text(
        "--map",
        "ROLE=COLUMN",
        "Column of a table of your own: input, response, grade, rater, key, group or context; of --answers key, "
        "response, epoch or a field of the answer; repeatable. Default: by usual names.",
        "columns",
        several=True,
        read=option.name_value,
    ),
    option.text("--scale", "A,B,...", "Levels of your own labels, from worst to best, such as bad,ok,good."),
    option.flag("--nominal", "The levels of --scale have no order."),
    option.text(
        "--criteria", "TEXT|@FILE", "What is graded on that scale, once for all rows. Default: its words alone."
    ),
)
ROW_FLAGS = ("--map", "--scale", "--nominal", "--criteria")
"""Options of rows of a person's own, which choose their benchmark."""
BENCHMARK = _options(DEFAULT_BENCHMARK, _SET, *_ROWS)
RUN_BENCHMARK = _options(_OF_RUN, _SET, *_ROWS)
"""For commands that grade what a run answered."""
MAKING_BENCHMARK = _options(DEFAULT_BENCHMARK)
"""`--benchmark` alone, for a command that makes a corpus."""
AUDIT_BENCHMARK = _options("that of the runs, else of the corpus by its name or its files")
"""`--benchmark` alone, for a command that reads a corpus."""
PUBLISHED_BENCHMARK = _options("that of the corpus")
"""Likewise, for one that publishes a corpus."""
LABEL_BENCHMARK = _options(_OF_RUN, *_ROWS)
"""For commands that show answers to people, of a run or of a table."""
READ_BENCHMARK = _options(_OF_RUN)
"""`--benchmark` alone, for commands that read runs, whose settings are recorded."""


def require_phases(nouns: "Nouns", of: object) -> None:
    """Raise a `UsageError` where strata are not called phases, which `--phase` names them."""
    if nouns.stratum != "phase":
        raise UsageError(f"--phase: {of} has no phases; use --stratum, which names its {nouns.strata}")


def corpus_of(declared: "Benchmark[Any, Any]", named: str | None, embedded: bool) -> str:
    """The corpus: where none is named, the stand-in's is the sample, a real model's the published one."""
    return named or ("sample" if embedded or declared.corpus.name is None else declared.corpus.name)


def judges_of(declared: "Benchmark[Any, Any]", named: "NamedModel", embedded: bool) -> "tuple[ModelSpec, ...]":
    """Who grades: those that are named, or else the stand-in the stand-in, and the benchmark's judge a real model.

    Raises a `UsageError` where a real model is judged, and the benchmark names no judge of its own.
    """
    if not named.name and not _has_judge(declared):
        return ()
    if not named.name and not embedded and declared.models.judge is None:
        raise UsageError(f"{declared.name} declares no judge of a real model; name one with --judge")
    return named.specs(EMBEDDED if embedded or declared.models.judge is None else declared.models.judge)


# Cases


def corpus_option(text: str) -> Section:
    """`--corpus`, with a help of its own."""
    return Section(Heading.CASES, option.text("--corpus", "sample|NAME[@REV]|PATH", text))


CORPUS = corpus_option(
    "`sample`, the published corpus by the benchmark's NAME, or your own files. Default: the published one; the sample "
    "if embedded."
)
ANSWERED_CORPUS = corpus_option("Corpus of a results file.")
