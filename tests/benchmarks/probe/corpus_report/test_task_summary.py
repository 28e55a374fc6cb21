"""What is said first of made tasks: no more than was shown, what makes it doubtful, and what repeats."""

from dataclasses import replace

import pytest
from builders.made_people import GATES, kept_proof, made_person, made_task, made_task_corpus

from dspy_proact.audit.check import AuditCheck
from dspy_proact.benchmarks.probe.corpus_report.task_summary import REVIEW, TaskSummary
from dspy_proact.benchmarks.probe.generation.corpus import proof_of
from dspy_proact.generation.maker import Kept

WEAK = kept_proof(kept=False, reason="Without item_30aa, 3 of 3 answers solve it.", fresh=(), shortcut=None)
MIXED = kept_proof(fresh=(True, False, False))


def summary(*arguments, **options):
    return TaskSummary(made_task_corpus(*arguments, **options))


def text(*arguments, **options):
    return summary(*arguments, **options).headline.text


def test_the_headline_is_the_share_of_fresh_answers_with_its_interval():
    # Five people of two tasks solved in 3 of 3 and one in 1 of 3 each: no variance. One person less so: an interval.
    first = summary(6, weak=MIXED).corpus
    people = [kept.item for kept in first.made.kept]
    changed = people[0].model_copy(update={"tasks": tuple(made_task(n, proof=kept_proof()) for n in (1, 2, 3))})
    made = replace(first.made, kept=[Kept(1, 1, changed, ()), *first.made.kept[1:]])
    shown = TaskSummary(replace(first, made=made, proof=proof_of([changed, *people[1:]], "openai/tester"))).headline
    # (2/3 * 3 + 15 * 7/9) / 18 = .7593 of the mean over tasks.
    assert shown.text.startswith("6 people, 18 tasks; from the evidence alone, openai/tester solves 76 % (95 % ")
    assert shown.text.endswith(", fresh answers); 1 check fails.")
    assert shown.number.value == pytest.approx(0.759, abs=0.001)
    assert (shown.side, shown.test, shown.count) == (None, "95 % interval of the share, clustered by persona", 18)
    assert "Failed: solvable." in shown.caveats


def test_too_few_tasks_show_nothing_and_say_so():
    shown = summary(2)
    assert shown.headline.text == (
        "2 people, 6 tasks; too few for an interval: from the evidence alone, openai/tester solves 100 % "
        "(fresh answers)."
    )
    assert shown.headline.test is None
    assert "Share of fresh answers: fewer than 12 tasks (6)." in shown.headline.caveats


def test_drafts_show_nothing():
    assert text(2, level="none") == "2 people, 6 tasks: drafts, of which nothing was shown."
    assert summary(2, level="none").headline.number is None


def test_the_stand_in_measures_nothing_and_has_no_other_caveats():
    shown = summary(2, model="embedded").headline
    assert shown.text == (
        "Demonstration with the embedded stand-in, no real model: 2 people, 6 tasks, which measure nothing."
    )
    assert shown.number is None
    assert shown.caveats == ("Of 8 bottlenecks, 2 became no task; the commonest reason: plan: Item 2 states nothing.",)


def test_a_corpus_of_no_task_has_nothing_to_measure_with():
    assert text(0, wanted=2) == "0 of 2 people, 0 tasks: nothing to measure with."
    assert summary(0, wanted=2).headline.caveats[0] == (
        "2 people could not be made: 1 attempt failed, most of them at: world."
    )


def test_fresh_answers_that_repeat_those_that_decided_show_nothing():
    proof = kept_proof(fresh=(True, True, True), repeats=2)
    shown = summary(6, proof=proof).headline
    assert "nothing is shown, as the fresh answers repeat those by which tasks were kept" in shown.text
    assert shown.number is None
    assert "36 of 54 fresh answers repeat, word for word," in " ".join(shown.caveats)
    # One of three is said below, and the share is shown.
    assert "solves 100 %" in text(6, proof=kept_proof(fresh=(True, True, True), repeats=1))


def test_fresh_answers_without_a_grade_show_nothing_and_are_counted():
    assert "no fresh answer was graded, so nothing is shown" in text(6, proof=kept_proof(fresh=(None, None, None)))
    some = summary(6, proof=kept_proof(fresh=(True, True, None)))
    assert "18 fresh answers could not be graded and are in no share." in some.headline.caveats


