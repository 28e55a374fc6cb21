"""A run that is stopped keeps what is done, starts nothing more, and goes on where it was."""

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest
from builders.riddles import KINDS, Guess, Marking, Riddles, case, cases, failure, guess, mark, run, run_async, until
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.errors import Halt, Interrupted, SetupFault, UnusableContent
from dspy_proact.runs import Case, Failure, RunFolder, Scored, StageKey, latest
from dspy_proact.switch import Switch


@pytest.mark.parametrize("pulled", [False, True])
def test_a_halt_lets_what_is_in_flight_end_and_starts_nothing_more(tmp_path, pulled):
    switch, halt = Switch(), SetupFault("a key must be mended")

    async def answer(case: Case) -> Guess:
        if case.key == "a":
            await until(lambda: benchmark.in_flight == 3)
            if pulled:
                switch.pull(halt)
            raise halt
        await until(lambda: switch.halt)
        return await guess(case)

    benchmark = Riddles(cases("a", "b", "c", "d"), answer)
    with pytest.raises(type(halt)) as caught:
        run(benchmark, tmp_path, concurrency=3, switch=switch)
    assert caught.value is switch.halt is halt
    assert benchmark.begun == [("response", key) for key in "abc"]
    assert {event.key.case for event in RunFolder(tmp_path).events() if event.answer} == {"b", "c"}


def hopeless(*unused: object) -> Halt:
    return UnusableContent("nothing can be read")


@pytest.mark.parametrize("stage", ["response", "verdict"])
def test_ten_first_cases_without_use_end_a_run_and_are_tried_again_by_the_next(tmp_path, stage):
    """Nine do not, and none does once a result is on disk."""
    good = set[str]()

    async def answer(case: Case) -> Guess:
        if stage == "response" and case.key not in good:
            raise failure("content")
        return await guess(case)

    async def grade(case: Case, answer: Guess) -> Scored[Marking]:
        if case.key not in good:
            raise failure("content")
        return await mark(case, answer)

    def attempted(count: int) -> int:
        riddles = Riddles(cases(*(f"{number:02}" for number in range(count))), answer, grade)
        run(riddles, tmp_path / f"of {count}", epochs=2, concurrency=1, give_up=hopeless)
        return sum(begun == stage for begun, _ in riddles.begun)

    assert attempted(9) == 18
    for _ in range(2):
        with pytest.raises(UnusableContent):
            attempted(12)
    good.add("03")
    assert attempted(12) == 24
    failures = [event for event in latest(RunFolder(tmp_path / "of 12").events()).values() if event.failure]
    assert len(failures) == 22


@dataclass(frozen=True)
class Plan:
    """What happens to each case, and how the stages take turns."""

    fates: list[str]
    """Kind of failure, and the stage that fails: `answer`, or the name of a judge."""
    epochs: int
    judges: tuple[str, ...]
    judge_epochs: int
    concurrency: int
    pauses: list[int]
    """How often the n-th stage lets others go on before it ends, in a cycle."""
    chains: list[str]
    """Of each case, in a cycle."""


@dataclass(frozen=True)
class Stop:
    """The interruption of a run: at the n-th stage that begins, and with what."""

    stage: int
    by: Literal["halt", "pull", "cancel"]


