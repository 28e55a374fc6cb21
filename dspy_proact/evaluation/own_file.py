"""A benchmark of a person's own: its file is written, loaded and checked; a fault in it is told with file and line."""

import asyncio
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Collection, Generator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from dspy_proact.errors import ProactError, SetupFault, UsageError
from dspy_proact.evaluation.checks import Declared, faults_of_declaration, file_of, line_of

_QUESTION = re.compile(r".*[/\\](evaluation[/\\]ask\.py __call__|dspy[/\\]adapters[/\\].*)")
"""File and function of a question to a model."""
_files: set[str] = set()
"""Files of persons that this process has loaded."""


def load_file(path: Path) -> ModuleType:
    """The module of a Python file; raises a `UsageError` where it cannot be imported."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file; `benchmark` takes a name or the path of a Python file")
    name = f"dspy_proact_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, "a path that ends in .py"  # noqa: PT018 - pyright takes one
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pydantic looks up annotations there
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UsageError(f"{error.filename}:{error.lineno}: {error.msg}") from error
    except Exception as error:
        raise UsageError(f"{_position(str(path), error)}: {_described(error)}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def write_template(path: Path, known: Collection[str]) -> None:
    """Write a commented benchmark that runs as it stands, named as its file, which no `known` one may be.

    Raises a `UsageError` where it cannot be written.
    """
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
    if path.suffix != ".py" or not name:
        raise UsageError(f"{path}: a benchmark is a Python file; give it a name such as mine.py")
    if name in known:
        raise UsageError(f"{path}: there is a benchmark called {name}; give the file another name")
    text = Path(__file__).with_name("own_benchmark.txt").read_text("utf-8").replace('"NAME"', f'"{name}"')
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path}: exists, and is not replaced; give another name") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error


def adopted(declared: Declared) -> Declared:
    """A declaration, checked where it is of another package; its faults are told with file and line (`UsageError`)."""
    if file := file_of(declared):
        _files.add(str(file))
        for member, fault in faults_of_declaration(declared):
            raise UsageError(f"{line_of(declared, file, member)}: {type(declared).__name__}: {fault}")
    return declared


def in_own_file(failure: BaseException) -> BaseException:
    """A `UsageError` with file and line in place of an exception that a person's file has raised; else the same."""
    if not isinstance(failure, Exception) or isinstance(failure, ProactError):
        return failure
    for file in _files:
        frames = [frame for frame in traceback.extract_tb(failure.__traceback__) if frame.filename == file]
        if frames and (position := _position(file, failure)):
            return UsageError(f"{position}: `{frames[0].name}` failed: {_described(failure)}")
    return failure


@contextmanager
def located(declared: Declared, what: str) -> Generator[None]:
    """End the run with a `SetupFault` where a person's file has a fault, and name file and line.

    Other exceptions pass: those of this project, those of the package's own benchmarks, and what DSPy raised below a
    question to a model, which is the fault of one case.
    """
    try:
        yield
    except (ProactError, asyncio.CancelledError):
        raise
    except Exception as error:
        if (file := file_of(declared)) and (position := _position(str(file), error)):
            raise SetupFault(f"{position}: `{what}` failed: {_described(error)}") from error
        raise


def _position(file: str, error: Exception) -> str:
    """FILE:LINE of the fault; empty where it lies below a question to a model and not in the file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = max((index for index, frame in enumerate(frames) if frame.filename == file), default=-1)
    calls = (index for index, frame in enumerate(frames) if _QUESTION.fullmatch(f"{frame.filename} {frame.name}"))
    question = max(calls, default=-1)
    if question > own:
        return ""
    return f"{file}:{frames[own].lineno}" if own >= 0 else file


def _described(error: Exception) -> str:
    """The error, with the argument that was probably meant where a value has no such one."""
    text = f"{type(error).__name__}: {error}"
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    match = re.fullmatch(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'", str(error))
    kind = match and (frame.f_globals.get(match[1]) or frame.f_locals.get(match[1]))
    if not match or not callable(kind):
        return text
    known = [*inspect.signature(kind).parameters]
    near = get_close_matches(match[2], known, n=1)
    return f"{text}; did you mean {near[0]}?" if near else f"{text}; it takes {', '.join(known)}"
