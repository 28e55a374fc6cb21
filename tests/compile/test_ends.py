"""How a compile ends before its end: limits, a full disk, a folder that goes, Ctrl-C; and that it goes on."""

import asyncio
import json
import os
import resource
import shutil
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from builders import assistants, judges
from drivers.client import spec
from fakes.server import Answer, Sent, Server
from support.provider import Faulty, Received, Scripted, SimulatedProvider, refusal

from dspy_proact import AssistantTarget, Gate, JudgeTarget, Limits
from dspy_proact.calls import Price
from dspy_proact.cli.exit_status import exit_status
from dspy_proact.compile.compile import Compile, Finished
from dspy_proact.compile.forecast import CompileObserver
from dspy_proact.compile.search import journal_at
from dspy_proact.errors import Halt, Interrupted, LimitReached, StorageFault
from dspy_proact.optimizer_names import OPTIMIZERS, Optimizer

WIDTH = 64
PRICE = Price(prompt=1e-6, completion=4e-6)
USAGE = {"prompt_tokens": 2000, "completion_tokens": 500}
COST = 2000 * 1e-6 + 500 * 4e-6
"""Of an answer, in US dollars."""
FAULTS = [(refusal(429, Retry_After="0"), 0.1), (refusal(500), 0.05), (Scripted(cut=60), 0.05)]
ROLES = ("assistant", "judge", "report", "proposer")


# Limits


def answering(models: Callable[[Sent], Answer]) -> Callable[[Received], Scripted]:
    """The tests' models at a provider that fails."""
    return lambda received: Scripted(models(Sent(received.role, "", {}, received.body)).content, usage=USAGE)


def judging(provider: SimulatedProvider, gate: Gate) -> Compile:
    fields = {"price": PRICE, "params": {"max_tokens": 512}}
    judge, proposer = (spec("openai/any", provider.base(role), **fields) for role in ("judge", "proposer"))
    return Compile(JudgeTarget(judges.study(), judge, proposer), judges.recipe("bootstrap", trials=3), gate)


def assisting(provider: SimulatedProvider, gate: Gate) -> Compile:
    names = dict(zip(ROLES, assistants.NAMES.values(), strict=False))
    models = [
        spec(f"openai/{names[role].rpartition('/')[2]}", provider.base(role), price=PRICE, params={"max_tokens": 512})
        for role in ROLES
    ]
    return Compile(AssistantTarget(assistants.few(), *models), assistants.recipe(), gate)


@pytest.mark.parametrize(
    ("made", "models", "limits"),
    [
        (judging, judges.models, Limits(calls=40)),
        (judging, judges.models, Limits(tokens=60_000)),
        (assisting, assistants.models, Limits(usd=0.1)),
    ],
    ids=["calls", "tokens", "usd"],
)
def test_no_limit_is_ever_exceeded_at_full_width_by_a_provider_that_fails(tmp_path, made, models, limits):
    """By the provider's own count; the same command goes on, and comes to the end where it is given enough."""
    well = answering(models)
    with SimulatedProvider(Faulty(well, dict.fromkeys(ROLES, FAULTS), seed=5)) as provider:
        gate = Gate(concurrency=WIDTH, retries=20, backoff=0.001, patience=1000, limits=limits)
        before = 0
        for _ in range(2):
            tokens, received = provider.tokens, provider.received.total()
            with pytest.raises(LimitReached):
                made(provider, gate).run(tmp_path / "out")
            assert received < provider.received.total()
            if limits.calls is not None:
                assert provider.received.total() - received == limits.calls
            if limits.tokens is not None:
                assert provider.tokens - tokens <= limits.tokens
            if limits.usd is not None:
                assert (provider.tokens - tokens) / 2500 * COST <= limits.usd
            kept = len((tmp_path / "out" / "calls.jsonl").read_text(encoding="utf-8").splitlines())
            assert kept > before
            before = kept
        provider.script = well
        received = provider.received.total()
        finished = made(provider, Gate(concurrency=WIDTH)).run(tmp_path / "out")
        assert finished.paid == provider.received.total() - received


# The disk


def compiling(server: Server, optimizer: Optimizer = "bootstrap", **how) -> Compile:
    return judges.at(server, judges.study(), judges.recipe(optimizer), **how)


def lines(folder: Path) -> int:
    return (folder / "calls.jsonl").read_bytes().count(b"\n")


