"""Both compiles where an event loop is running already, as in a notebook, and awaited."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import assistants
import pytest
import tuning
from server import Answer, Sent, Server

from dspy_proact.compile.compile import Compile, Finished
from dspy_proact.compile.forecast import CompileObserver
from dspy_proact.errors import Interrupted


def judging(server: Server) -> Compile:
    server.script = tuning.models
    return tuning.at(server, tuning.study(), tuning.recipe("bootstrap"))


def assisting(server: Server) -> Compile:
    server.script = assistants.models
    return assistants.at(server, assistants.few(), assistants.recipe())


async def run_in_a_loop(compiling: Compile, out: Path, observer: CompileObserver | None = None) -> Finished:
    return compiling.run(out, observer)


async def awaited(compiling: Compile, out: Path, observer: CompileObserver | None = None) -> Finished:
    return await compiling.arun(out, observer)


Way = Callable[..., Awaitable[Finished]]
WAYS = pytest.mark.parametrize("way", [run_in_a_loop, awaited])


@WAYS
@pytest.mark.parametrize("made", [judging, assisting])
def test_a_compile_in_a_loop_ends_in_the_same_program(tmp_path, server, way: Way, made: Callable[[Server], Any]):
    async def cell() -> Finished:
        return await way(made(server), tmp_path / "cell")

    plain = made(server).run(tmp_path / "plain")
    assert asyncio.run(cell()).artefact.digest == plain.artefact.digest


class Told(CompileObserver):
    """Counts what it is told."""

    def __init__(self) -> None:
        self.times = 0

    def interrupted(self) -> None:
        self.times += 1


@WAYS
def test_ctrl_c_ends_it_in_order_and_the_same_call_goes_on(tmp_path, server, way: Way):
    compiling, observer = judging(server), Told()

    def script(sent: Sent) -> Answer:
        if len(server.sent) == 9:
            os.kill(os.getpid(), signal.SIGINT)
        return tuning.models(sent)

    server.script = script
    before = signal.getsignal(signal.SIGINT)

    async def cell() -> None:
        await way(compiling, tmp_path / "cell", observer)

    with pytest.raises(Interrupted):
        asyncio.run(cell())
    assert observer.times == 1
    assert signal.getsignal(signal.SIGINT) == before
    paid = len(server.sent)
    server.script = tuning.models
    finished = judging(server).run(tmp_path / "cell")
    assert finished.paid == len(server.sent) - paid
    assert finished.artefact.digest == judging(server).run(tmp_path / "plain").artefact.digest


def test_one_that_is_cancelled_drops_what_is_in_flight_and_has_ended_then(tmp_path, server):
    compiling = judging(server)

    async def cell() -> None:
        loop, running = asyncio.get_running_loop(), asyncio.create_task(compiling.arun(tmp_path / "cell"))

        async def script(sent: Sent) -> Answer:
            if len(server.sent) == 9:
                loop.call_soon_threadsafe(running.cancel)
            if len(server.sent) >= 9:
                await asyncio.Event().wait()
            return tuning.models(sent)

        server.script = script
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cell())
    server.script = tuning.models
    assert not (tmp_path / "cell" / "judge.json").exists()
    assert judging(server).run(tmp_path / "cell").path.exists()  # nobody holds the folder
