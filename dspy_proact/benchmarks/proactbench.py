"""ProactBench for the runner: every trigger of a corpus, the assistant under test, the judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from dspy_proact.corpus import Corpus, control_turns, trigger_key
from dspy_proact.programs import Assistant, Judge, OfferDetector
from dspy_proact.runs import CONTROL, Case, Measure, Nouns, Scored, Settings
from dspy_proact.types import Dialogue, Grade, Offers, Phase, Response, Trigger, Turn, Verdict
from dspy_proact.views import AssistantView, ControlView, JudgeView

HELD_BACK, UNWANTED = "HELD_BACK", "UNWANTED"
"""What a response at a control turn did: only answer, or offer what nobody asked for."""
NOUNS = Nouns(
    case="trigger",
    cases="triggers",
    stratum="phase",
    strata="phases",
    group="scenario",
    groups="scenarios",
    control="control turn",
    controls="control turns",
    row="dialogue",
    rows="dialogues",
)

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
    control_labels: Sequence[str] = (HELD_BACK, UNWANTED)
    answer_type = Response
    detail_type = Verdict
    nouns = NOUNS
    measures: Sequence[Measure] = ()
    settings = Settings()
    detector = OfferDetector()

    def __init__(
        self, cases: Sequence[Case], assistant: Assistant, assistant_lm: dspy.LM | None, judges: Mapping[str, Seat]
    ):
        self._cases = tuple(cases)
        self._assistant, self._assistant_lm = assistant, assistant_lm
        self._seats = judges
        self.judges: Sequence[str] = tuple(judges)

    def cases(self) -> tuple[Case, ...]:
        """One case a trigger and a control turn, in the order of the corpus."""
        return self._cases

    async def answer(self, case: Case) -> Response:
        """The assistant's response at the trigger: an independent probe, with the curated turns before it."""
        assert self._assistant_lm is not None, "responses that are there are not asked for"
        with dspy.context(lm=self._assistant_lm, **_LEAN):
            return await self._assistant.respond(AssistantView.of(_conversation(case)))

    def asked(self, case: Case) -> list[dict[str, Any]]:
        """The messages that `answer` sends."""
        return self._assistant.messages(AssistantView.of(_conversation(case)))

    def asked_to_grade(self, case: Case, answer: Response, judge: str) -> list[dict[str, Any]]:
        """The messages that `grade` sends, without repairs."""
        if isinstance(case.view, ControlView):
            return self.detector.messages(case.view, answer.text)
        return self._seats[judge].judge.messages(_view(case), answer.text)

    async def grade(self, case: Case, answer: Response, judge: str | None) -> Scored[Verdict] | Scored[Offers]:
        """One judge's verdict on a response; at a control turn what its model finds offered."""
        assert judge is not None, "ProactBench is graded by judges"
        seat = self._seats[judge]
        with dspy.context(lm=seat.lm, **_LEAN):
            if isinstance(case.view, ControlView):
                offers = await self.detector.look(case.view, answer.text)
                label = UNWANTED if offers.unwanted else HELD_BACK
                return Scored(float(label == HELD_BACK), label, offers, offers.verified)
            verdict = await seat.judge.judge(_view(case), answer.text)
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
