"""Asking a model that a server plays through a gate, once, on every route and in both ways."""

import asyncio
from dataclasses import dataclass

import dspy
import pytest

from dspy_proact.calls import Call, collect_calls
from dspy_proact.errors import Halt, ProactError
from dspy_proact.models import Gate, ModelSpec, open_model
from dspy_proact.programs import ASSISTANT, Assistant

ROUTES = pytest.mark.parametrize(
    ("name", "backend"),
    [("hosted_vllm/any", "auto"), ("hosted_vllm/any", "litellm"), ("openai/any", "auto"), ("openai/any", "litellm")],
)
WAYS = pytest.mark.parametrize("way", ["async", "sync"])


@dataclass
class Outcome:
    """What came of one question, and the calls that it took."""

    text: str | None
    error: BaseException | None
    calls: list[Call]

    @property
    def words(self):
        return [call.error for call in self.calls]


def gate(backend="auto", **options):
    return Gate(backoff=0.001, backend=backend, **options)


def assistant(server, name, through):
    return open_model(ModelSpec(name=name, api_base=server.assistant), ASSISTANT, through)


async def awaited(model):
    try:
        with dspy.context(lm=model.lm):
            return (await Assistant().acall(history=[], user_message="hi")).response
    finally:
        await model.aclose()


def now(model):
    with dspy.context(lm=model.lm):
        return Assistant()(history=[], user_message="hi").response


def ask(model, way="async"):
    """Ask once, in an event loop of its own or without one."""
    with collect_calls() as calls:
        try:
            return Outcome(asyncio.run(awaited(model)) if way == "async" else now(model), None, calls)
        except (ProactError, Halt) as raised:
            return Outcome(None, raised, calls)


def answers(server, *given):
    """Script the server's answers one after another; the last one goes on."""
    pending = list(given)
    server.script = lambda sent: pending.pop(0) if len(pending) > 1 else pending[0]
