"""What fails is an unscored row with its reason, is tried again where that may help, and stops nothing else."""

from pathlib import Path

import pytest
from toy import Guess, Marking, Riddles, case, cases, failure, marked, outcomes, run
from toy_stages import KINDS, raising, stages

from dspy_proact.runs import CONTROL, Case, Failure, GradeRecord, Scored


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_without_an_answer_is_not_graded_and_the_others_are(tmp_path: Path, kind: str):
    benchmark = Riddles(cases("a", "b"), answer=raising(failure(kind)))
    runner = run(benchmark, tmp_path)
    assert stages(tmp_path) == [("a", "response"), ("b", "response"), ("b", "verdict")]
    assert outcomes(tmp_path)["a", 1, "response"] == Failure(kind=kind, reason="told_to", detail="as the test asks")
    assert (runner.stages, runner.ledger.unscored(benchmark.case_set.cases, epochs=1)) == (3, 1)


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


class Weighed(Marking):
    """A grading with a number in it."""

    weight: float


def test_a_grading_that_json_cannot_hold_becomes_an_unscored_row(tmp_path: Path):
    async def grade(case: Case, answer: Guess) -> Scored[Marking]:
        return Scored(1.0, "SOLVED", Weighed(remark="", weight=float("nan") if case.key == "a" else 1.0))

    run(Riddles(cases("a", "b"), grade=grade), tmp_path, concurrency=1)
    assert isinstance(outcomes(tmp_path)["a", 1, "verdict"], Failure)
    assert isinstance(outcomes(tmp_path)["b", 1, "verdict"], GradeRecord)


@pytest.mark.parametrize(("stratum", "label"), [("RHYME", "CHATTY"), (CONTROL, "SOLVED")])
def test_a_label_that_a_case_cannot_have_becomes_an_unscored_row(tmp_path: Path, stratum: str, label: str):
    async def grade(case: Case, answer: Guess) -> Scored[Marking]:
        return marked(label)

    run(Riddles([case("a", stratum=stratum)], grade=grade), tmp_path, controls="ff")
    said = f"ValueError: the label {label!r} is none of riddles"
    assert outcomes(tmp_path)["a", 1, "verdict"] == Failure(kind="provider", reason="unexpected", detail=said)
