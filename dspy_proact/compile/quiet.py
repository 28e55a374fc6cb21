"""The optimizers' ways, kept from the person: their commentary, and what ends them."""

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from dspy.utils.exceptions import AdapterParseError, LMError

UNANSWERED = (AdapterParseError, LMError)
"""What MIPROv2 ends with where its proposer refuses or answers what cannot be read; the start is then all there is."""


@contextmanager
def quiet() -> Generator[None]:
    """The optimizers' running commentary off: what they log, and what they print, progress bars among it."""
    loggers = [logging.getLogger(name) for name in ("dspy", "gepa", "optuna")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):  # noqa: PTH123 - a device
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
