"""Doing a benchmark: every stage once by everybody who is asked, what is kept of it, and what an observer is told."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders.riddles import (
    KINDS,
    Court,
    Guess,
    Marking,
    Riddles,
    answered,
    call,
    cases,
    failed_call,
    failure,
    graded,
    guess,
    manifest,
    marked,
    outcomes,
    raising,
    run,
    run_async,
    stages,
    until,
    verdict_key,
    written,
)
from pydantic import BaseModel

from dspy_proact.calls import Call, record_call
from dspy_proact.runs import Case, Failure, Observer, RunFolder, Scored, StageEvent, VerdictRecord


def test_every_case_and_epoch_is_answered_and_graded_once(tmp_path: Path):
    benchmark = Riddles(cases("a", "b", "c"))
    runner = run(benchmark, tmp_path, epochs=2)
    assert Counter(benchmark.begun) == {(stage, key): 2 for stage in ("response", "verdict") for key in "abc"}
    assert runner.stages == 12  # 3 cases x 2 epochs x 2 stages
    assert runner.ledger.unscored(benchmark.case_set.cases, epochs=2) == 0
    graded_ = VerdictRecord(score=1.0, label="SOLVED", verified=None, detail={"remark": "remark on guess at a"})
    expected = {("a", 2, "response"): {"words": "guess at a"}, ("a", 2, "verdict"): graded_}
    assert expected.items() <= outcomes(tmp_path).items()
    assert len(outcomes(tmp_path)) == 12


def test_a_single_worker_follows_the_order_of_the_cases_epoch_by_epoch(tmp_path: Path):
    benchmark = Riddles(cases("b", "a"))
    run(benchmark, tmp_path, epochs=2, concurrency=1)
    once = [("response", "b"), ("verdict", "b"), ("response", "a"), ("verdict", "a")]
    assert benchmark.begun == once * 2


def test_a_run_is_widened_by_cases_and_epochs_without_doing_anything_again(tmp_path: Path):
    run(Riddles(cases("a")), tmp_path)
    wider = Riddles(cases("a", "b"))
    assert run(wider, tmp_path, epochs=2).stages == 6  # a in epoch 2, b in both; 2 stages each
    assert Counter(key for _, key in wider.begun) == {"a": 2, "b": 4}


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


@pytest.mark.parametrize("error", [None, *map(failure, KINDS), ValueError("odd")])
def test_an_observer_sees_the_calls_of_a_stage_also_when_it_fails(tmp_path: Path, error: Exception | None):
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

    class Watching(Observer):
        def ended(self, event: StageEvent, last: bool) -> None:
            calls[event.key.case, event.key.stage] = event.calls

    calls: dict[tuple[str, str], tuple[Call, ...]] = {}
    run(Riddles(cases("a", "b"), answer, grade), tmp_path, observer=Watching())
    assert not any(event.calls for event in RunFolder(tmp_path).events())
    assert calls == {
        ("a", "response"): (failed_call(error="a"), call()),
        ("b", "response"): (failed_call(error="b"), call()),
        ("a", "verdict"): (call("judge", finish_reason="a"),),
        ("b", "verdict"): (call("judge", finish_reason="b"),),
    }


# Several judges, or none


def test_every_judge_grades_once_and_then_every_judge_again_and_each_verdict_is_kept_under_its_own(tmp_path: Path):
    court = Court("a", "b")
    assert run(court, tmp_path, judge_epochs=2, concurrency=1).stages == 10  # 2 cases x (1 response + 2 x 2 verdicts)
    assert court.calls == [(key, judge) for key in "ab" for _ in "12" for judge in ("sphinx", "oracle")]
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
    # Only what failed for another reason than its content is asked again, of the judge who failed.
    assert Counter(again.calls) == ({("a", "sphinx"): 2, ("b", "sphinx"): 2} if kind != "content" else {})


# What an observer is told


class Diary(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.notes: list[Any] = []
        self.done: list[tuple[str, int]] = []

    def started(self, todo: int, total: int) -> None:
        self.notes.append((todo, total))

    def ended(self, event: StageEvent, last: bool) -> None:
        self.notes.append(event)
        if last:
            self.done.append((event.key.case, event.key.epoch))


def test_the_observer_is_told_how_much_there_is_and_of_every_event(tmp_path: Path):
    written(tmp_path, manifest(), cases("a", "b"), [answered("a"), graded("a", "LOST"), answered("b")])
    diary = Diary()
    run(Riddles(cases("a", "b", "c")), tmp_path, observer=diary, epochs=2)
    # 3 cases x 2 epochs are asked for; a in epoch 1 is done, b in epoch 1 awaits its verdict.
    (first, *events) = diary.notes
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
    ended = [event.key for event in diary.notes[1:]]
    for key, epoch in diary.done:
        of_work = [item for item in ended if (item.case, item.epoch) == (key, epoch)]
        assert of_work[-1] == verdict_key(key, epoch, "oracle", 2)


class Broken(Observer):
    """Fails at the first event."""

    def ended(self, event: StageEvent, last: bool) -> None:
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_without_an_answer_is_not_graded_and_the_others_are(tmp_path: Path, kind: str):
    benchmark, diary = Riddles(cases("a", "b"), answer=raising(failure(kind))), Diary()
    runner = run(benchmark, tmp_path, observer=diary)
    assert sorted(diary.done) == [("a", 1), ("b", 1)]
    assert stages(tmp_path) == [("a", "response"), ("b", "response"), ("b", "verdict")]
    assert outcomes(tmp_path)["a", 1, "response"] == Failure(kind=kind, reason="told_to", detail="as the test asks")
    assert (runner.stages, runner.ledger.unscored(benchmark.case_set.cases, epochs=1)) == (3, 1)


@pytest.mark.parametrize("stage", ["answer", "grade"])
def test_an_unexpected_exception_becomes_an_unscored_row_and_the_run_goes_on(tmp_path: Path, stage: str):
    run(Riddles(cases("a", "b"), **{stage: raising(ZeroDivisionError("of the benchmark"))}), tmp_path, concurrency=1)
    row = outcomes(tmp_path)["a", 1, {"answer": "response", "grade": "verdict"}[stage]]
    assert row == Failure(kind="provider", reason="unexpected", detail="ZeroDivisionError: of the benchmark")
    assert ("b", "verdict") in stages(tmp_path)


class Weighed(BaseModel):
    """A grading with a number in it."""

    weight: float


NO_GRADES = {
    "a score": {"score": float("nan")},
    "a score above 1": {"score": 1.5},
    "a part": {"parts": {"recall": float("inf")}},
    "a detail": {"detail": Weighed(weight=float("nan"))},
}


@pytest.mark.parametrize("spoilt", NO_GRADES.values(), ids=NO_GRADES)
def test_a_grade_with_what_is_no_number_becomes_an_unscored_row(tmp_path: Path, spoilt: dict[str, Any]):
    async def grade(case: Case, answer: Guess) -> Scored[Weighed]:
        complete = Scored(1.0, "SOLVED", Weighed(weight=1.0), verified=False, parts={"recall": 0.25})
        return replace(complete, **spoilt) if case.key == "a" else complete

    runner = run(Riddles(cases("a", "b"), grade=grade), tmp_path)
    assert isinstance(outcomes(tmp_path)["a", 1, "verdict"], Failure)
    assert outcomes(tmp_path)["b", 1, "verdict"] == VerdictRecord(
        score=1.0, label="SOLVED", verified=False, parts={"recall": 0.25}, detail={"weight": 1.0}
    )
    assert runner.ledger.unscored(cases("a", "b"), epochs=1) == 1
