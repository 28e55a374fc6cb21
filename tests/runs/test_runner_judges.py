"""Who grades a response: every judge once, or again and again, or the benchmark itself."""

from collections import Counter
from pathlib import Path

import pytest
from toy import Riddles, cases, failure, run, verdict_key
from toy_stages import KINDS, Court

from dspy_proact.runs import RunFolder, StageKey


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


def test_without_judges_the_benchmark_grades_every_answer_itself_and_once(tmp_path: Path):
    riddles = Riddles(cases("a", "b"), judges=())
    run(riddles, tmp_path, judge_epochs=3)
    assert sorted(riddles.begun) == [(stage, key) for stage in ("response", "verdict") for key in "ab"]
    kept = {event.key: event.grade and event.grade.label for event in RunFolder(tmp_path).events()}
    assert kept[StageKey(case="a", epoch=1, stage="verdict")] == "SOLVED"
