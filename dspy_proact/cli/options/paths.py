"""What a path holds that a person names: a run in a folder or a log, a results file, or a table of answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dspy_proact.errors import UsageError
from dspy_proact.evaluation import DEFAULT_BENCHMARK

if TYPE_CHECKING:
    from dspy_proact.evaluation.responses import Responses
    from dspy_proact.evaluation.results import ResultsCheck
    from dspy_proact.report import Summary


def is_answers(path: Path) -> bool:
    """Whether a path is a file of answers, or a folder of such files, and not a run."""
    from dspy_proact.kept import Kind, content_of

    return content_of(path).kind in (Kind.FILE, Kind.TABLE, Kind.FOLDER)


def is_results(path: Path) -> bool:
    """Whether a path is a results file, and not a run in a folder or a log; `UsageError` where it is neither."""
    from dspy_proact.files.inspect_log import is_inspect_log
    from dspy_proact.kept import Kind, content_of

    if is_inspect_log(path):
        return False
    content = content_of(path)
    if content.kind in (Kind.RUN, Kind.FILE):
        return content.kind is Kind.FILE
    problem = content.problem("the folder of a run or a results file", Kind.RUNS)
    raise UsageError(f"{path}: no run here and no results file: {problem}")


def results_of(path: Path) -> "Responses | None":
    """What a results file has of answers and verdicts; None for a run. Raises `UsageError` as `is_results` does."""
    from dspy_proact.evaluation.registry import benchmark_named

    if not is_results(path):
        return None
    declared = benchmark_named(DEFAULT_BENCHMARK)
    read = declared.results and declared.results.read
    assert read, "the default benchmark reads results files"
    return next(iter(read(path, None, declared.settings_type())))


def summary_of(path: Path) -> "Summary":
    """The summary of a run in a folder or a log, or of a results file; raises likewise."""
    from dspy_proact.evaluation.inspect_run import run_at
    from dspy_proact.report import summarize

    return summarize(results_of(path) or run_at(path))


def check_of(path: Path, corpus: str | None) -> "ResultsCheck | None":
    """What is wrong with a results file, beside the corpus that it answers, if one is named; None of a run."""
    from dspy_proact.evaluation.registry import benchmark_named

    results = benchmark_named(DEFAULT_BENCHMARK).results if is_results(path) else None
    return results.check(path, corpus) if results and results.check else None


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
