"""What can go wrong, and what it ends.

    Exception
    └── ProactError           raised on purpose; the message holds the mend
        ├── UsageError        the person can mend it; nothing was spent
        │   ├── CorpusError   names file, line and field
        │   └── RunError      a run folder that cannot be used as asked
        └── StageError        one stage of one case ended without a result; the run goes on
            ├── ContentError  the model answered, and the answer is of no use; asking again is not free of bias
            ├── ProviderError the model could not be reached within the retries; asking again is right
            └── AppError      an application under test failed by itself; asking again is right
    BaseException
    └── Halt                  ends the run or compile at once, keeping what is on disk
        ├── SetupFault        the provider refuses us for good (key, model, parameter)
        │   └── RefusedAlike  several requests were refused alike, and none answered; the command retries them
        ├── UnusableContent   none of the first answers can be used; once mended, the command retries them
        ├── LimitReached      the person's limit of calls, tokens or money; the same command goes on
        ├── ProviderDown      one call after another fails for good; the same command goes on
        ├── StorageFault      what was answered cannot be kept
        └── Interrupted       Ctrl-C; the same command goes on

A `StageError` becomes an unscored row with its kind and reason: never the worst grade, never a smaller
denominator. A `Halt` is no `Exception` because DSPy and its optimizers swallow those.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

from dspy_proact.plain_text import printable


class ProactError(Exception):
    """Root of the errors that this project raises on purpose; a message names arguments in backticks: `out`.

    A message may quote what others wrote; as a text it holds nothing that a terminal obeys.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class UsageError(ProactError):
    """A set-up that cannot work, found before the first call."""


class CorpusError(UsageError):
    """A corpus that cannot be used.

    Attributes:
        problem: What is wrong with it.
        source: File or dataset.
        line: Counted from 1; None when the fault is not in a line.
        field: Dotted path of the field; None when the fault is not in a field.
    """

    def __init__(self, problem: str, *, source: str, line: int | None = None, field: str | None = None):
        where = source if line is None else f"{source}, line {line}"
        super().__init__(f"{where}{f', field {field!r}' if field else ''}: {problem}")
        self.problem, self.source, self.line, self.field = problem, source, line, field


class RunError(UsageError):
    """A run folder that cannot be used as asked: of another run, damaged, or in use."""


class StageError(ProactError):
    """One stage of one case ended without a result.

    Attributes:
        reason: A short word for counting, such as `empty` or `rate_limit`.
        detail: A sentence for the person who looks into it.
    """

    kind: ClassVar[Literal["content", "provider", "app"]]

    def __init__(self, reason: str, detail: str = ""):
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason, self.detail = reason, detail


class ContentError(StageError):
    """The model answered, and the answer cannot be used: empty, filtered, refused or unreadable."""

    kind = "content"


class ProviderError(StageError):
    """Rate limits, server or network failures outlasted the retries.

    Attributes:
        retry_after: Seconds that the provider asks to wait; None where it asks for none.
    """

    kind = "provider"

    def __init__(self, reason: str, detail: str = "", retry_after: float | None = None):
        super().__init__(reason, detail)
        self.retry_after = retry_after


class AppError(StageError):
    """An application under test failed by itself: it raised, ended, hung, or gave what is no answer.

    Attributes:
        alike: What is the same in every failure of this cause, where `detail` also has what is of one request.
        unclear: Whether another request may have made it fail: this one is then sent once more, and nothing counts.
    """

    kind = "app"

    def __init__(self, reason: str, detail: str = "", alike: str | None = None, *, unclear: bool = False):
        super().__init__(reason, detail)
        self.alike = detail if alike is None else alike
        self.unclear = unclear


class Halt(BaseException):
    """Ends a run or compile at once; what is on disk stays valid.

    Attributes:
        change: The argument that names a model, a request parameter, and its value that mends it; None where none does.
    """

    def __init__(self, message: str, change: tuple[str, str, str] | None = None):
        super().__init__(message)
        self.change = change

    def __str__(self) -> str:
        return printable(super().__str__())


class SetupFault(Halt):
    """The provider refuses every call alike: a key, a model name or a parameter must be mended."""


class RefusedAlike(SetupFault):
    """The provider refused several requests in the same words, and answered none."""


class UnusableContent(Halt):
    """None of the first responses, or verdicts of a judge, can be used: all are empty, cut or unreadable."""


class LimitReached(Halt):
    """A limit of the person is reached; the next call might exceed it."""


class ProviderDown(Halt):
    """The provider answers no longer; every recent call failed after all retries."""


class StorageFault(Halt):
    """What was answered cannot be kept, so that nothing further may be paid for; once mended, the command goes on."""


class Interrupted(Halt):
    """The person asked to stop; the same command goes on."""


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes, the nearest first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
