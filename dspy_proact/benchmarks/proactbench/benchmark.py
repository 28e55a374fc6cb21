"""ProactBench for the runner: the triggers of a corpus, the assistant under test, the judges."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from dspy_proact.benchmarks.proactbench.cases import conversation_of
from dspy_proact.benchmarks.proactbench.jury import Jury
from dspy_proact.benchmarks.proactbench.programs import Assistant, OfferDetector
from dspy_proact.benchmarks.proactbench.types import Grade, Offers, Phase, Response, Verdict
from dspy_proact.benchmarks.proactbench.views import AssistantView, ControlView, JudgeView
from dspy_proact.models import Model
from dspy_proact.programs import Direct
from dspy_proact.runs import CONTROL, Benchmark, Case, CaseSet, ExpectedCall, Nouns, Scored

HELD_BACK, UNWANTED = "HELD_BACK", "UNWANTED"
"""What a response at a control turn did: only answer, or offer what nobody asked for."""
ASSUMED_WORDS = 300
ASSUMED_RESPONSE = "word " * ASSUMED_WORDS
"""Stands for a response that is not written yet, in the judge's prompt."""
RESPONSE_TOKENS = (250, 3800)
"""Of one response: from the tersest to the most talkative of the published models, on average (264 and 3,792)."""
VERDICT_TOKENS = (450, 550)
"""Of one verdict, likewise (457 and 520)."""


class ProactBench(Benchmark[Response, Verdict | Offers]):
    """Binds cases to programs and their models.

    Args:
        case_set: As `case_set_of` makes it.
        assistant: The program under test.
        model: Under it; None where responses are there already.
        jury: Who grades; None where nobody does.
    """

    name = "proactbench"
    strata: Sequence[str] = tuple(Phase)
    labels: Sequence[str] = tuple(Grade)
    control_labels: Sequence[str] = (HELD_BACK, UNWANTED)
    nouns = Nouns(
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
    answer_type = Response
    assumption = f"Prompts of the judge are counted with responses of {ASSUMED_WORDS} words where there are none yet."
    detector = OfferDetector()

    def __init__(self, case_set: CaseSet, assistant: Assistant, model: Model | None, jury: Jury | None):
        self.case_set, self.control_prompt = case_set, self.detector.fingerprint()
        self._assistant, self._jury = assistant, jury
        self._answering = Direct(model.lm) if model else None
        self._grading = {judge.name: Direct(judge.lm) for judge in (jury.models if jury else ())}
        self.judges: Sequence[str] = tuple(self._grading)

    @classmethod
    def view_type(cls, stratum: str) -> type[BaseModel]:
        """What a case of a stratum may show of itself."""
        return ControlView if stratum == CONTROL else JudgeView

    async def answer(self, case: Case) -> Response:
        """The assistant's response at the trigger: an independent probe, with the curated turns before it."""
        assert self._answering is not None, "responses that are there are not asked for"
        return await self._assistant.respond(AssistantView.of(conversation_of(case)), self._answering)

    async def grade(self, case: Case, answer: Response, judge: str | None) -> Scored[Verdict | Offers]:
        """One judge's verdict on a response; at a control turn what its model finds offered."""
        assert judge is not None, "ProactBench does not grade by itself"
        assert self._jury is not None, "ProactBench is graded by judges"
        asking = self._grading[judge]
        if isinstance(case.view, ControlView):
            offers = await self.detector.look(case.view, answer.text, asking)
            label = UNWANTED if offers.unwanted else HELD_BACK
            return Scored(float(label == HELD_BACK), label, offers, offers.verified)
        verdict = await self._jury.program.judge(_view(case), answer.text, asking)
        return Scored(verdict.grade.score, verdict.grade, verdict, verdict.verified)

    def answer_calls(self, case: Case) -> Sequence[ExpectedCall]:
        """The bare chat, or what a prompt makes of it."""
        return [ExpectedCall(self._assistant.messages(AssistantView.of(conversation_of(case))), RESPONSE_TOKENS)]

    def grade_calls(self, case: Case, answer: Response | None) -> Sequence[ExpectedCall]:
        """The judge's question, or the detector's."""
        assert self._jury is not None, "ProactBench is graded by judges"
        text = answer.text if answer else ASSUMED_RESPONSE
        messages: list[dict[str, Any]] = (
            self.detector.messages(case.view, text)
            if isinstance(case.view, ControlView)
            else self._jury.program.messages(_view(case), text)
        )
        return [ExpectedCall(messages, VERDICT_TOKENS)]


def _view(case: Case) -> JudgeView:
    assert isinstance(case.view, JudgeView), "ProactBench makes its own cases"
    return case.view
