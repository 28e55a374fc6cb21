"""ProactBench for the runner: every trigger of a corpus, the assistant under test, the judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from dspy_proact.corpus import Corpus, control_turns, trigger_key
from dspy_proact.programs import Assistant, Direct, Judge, OfferDetector
from dspy_proact.runs import CONTROL, Case, Scored
from dspy_proact.types import Dialogue, Grade, Offers, Phase, Response, Trigger, Turn, Verdict
from dspy_proact.views import AssistantView, ControlView, JudgeView

HELD_BACK, UNWANTED = "HELD_BACK", "UNWANTED"
"""What a response at a control turn did: only answer, or offer what nobody asked for."""


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
    control_labels: Sequence[str] = (HELD_BACK, UNWANTED)
    answer_type = Response
    detail_type = Verdict
    detector = OfferDetector()

    def __init__(
        self, cases: Sequence[Case], assistant: Assistant, assistant_lm: dspy.LM | None, judges: Mapping[str, Seat]
    ):
        self._cases = tuple(cases)
        self._assistant = assistant
        self._asking = Direct(assistant_lm) if assistant_lm else None
        self._seats = {name: (seat.judge, Direct(seat.lm)) for name, seat in judges.items()}
        self.judges: Sequence[str] = tuple(judges)

    def cases(self) -> tuple[Case, ...]:
        """One case a trigger and a control turn, in the order of the corpus."""
        return self._cases

    async def answer(self, case: Case) -> Response:
        """The assistant's response at the trigger: an independent probe, with the curated turns before it."""
        assert self._asking is not None, "responses that are there are not asked for"
        return await self._assistant.respond(AssistantView.of(_conversation(case)), self._asking)

    def asked(self, case: Case) -> list[dict[str, Any]]:
        """The messages that `answer` sends."""
        return self._assistant.messages(AssistantView.of(_conversation(case)))

    def asked_to_grade(self, case: Case, answer: Response, judge: str) -> list[dict[str, Any]]:
        """The messages that `grade` sends, without repairs."""
        if isinstance(case.view, ControlView):
            return self.detector.messages(case.view, answer.text)
        return self._seats[judge][0].messages(_view(case), answer.text)

    async def grade(self, case: Case, answer: Response, judge: str) -> Scored[Verdict] | Scored[Offers]:
        """One judge's verdict on a response; at a control turn what its model finds offered."""
        grader, asking = self._seats[judge]
        if isinstance(case.view, ControlView):
            offers = await self.detector.look(case.view, answer.text, asking)
            label = UNWANTED if offers.unwanted else HELD_BACK
            return Scored(float(label == HELD_BACK), label, offers, offers.verified)
        verdict = await grader.judge(_view(case), answer.text, asking)
        return Scored(verdict.grade.score, verdict.grade, verdict, verdict.verified)


def cases_of(corpus: Corpus) -> tuple[Case, ...]:
    """One case a trigger, in the order of the corpus."""
    return tuple(_case(dialogue, trigger) for dialogue in corpus.dialogues for trigger in dialogue.triggers)


def controls_of(corpus: Corpus) -> tuple[Case, ...]:
    """One case a control turn, in the order of the corpus."""
    return tuple(_control(dialogue, turn) for dialogue in corpus.dialogues for turn in control_turns(dialogue))


def case_key(dialogue: Dialogue, trigger: Trigger) -> str:
    """The key of a trigger: the dialogue's only unique id, and the turn."""
    return trigger_key(dialogue.origin.dialogue, trigger.turn)


def _case(dialogue: Dialogue, trigger: Trigger) -> Case:
    return Case(
        key=case_key(dialogue, trigger),
        group=dialogue.origin.scenario,
        stratum=trigger.rubric.phase,
        view=JudgeView.of(dialogue, trigger),
        meta=_meta(dialogue, trigger.turn),
    )


def _control(dialogue: Dialogue, turn: int) -> Case:
    return Case(
        key=trigger_key(dialogue.origin.dialogue, turn),
        group=dialogue.origin.scenario,
        stratum=CONTROL,
        view=ControlView.of(dialogue, turn),
        meta=_meta(dialogue, turn),
    )


def _meta(dialogue: Dialogue, turn: int) -> dict[str, str | int]:
    curated = dialogue.turns[turn - 1].assistant or ""
    return {**dialogue.origin.model_dump(), "turn": turn, "curated_response": curated}


def _conversation(case: Case) -> tuple[Turn, ...]:
    assert isinstance(case.view, JudgeView | ControlView), "ProactBench makes its own cases"
    return case.view.conversation


def _view(case: Case) -> JudgeView:
    assert isinstance(case.view, JudgeView), "ProactBench makes its own cases"
    return case.view
