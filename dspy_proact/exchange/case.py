"""A case of a run as other tools take it: messages, an answer, what was right, and what was said of the answer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dspy_proact.errors import RunError
from dspy_proact.evaluation.registry import reporting_of
from dspy_proact.evaluation.reporting import Grounds
from dspy_proact.report.reading import ChatMessage, Reading, grounds_document
from dspy_proact.report.summary import Summary
from dspy_proact.runs import Manifest, Outcome


@dataclass(frozen=True)
class ExportedCase:
    """A case in one epoch."""

    outcome: Outcome
    messages: tuple[ChatMessage, ...]
    """The conversation that was answered, the system prompt first; of a case that is no conversation one message with
    what the program under test saw, in the words of `show`."""
    hidden: str
    """What it did not see, such as the right answer; empty where there is nothing, or the run keeps no inputs."""
    answer: str | None
    """As people read it; None where there is none."""
    grounds: tuple[Grounds, ...]
    """Of each of the outcome's verdicts, in their order."""

    @cached_property
    def verdicts(self) -> list[dict[str, Any]]:
        """Who gave each verdict, and what it rests on: reasons, quotes with their places, points and parts; as JSON."""
        return [
            {
                "judge": verdict.judge,
                "judge_epoch": verdict.judge_epoch,
                "grade": verdict.label,
                "score": verdict.score,
                "verified": verdict.verified,
                "parts": dict(verdict.parts),
                **grounds_document(grounds),
            }
            for verdict, grounds in zip(self.outcome.verdicts, self.grounds, strict=True)
        ]

    @property
    def explanation(self) -> str:
        """The reasons of the verdict; of several each with its judge and grade."""
        reasons = [
            (verdict, grounds.reasons) for verdict, grounds in zip(self.outcome.verdicts, self.grounds, strict=True)
        ]
        if len(reasons) == 1:
            return reasons[0][1]
        return "\n\n".join(f"{verdict.judge}, {verdict.label}: {why}" for verdict, why in reasons)

    @property
    def error(self) -> str | None:
        """Why it was tried and has no grade; None where it has one, or was not tried."""
        if self.outcome.state != "unscored":
            return None
        return ": ".join(filter(None, (self.outcome.reason, self.outcome.cause)))


def manifest_of(summary: Summary) -> Manifest:
    """That of the run which is exported."""
    assert summary.manifest is not None, "a run is exported, and no results file"
    return summary.manifest


def exported_cases(summary: Summary, wanted: Callable[[Outcome], bool] = lambda _: True) -> Iterator[ExportedCase]:
    """Every case of a run in every epoch, control cases last; raises a `RunError` where what it keeps is damaged."""
    reporting, manifest = reporting_of(summary.benchmark), summary.manifest
    prompt = manifest.system_prompt if manifest else None
    for outcome in filter(wanted, (*summary.outcomes, *summary.controls.outcomes)):
        if manifest is None or manifest.keeps_inputs:
            reading = Reading.of(outcome, summary.benchmark)
            hidden = "\n\n".join(section.as_text for section in reading.sections if section.hidden)
            messages = tuple(reading.messages(prompt))
            yield ExportedCase(outcome, messages, hidden, reading.answer, reading.grounds)
            continue
        unknown = ChatMessage("user", f"(not kept by the run; sha256 {outcome.view.get('sha256')})")
        try:
            answer = None if outcome.response is None else reporting.answer(outcome.response)
            grounds = tuple(map(reporting.grounds, outcome.verdicts))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise RunError(f"{outcome.key!r} cannot be read: {type(error).__name__}") from error
        yield ExportedCase(outcome, (unknown,), "", answer, grounds)