def test_what_became_no_task_is_counted_with_the_commonest_reason():
    assert summary(6, weak=WEAK).headline.caveats[0] == (
        "Of 24 bottlenecks, 6 became no task and the proof did not keep 6; the commonest reason: proof: Without one "
        "item, 3 of 3 answers solve it."
    )


def test_checks_that_fail_stand_in_the_headline_and_those_that_were_not_tested_below_it():
    failed = [AuditCheck(name=f"gate {n}", state="failed", sentence="x.", tested=1) for n in range(6)]
    shown = summary(6, gates=(*GATES, *failed)).headline
    assert "; 6 checks fail." in shown.text
    assert "Failed: gate 0, gate 1, gate 2, gate 3 and 2 more." in shown.caveats
    assert "1 gate not tested: too few tasks or people (18 tasks of 6 people)." in shown.caveats
    assert not [line for line in summary(6, gates=GATES[1:]).headline.caveats if "not tested" in line]


def test_writer_and_auditor_of_one_model_are_a_caveat_and_so_is_that_nobody_reviewed_them():
    same = "Writer and auditor are the same model (openai/one), which may not see its own mistakes."
    assert same in summary(6, model="openai/one").headline.caveats
    assert not [line for line in summary(6).headline.caveats if "same model" in line]
    assert summary(6).headline.caveats[-1] == REVIEW


def test_a_light_proof_is_a_caveat():
    assert (
        "Light proof: one answer in place of three kept or rejected each task."
        in summary(6, level="light").headline.caveats
    )


def test_no_headline_has_more_than_thirty_words():
    long = "a very long name of a model"
    failed = [AuditCheck(name="x", state="failed", sentence="x.", tested=1)]
    for corpus in (
        made_task_corpus(6, wanted=7, model="some model of six words", gates=failed),
        made_task_corpus(6, wanted=7, model=long, gates=failed),
        made_task_corpus(2, wanted=3, model=long, gates=failed),
        made_task_corpus(2, wanted=3, level="none", gates=failed),
        made_task_corpus(6, wanted=7, proof=kept_proof(repeats=3), gates=failed),
    ):
        assert len(TaskSummary(corpus).headline.text.split()) <= 30, TaskSummary(corpus).headline.text


# What is weak, and how varied it is


def test_tasks_against_which_something_speaks_come_by_their_fresh_answers_then_by_their_doubts():
    spared = kept_proof(fresh=(True, True, True), without={"item_310aa": (True, False, False)}, alone={})
    unsure = made_task(1, proof=kept_proof(fresh=(True, True, True)))
    review = unsure.review.model_copy(update={"unnatural": [2], "other_problems": [9]})
    person = made_person(
        1, unsure.model_copy(update={"review": review}), made_task(2, proof=MIXED), made_task(3, proof=spared)
    )
    corpus = made_task_corpus(1)
    corpus = replace(corpus, made=replace(corpus.made, kept=[Kept(1, 1, person, ())]))
    weakest = TaskSummary(corpus).weakest
    assert [(item.task.number, item.doubts) for item in weakest] == [
        (2, ("1 of 3 fresh answers solve it",)),
        (1, ("the auditor says that item_11aa reads like part of a test",)),
        (3, ("without item_310aa, an answer solves it",)),
    ]
    assert not summary(2).weakest


def test_evidence_is_counted_by_difficulty_and_kind_and_other_items_by_strategy():
    shown = summary(2)
    # Six tasks of an e-mail, an event and a document each, all of medium difficulty.
    assert shown.evidence.table("difficulty", "kind") == [[0, 0, 0], [6, 6, 6], [0, 0, 0]]
    office = list(shown.distractors.columns["strategy"]).index("office life")
    assert shown.distractors.table("strategy", "kind")[office] == [4, 4, 4]
    assert len(shown.distractors.empty_cells("strategy", "kind")) == 3 * (
        len(shown.distractors.columns["strategy"]) - 1
    )


def test_what_repeats_is_named_and_near_duplicates_and_lengths_are_of_evidence_and_others_apart_by_kind():
    shown = summary(2)
    assert {common.value for common in shown.common["name"]} <= {"Eva", "Lund", "Rolf", "Dahl"}
    assert shown.common["company"] == []
    assert len(shown.alike["bottlenecks"]) == 3  # those of two people of the same number
    assert shown.lengths["events, evidence"].count == 6
    assert shown.lengths["events, others"].count == 4
    assert [*shown.lengths][:2] == ["e-mails, evidence", "e-mails, others"]
