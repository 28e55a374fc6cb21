"""Doing a benchmark: every stage once, whatever fails and whenever it is stopped."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import (
    JUDGE,
    Guess,
    Marking,
    Riddles,
    answered,
    call,
    case,
    cases,
    failed_call,
    failure,
    graded,
    guess,
    manifest,
    mark,
    marked,
    outcomes,
    run,
    run_async,
    verdict_key,
    written,
)

from dspy_proact.calls import record_call
from dspy_proact.errors import Halt, Interrupted, SetupFault
from dspy_proact.runs import Case, Event, Failure, GradeRecord, Observer, RunFolder, Scored, StageKey, latest
from dspy_proact.switch import Switch

KINDS = ["content", "provider"]


def raising(error: BaseException, key: str = "a") -> Callable[..., Any]:
    """A script for either stage that fails at one case."""

    async def script(case: Case, *answer: Guess) -> Any:
        if case.key == key:
            raise error
        return await (mark(case, *answer) if answer else guess(case))

    return script


def stages(path: Path) -> list[tuple[str, str]]:
    """Case and stage of each event on disk, sorted."""
    return sorted((event.key.case, event.key.stage) for event in RunFolder(path).events())


async def until(condition: Callable[[], object]) -> None:
    """Let others go on until something holds."""
    while not condition():
        await asyncio.sleep(0)


def test_every_case_and_epoch_is_answered_and_graded_once(tmp_path: Path):
    benchmark = Riddles(cases("a", "b", "c"))
    runner = run(benchmark, tmp_path, epochs=2)
    assert Counter(benchmark.begun) == {(stage, key): 2 for stage in ("response", "verdict") for key in "abc"}
    assert runner.stages == 12  # 3 cases x 2 epochs x 2 stages
    assert runner.ledger.unscored(benchmark.case_set.cases, epochs=2) == 0
    graded_ = GradeRecord(score=1.0, label="SOLVED", verified=None, detail={"remark": "remark on guess at a"})
    expected = {("a", 2, "response"): {"words": "guess at a"}, ("a", 2, "verdict"): graded_}
    assert expected.items() <= outcomes(tmp_path).items()
    assert len(outcomes(tmp_path)) == 12


def test_verdicts_are_kept_under_the_judge_and_responses_under_none(tmp_path: Path):
    run(Riddles(cases("a")), tmp_path)
    assert [(event.key.stage, event.key.judge) for event in RunFolder(tmp_path).events()] == [
        ("response", None),
        ("verdict", JUDGE),
    ]


class Court(Riddles):
    """Two judges who grade apart: `sphinx` is lenient and `oracle` is not; notes in which order they are asked."""

    def __init__(self, *keys: str, failing: Mapping[str, Exception] = MappingProxyType({})):
        super().__init__(cases(*keys), judges=("sphinx", "oracle"))
        self.asked: list[tuple[str, str]] = []
        self._failing = failing

    async def grade(self, case: Case, answer: Guess, judge: str) -> Scored[Marking]:
        self.asked.append((case.key, judge))
        if error := self._failing.get(judge):
            raise error
        return marked({"sphinx": "SOLVED", "oracle": "LOST"}[judge], f"{judge} on {answer.words}")


def test_every_judge_grades_once_and_then_every_judge_again_and_each_verdict_is_kept_under_its_own(tmp_path: Path):
    court = Court("a", "b")
    assert run(court, tmp_path, judge_epochs=2, concurrency=1).stages == 10  # 2 cases x (1 response + 2 x 2 verdicts)
    assert court.asked == [(key, judge) for key in "ab" for _ in "12" for judge in ("sphinx", "oracle")]
    kept = {event.key: event.grade for event in RunFolder(tmp_path).events() if event.grade}
    assert {key: (grade.label, grade.detail) for key, grade in kept.items()} == {
        verdict_key(case, judge=judge, judge_epoch=again): (label, {"remark": f"{judge} on guess at {case}"})
        for case in "ab"
        for judge, label in (("sphinx", "SOLVED"), ("oracle", "LOST"))
        for again in (1, 2)
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_that_fails_leaves_the_others_verdict_which_is_enough(tmp_path: Path, kind: str):
    runner = run(Court("a", "b", failing={"sphinx": failure(kind)}), tmp_path, judge_epochs=2)
    assert runner.ledger.unscored(cases("a", "b"), epochs=1) == 0
    again = Court("a", "b")
    run(again, tmp_path, judge_epochs=2)
    # Only what failed for the provider's sake is asked again, of the judge who failed.
    assert Counter(again.asked) == ({("a", "sphinx"): 2, ("b", "sphinx"): 2} if kind == "provider" else {})


@pytest.mark.parametrize("kind", KINDS)
def test_a_response_that_no_judge_could_grade_is_unscored(tmp_path: Path, kind: str):
    failing = {judge: failure(kind) for judge in ("sphinx", "oracle")}
    runner = run(Court("a", "b", failing=failing), tmp_path)
    assert runner.ledger.unscored(cases("a", "b"), epochs=1) == 2


def test_more_judge_epochs_ask_for_the_new_verdicts_and_nothing_else(tmp_path: Path):
    run(Court("a", "b"), tmp_path, judge_epochs=1)
    wider = Court("a", "b")
    assert run(wider, tmp_path, judge_epochs=3, concurrency=1).stages == 8  # 2 cases x 2 judges x 2 more
    assert wider.begun == []  # no response
    assert wider.asked == [(key, judge) for key in "ab" for _ in "23" for judge in ("sphinx", "oracle")]
    assert run(Court("a", "b"), tmp_path, judge_epochs=2).stages == 0
    assert RunFolder(tmp_path).manifest().judge_epochs == 3


def test_the_whole_grade_is_kept(tmp_path: Path):
    async def grade(case: Case, answer: Guess) -> Scored[Marking]:
        return Scored(0.4, "CLOSE", Marking(remark="nearly"), verified=False)

    run(Riddles(cases("a"), grade=grade), tmp_path)
    kept = GradeRecord(score=0.4, label="CLOSE", verified=False, detail={"remark": "nearly"})
    assert outcomes(tmp_path)["a", 1, "verdict"] == kept


def test_a_single_worker_follows_the_order_of_the_cases_epoch_by_epoch(tmp_path: Path):
    benchmark = Riddles(cases("b", "a"))
    run(benchmark, tmp_path, epochs=2, concurrency=1)
    once = [("response", "b"), ("verdict", "b"), ("response", "a"), ("verdict", "a")]
    assert benchmark.begun == once * 2


def test_a_finished_run_is_left_alone(tmp_path: Path):
    run(Riddles(cases("a", "b")), tmp_path)
    before = (tmp_path / "events.jsonl").read_bytes()
    again = Riddles(cases("a", "b"))
    assert run(again, tmp_path).stages == 0
    assert again.begun == []
    assert (tmp_path / "events.jsonl").read_bytes() == before


def test_a_run_is_widened_by_cases_and_epochs_without_doing_anything_again(tmp_path: Path):
    run(Riddles(cases("a")), tmp_path)
    wider = Riddles(cases("a", "b"))
    assert run(wider, tmp_path, epochs=2).stages == 6  # a in epoch 2, b in both; 2 stages each
    assert Counter(key for _, key in wider.begun) == {"a": 2, "b": 4}


def test_a_response_on_disk_is_graded_as_it_was(tmp_path: Path):
    written(tmp_path, manifest(), cases("a"), [answered("a", words="kept")])
    seen: list[Guess] = []

    async def grade(case: Case, answer: Guess) -> Scored[Marking]:
        seen.append(answer)
        return marked("LOST")

    benchmark = Riddles(cases("a"), grade=grade)
    run(benchmark, tmp_path)
    assert benchmark.begun == [("verdict", "a")]
    assert seen == [Guess(words="kept")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_without_an_answer_is_not_graded_and_the_others_are(tmp_path: Path, kind: str):
    benchmark = Riddles(cases("a", "b"), answer=raising(failure(kind)))
    runner = run(benchmark, tmp_path)
    assert stages(tmp_path) == [("a", "response"), ("b", "response"), ("b", "verdict")]
    assert outcomes(tmp_path)["a", 1, "response"] == Failure(kind=kind, reason="told_to", detail="as the test asks")
    assert (runner.stages, runner.ledger.unscored(benchmark.case_set.cases, epochs=1)) == (3, 1)


@pytest.mark.parametrize("stage", ["answer", "grade"])
def test_a_content_failure_is_not_tried_again(tmp_path: Path, stage: str):
    run(Riddles(cases("a", "b"), **{stage: raising(failure("content"))}), tmp_path)
    again = Riddles(cases("a", "b"))
    runner = run(again, tmp_path)
    assert again.begun == []
    assert runner.ledger.unscored(again.case_set.cases, epochs=1) == 1  # it still has no grade


@pytest.mark.parametrize(("stage", "begun"), [("answer", ["response", "verdict"]), ("grade", ["verdict"])])
def test_a_content_failure_is_tried_again_when_that_is_asked_for(tmp_path: Path, stage: str, begun: list[str]):
    run(Riddles(cases("a", "b"), **{stage: raising(failure("content"))}), tmp_path)
    again = Riddles(cases("a", "b"))
    runner = run(again, tmp_path, retry_content=True)
    assert again.begun == [(stage, "a") for stage in begun]
    assert runner.ledger.unscored(again.case_set.cases, epochs=1) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stage", ["answer", "grade"])
def test_a_failure_is_not_tried_again_by_the_run_that_saw_it(tmp_path: Path, stage: str, kind: str):
    benchmark = Riddles(cases("a"), **{stage: raising(failure(kind))})
    runner = run(benchmark, tmp_path, retry_content=True)
    assert set(Counter(benchmark.begun).values()) == {1}
    assert runner.ledger.open_work(cases("a"), epochs=1) == []


def test_a_missing_answer_of_the_providers_is_tried_again(tmp_path: Path):
    run(Riddles(cases("a", "b"), answer=raising(failure("provider"))), tmp_path)
    again = Riddles(cases("a", "b"))
    runner = run(again, tmp_path)
    assert again.begun == [("response", "a"), ("verdict", "a")]
    assert runner.ledger.unscored(again.case_set.cases, epochs=1) == 0
    assert outcomes(tmp_path)["a", 1, "response"] == {"words": "guess at a"}


def test_a_missing_verdict_of_the_providers_is_tried_again_without_a_new_answer(tmp_path: Path):
    run(Riddles(cases("a", "b"), grade=raising(failure("provider"))), tmp_path)
    again = Riddles(cases("a", "b"))
    runner = run(again, tmp_path)
    assert again.begun == [("verdict", "a")]
    assert runner.ledger.unscored(again.case_set.cases, epochs=1) == 0


def test_unscored_counts_what_was_asked_for_and_nothing_else_on_disk(tmp_path: Path):
    run(Riddles(cases("a", "b"), answer=raising(failure("content"))), tmp_path, epochs=2)
    runner = run(Riddles(cases("a", "b")), tmp_path)
    assert runner.ledger.unscored(cases("a", "b"), epochs=2) == 2  # a, in both epochs
    assert runner.ledger.unscored(cases("a", "b"), epochs=1) == 1
    assert runner.ledger.unscored(cases("b"), epochs=2) == 0


@pytest.mark.parametrize("stage", ["answer", "grade"])
def test_an_unexpected_exception_becomes_an_unscored_row_and_the_run_goes_on(tmp_path: Path, stage: str):
    run(Riddles(cases("a", "b"), **{stage: raising(ZeroDivisionError("of the benchmark"))}), tmp_path, concurrency=1)
    row = outcomes(tmp_path)["a", 1, {"answer": "response", "grade": "verdict"}[stage]]
    assert row == Failure(kind="provider", reason="unexpected", detail="ZeroDivisionError: of the benchmark")
    assert ("b", "verdict") in stages(tmp_path)


@pytest.mark.parametrize("stage", ["answer", "grade"])
@pytest.mark.parametrize("error", [ValueError("half a pair: \ud83d"), failure("provider", "half a pair: \ud83d")])
def test_an_exception_whose_text_is_no_unicode_becomes_a_row_too(tmp_path: Path, stage: str, error: Exception):
    run(Riddles(cases("a", "b"), **{stage: raising(error)}), tmp_path, concurrency=1)
    assert ("b", "verdict") in stages(tmp_path)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), 1.5, -0.1])
def test_a_score_that_is_none_becomes_an_unscored_row(tmp_path: Path, score: float):
    async def grade(case: Case, answer: Guess) -> Scored[Marking]:
        return Scored(score if case.key == "a" else 1.0, "SOLVED", Marking(remark=""))

    runner = run(Riddles(cases("a", "b"), grade=grade), tmp_path)
    assert isinstance(outcomes(tmp_path)["a", 1, "verdict"], Failure)
    assert runner.ledger.unscored(cases("a", "b"), epochs=1) == 1


def test_parts_are_kept_with_the_grade_and_one_that_is_no_number_makes_an_unscored_row(tmp_path: Path):
    async def grade(case: Case, answer: Guess) -> Scored[Marking]:
        return Scored(1.0, "SOLVED", Marking(remark=""), parts={"recall": float("inf") if case.key == "a" else 0.25})

    run(Riddles(cases("a", "b"), grade=grade), tmp_path)
    assert isinstance(outcomes(tmp_path)["a", 1, "verdict"], Failure)
    assert outcomes(tmp_path)["b", 1, "verdict"].parts == {"recall": 0.25}


def test_without_judges_the_benchmark_grades_every_answer_itself_and_once(tmp_path: Path):
    riddles = Riddles(cases("a", "b"), judges=())
    run(riddles, tmp_path, judge_epochs=3)
    assert sorted(riddles.begun) == [(stage, key) for stage in ("response", "verdict") for key in "ab"]
    kept = {event.key: event.grade and event.grade.label for event in RunFolder(tmp_path).events()}
    assert kept[StageKey(case="a", epoch=1, stage="verdict")] == "SOLVED"


class Weighed(Marking):
    """A grading with a number in it."""

    weight: float


def test_a_grading_that_json_cannot_hold_becomes_an_unscored_row(tmp_path: Path):
    async def grade(case: Case, answer: Guess) -> Scored[Marking]:
        return Scored(1.0, "SOLVED", Weighed(remark="", weight=float("nan") if case.key == "a" else 1.0))

    run(Riddles(cases("a", "b"), grade=grade), tmp_path, concurrency=1)
    assert isinstance(outcomes(tmp_path)["a", 1, "verdict"], Failure)
    assert isinstance(outcomes(tmp_path)["b", 1, "verdict"], GradeRecord)


def test_what_is_graded_is_what_is_kept_so_that_a_resumed_run_grades_the_same(tmp_path: Path):
    seen: list[str] = []

    async def answer(case: Case) -> Guess:
        return Guess(words="half a pair: \ud83d")

    async def grade(case: Case, answer: Guess) -> Scored[Marking]:
        seen.append(answer.words)
        raise failure("provider")

    for _ in range(2):
        run(Riddles(cases("a"), answer, grade), tmp_path)
    assert seen == [outcomes(tmp_path)["a", 1, "response"]["words"]] * 2


@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (3, 3), (50, 12)])
def test_no_more_stages_are_in_flight_than_allowed(tmp_path: Path, concurrency: int, most: int):
    async def answer(case: Case) -> Guess:
        await until(lambda: benchmark.in_flight == most or len(benchmark.begun) > most)
        return await guess(case)

    async def grade(case: Case, answer: Guess) -> Scored[Marking]:
        await asyncio.sleep(0)
        return marked("SOLVED")

    benchmark = Riddles(cases(*"abcdefghijkl"), answer, grade)
    run(benchmark, tmp_path, concurrency=concurrency)
    assert benchmark.most_in_flight == most
    assert len(benchmark.begun) == 24  # 12 cases x 2 stages


class Scene:
    """Three stages in flight of four cases; the one of `a` ends the run, the others end after that."""

    def __init__(self, end: Callable[["Scene"], None]):
        self.switch = Switch()
        self.end = end
        self.benchmark = Riddles(cases("a", "b", "c", "d"), self._answer)

    async def _answer(self, case: Case) -> Guess:
        if case.key == "a":
            await until(lambda: self.benchmark.in_flight == 3)
            self.end(self)
        await until(lambda: self.switch.halt)
        return await guess(case)

    def play(self, path: Path) -> None:
        run(self.benchmark, path, concurrency=3, switch=self.switch)


def test_a_halt_lets_what_is_in_flight_end_and_be_kept_and_starts_nothing_more(tmp_path: Path):
    halt = SetupFault("a key must be mended")

    def end(scene: Scene) -> None:
        raise halt

    scene = Scene(end)
    with pytest.raises(SetupFault) as caught:
        scene.play(tmp_path)
    assert caught.value is halt
    assert scene.switch.halt is halt
    assert scene.benchmark.begun == [("response", key) for key in "abc"]
    assert stages(tmp_path) == [("b", "response"), ("c", "response")]


def test_a_pulled_switch_does_the_same(tmp_path: Path):
    halt = Interrupted("enough")
    scene = Scene(lambda scene: scene.switch.pull(halt))
    with pytest.raises(Interrupted) as caught:
        scene.play(tmp_path)
    assert caught.value is halt
    assert scene.benchmark.begun == [("response", key) for key in "abc"]
    assert stages(tmp_path) == [("a", "response"), ("b", "response"), ("c", "response")]


def test_a_halt_while_grading_keeps_the_response(tmp_path: Path):
    with pytest.raises(SetupFault):
        run(Riddles(cases("a", "b"), grade=raising(SetupFault("no"))), tmp_path, concurrency=1)
    assert stages(tmp_path) == [("a", "response")]


def test_a_switch_that_was_pulled_before_lets_nothing_start(tmp_path: Path):
    switch, benchmark = Switch(), Riddles(cases("a"))
    switch.pull(Interrupted("enough"))
    with pytest.raises(Interrupted):
        run(benchmark, tmp_path, switch=switch)
    assert benchmark.begun == []


def test_only_the_first_pull_of_a_switch_counts(tmp_path: Path):
    switch, halt = Switch(), SetupFault("first")
    switch.pull(halt)
    switch.pull(Interrupted("second"))
    assert switch.halt is halt


def test_a_cancellation_drops_what_is_in_flight_and_keeps_the_rest_readable(tmp_path: Path):
    async def answer(case: Case) -> Guess:
        if case.key != "a":
            await asyncio.Event().wait()
        return await guess(case)

    async def cancelled() -> None:
        benchmark = Riddles(cases("a", "b", "c", "d"), answer)
        running = asyncio.create_task(run_async(benchmark, tmp_path, concurrency=2))
        await until(lambda: ("response", "c") in benchmark.begun)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert benchmark.in_flight == 0

    asyncio.run(cancelled())
    assert stages(tmp_path) == [("a", "response"), ("a", "verdict")]
    again = Riddles(cases("a", "b", "c", "d"))
    run(again, tmp_path)
    assert sorted(again.begun) == [(stage, key) for stage in ("response", "verdict") for key in "bcd"]


@pytest.mark.parametrize("error", [None, *map(failure, KINDS), ValueError("odd")])
def test_calls_land_in_the_event_of_their_stage_also_when_it_fails(tmp_path: Path, error: Exception | None):
    async def answer(case: Case) -> Guess:
        record_call(failed_call(error=case.key))
        await asyncio.sleep(0)  # another case comes in between
        record_call(call())
        return await guess(case)

    async def grade(case: Case, answer: Guess) -> Scored[Marking]:
        record_call(call("judge", finish_reason=case.key))
        await asyncio.sleep(0)
        if error:
            raise error
        return marked("LOST")

    run(Riddles(cases("a", "b"), answer, grade), tmp_path)
    calls = {(event.key.case, event.key.stage): event.calls for event in RunFolder(tmp_path).events()}
    assert calls == {
        ("a", "response"): (failed_call(error="a"), call()),
        ("b", "response"): (failed_call(error="b"), call()),
        ("a", "verdict"): (call("judge", finish_reason="a"),),
        ("b", "verdict"): (call("judge", finish_reason="b"),),
    }


def test_calls_land_in_the_event_when_an_answer_fails(tmp_path: Path):
    async def answer(case: Case) -> Guess:
        record_call(call(finish_reason="content_filter"))
        raise failure("content", "filtered")

    run(Riddles(cases("a"), answer), tmp_path)
    (event,) = RunFolder(tmp_path).events()
    assert event.calls == (call(finish_reason="content_filter"),)
    assert event.failure.reason == "filtered"


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


@dataclass(frozen=True)
class Stop:
    """The interruption of a run: at the n-th stage that begins, and with what."""

    stage: int
    by: Literal["halt", "pull", "cancel"]


class Fated(Riddles):
    """Follows a plan until the stop, if there is one."""

    def __init__(self, plan: Plan, stop: Stop | None):
        asked = [case(f"{number} {fate}") for number, fate in enumerate(plan.fates)]
        super().__init__(asked, self._fated_answer, judges=plan.judges)
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
        return await guess(case)

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
    closed = Counter((key.stage, key.case) for key, outcome in ends(path).items() if not of_provider(outcome))
    benchmark = Fated(plan, stop)
    try:
        benchmark.run(path)
    except (Halt, asyncio.CancelledError):
        assert stop
    asked = {"response": plan.epochs, "verdict": plan.epochs * len(plan.judges) * plan.judge_epochs}
    assert all(count <= asked[stage[0]] - closed[stage] for stage, count in Counter(benchmark.begun).items())


def ends(path: Path) -> dict[StageKey, Any]:
    """What counts for each stage on disk, without times and calls."""
    ended = latest(RunFolder(path).events()).items()
    return {key: event.answer or event.grade or event.failure for key, event in ended}


def of_provider(outcome: Any) -> bool:
    return isinstance(outcome, Failure) and outcome.kind == "provider"


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
)
STOPS = st.builds(Stop, stage=st.integers(1, 20), by=st.sampled_from(["halt", "pull", "cancel"]))


@given(plan=PLANS, stops=st.lists(STOPS, max_size=3), lost=st.integers(0, 300))
def test_an_interrupted_run_ends_as_an_uninterrupted_one_and_nothing_with_a_result_is_done_twice(
    plan: Plan, stops: list[Stop], lost: int
):
    with TemporaryDirectory() as temporary:
        whole, pieces = Path(temporary, "whole"), Path(temporary, "pieces")
        attempt(whole, plan)
        for stop in stops:
            attempt(pieces, plan, stop)
            content = (pieces / "events.jsonl").read_bytes()
            (pieces / "events.jsonl").write_bytes(content[: max(0, len(content) - lost)])  # as a crash loses the end
        attempt(pieces, plan)
        assert ends(pieces) == ends(whole)
        events = list(RunFolder(pieces).events())
        assert set(Counter(event.key for event in events if not of_provider(event.failure)).values()) <= {1}