@contextmanager
def file_limit() -> Generator[None]:
    """No file of this process grows beyond 16 KB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fills_up_ends_a_compile_which_goes_on_once_there_is_room(tmp_path, server):
    server.script = judges.models
    complete = compiling(server).run(tmp_path / "whole")
    server.sent.clear()
    with file_limit(), pytest.raises(StorageFault, match="space"):
        compiling(server).run(tmp_path / "out")
    kept, sent = lines(tmp_path / "out"), len(server.sent)
    assert 0 < kept < sent <= kept + 32  # what was in flight is lost, and nothing further is sent
    resumed = compiling(server).run(tmp_path / "out")
    assert resumed.paid == complete.paid - kept == len(server.sent) - sent
    assert judges.lasting(resumed.path) == judges.lasting(complete.path)


@pytest.mark.parametrize("optimizer", [optimizer for optimizer in OPTIMIZERS if optimizer != "labeled"])
def test_a_folder_that_is_removed_in_the_middle_ends_the_compile(tmp_path, server, optimizer):
    """Optimizers swallow errors, and search has a file of its own there."""

    def script(sent: Sent) -> Answer:
        if len(server.sent) == 10:
            shutil.rmtree((tmp_path / "out").rename(tmp_path / "gone"))
        return judges.models(sent)

    server.script = script
    with pytest.raises(StorageFault, match=r"was (re)?moved|cannot be written"):
        compiling(server, optimizer).run(tmp_path / "out")
    assert 10 <= len(server.sent) <= 10 + 32
    assert not (tmp_path / "out").exists()


def test_a_journal_that_is_removed_is_a_fault_of_the_disk(tmp_path):
    journal = journal_at(tmp_path / "study.log")
    (tmp_path / "study.log").unlink()
    with pytest.raises(StorageFault, match="cannot be written"):
        journal.get_all_studies()


# Ctrl-C


class Impatient(CompileObserver):
    """Presses Ctrl-C once more, as soon as the first was heard."""

    def __init__(self, times: int):
        self.heard, self._times = 0, times
        self.was_heard = threading.Event()

    def interrupted(self) -> None:
        self.heard += 1
        self.was_heard.set()
        if self.heard < self._times:
            os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_twice_drops_what_is_in_flight(tmp_path, server):
    """Which would otherwise be waited for, for ever."""
    twice = Impatient(2)

    async def script(sent: Sent) -> Answer:
        if len(server.sent) < 20:
            return judges.models(sent)
        if len(server.sent) == 20:
            os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()
        raise AssertionError("nobody is answered")

    server.script = script
    with pytest.raises(Interrupted):
        compiling(server).run(tmp_path / "out", twice)
    assert lines(tmp_path / "out") < 20 <= len(server.sent)
    server.script = judges.models
    compiling(server).run(tmp_path / "out")


# Where an event loop is running already, as in a notebook, or awaited


def plainly(compiling: Compile, *inputs) -> Finished:
    return compiling.run(*inputs)


def in_a_loop(compiling: Compile, *inputs) -> Finished:
    async def cell() -> Finished:
        return compiling.run(*inputs)

    return asyncio.run(cell())


def awaited(compiling: Compile, *inputs) -> Finished:
    return asyncio.run(compiling.arun(*inputs))


@pytest.mark.parametrize(
    ("way", "pressed"), [(plainly, signal.SIGTERM), (in_a_loop, signal.SIGINT), (awaited, signal.SIGINT)]
)
def test_ctrl_c_once_keeps_what_is_in_flight_and_the_same_call_goes_on(tmp_path, server, way, pressed):
    observer, before = Impatient(1), signal.getsignal(pressed)

    async def script(sent: Sent) -> Answer:
        """What is in flight when Ctrl-C is pressed is answered once that was heard."""
        if len(server.sent) == 30:
            os.kill(os.getpid(), pressed)
        if len(server.sent) >= 30:
            await asyncio.to_thread(observer.was_heard.wait)
        return judges.models(sent)

    server.script = script
    with pytest.raises(Interrupted):
        way(compiling(server), tmp_path / "out", observer)
    assert (observer.heard, signal.getsignal(pressed)) == (1, before)
    paid = len(server.sent)
    assert lines(tmp_path / "out") == paid
    server.script = judges.models
    finished = way(compiling(server), tmp_path / "out")
    assert finished.paid == len(server.sent) - paid
    complete = compiling(server).run(tmp_path / "whole")
    assert finished.paid + paid == complete.paid
    assert judges.lasting(finished.path) == judges.lasting(complete.path)


def test_an_assistant_is_compiled_in_a_loop_too(tmp_path, server):
    server.script = assistants.models
    compiling = assistants.at(server, assistants.few(), assistants.recipe())
    cell = in_a_loop(compiling, tmp_path / "cell")
    assert cell.artefact.digest == compiling.run(tmp_path / "plain").artefact.digest


def test_one_that_is_cancelled_drops_what_is_in_flight_and_has_ended_then(tmp_path, server):
    async def cell() -> None:
        loop, running = asyncio.get_running_loop(), asyncio.create_task(compiling(server).arun(tmp_path / "cell"))

        async def script(sent: Sent) -> Answer:
            if len(server.sent) == 9:
                loop.call_soon_threadsafe(running.cancel)
            if len(server.sent) >= 9:
                await asyncio.Event().wait()
            return judges.models(sent)

        server.script = script
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cell())
    server.script = judges.models
    assert not (tmp_path / "cell" / "judge.json").exists()
    assert compiling(server).run(tmp_path / "cell").path.exists()  # nobody holds the folder


# One for all


def test_a_halt_in_one_fold_ends_all(tmp_path, server):
    """A provider that refuses the key from some moment on: the others are not tuned to their ends."""

    def script(sent: Sent) -> Answer:
        if len(server.sent) > 30:
            return Answer(status=401, raw=b'{"error": {"message": "no such key"}}')
        return judges.models(sent)

    server.script = script
    with pytest.raises(Halt) as caught:
        compiling(server).run(tmp_path / "out")
    assert exit_status(caught.value) == 2
    assert len(server.sent) <= 30 + 32
    logged = (tmp_path / "out" / "calls.jsonl").read_text("utf-8").splitlines()
    assert sum(json.loads(line)["response"] is not None for line in logged) == 30


# Bodies from hell


@pytest.mark.parametrize("role", ["judge", "proposer"])
@pytest.mark.parametrize("optimizer", ["search", "gepa", "miprov2"])
def test_a_body_that_nobody_can_read_ends_the_compile(tmp_path, server, optimizer, role):
    """Swallowed by an optimizer it would end with another program and status 0."""
    server.script = lambda sent: Answer(raw=b"[" * 100_000) if sent.role == role else judges.models(sent)
    with pytest.raises(Halt) as caught:
        compiling(server, optimizer).run(tmp_path / "out")
    assert exit_status(caught.value) == 5
    kept = lines(tmp_path / "out") if (tmp_path / "out").exists() else 0
    assert len(server.sent) <= kept + 32
