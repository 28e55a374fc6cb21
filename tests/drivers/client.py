"""Asking a model that a server plays through a gate, on every route and in both ways."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dspy
import pytest
from fakes.server import Answer

from dspy_proact.calls import Call, collect_calls
from dspy_proact.errors import Halt, ProactError
from dspy_proact.models import EMBEDDED, Gate, ModelSpec, Role, open_model
from dspy_proact.programs.asking import ask as ask_async
from dspy_proact.programs.asking import ask_now, run_now
from dspy_proact.programs.streaming import streamed

NATIVE, LITELLM, OPENAI = CLIENTS = [
    ("hosted_vllm/any", "auto"),
    ("hosted_vllm/any", "litellm"),
    ("openai/any", "litellm"),
]
"""Every client: DSPy's own, litellm's, and OpenAI's under litellm."""
ROUTES = pytest.mark.parametrize(("name", "backend"), CLIENTS)
WAYS = pytest.mark.parametrize("way", ["async", "sync"])
STREAMS = pytest.mark.parametrize("way", ["stream", "sync stream"])
EVERY_WAY = pytest.mark.parametrize("way", ["async", "sync", "stream", "sync stream"])


ROUTES_AND_WAYS = pytest.mark.parametrize(
    ("name", "backend", "way"),
    [*((*NATIVE, "async"), (*NATIVE, "sync stream"), (*LITELLM, "stream")), *((*LITELLM, "sync"), (*OPENAI, "async"))],
)
"""Each client and each way once, for what the gate does whoever asks."""


def in_turn(name, values):
    """Each value by every client, in one way after the other: of four values each way has one."""
    ways = ["async", "stream", "sync", "sync stream"]
    requests = [(*client, value) for client in CLIENTS for value in values]
    turns = [(*item, ways[(at // len(values) + at % len(values)) % 4]) for at, item in enumerate(requests)]
    return pytest.mark.parametrize(("name", "backend", name, "way"), turns)


def every_way(name, values):
    """Each value asked awaited and as a stream, which the clients read apart, and the first in the synchronous ways."""
    first, *_ = values
    crossed = [(way, value) for value in values for way in ("async", "stream")]
    return pytest.mark.parametrize(("way", name), [*crossed, ("sync", first), ("sync stream", first)])


QUIET = pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute on the instance:DeprecationWarning")
"""For litellm's own warning at every chunk of a stream."""
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 37,
    "total_tokens": 137,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 30},
}
"""As a provider counts: cached tokens are among those of the prompt, reasoning among those of the completion."""


ASSISTANT = Role("assistant", "model", "response", lambda system, messages: "You could label the boxes today.")
JUDGE = Role("judge", "judge", "verdict", lambda system, messages: "PASS")
INPUTS = {"user_message": "hi"}


class Plain(dspy.Adapter):
    """The message as it stands, and the text of the answer."""

    def format(self, signature, demos, inputs):
        return [{"role": "user", "content": inputs["user_message"]}]

    def parse(self, signature, completion):
        return {"response": completion}


class Chat(dspy.Module):
    """Sends a message, without any text of DSPy's."""

    def __init__(self):
        super().__init__()
        self.reply = dspy.Predict("user_message -> response")

    def forward(self, user_message):
        return run_now(ask_now(self.reply, Plain(), user_message=user_message)).prediction

    async def aforward(self, user_message):
        return (await ask_async(self.reply, Plain(), user_message=user_message)).prediction


@dataclass
class Outcome:
    """What came of one question, and the calls that it took."""

    text: str | None
    error: BaseException | None
    calls: list[Call]
    pieces: Sequence[str] = ()
    """Of a stream."""

    @property
    def words(self):
        return [call.error for call in self.calls]


def gate(backend="auto", **options):
    return Gate(backoff=0.001, backend=backend, **options)


def assistant(server, name, through):
    return open_model(ModelSpec(name=name, api_base=server.assistant), ASSISTANT, through)


def opened(server, name="hosted_vllm/any", backend="auto", role=JUDGE):
    """A model in a role, by which the server knows it; nothing is tried again."""
    return open_model(ModelSpec(name=name, api_base=getattr(server, role.name)), role, gate(backend, retries=0))


async def awaited(model, asking):
    """What comes of a coroutine that asks a model, which is closed then."""
    try:
        with dspy.context(lm=model.lm):
            return await asking
    finally:
        await model.aclose()


def predicted(model, program, way="async", **inputs):
    """A program's prediction, by `aforward` in an event loop of its own or by `forward` without one."""
    if way == "async":
        return asyncio.run(awaited(model, program.acall(**inputs)))
    with dspy.context(lm=model.lm):
        return program(**inputs)


def ask(model, way="async", most=None):
    """Ask once; read at most so many pieces of a stream."""
    with collect_calls() as calls:
        if "stream" in way:
            pieces, error = asyncio.run(awaited(model, read(way, most)))
            return Outcome(None if error and not pieces else "".join(pieces), error, calls, pieces)
        try:
            return Outcome(predicted(model, Chat(), way, **INPUTS).response, None, calls)
        except (ProactError, Halt) as raised:
            return Outcome(None, raised, calls)


async def read(way="stream", most=None):
    """The pieces of a stream, and how it failed."""
    pieces, failure = [], None
    stream = streamed(Chat(), **INPUTS) if way == "stream" else of_the_synchronous_engine()
    try:
        async for piece in stream:
            pieces.append(piece)
            if len(pieces) == most:
                break
    except (ProactError, Halt) as raised:
        failure = raised
    await stream.aclose()
    return pieces, failure


async def of_the_synchronous_engine():
    """The pieces of what DSPy makes of a synchronous program."""
    async for value in dspy.streamify(Chat())(**INPUTS):
        if not isinstance(value, dspy.Prediction) and (text := value.choices[0].delta.content):
            yield text


def heard(server, script, ask):
    """What a question comes to where the server answers by a script, its failure included, and what it was sent."""
    server.sent.clear()
    answers_once(server, *script)
    try:
        what = ask()
    except ProactError as failed:
        what = (type(failed), str(failed))
    return what, [sent.body for sent in server.sent]


def answers(server, *inputs):
    """Script the server's answers one after another; the last one goes on."""
    pending = list(inputs)
    server.script = lambda sent: pending.pop(0) if len(pending) > 1 else pending[0]


def answers_once(server, *inputs):
    """The same, each of them once; text is the content of a healthy answer."""
    pending = [item if isinstance(item, Answer) else Answer(item) for item in inputs]
    server.script = lambda sent: pending.pop(0)


def spec(name: str, api_base: str | None = None, **text: Any) -> ModelSpec:
    """A model at an endpoint; the stand-in has none."""
    return ModelSpec(name=name, **({} if name == EMBEDDED else {"api_base": api_base}), **text)


def specs(names: str | Sequence[str], api_base: str | None = None, **text: Any) -> list[ModelSpec]:
    """The same of one name or of several."""
    return [spec(name, api_base, **text) for name in ([names] if isinstance(names, str) else names)]
