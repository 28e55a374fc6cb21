"""Runs and trials where an event loop is running already, as in a notebook, and awaited; Ctrl-C reaches them there."""

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import corpus
from drivers.client import spec
from fakes.server import Answer, Sent, Server, healthy

from dspy_proact import Evaluation, Gate, RunFolder, Trial, cases_of, summarize
from dspy_proact.calls import collect_calls
from dspy_proact.errors import Interrupted
from dspy_proact.evaluation.mends import Completed
from dspy_proact.runs import Observer, run_to_end

TRIGGERS = 6


def evaluation(folder: Path, server: Server, **calls: Any) -> Evaluation:
    model, judge = spec("hosted_vllm/any", server.assistant), spec("hosted_vllm/any", server.judge)
    return Evaluation(corpus(folder), model, judge, gate=Gate(retries=0, **calls))


async def run_in_a_loop(of: Evaluation, out: Path, observer: Observer | None = None) -> Completed:
    return of.run(out, observer=observer)


async def awaited(of: Evaluation, out: Path, observer: Observer | None = None) -> Completed:
    return await of.arun(out, observer=observer)


Way = Callable[[Evaluation, Path, Observer | None], Awaitable[Completed]]
WAYS = pytest.mark.parametrize("way", [run_in_a_loop, awaited])


@WAYS
def test_an_evaluation_runs_where_a_loop_is_running_and_its_calls_are_collected_there(tmp_path, server, way: Way):
    async def cell() -> tuple[int, int]:
        with collect_calls() as calls:
            ended = await way(evaluation(tmp_path, server), tmp_path / "run", None)
        return ended.stages, len(calls)

    assert asyncio.run(cell()) == (2 * TRIGGERS, len(server.sent))
    assert summarize(RunFolder(tmp_path / "run")).complete


def test_a_trial_runs_where_a_loop_is_running(tmp_path, server):
    model, judge = spec("hosted_vllm/any", server.assistant), spec("hosted_vllm/any", server.judge)
    trial = Trial(model, judge, system_prompt="Be brief.", gate=Gate(retries=0))
    cases = cases_of(corpus(tmp_path))[:2]

    async def cell() -> list[bool]:
        tried = [trial.run(cases), await trial.arun(cases)]
        return [side.scored is not None for item in tried for pair in item.pairs for side in pair.sides]

    assert asyncio.run(cell()) == [True] * 8


class Interrupting(Observer):
    """Presses Ctrl-C at a response, when so many are held back until it is heard."""

    def __init__(self, server: Server, at: int = 3, held: int = 1):
        self.heard, self._server, self._at, self._held = threading.Event(), server, at, held
        server.script = self._script

    async def _script(self, sent: Sent) -> Answer:
        count = len(self._server.of("assistant"))
        if count == self._at:
            os.kill(os.getpid(), signal.SIGINT)
        if count > self._at - self._held:
            await asyncio.to_thread(self.heard.wait)
        return healthy(sent)

    def interrupted(self) -> None:
        self.heard.set()


@WAYS
def test_the_first_ctrl_c_lets_what_is_in_flight_end_and_the_same_call_goes_on(tmp_path, server, way: Way):
    observer, before = Interrupting(server), signal.getsignal(signal.SIGINT)

    async def cell() -> None:
        await way(evaluation(tmp_path, server, concurrency=1), tmp_path / "run", observer)

    with pytest.raises(Interrupted, match=r"^interrupted$"):
        asyncio.run(cell())
    assert observer.heard.is_set()
    assert signal.getsignal(signal.SIGINT) == before
    # Two triggers with their verdicts, and the response that was in flight.
    assert [event.key.stage for event in RunFolder(tmp_path / "run").events()].count("response") == 3
    server.sent.clear()
    server.script = healthy
    evaluation(tmp_path, server).run(tmp_path / "run")
    assert len(server.of("assistant")) == TRIGGERS - 3


def test_one_ctrl_c_ends_all_runs_that_are_awaited_together_and_the_handlers_of_before_are_there_after(
    tmp_path, server
):
    # Of each run one is in flight, so that both have begun when two are held.
    observer, before = Interrupting(server, at=2, held=2), signal.getsignal(signal.SIGINT)

    async def cell() -> list[object]:
        runs = (
            evaluation(tmp_path, server, concurrency=1).arun(tmp_path / name, observer=observer) for name in ("a", "b")
        )
        return await asyncio.gather(*runs, return_exceptions=True)

    assert [type(ended) for ended in asyncio.run(cell())] == [Interrupted, Interrupted]
    assert signal.getsignal(signal.SIGINT) == before


def test_ctrl_c_cancels_what_does_not_end_in_order_and_is_raised_when_that_has_ended():
    ended: list[str] = []

    async def stubborn() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    async def cell() -> None:
        run_to_end(stubborn())

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell())
    assert ended == ["ended"]