class Fated(Riddles):
    """Follows a plan until the stop, if there is one."""

    def __init__(self, plan: Plan, stop: Stop | None):
        chained = zip(plan.fates, cycle(plan.chains), strict=False)
        requests = [replace(case(f"{number} {fate}"), chain=chain) for number, (fate, chain) in enumerate(chained)]
        super().__init__(requests, self._fated_answer, judges=plan.judges)
        self.plan, self.stop, self.switch = plan, stop, Switch()

    def run(self, path: Path) -> None:
        asyncio.run(self._run(path))

    async def _run(self, path: Path) -> None:
        self.task = asyncio.current_task()
        plan = self.plan
        options = {"epochs": plan.epochs, "judge_epochs": plan.judge_epochs, "concurrency": plan.concurrency}
        await run_async(self, path, switch=self.switch, **options)

    async def grade(self, case: Case, answer: Guess, judge: str) -> Scored[Marking]:
        with self._flight("verdict", case):
            await self._strike(f"{case.key} {judge}")
            return await mark(case, answer)

    async def _fated_answer(self, case: Case) -> Guess:
        await self._strike(f"{case.key} answer")
        return Guess(words=f"{case.key} after {self.earlier[case.key]}")

    async def _strike(self, stage: str) -> None:
        count = len(self.begun)
        for _ in range(self.plan.pauses[count % len(self.plan.pauses)]):
            await asyncio.sleep(0)
        if self.stop and count == self.stop.stage:
            await self._end(self.stop.by)
        _, kind, fatal, now = stage.split()
        if fatal == now:
            raise failure(kind)

    async def _end(self, by: str) -> None:
        if by == "halt":
            raise SetupFault("no")
        if by == "pull":
            self.switch.pull(Interrupted("enough"))
        else:
            self.task.cancel()
        await asyncio.sleep(0)


def attempt(path: Path, plan: Plan, stop: Stop | None = None) -> None:
    """Run once, perhaps stopped, and check that nothing was begun that was closed on disk."""
    closed = Counter((key.stage, key.case) for key, outcome in ends(path).items() if not may_heal(outcome))
    benchmark = Fated(plan, stop)
    try:
        benchmark.run(path)
    except (Halt, asyncio.CancelledError):
        assert stop
    keys = {"response": plan.epochs, "verdict": plan.epochs * len(plan.judges) * plan.judge_epochs}
    assert all(count <= keys[stage[0]] - closed[stage] for stage, count in Counter(benchmark.begun).items())


def ends(path: Path) -> dict[StageKey, Any]:
    """What counts for each stage on disk, without times and calls."""
    ended = latest(RunFolder(path).events()).items()
    return {key: event.answer or event.grade or event.failure for key, event in ended}


def may_heal(outcome: Any) -> bool:
    return isinstance(outcome, Failure) and outcome.kind != "content"


PLANS = st.builds(
    Plan,
    fates=st.lists(
        st.sampled_from(
            ["scored x", *(f"{kind} {stage}" for kind in KINDS for stage in ("answer", "sphinx", "oracle"))]
        ),
        min_size=1,
        max_size=6,
    ),
    epochs=st.integers(1, 2),
    judges=st.sampled_from([("sphinx",), ("oracle",), ("sphinx", "oracle")]),
    judge_epochs=st.integers(1, 2),
    concurrency=st.integers(1, 4),
    pauses=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    chains=st.lists(st.sampled_from(["", "x", "y"]), min_size=1, max_size=3),
)
STOPS = st.builds(Stop, stage=st.integers(1, 20), by=st.sampled_from(["halt", "pull", "cancel"]))


@given(plan=PLANS, stops=st.lists(STOPS, max_size=3), lost=st.integers(0, 300))
def test_an_interrupted_run_ends_as_an_uninterrupted_one_and_nothing_with_a_result_is_done_twice(
    plan: Plan, stops: list[Stop], lost: int
):
    with TemporaryDirectory() as temporary:
        complete, pieces = Path(temporary, "whole"), Path(temporary, "pieces")
        attempt(complete, plan)
        for stop in stops:
            attempt(pieces, plan, stop)
            content = (pieces / "events.jsonl").read_bytes()
            (pieces / "events.jsonl").write_bytes(content[: max(0, len(content) - lost)])  # as a crash loses the end
        attempt(pieces, plan)
        assert ends(pieces) == ends(complete)
        events = list(RunFolder(pieces).events())
        assert set(Counter(event.key for event in events if not may_heal(event.failure)).values()) <= {1}
