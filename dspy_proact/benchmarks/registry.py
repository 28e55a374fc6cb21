"""The benchmarks that there are: those of the package, those that other packages register, and a person's own file.

A folder here that holds a `benchmark.py` is a benchmark. Its module is imported when the benchmark is asked for, and
nothing slow with it.
"""

import importlib.util
import sys
import traceback
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.errors import UsageError

GROUP = "dspy_proact.benchmarks"
"""The group of entry points under which other packages register a module, or `module:Class`."""
_FOLDER = Path(__file__).parent
Declared = Benchmark[Any, Any]


@cache
def benchmarks() -> Mapping[str, Declared]:
    """Those of the package and of other packages, by name, in alphabetical order."""
    own = [
        _only(import_module(f"{__package__}.{file.parent.name}.benchmark"), str(file))
        for file in sorted(_FOLDER.glob("*/benchmark.py"))
    ]
    registered = [_registered(point) for point in entry_points(group=GROUP)]
    return {each.name: each for each in (*own, *sorted(registered, key=lambda each: each.name))}


def benchmark_named(named: Declared | str | None) -> Declared:
    """The benchmark of a name or of a file; one that is given itself is returned.

    Args:
        named: A name, `FILE.py`, `FILE.py:NAME` where the file declares several, a benchmark, or None for the first.

    Raises:
        UsageError: There is none of that name, or the file cannot be used: the message names file and line.
    """
    if isinstance(named, Benchmark):
        return named
    known = benchmarks()
    if named is None:
        return next(iter(known.values()))
    if named in known:
        return known[named]
    path, colon, name = named.rpartition(":") if not named.endswith(".py") else (named, "", "")
    if path.endswith(".py"):
        return _of_file(Path(path), name if colon else None)
    near = get_close_matches(named, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}."
    raise UsageError(f"no benchmark is called {named!r}{hint} `dspy-proact benchmarks` describes each")


def _registered(point: EntryPoint) -> Declared:
    try:
        loaded = point.load()
    except Exception as error:
        raise UsageError(f"the benchmark {point.name!r} of {point.value} cannot be imported: {error}") from error
    if isinstance(loaded, ModuleType):
        return _only(loaded, point.value)
    return loaded if isinstance(loaded, Benchmark) else loaded()


@cache
def _of_file(path: Path, name: str | None) -> Declared:
    """What a person's file declares; raises `UsageError` as `benchmark_named` does."""
    path = path.resolve()
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file; --benchmark takes a name or the path of a Python file")
    module_name = f"dspy_proact_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec, "a path that ends in .py"
    assert spec.loader, "likewise"
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # pydantic looks up annotations there
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UsageError(f"{error.filename}:{error.lineno}: {error.msg}") from error
    except Exception as error:
        raise UsageError(f"{_line_of(path, error)}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent))
    declared = _only(module, str(path), name)
    declared.file = path
    return declared


def _only(module: ModuleType, where: str, name: str | None = None) -> Declared:
    """The one benchmark that a module declares, or the one of a name; raises `UsageError` where that is none."""
    classes = {
        each.name: each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Benchmark) and each.__module__ == module.__name__
        if hasattr(each, "name")
    }
    found = [each for each in classes.values() if name in (None, each.name, each.__name__)]
    if len(found) == 1:
        return _checked(found[0], where)
    if not classes:
        raise UsageError(f"{where}: declares no benchmark: derive a class from `dspy_proact.Benchmark` with a `name`")
    raise UsageError(f"{where}: declares {', '.join(classes)}; name one with FILE.py:NAME")


def _checked(declared: type[Declared], where: str) -> Declared:
    """An instance; raises a `UsageError` where what every benchmark must say is missing."""
    lacking = [name for name in ("labels", "answer_type") if not hasattr(declared, name)]
    lacking += [name for name in ("read", "program", "grade") if getattr(declared, name) is getattr(Benchmark, name)]
    if lacking:
        raise UsageError(f"{where}: {declared.__name__} does not declare {', '.join(lacking)}")
    return declared()


def _line_of(path: Path, error: Exception) -> str:
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}:{own[-1].lineno}" if own else str(path)
