"""The optimizers' ways, kept from the person: their commentary, and what ends them."""

import logging
import os
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any
from weakref import WeakSet

import optuna
import tqdm
from dspy import AdapterParseError, LMError

from dspy_proact.models.dspy_internals import grounded_proposer

UNANSWERED = (AdapterParseError, LMError)
"""What MIPROv2 ends with where its proposer refuses or answers what cannot be read; the start is then all there is."""


class _Forgotten(WeakSet[object]):
    """What tqdm knows of its bars: nothing, for it is not made for threads that begin bars and forget them."""

    def add(self, item: object) -> None:
        """Forget it."""

    def remove(self, item: object) -> None:
        """It is forgotten."""


def _in_turn(read: Callable[[Any], str]) -> Callable[[Any], str]:
    """A reader of source code for one thread at a time.

    Python 3.11 fails now and then where two threads parse at once, and MIPROv2 then proposes without the code.
    """
    turn = threading.Lock()

    def in_turn(module: Any) -> str:
        with turn:
            return read(module)

    return in_turn


@contextmanager
def silenced() -> Generator[None]:
    """The optimizers' running commentary off: what they log, and what they print, progress bars among it.

    What of them is not made for threads is mended meanwhile.

    It holds for the whole process: whoever still has something to say keeps the stream that was there before.
    """
    loggers = [logging.getLogger(name) for name in ("dspy", "gepa", "optuna")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    library: Any = tqdm.tqdm  # which does not declare the bars that it knows of
    bars, library._instances = library._instances, _Forgotten()
    proposer: Any = grounded_proposer
    read = proposer.get_dspy_source_code
    proposer.get_dspy_source_code = _in_turn(read)
    try:
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,  # noqa: PTH123 - a device
            redirect_stdout(nowhere),
            redirect_stderr(nowhere),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        library._instances = bars
        proposer.get_dspy_source_code = read
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
