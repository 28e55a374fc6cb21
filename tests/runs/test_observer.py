"""What an observer of a run is told, and a run whose observer fails."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from toy import Guess, Riddles, answered, cases, failure, graded, guess, manifest, run, run_async, verdict_key, written
from toy_stages import KINDS, Court, raising, stages, until

from dspy_proact.runs import Case, Event, Observer, RunFolder


class Diary(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.done: list[tuple[str, int]] = []

    def started(self, todo: int, asked: int) -> None:
        self.told.append((todo, asked))

    def ended(self, event: Event, last: bool) -> None:
        self.told.append(event)
        if last:
            self.done.append((event.key.case, event.key.epoch))


def test_the_observer_is_told_how_much_there_is_and_of_every_event(tmp_path: Path):
    written(tmp_path, manifest(), cases("a", "b"), [answered("a"), graded("a", "LOST"), answered("b")])
    diary = Diary()
    run(Riddles(cases("a", "b", "c")), tmp_path, observer=diary, epochs=2)
    # 3 cases x 2 epochs are asked for; a in epoch 1 is done, b in epoch 1 awaits its verdict.
    (first, *events) = diary.told
    assert first == (5, 6)
    assert events == list(RunFolder(tmp_path).events())[3:]
    assert len(events) == 9  # 4 x 2 stages, and the verdict of b
    assert sorted(diary.done) == [("a", 2), ("b", 1), ("b", 2), ("c", 1), ("c", 2)]


@pytest.mark.parametrize(
    "failing", [(), ("sphinx",), ("oracle",), ("sphinx", "oracle")], ids=lambda judges: "+".join(judges) or "none"
)
def test_a_case_in_an_epoch_is_said_to_be_done_once_after_its_last_verdict_whoever_fails(
    tmp_path: Path, failing: tuple[str, ...]
):
    diary, errors = Diary(), {judge: failure("provider") for judge in failing}
    run(Court("a", "b", failing=errors), tmp_path, observer=diary, epochs=2, judge_epochs=2)
    assert sorted(diary.done) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    ended = [event.key for event in diary.told[1:]]
    for key, epoch in diary.done:
        of_work = [each for each in ended if (each.case, each.epoch) == (key, epoch)]
        assert of_work[-1] == verdict_key(key, epoch, "oracle", 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_without_an_answer_is_said_to_be_done_at_once(tmp_path: Path, kind: str):
    diary = Diary()
    run(Riddles(cases("a", "b"), answer=raising(failure(kind))), tmp_path, observer=diary)
    assert sorted(diary.done) == [("a", 1), ("b", 1)]


class Broken(Observer):
    """Fails at the first event."""

    def ended(self, event: Event, last: bool) -> None:
        raise BrokenPipeError


def test_a_run_that_fails_leaves_nothing_in_flight_behind(tmp_path: Path):
    async def answer(case: Case) -> Guess:
        if case.key != "a":
            await asyncio.Event().wait()
        await until(lambda: benchmark.in_flight == 3)
        return await guess(case)

    async def failing() -> None:
        with pytest.raises(BrokenPipeError):
            await run_async(benchmark, tmp_path, observer=Broken())
        assert benchmark.in_flight == 0

    benchmark = Riddles(cases("a", "b", "c"), answer)
    asyncio.run(failing())
    assert stages(tmp_path) == [("a", "response")]
