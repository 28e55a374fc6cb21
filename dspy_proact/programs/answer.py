"""What a program's answer is: read, cut at the token limit (`truncated`), or unusable, with the reason.

DSPy's wrapping of failures is undone here alone: a program sees errors of `errors` only.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import dspy
from dspy import AdapterParseError, LMError

from dspy_proact.calls import Call, collect_calls
from dspy_proact.errors import ContentError, ProactError
from dspy_proact.models.dspy_internals import NO_RESPONSE
from dspy_proact.models.replies import cut_at, filtered


@dataclass(frozen=True)
class Answer:
    """What came of a question."""

    prediction: dspy.Prediction
    truncated: bool
    """Whether the answer was cut at the token limit."""


@contextmanager
def ours() -> Generator[list[Call]]:
    """Raise what the gate raised as it was, and a content error for an answer that cannot be used."""
    with collect_calls() as calls:
        try:
            yield calls
        except AdapterParseError as error:
            raise _unusable(str(error), calls) from error
        except LMError as error:
            if isinstance(error.__cause__, ProactError):
                raise error.__cause__ from None
            raise


def mark_cut(prediction: dspy.Prediction, calls: list[Call]) -> Answer:
    """An answer, marked as `truncated` if its last call was cut at the token limit; `ContentError` if by a filter."""
    reason = calls[-1].finish_reason if calls else None
    if reason == "content_filter":
        raise filtered()
    return Answer(prediction, truncated=reason == "length")


def _unusable(message: str, calls: list[Call]) -> ContentError:
    finish, nothing = calls[-1].finish_reason if calls else None, NO_RESPONSE in message
    if finish == "content_filter":
        return filtered()
    if finish == "length":
        return ContentError("cut", f"{cut_at(calls)} {'before any text' if nothing else 'in the middle of the answer'}")
    if nothing:
        return ContentError("empty", "the model answered nothing")
    return ContentError("unreadable", message.partition("\n")[0])
