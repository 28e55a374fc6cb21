"""The quick reading of a run says of every case what the full one says, and reads a few in full."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proact_run import RESPONSE, answered, failed, graded, manifest, trigger, written

from dspy_proact.errors import RunError
from dspy_proact.report import summarize
from dspy_proact.runs import Glance, RunFolder, RunIndex, Sought

JUDGES = ("openai/j", "openai/k")
CASES = [trigger("d1", "EMERGENT"), trigger("d2", "CRITICAL")]


def halted(event):
    """The event of a stage that a halt cut off."""
    return event.model_copy(update={"answer": None, "grade": None, "failure": None})


def verdict(case, epoch, again, judge, what):
    made = graded(case, what if what in ("PASS", "PARTIAL", "FAIL") else "FAIL", judge=judge, epoch=epoch)
    made = made.model_copy(update={"key": made.key.model_copy(update={"judge_epoch": again})})
    if what == "halted":
        return halted(made)
    if what == "failed":
        failure = failed(case, "parse", judge=judge).failure
        return made.model_copy(update={"grade": None, "failure": failure})
    if what == "PARTIAL":  # as where nothing that is quoted stands in the response
        return made.model_copy(update={"grade": made.grade.model_copy(update={"verified": False})})
    return made


def response(case, epoch, what):
    made = answered(case, epoch=epoch)
    return {"there": made, "halted": halted(made), "failed": failed(case, "timeout", epoch=epoch)}[what]


CASE, EPOCH = st.sampled_from(CASES), st.integers(1, 2)
RESPONSES = st.builds(response, CASE, EPOCH, st.sampled_from(["there", "there", "there", "halted", "failed"]))
WHAT = st.sampled_from(["PASS", "PARTIAL", "FAIL", "failed", "halted"])
VERDICTS = st.builds(verdict, CASE, EPOCH, st.integers(1, 2), st.sampled_from(JUDGES), WHAT)


@given(
    st.lists(st.one_of(RESPONSES, VERDICTS, VERDICTS, VERDICTS), max_size=30),
    st.sampled_from([JUDGES, JUDGES[:1]]),
    EPOCH,
    EPOCH,
)
def test_it_says_what_the_full_reading_says_whatever_was_retried_halted_or_judged_severally(
    events, judges, epochs, judge_epochs
):
    answers = [answered(case, epoch=epoch) for case in CASES for epoch in (1, 2)]  # most have one to be graded
    with TemporaryDirectory() as name:
        of = manifest(*judges, epochs=epochs, judge_epochs=judge_epochs)
        folder = written(Path(name) / "run", of, CASES, [*answers, *events])
        index = RunIndex.of(folder)
        assert index
        assert {(each.key, each.epoch): each for each in index.glances} == {
            (each.key, each.epoch): each.glance for each in summarize(folder).outcomes
        }


def test_a_part_has_its_cases_alone_and_all_of_them(tmp_path):
    events = [event for case in CASES for event in (answered(case), graded(case))]
    index = RunIndex.of(written(tmp_path, manifest(), CASES, events))
    part = index.part({CASES[1].key})
    assert [case.key for case in part.cases()] == [CASES[1].key]
    assert [event.key.case for event in part.events()] == [CASES[1].key] * 2
    assert [outcome.response for outcome in summarize(part).outcomes] == [RESPONSE]


def test_a_case_that_was_changed_is_refused_where_it_is_read(tmp_path):
    folder = written(tmp_path, manifest(), CASES)
    changed = (tmp_path / "cases.jsonl").read_text(encoding="utf-8").replace("I move on Friday", "I stay")
    (tmp_path / "cases.jsonl").write_text(changed, encoding="utf-8")
    part = RunIndex.of(folder).part({CASES[1].key})
    with pytest.raises(RunError, match=r"cases\.jsonl, line 2: was changed"):
        list(part.cases())


@pytest.mark.parametrize(
    "line",
    ["rubbish", '{"key": 1}', '{"key":{"case":"nobody","epoch":1,"stage":"response"},"calls":[],"time":1}'],
)
def test_a_run_with_a_line_of_another_form_is_left_to_the_full_reading(tmp_path, line):
    folder = written(tmp_path, manifest(), CASES, [answered(CASES[0])])
    with (tmp_path / "events.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    assert RunIndex.of(folder) is None


@pytest.mark.parametrize(
    "line", ['{"key":"a","view":{}}', '{"key":1,"group":"g","stratum":"EMERGENT","view":{}}', "{}"]
)
def test_a_case_of_another_form_is_left_to_the_full_reading(tmp_path, line):
    folder = written(tmp_path, manifest(), CASES, [answered(CASES[0])])
    with (tmp_path / "cases.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    assert RunIndex.of(folder) is None


def test_a_grade_that_is_none_of_the_run_is_left_to_the_full_reading(tmp_path):
    folder = written(
        tmp_path, manifest(labels=("PASS", "FAIL")), CASES, [answered(CASES[0]), graded(CASES[0], "PARTIAL")]
    )
    assert RunIndex.of(folder) is None


def test_a_torn_last_line_is_passed_over(tmp_path):
    folder = written(tmp_path, manifest(), CASES, [answered(CASES[0])])
    whole = (tmp_path / "events.jsonl").read_bytes()
    (tmp_path / "events.jsonl").write_bytes(whole + whole[:50])
    assert [each.state for each in RunIndex.of(folder).glances] == ["pending", "pending"]


def test_a_line_may_hold_a_text_in_any_case_of_letters_and_behind_escapes(tmp_path):
    events = [answered(CASES[0], 'Say "Grüße"\nto Ann.'), answered(CASES[1], "Nothing\x07 here.")]
    folder = written(tmp_path, manifest(), CASES, events)
    assert RunIndex.of(RunFolder(tmp_path), 'say "GRÜSSE"\nTO').holding == {CASES[0].key, CASES[1].key}
    assert RunIndex.of(folder, "ann").holding == {CASES[0].key, CASES[1].key}  # behind an escape anything may stand


def glance(key, label, epoch=1, **more):
    return Glance(key, epoch, "EMERGENT", "scored", label, **more)


def test_epochs_differ_where_grades_do_and_runs_where_both_have_a_case():
    ours = [glance("a", "PASS"), glance("a", "FAIL", 2), glance("b", "PASS"), glance("b", "PASS", 2)]
    assert Sought(differing=True).among(ours) == ours[:2]
    theirs = {("a", 1): glance("a", "PASS"), ("a", 2): glance("a", "PASS", 2)}
    assert Sought(differing=True).among(ours, theirs) == [ours[1]]


def test_filters_combine():
    ours = [glance("a", "PASS", unverified=True), glance("b", "FAIL", unverified=True), glance("c", "FAIL", split=True)]
    assert Sought(labels=["FAIL"], unverified=True).among(ours) == [ours[1]]
    assert Sought(labels=["FAIL"], differing=True).among(ours) == [ours[2]]
    assert Sought(strata=["CRITICAL"]).among(ours) == []
