"""Benchmarks by name: those of the package, those that other packages register, and those of a person's own file.

A folder of `benchmarks/` that holds a `benchmark.py` is a benchmark. Its module is imported at the first look-up.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from dspy_proact.errors import UsageError
from dspy_proact.evaluation import DEFAULT_BENCHMARK
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.checks import file_of, line_of
from dspy_proact.evaluation.controls import Controls
from dspy_proact.evaluation.measured_run import MeasuredRun
from dspy_proact.evaluation.own_file import adopted, load_file
from dspy_proact.evaluation.reporting import Reporting
from dspy_proact.runs import Settings

GROUP = "dspy_proact.benchmarks"
"""The group of entry points under which other packages register a module, or `module:Class`."""
FOLDER = Path(__file__).parent.with_name("benchmarks")
"""Where the benchmarks of the package are."""
_OWN: dict[str, Benchmark[Any, Any]] = {}
"""Benchmarks that this process was given as a file or an object, by name, so that reports of their runs find them."""
Declared = Benchmark[Any, Any]


@cache
def benchmarks() -> Mapping[str, Declared]:
    """Benchmarks of the package, then of other packages, by name in alphabetical order."""
    own = map(_bundled, sorted(file.parent.name for file in FOLDER.glob("*/benchmark.py")))
    bundled = {declared.name: declared for declared in own}
    registered = {name: entry for name, entry in _registered().items() if isinstance(entry, Benchmark)}
    return bundled | {n: entry for n, entry in registered.items() if n not in bundled}


@cache
def _bundled(folder: str) -> Declared:
    module = import_module(f"dspy_proact.benchmarks.{folder}.benchmark")
    return _only(module, module.__name__)


@cache
def unusable_benchmarks() -> Mapping[str, str]:
    """Why benchmarks that other packages register cannot be used, by the name of the entry point."""
    return {name: reason for name, reason in _registered().items() if isinstance(reason, str)}


def benchmark_named(named: Declared | str | None) -> Declared:
    """Look up a benchmark by its name or file; a benchmark is returned as it is.

    A name is that of a benchmark, `FILE.py`, or `FILE.py:NAME` where the file declares several; None is the default.
    Raises a `UsageError`, with file and line, where there is none of that name or the file cannot be used.
    """
    if named is None:
        return benchmark_of(None)
    if isinstance(named, Benchmark):
        return _remembered(named)
    path, colon, name = named.rpartition(":") if not named.endswith(".py") else (named, "", "")
    if path.endswith(".py"):
        return _remembered(_of_file(Path(path).resolve(), name if colon else None))
    return benchmark_of(named)


def benchmark_of(recorded: str | None, named: Declared | str | None = None) -> Declared:
    """The one that is named, else by a name that a file of a run or program holds: it runs no code that is named there.

    A benchmark of a person's own file is found once this process was given that. Raises as `benchmark_named` does.
    """
    if named:
        return benchmark_named(named)
    recorded = recorded or DEFAULT_BENCHMARK
    if declared := find_benchmark(recorded):
        return declared
    if reason := unusable_benchmarks().get(recorded):
        raise UsageError(reason)
    near = get_close_matches(recorded, benchmarks(), n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(benchmarks())}."
    raise UsageError(
        f"no benchmark is called {recorded!r}{hint} `dspy-proact benchmarks` describes each; "
        "one of your own is named by its file: `benchmark=FILE.py`"
    )


def benchmark_as_set(
    recorded: str | None, settings: Mapping[str, Any], named: Declared | str | None = None
) -> Declared:
    """That of `benchmark_of`, as recorded settings of it make it; raises likewise."""
    declared = benchmark_of(recorded, named)
    if declared.settings_type.applied_to is Settings.applied_to:
        return declared
    return declared.settings_type.model_validate(settings).applied_to(declared)


def benchmark_of_run(run: MeasuredRun, named: Declared | str | None = None) -> Declared:
    """The benchmark of a run, as its settings make it; raises as `benchmark_of` does."""
    return benchmark_as_set(run.benchmark, run.settings, named)


def find_benchmark(name: str) -> Declared | None:
    """The benchmark of a name among those that are installed or were given to this process; None for another."""
    return _OWN.get(name) or _installed(name)


def _installed(name: str) -> Declared | None:
    # In the package a benchmark has the name of its folder: the others need not be imported.
    return _bundled(name) if _is_bundled(name) else benchmarks().get(name)


@cache
def _is_bundled(name: str) -> bool:
    return name.isidentifier() and (FOLDER / name / "benchmark.py").is_file()


def reporting_of(name: str) -> Reporting:
    """How reports show the benchmark of a name; of one that is not known here, what serves any."""
    declared = find_benchmark(name)
    return (declared and declared.reporting) or Reporting()


def controls_of(name: str) -> Controls:
    """How reports show its control cases, likewise."""
    declared = find_benchmark(name)
    return (declared and declared.controls) or Controls()


def _remembered(declared: Declared) -> Declared:
    adopted(declared)
    if (installed := _installed(declared.name)) is None:
        _OWN[declared.name] = declared
    elif (file := file_of(declared)) and file_of(installed) is None:
        where = line_of(declared, file, "name")
        raise UsageError(f"{where}: `name`: {declared.name!r} is a benchmark of this package; give another name")
    return declared


def _registered() -> dict[str, Declared | str]:
    """What other packages register, by name: a benchmark, or the reason why it cannot be used."""
    entries: dict[str, Declared | str] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            loaded = point.load()
            if isinstance(loaded, ModuleType):
                declared = _only(loaded, point.value)
            elif isinstance(loaded, type) and issubclass(loaded, Benchmark):
                declared = adopted(loaded())
            else:
                raise UsageError(f"{point.value}: is no benchmark: derive a class from `dspy_proact.Benchmark`")
            entries[declared.name] = declared
        except UsageError as error:
            entries[point.name] = str(error)
        except Exception as error:  # of another package, whatever it is
            entries[point.name] = f"the benchmark {point.name!r} of {point.value} cannot be imported: {error}"
    return entries


@cache
def _of_file(path: Path, name: str | None) -> Declared:
    return _only(load_file(path), str(path), name)


def _only(module: ModuleType, where: str, name: str | None = None) -> Declared:
    """The only benchmark that a module declares, or the one of this name; raises `UsageError` where there is none."""
    classes = {
        kind.name: kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Benchmark) and kind.__module__ == module.__name__
        if hasattr(kind, "name")
    }
    matching = [kind for kind in classes.values() if name in (None, kind.name, kind.__name__)]
    if len(matching) == 1:
        return adopted(matching[0]())
    if not classes:
        raise UsageError(f"{where}: declares no benchmark: derive a class from `dspy_proact.Benchmark` with a `name`")
    raise UsageError(f"{where}: declares {', '.join(classes)}; name one with FILE.py:NAME")
