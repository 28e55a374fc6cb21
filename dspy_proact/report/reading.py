"""One case as a person reads it: what stood there, what was answered, and what each verdict says of it."""

from collections.abc import Iterator
from dataclasses import dataclass

from dspy_proact.errors import RunError
from dspy_proact.report.outcome import Outcome
from dspy_proact.report.particulars import particulars_of
from dspy_proact.report.section import Grounds, Section


@dataclass(frozen=True)
class Reading:
    """One case in one epoch, to be read."""

    outcome: Outcome
    sections: tuple[Section, ...]
    """What stood there before the answer, in the order of reading."""
    grounds: tuple[Grounds, ...]
    """Of each of the outcome's verdicts, in their order."""
    answer: str | None
    """As it is read; None where there is none."""

    @property
    def texts(self) -> Iterator[str]:
        """Everything in it that was written by somebody."""
        yield from (text for section in self.sections for _, text in section.items)
        yield self.answer or ""
        for grounds in self.grounds:
            yield grounds.reasons
            yield from (text for point in grounds.points for text in point)

    @classmethod
    def of(cls, outcome: Outcome, benchmark: str) -> "Reading":
        """That of an outcome, in the words of its benchmark.

        Raises:
            RunError: A view or a verdict is not what the benchmark writes.
        """
        said = particulars_of(benchmark)
        try:
            answer = None if outcome.response is None else said.answer(outcome.response)
            sections, grounds = tuple(said.sections(outcome.view)), tuple(map(said.grounds, outcome.verdicts))
            return cls(outcome, sections, grounds, answer)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise RunError(f"{outcome.key!r} cannot be read: {type(error).__name__}") from error
