"""ProactBench for the runner: every trigger of a corpus, the assistant under test, the judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from dspy_proact.corpus import Corpus, trigger_key
from dspy_proact.programs import Assistant, Judge
from dspy_proact.runs import Case, Scored
from dspy_proact.types import Dialogue, Grade, Phase, Response, Trigger, Verdict
from dspy_proact.views import AssistantView, JudgeView

_LEAN: Mapping[str, object] = {"disable_history": True, "max_trace_size": 0, "warn_on_type_mismatch": False}
"""DSPy's bookkeeping off: a run keeps its own, and the trace is for compiling."""


@dataclass(frozen=True)
class Seat:
    """A judge and the model under it."""

    judge: Judge
    lm: dspy.LM


class ProactBench:
    """Binds cases to programs and their models.

    Args:
        cases: As `cases_of` makes them.
        assistant: The program under test.
        assistant_lm: Its model; None where responses are there already.
        judges: Who grades, by the name under which verdicts are kept.
    """

    name = "proactbench"
    strata: Sequence[str] = tuple(Phase)
    labels: Sequence[str] = tuple(Grade)
    answer_type = Response
    detail_type = Verdict

    def __init__(
        self, cases: Sequence[Case], assistant: Assistant, assistant_lm: dspy.LM | None, judges: Mapping[str, Seat]
    ):
        self._cases = tuple(cases)
        self._assistant, self._assistant_lm = assistant, assistant_lm
        self._seats = judges
        self.judges: Sequence[str] = tuple(judges)

    def cases(self) -> tuple[Case, ...]:
        """One case a trigger, in the order of the corpus."""
        return self._cases

    async def answer(self, case: Case) -> Response:
        """The assistant's response at the trigger: an independent probe, with the curated turns before it."""
        assert self._assistant_lm is not None, "responses that are there are not asked for"
        with dspy.context(lm=self._assistant_lm, **_LEAN):
            return await self._assistant.respond(AssistantView.of(_view(case).conversation))

    def asked(self, case: Case) -> list[dict[str, Any]]:
        """The messages that `answer` sends."""
        return self._assistant.messages(AssistantView.of(_view(case).conversation))

    def asked_to_grade(self, case: Case, answer: Response, judge: str) -> list[dict[str, Any]]:
        """The messages that `grade` sends, without repairs."""
        return self._seats[judge].judge.messages(_view(case), answer.text)

    async def grade(self, case: Case, answer: Response, judge: str) -> Scored[Verdict]:
        """One judge's verdict on a response."""
        seat = self._seats[judge]
        with dspy.context(lm=seat.lm, **_LEAN):
            verdict = await seat.judge.judge(_view(case), answer.text)
        return Scored(verdict.grade.score, verdict.grade, verdict, verdict.verified)


def cases_of(corpus: Corpus) -> tuple[Case, ...]:
    """One case a trigger, in the order of the corpus."""
    return tuple(_case(dialogue, trigger) for dialogue in corpus.dialogues for trigger in dialogue.triggers)


def case_key(dialogue: Dialogue, trigger: Trigger) -> str:
    """The key of a trigger: the dialogue's only unique id, and the turn."""
    return trigger_key(dialogue.origin.dialogue, trigger.turn)


def _case(dialogue: Dialogue, trigger: Trigger) -> Case:
    origin = dialogue.origin
    return Case(
        key=case_key(dialogue, trigger),
        group=origin.scenario,
        stratum=trigger.rubric.phase,
        view=JudgeView.of(dialogue, trigger),
        meta={
            **origin.model_dump(),
            "turn": trigger.turn,
            "curated_response": dialogue.turns[trigger.turn - 1].assistant or "",
        },
    )


def _view(case: Case) -> JudgeView:
    assert isinstance(case.view, JudgeView), "ProactBench makes its own cases"
    return case.view
