"""What a path holds that a person names: a run in a folder or a log, a results file, or a table of answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dspy_proact.cli.options.arguments import flags_in_hand
from dspy_proact.errors import UsageError
from dspy_proact.evaluation import DEFAULT_BENCHMARK

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.evaluation.responses import Responses
    from dspy_proact.report import Summary
    from dspy_proact.runs import Settings


def is_answers(path: Path) -> bool:
    """Whether a path is a file of answers, or a folder of such files, and not a run in a folder or a log."""
    from dspy_proact.kept import Kind, content_of

    return content_of(path).kind in (Kind.FILE, Kind.TABLE, Kind.FOLDER)


def is_results(path: Path) -> bool:
    """Whether a path is a results file, and not a run in a folder or a log; `UsageError` where it is neither."""
    from dspy_proact.kept import Kind, content_of

    content = content_of(path)
    if content.kind in (Kind.RUN, Kind.LOG, Kind.FILE):
        return content.kind is Kind.FILE
    problem = content.problem("the folder of a run or a results file", Kind.RUNS)
    if content.kind in (Kind.TABLE, Kind.FOLDER) and "--scale" in flags_in_hand():
        problem += "; a table of your own is read by its scale: --scale bad,ok,good, and where columns have other "
        problem += "names, --map ROLE=COLUMN"
    raise UsageError(f"{path}: no run here and no results file: {problem}")


def answers_of(path: Path, declared: "Benchmark[Any, Any]", settings: "Settings") -> "Responses":
    """What a file has of answers and verdicts, as a benchmark reads it.

    Raises a `UsageError` where that reads no files, or the answers are of several models.
    """
    if declared.results is None or declared.results.read is None:
        raise UsageError(f"{path}: {declared.name} reads no files of answers; name the folder of a run")
    first, *others = declared.results.read(path, None, settings)
    if others:
        raise UsageError(f"{path}: holds answers of {1 + len(others)} models; `rejudge` makes a run of each")
    return first


def summary_of(path: Path) -> "Summary":
    """The summary of a run in a folder or a log, or of a results file of the default benchmark; raises likewise."""
    from dspy_proact.evaluation.inspect_run import run_at
    from dspy_proact.evaluation.registry import benchmark_named
    from dspy_proact.report import summarize

    if not is_results(path):
        return summarize(run_at(path))
    declared = benchmark_named(DEFAULT_BENCHMARK)
    return summarize(answers_of(path, declared, declared.settings_type()))


def recorded_benchmark(path: Path) -> str | None:
    """The benchmark of a run, or of a results file; None of what is neither, which its reader refuses."""
    from dspy_proact.evaluation.inspect_run import run_at

    folder = run_at(path)
    if folder.exists:
        return folder.manifest().identity.benchmark
    return DEFAULT_BENCHMARK if path.is_file() else None


def recorded_settings(path: Path | None) -> dict[str, Any]:
    """The settings of a run; none where there is none."""
    from dspy_proact.evaluation.inspect_run import run_at

    folder = run_at(path) if path else None
    return folder.manifest().identity.settings if folder and folder.exists else {}
