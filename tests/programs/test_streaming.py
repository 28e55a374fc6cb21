"""The assistant's response piece by piece, over real HTTP and from engines of every kind."""

import asyncio
from functools import partial

import dspy
import pytest
from drivers import client
from drivers.client import ROUTES
from dspy.clients.cache import Cache
from fakes.server import Answer

from dspy_proact import ASSISTANT, Assistant, ContentError
from dspy_proact.models import wait_for
from dspy_proact.programs.streaming import streamed

# litellm's own, for every chunk of a stream.
pytestmark = pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute on the instance:DeprecationWarning")
ENGINES = pytest.mark.parametrize("engine", ["auto", "litellm"])
REQUEST = {"history": [], "user_message": "When does the ferry leave?"}
ANSWER = " The last  boat\n\nleaves at five. \n"

opened = partial(client.opened, role=ASSISTANT)


def plain(server, engine="auto", **options):
    """A model of DSPy's own, with nothing of ours around it."""
    return dspy.LM("openai/any", api_base=server.assistant, api_key="none", engine=engine, num_retries=0, **options)


def others():
    """The tasks beside the running one, without those in which the loop closes generators that a client dropped."""
    tasks = [task for task in asyncio.all_tasks() if type(task.get_coro()).__name__ != "async_generator_athrow"]
    return [task for task in tasks if task is not asyncio.current_task()]


def pieces(model, program=None):
    """Every piece of a response; no task may be left."""
    lm = model if isinstance(model, dspy.LM) else model.lm

    async def run():
        try:
            with dspy.context(lm=lm):
                return [piece async for piece in streamed(program or Assistant(), **REQUEST)]
        finally:
            assert others() == []
            if lm is not model:
                await model.aclose()

    return asyncio.run(run())


@ROUTES
def test_a_stream_asks_what_is_asked_without_one(server, name, backend):
    server.script = lambda sent: Answer(ANSWER)
    model = opened(server, name, backend)
    streaming = pieces(model)
    with dspy.context(lm=model.lm):
        assert "".join(streaming) == Assistant()(**REQUEST).response
    first, second = (
        {key: value for key, value in sent.body.items() if not key.startswith("stream")} for sent in server.sent
    )
    assert first == second


@ROUTES
def test_a_character_cut_in_halves_is_joined_and_a_lone_half_replaced(server, name, backend):
    server.script = lambda sent: Answer(pieces=("\ud83d", "\ude00 at five", "\ud83d"))
    model = opened(server, name, backend)
    assert "".join(pieces(model)) == "\U0001f600 at five\ufffd"


REFUSED = {
    "empty": (Answer(""), "empty"),
    "no piece": (Answer(pieces=()), "empty"),
    "empty and cut": (Answer("", finish_reason="length"), "cut"),
    "blanks": (Answer(" \n "), "empty"),
    "filtered": (Answer("The last boat", finish_reason="content_filter"), "filtered"),
    "filtered whole": (Answer("", finish_reason="content_filter"), "filtered"),
}


@ROUTES
@pytest.mark.parametrize(("answer", "reason"), REFUSED.values(), ids=REFUSED)
def test_an_answer_of_no_use_is_a_content_error(server, name, backend, answer, reason):
    server.script = lambda sent: answer
    with pytest.raises(ContentError) as caught:
        pieces(opened(server, name, backend))
    assert caught.value.reason == reason
    assert len(server.sent) == 1


async def closed():
    stream = streamed(Assistant(), **REQUEST)
    assert await anext(stream) == " "
    await stream.aclose()


async def closed_by_another_task():
    stream = streamed(Assistant(), **REQUEST)
    await asyncio.create_task(anext(stream))
    await asyncio.create_task(stream.aclose())


async def cancelled():
    async def read(started):
        async for _ in streamed(Assistant(), **REQUEST):
            started.set()

    reader = asyncio.create_task(read(started := asyncio.Event()))
    await started.wait()
    reader.cancel()
    await asyncio.wait([reader])
    assert reader.cancelled()


async def dropped():
    async for _ in streamed(Assistant(), **REQUEST):
        break
    await asyncio.wait(others())  # the loop closes it


@ROUTES
@pytest.mark.parametrize("ended", [closed, closed_by_another_task, cancelled, dropped])
def test_a_stream_that_ends_early_hangs_up_and_leaves_nothing_behind(server, name, backend, ended):
    server.script = lambda sent: Answer(ANSWER, broken="silent")
    model = opened(server, name, backend)

    async def run():
        with dspy.context(lm=model.lm):
            await ended()
        left = others()
        await model.aclose()
        return left

    assert asyncio.run(run()) == []
    assert server.hung_up.wait(10)


def test_a_stream_that_nobody_reads_asks_nothing(server):
    asyncio.run(streamed(Assistant(), **REQUEST).aclose())
    assert server.sent == []


@ENGINES
def test_a_model_of_dspys_own_streams_too_and_what_it_remembers_comes_in_one_piece(server, monkeypatch, engine):
    monkeypatch.setattr(dspy, "cache", Cache(enable_disk_cache=False, enable_memory_cache=True, disk_cache_dir=""))
    server.script = lambda sent: Answer(ANSWER)
    first, second = pieces(plain(server, engine)), pieces(plain(server, engine))
    assert len(first) > 1
    assert second == ["".join(first)] == [ANSWER]
    assert len(server.sent) == 1
    server.script = lambda sent: Answer("")
    with pytest.raises(ContentError):
        pieces(plain(server, engine, cache=False))


def test_a_program_whose_model_cannot_stream_gives_its_response_in_one_piece():
    class Echo(dspy.Module):
        async def aforward(self, user_message, **_):
            return dspy.Prediction(response=f"You said: {user_message}")

    assert pieces(dspy.LM("openai/any"), Echo()) == ["You said: When does the ferry leave?"]


# Without awaiting


@pytest.fixture
def model(server):
    """Closed afterwards."""
    opening = opened(server)
    yield opening
    wait_for(opening.aclose())


@pytest.mark.parametrize("running", [False, True], ids=["no loop", "a loop is running"])
def test_a_plain_for_reads_a_stream_piece_by_piece(server, model, running):
    server.script = lambda sent: Answer(ANSWER)

    def read():
        with dspy.context(lm=model.lm):
            return list(Assistant().stream(**REQUEST))

    async def cell():
        return read()

    came = asyncio.run(cell()) if running else read()
    assert len(came) > 1
    assert "".join(came) == ANSWER


def test_a_plain_reader_that_is_closed_hangs_up(server, model):
    server.script = lambda sent: Answer(ANSWER, pieces=("Label the boxes",), broken="silent")
    with dspy.context(lm=model.lm):
        reading = iter(Assistant().stream(**REQUEST))
        assert next(reading) == "Label the boxes"
        reading.close()
    assert server.hung_up.wait(60)


def test_a_plain_for_raises_what_the_program_raises(server, model):
    server.script = lambda sent: Answer("")
    with dspy.context(lm=model.lm), pytest.raises(ContentError, match="empty"):
        list(Assistant().stream(**REQUEST))
