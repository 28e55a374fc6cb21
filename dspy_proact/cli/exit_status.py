"""The exit status of every command, decided here alone.

0    all scored, or done; also where no improvement is shown
1    a fault in this code
2    usage or set-up: the person can mend it
3    finished, and some cases are unscored, or have no response to judge; or stopped, as the first ones cannot
     be scored
4    stopped at a limit; the same command resumes
5    the provider is down; the same command resumes
6    the score is under --fail-under
130  interrupted; the same command resumes
"""

from collections.abc import Sequence

import click

from dspy_proact.errors import Halt, Interrupted, LimitReached, ProactError, ProviderDown, UnusableContent

_OF_FAILURES: Sequence[tuple[type[BaseException], int]] = (
    (UnusableContent, 3),
    (LimitReached, 4),
    (ProviderDown, 5),
    (Interrupted, 130),
    (click.Abort, 130),
    (ProactError, 2),
    (Halt, 2),
    (OSError, 2),
    (SystemExit, 0),  # click's, where whoever read the output has enough: `dspy-proact show RUN | head -1`
)
"""The first that fits decides."""


def exit_status(failure: BaseException | None = None, *, unscored: bool = False, under: bool = False) -> int:
    """The exit status of a command that ended by a failure, or came to its end with cases unscored or a low score."""
    if failure is None:
        return 3 if unscored else 6 if under else 0
    if isinstance(failure, click.ClickException):
        return failure.exit_code
    return next((status for kind, status in _OF_FAILURES if isinstance(failure, kind)), 1)
