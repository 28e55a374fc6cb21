"""The way of a run to ask sends what DSPy sends, byte for byte, and says what DSPy says."""

import asyncio
import json

import dspy
import pytest
from dspy.utils.callback import BaseCallback
from fakes.server import Answer, error, verdict

from dspy_proact import JUDGE, Assistant, Gate, Judge, ModelSpec, OfferDetector, open_model
from dspy_proact.benchmarks.proactbench.types import AssistantView, ControlView, JudgeView, Phase, Rubric, Turn
from dspy_proact.calls import collect_calls
from dspy_proact.errors import ContentError, ProviderError, StageError
from dspy_proact.programs import Direct

RESPONSE = "Label the boxes, today — “now”.\nThen call Ann."
TURNS = (Turn(user="I move on Friday. \n", assistant="Good luck."), Turn(user="Any boxes?\u2028", assistant=None))
RUBRIC = Rubric(phase=Phase.EMERGENT, pass_criteria="Plans.", partial_criteria="Hints.", fail_criteria="Nothing.")
VIEW = JudgeView(conversation=TURNS, turn=2, rubric=RUBRIC)


def with_demo(judge: Judge) -> Judge:
    shown = {"conversation": list(TURNS), "turn": 2, "rubric": RUBRIC, "response": RESPONSE}
    text = {"reasoning": "because", "evidence": ["Then call Ann"], "grade": "PASS"}
    judge.emergent.demos = [dspy.Example(**shown, **text, augmented=True)]
    return judge


def replied(assistant, asking):
    inputs = AssistantView.of(TURNS).inputs
    return assistant.answer_by(asking, **inputs) if asking else assistant.acall(**inputs)


QUESTIONS = {
    "bare": lambda asking: replied(Assistant(), asking),
    "prompted": lambda asking: replied(Assistant(" Be\tbrief. "), asking),
    "judge": lambda asking: Judge().judge(VIEW, RESPONSE, asking),
    "compiled judge": lambda asking: with_demo(Judge()).judge(VIEW, RESPONSE, asking),
    "detector": lambda asking: OfferDetector().look(ControlView(conversation=TURNS, turn=2), RESPONSE, asking),
}
ANSWERS = {
    "healthy": Answer(verdict("PASS", ["Then call Ann"])),
    "no such quote": Answer(verdict("PASS", ["nowhere"])),
    "unreadable": Answer("I would say PASS."),
    "empty": Answer(""),
    "cut": Answer(verdict("PASS", ["Then call Ann"]), finish_reason="length"),
    "filtered": Answer("", finish_reason="content_filter"),
    "refused": error(500),
}


async def outcome_of(server, question, name, backend, directly):
    """What came of a question, and what was sent for it."""
    server.sent.clear()
    gate = Gate(retries=0, backoff=0.001, backend=backend)
    model = open_model(ModelSpec(name=name, api_base=server.judge, params={"seed": 7}), JUDGE, gate)
    try:
        with dspy.context(lm=model.lm), collect_calls() as calls:
            came = await question(Direct(model.lm) if directly else None)
    except StageError as fault:
        came = (type(fault), fault.reason, fault.detail)
    finally:
        await model.aclose()
    return came, [call.finish_reason for call in calls], [json.dumps(sent.body) for sent in server.sent]


@pytest.mark.parametrize("backend", ["auto", "litellm"])
@pytest.mark.parametrize("name", ["openai/gpt-4o", "openai/gpt-5.4", "hosted_vllm/any"])
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_the_requests_and_the_outcome_are_those_of_dspys_own_way(server, question, name, backend):
    server.script = lambda sent: ANSWERS["healthy"]
    ways = [asyncio.run(outcome_of(server, question, name, backend, directly)) for directly in (False, True)]
    assert ways[0] == ways[1]
    assert ways[0][2], "something was sent"


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("question", [QUESTIONS["bare"], QUESTIONS["judge"]], ids=["assistant", "judge"])
def test_whatever_is_answered_comes_to_the_same(server, question, answer):
    server.script = lambda sent: answer
    ways = [asyncio.run(outcome_of(server, question, "openai/gpt-4o", "auto", directly)) for directly in (False, True)]
    assert ways[0] == ways[1]


def test_faults_come_as_the_gate_raises_them(server):
    for answer, kind in ((ANSWERS["empty"], ContentError), (ANSWERS["refused"], ProviderError)):
        server.script = lambda sent, answer=answer: answer
        came, _, _ = asyncio.run(outcome_of(server, QUESTIONS["judge"], "openai/gpt-4o", "auto", True))
        assert came[0] is kind


def test_a_callback_of_the_person_hears_of_every_call(server):
    class Hearing(BaseCallback):
        heard = 0

        def on_lm_end(self, call_id, outputs, exception=None):
            self.heard += 1

    server.script = lambda sent: ANSWERS["healthy"]
    hearing = Hearing()
    with dspy.context(callbacks=[hearing]):
        asyncio.run(outcome_of(server, QUESTIONS["judge"], "openai/gpt-4o", "auto", True))
    assert hearing.heard == len(server.sent) == 1
