"""What an assistant is tuned to: the tuning judge's grade, and what may be told of its reasons."""

from collections.abc import Sequence
from typing import Any

import dspy

from dspy_proact.compile.assistant.panel import NO_VERDICT, Panel
from dspy_proact.compile.assistant.probe import Probe
from dspy_proact.compile.assistant.withholding import Withheld, tellable
from dspy_proact.types import Grade, Verdict
from dspy_proact.views import JudgeView


class InitiativeMetric:
    """Score of a response by the tuning judge.

    Args:
        probes: The training set; rubrics of anything else are out of reach.
        panel: With the tuning judge.
        withheld: Counts what of its reasons is not told.
        with_feedback: Whether a sentence for reflective optimizers comes with the score.
    """

    def __init__(self, probes: Sequence[Probe], panel: Panel, withheld: Withheld, with_feedback: bool = False):
        self._probes = {probe.key: probe for probe in probes}
        self._panel, self._withheld, self._with_feedback = panel, withheld, with_feedback

    def __call__(
        self,
        example: dspy.Example,
        prediction: dspy.Prediction,
        trace: Any = None,
        pred_name: str | None = None,  # noqa: ARG002 - GEPA gives it
        pred_trace: Any = None,  # noqa: ARG002 - likewise
    ) -> Any:
        """The score in [0, 1], higher is better; for reflective optimizers a prediction with score and feedback.

        Asked with a trace, as bootstrapping does, it says whether the response is worth a demo: a PASS.
        """
        probe = self._probes[example.key]
        verdict = self._panel.verdict(probe, prediction.response)
        score = verdict.grade.score if verdict else NO_VERDICT
        if self._with_feedback:
            return dspy.Prediction(score=score, feedback=self.feedback(probe, prediction.response, verdict))
        return verdict is not None and verdict.grade is Grade.PASS if trace is not None else score

    def feedback(self, probe: Probe, response: str, verdict: Verdict | None) -> str:
        """What may be told of a verdict: the grade, quotes that stand in the response, reasons without the rubric."""
        assert isinstance(probe.view, JudgeView), "a trigger has a rubric"
        if verdict is None:
            return "The judge's verdict on this response could not be read."
        turns = [text for turn in probe.conversation for text in (turn.user, turn.assistant or "")]
        told = tellable(verdict.reasoning, probe.view.rubric, "\n".join([*turns, response]), self._withheld)
        quotes = [response[quote.start : quote.end] for quote in verdict.evidence if quote.start is not None]
        lines = [
            f"The judge graded this response {verdict.grade}.",
            *([f"It quoted: {' / '.join(quotes)}"] if quotes else []),
            *([f"It said: {told}"] if told else ["Its reasons are not told."]),
        ]
        return "\n".join(lines)
