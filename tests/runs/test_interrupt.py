"""Ctrl-C in order, in a process of its own: what is in flight is awaited at the first signal and dropped at the second.

The child says on standard output what happens in it, and ends what is in flight when standard input says so.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from builders.riddles import JUDGE, Guess, Riddles, cases, guess, manifest, run

from dspy_proact.cli.exit_status import exit_status
from dspy_proact.errors import Halt, SetupFault
from dspy_proact.runs import Case, Grading, Ledger, Observer, RunFolder, Runner, RunWriter, orderly_interrupt
from dspy_proact.switch import Switch

PATIENCE = 60.0
"""Seconds after which a child that hangs is killed, so that its test fails."""


class Child:
    """Runs four cases, two at a time: `a` ends at once and the others when they are told to."""

    def __init__(self, path: Path, faulty: bool):
        self.path, self.faulty = path, faulty
        self.switch, self.typed = Switch(), asyncio.Event()

    async def answer(self, case: Case) -> Guess:
        print(f"answering {case.key}", flush=True)
        if case.key == "a":
            return await guess(case)
        if case.key == "c" and self.faulty:
            self.switch.pull(SetupFault("the provider refuses"))
        await self.typed.wait()
        return await guess(case)

    async def run(self) -> None:
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self.typed.set)
        benchmark = Riddles(cases("a", "b", "c", "d"), self.answer)
        with RunWriter(self.path, manifest()) as folder, orderly_interrupt(self.switch, self.stopping):
            folder.add_cases(benchmark.case_set.cases)
            ledger = Ledger(folder.events(), Grading([JUDGE]))
            await Runner(benchmark, folder, ledger, self.switch, Observer()).run(
                benchmark.case_set.cases, 1, concurrency=2
            )

    def stopping(self) -> None:
        print("stopping", flush=True)

    def main(self) -> int:
        try:
            asyncio.run(self.run())
        except Halt as halt:
            print(f"{type(halt).__name__}: {halt}", flush=True)
            return exit_status(halt)
        return 0


class Talk:
    """The test's end of the pipes to a child."""

    def __init__(self, process: subprocess.Popen[str]):
        self._process = process
        self._lines = iter(process.stdout)

    def heard(self, *lines: str) -> None:
        """Wait for these lines, in any order."""
        assert sorted(next(self._lines, "nothing").rstrip() for _ in lines) == sorted(lines)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def let_go(self) -> None:
        """End what is in flight."""
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def ended(self) -> int:
        """The exit status, once nothing more is said."""
        assert list(self._lines) == []
        return self._process.wait()


@contextmanager
def child(path: Path, *flags: str) -> Generator[Talk]:
    """A child with `a` done, `b` and `c` in flight and `d` not begun."""
    command = [sys.executable, __file__, str(path), *flags]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, **pipes) as process:
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        try:
            talk = Talk(process)
            talk.heard("answering a", "answering b", "answering c")
            yield talk
        finally:
            watchdog.cancel()
            process.kill()


def stages(path: Path) -> list[tuple[str, str]]:
    return sorted((event.key.case, event.key.stage) for event in RunFolder(path).events())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_lets_what_is_in_flight_end_and_then_the_run_is_interrupted(
    tmp_path: Path, number: signal.Signals
):
    with child(tmp_path) as talk:
        talk.send(number)
        talk.heard("stopping")
        talk.let_go()
        talk.heard("Interrupted: interrupted")
        assert talk.ended() == 130
    assert stages(tmp_path) == [("a", "response"), ("a", "verdict"), ("b", "response"), ("c", "response")]
    again = Riddles(cases("a", "b", "c", "d"))
    run(again, tmp_path)
    assert sorted(again.begun) == [("response", "d"), ("verdict", "b"), ("verdict", "c"), ("verdict", "d")]


@pytest.mark.parametrize(
    ("second", "flags"), [(signal.SIGINT, []), (signal.SIGTERM, []), (signal.SIGINT, ["faulty"])], ids=repr
)
def test_the_second_signal_drops_what_is_in_flight_and_the_rest_is_kept(
    tmp_path: Path, second: signal.Signals, flags: list[str]
):
    """Also where a fault, which pulls the switch, has ended the run before."""
    with child(tmp_path, *flags) as talk:
        talk.send(signal.SIGINT)
        talk.heard("stopping")
        talk.send(second)
        talk.heard("Interrupted: interrupted twice: what was in flight is dropped")
        assert talk.ended() == 130
    assert stages(tmp_path) == [("a", "response"), ("a", "verdict")]
    again = Riddles(cases("a", "b", "c", "d"))
    run(again, tmp_path)
    assert {key for _, key in again.begun} == {"b", "c", "d"}


@pytest.mark.parametrize("handler", [None, lambda *_: None], ids=["the usual ones", "others"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_signal_nothing_happens_and_the_handlers_of_before_are_there_after(
    number: signal.Signals, handler: Callable[..., None] | None
):
    switch = Switch()

    async def body() -> None:
        with orderly_interrupt(switch, pytest.fail):
            await asyncio.sleep(0)

    usual = signal.getsignal(number)
    before = handler or usual
    signal.signal(number, before)
    try:
        asyncio.run(body())
        assert signal.getsignal(number) == before
    finally:
        signal.signal(number, usual)
    assert switch.halt is None


def test_in_another_thread_signals_are_left_alone_and_the_body_runs():
    ran: list[object] = []

    async def body() -> None:
        with orderly_interrupt(Switch(), pytest.fail):
            ran.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=lambda: asyncio.run(body()))
    thread.start()
    thread.join()
    assert ran == [signal.getsignal(signal.SIGTERM)]


if __name__ == "__main__":
    sys.exit(Child(Path(sys.argv[1]), faulty="faulty" in sys.argv[2:]).main())
