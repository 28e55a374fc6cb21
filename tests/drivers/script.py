"""A program of eval/ or optimize/, run in this process: what it imports is imported once for all tests."""

import contextlib
import importlib.util
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from unittest import mock

from dspy_proact.models.clients import import_litellm

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    """How a program ended: like `subprocess.CompletedProcess`, so that a test reads alike either way."""

    returncode: int
    stdout: str
    stderr: str


class Inline:
    """Stands where a program has `multiprocessing`: the jobs of a pool run one after another, in this process."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def Pool(self, *_):  # noqa: N802 - the name is the library's
        return self

    def get_context(self, _):
        return self

    def cpu_count(self):
        return 1

    def map(self, job, inputs, chunksize):
        return [job(item) for item in inputs]


@contextlib.contextmanager
def loaded(path: Path) -> Iterator[ModuleType]:
    """The program as a module; what it sets for its process is gone when the context ends."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    import_litellm()  # names the folder of its tokenizers in the environment, for as long as the process lives
    with mock.patch.dict(os.environ):
        sys.modules[spec.name] = program  # its dataclasses look it up
        try:
            spec.loader.exec_module(program)
            if hasattr(program, "multiprocessing"):
                program.multiprocessing = Inline()
            yield program
        finally:
            del sys.modules[spec.name]


def ended(main, path: Path, *arguments: object, folder: Path) -> Ended:
    """What `main` says with these arguments, in a folder."""
    out, err = io.StringIO(), io.StringIO()
    argv = mock.patch.object(sys, "argv", [str(path), *map(str, arguments)])
    with argv, contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
            code = None
        except SystemExit as end:
            code = end.code
    if code is None or isinstance(code, int):
        return Ended(code or 0, out.getvalue(), err.getvalue())
    return Ended(1, out.getvalue(), f"{err.getvalue()}{code}\n")  # as the interpreter does


def run(path: Path, *arguments: object, folder: Path) -> Ended:
    """Load a program and run it in a folder."""
    with loaded(path) as program:
        return ended(program.main, path, *arguments, folder=folder)
