"""Doing a benchmark: every stage once, and what is kept of it."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from toy import (
    JUDGE,
    Guess,
    Marking,
    Riddles,
    answered,
    call,
    cases,
    failed_call,
    failure,
    guess,
    manifest,
    marked,
    outcomes,
    run,
    written,
)
from toy_stages import KINDS, until

from dspy_proact.calls import record_call
from dspy_proact.runs import Case, GradeRecord, RunFolder, Scored


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
