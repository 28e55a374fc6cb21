"""Processes of tests, forked from one that has imported what is slow to import: it is imported once for all of them.

A child ends as an interpreter of its own does, by itself or by a signal. Where the point of a test is what a fresh
interpreter does or imports, `subprocess` starts one.
"""

import contextlib
import os
import resource
import runpy
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.forks import FORKS, PRELOADED

from drivers.script import Ended

FORKS.set_forkserver_preload(
    [
        *PRELOADED,
        *("dspy_proact.compile", "dspy_proact.benchmarks.proactbench.people", "dspy_proact.label.serving"),
        *(f"dspy_proact.cli.views.{name}" for name in ("compilation", "trial")),
        *("uvicorn.protocols.http.h11_impl", "pandas", "pyarrow.dataset"),  # not `datasets`: it reads the environment
    ]
)
PATIENCE = 100.0
"""Seconds after which a child that hangs is killed: its test then fails by what it said."""


def command_line(*arguments: str) -> None:
    """What a child is for `python -m dspy_proact`."""
    sys.argv = ["dspy-proact", *arguments]
    runpy.run_module("dspy_proact", run_name="__main__")


def command_line_within(size: str, *arguments: str) -> None:
    """The same where no file may grow beyond so many bytes: what a full disk is to a process."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
    command_line(*arguments)


def command_line_in(encoding: str, *arguments: str) -> None:
    """The same where both streams have this encoding: what PYTHONIOENCODING is to an interpreter that begins."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding=encoding)
    command_line(*arguments)


def program(path: str, *arguments: str) -> None:
    """What a child is for `python PATH`."""
    sys.argv = [path, *arguments]
    runpy.run_path(path, run_name="__main__")


def code(text: str, *arguments: str) -> None:
    """What a child is for `python -c TEXT`."""
    sys.argv = ["-c", *arguments]
    exec(text, {"__name__": "__main__"})


class Child:
    """A process that begins at once.

    Args:
        does: What it does, which the process imports by its name.
        arguments: With these.
        folder: Where it works; where the test does if it is None.
        environment: Beside the test's; a variable that is None is left out.
    """

    def __init__(self, does: Callable[..., object], *arguments: object, folder: Path | None = None, **environment: str):
        self._streams = TemporaryDirectory()
        self._turn, self._over = threading.Lock(), False
        named = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
        inputs = Path(self._streams.name), folder or Path.cwd(), named
        self._process = FORKS.Process(target=_become, args=(*inputs, does, *map(str, arguments)), daemon=True)
        self._process.start()

    def send_signal(self, number: int) -> None:
        """Signal it, if it has not ended; in any thread."""
        with self._turn, contextlib.suppress(ProcessLookupError):
            if not self._over:
                os.kill(self._process.pid or 0, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """How it ended; None while it has not."""
        return self._process.exitcode

    def wait(self) -> int:
        """How it ended, once it has."""
        return self.ended().returncode

    def ended(self) -> Ended:
        """How it ended, and what it said, once it has ended."""
        self._process.join(PATIENCE)
        if self._process.exitcode is None:
            self.kill()
            self._process.join()
        with self._turn:
            self._over = True
        lines = [Path(self._streams.name, name).read_text("utf-8", "surrogateescape") for name in ("out", "err")]
        status = self._process.exitcode
        self._process.close()
        self._streams.cleanup()
        return Ended(status, *lines)


class Processes:
    """Stands where a program has `subprocess`: what it starts by an interpreter's command line is a child."""

    def Popen(self, command: Sequence[object]) -> Child:  # noqa: N802 - the name is the library's
        return Child(program, *command[1:])


def _become(
    message: Path, folder: Path, environment: dict[str, str], does: Callable[..., Any], *arguments: str
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, path in ((0, Path(os.devnull)), (1, message / "out"), (2, message / "err")):
        with path.open("ab+") as file:
            os.dup2(file.fileno(), number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - multiprocessing closes its own
    does(*arguments)
