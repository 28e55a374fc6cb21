"""The command line in processes that are forked from one that has imported what it needs: they begin at once."""

import multiprocessing
import os
import resource
import runpy
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
_DECLARATIONS = (Path(__file__).parents[2] / "dspy_proact" / "benchmarks").glob("*/benchmark.py")
PRELOADED = (
    "dspy_proact.models.dspy_internals",  # before litellm, which else asks the network for prices
    *("litellm", "dspy_proact.benchmarks", "dspy_proact.evaluation.evaluation", "dspy_proact.report"),
    *(f"dspy_proact.cli.{name}" for name in ("eval", "options.settings", "views.runs")),
    *(f"dspy_proact.benchmarks.{path.parent.name}.benchmark" for path in _DECLARATIONS),
)
FORKS.set_forkserver_preload([*PRELOADED])


class Command:
    """A command line that begins at once; its messages are appended to a file.

    A kill ends it as it would end an interpreter of its own. With `most_bytes` no file of its may grow beyond so many.
    """

    def __init__(self, arguments: Sequence[str], messages: Path, most_bytes: int = resource.RLIM_INFINITY):
        self._process = FORKS.Process(target=_become, args=(messages, most_bytes, *arguments), daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        """Of its process."""
        assert self._process.pid is not None, "it was started"
        return self._process.pid

    def poll(self) -> int | None:
        """How it ended; None while it has not."""
        return self._process.exitcode

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        self._process.kill()

    def wait(self) -> int:
        """How it ended, once it has: its status, or minus the signal."""
        self._process.join()
        assert self._process.exitcode is not None, "it was joined"
        return self._process.exitcode


def _become(messages: Path, most_bytes: int, *arguments: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which is ignored in the background
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
    for number, path in ((1, os.devnull), (2, messages)):
        with Path(path).open("ab") as file:
            os.dup2(file.fileno(), number)
    sys.argv = ["dspy-proact", *arguments]
    runpy.run_module("dspy_proact", run_name="__main__")
