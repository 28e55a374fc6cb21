"""ProactBench for the runner: every trigger of a corpus, the assistant under test, the judge."""

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from dspy_proact.corpus import Corpus
from dspy_proact.programs import Assistant, Judge
from dspy_proact.runs import Case, Scored
from dspy_proact.types import Dialogue, Grade, Phase, Response, Trigger, Verdict
from dspy_proact.views import AssistantView, JudgeView

_LEAN: Mapping[str, object] = {"disable_history": True, "max_trace_size": 0, "warn_on_type_mismatch": False}
"""DSPy's bookkeeping off: a run keeps its own, and the trace is for compiling."""


class ProactBench:
    """Binds a corpus to two programs and their models.

    Args:
        corpus: Whose triggers are the cases.
        assistant: The program under test.
        assistant_lm: Its model.
        judge: The program that grades.
        judge_lm: Its model.
    """

    name = "proactbench"
    strata: Sequence[str] = tuple(Phase)
    labels: Sequence[str] = tuple(Grade)
    answer_type = Response
    detail_type = Verdict

    def __init__(self, corpus: Corpus, assistant: Assistant, assistant_lm: dspy.LM, judge: Judge, judge_lm: dspy.LM):
        self._cases = tuple(_case(dialogue, trigger) for dialogue in corpus.dialogues for trigger in dialogue.triggers)
        self._assistant, self._assistant_lm = assistant, assistant_lm
        self._judge, self._judge_lm = judge, judge_lm

    def cases(self) -> tuple[Case, ...]:
        """One case a trigger, in the order of the corpus."""
        return self._cases

    async def answer(self, case: Case) -> Response:
        """The assistant's response at the trigger: an independent probe, with the curated turns before it."""
        with dspy.context(lm=self._assistant_lm, **_LEAN):
            return await self._assistant.respond(AssistantView.of(_view(case).conversation))

    def asked(self, case: Case) -> list[dict[str, Any]]:
        """The messages that `answer` sends."""
        return self._assistant.messages(AssistantView.of(_view(case).conversation))

    def asked_to_grade(self, case: Case, answer: Response) -> list[dict[str, Any]]:
        """The messages that `grade` sends, without repairs."""
        return self._judge.messages(_view(case), answer.text)

    async def grade(self, case: Case, answer: Response) -> Scored[Verdict]:
        """The judge's verdict on a response."""
        with dspy.context(lm=self._judge_lm, **_LEAN):
            verdict = await self._judge.judge(_view(case), answer.text)
        return Scored(verdict.grade.score, verdict.grade, verdict, verdict.verified)


def case_key(dialogue: Dialogue, trigger: Trigger) -> str:
    """The key of a trigger: the dialogue's only unique id, and the turn."""
    return f"{dialogue.origin.dialogue}__t{trigger.turn}"


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
