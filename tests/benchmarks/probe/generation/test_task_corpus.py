"""What the proofs of tasks show together: shares of fresh answers, of what decided, and of the adversary."""

import pytest
from builders.made_people import kept_proof, made_person, made_task

from dspy_proact.benchmarks.probe.generation.corpus import SolvedShare, proof_checks, proof_of


def people_of(*proofs, per_person: int = 3):
    """People of so many tasks each, with these proofs in turn."""
    rows = [proofs[index : index + per_person] for index in range(0, len(proofs), per_person)]
    return [
        made_person(number, *(made_task(index, proof=proof) for index, proof in enumerate(row, start=1)))
        for number, row in enumerate(rows, start=1)
    ]


def checks_of(*proofs, per_person: int = 3):
    return {check.name: check for check in proof_checks(proof_of(people_of(*proofs, per_person=per_person), "tess"))}


def test_the_published_share_is_of_fresh_answers_of_kept_tasks_and_what_decided_is_of_all():
    weak = kept_proof(kept=False, reason="x", directed=(True, False, False), without={}, alone={}, fresh=())
    proof = proof_of(people_of(kept_proof(), kept_proof(repeats=2), weak, per_person=2), "tess")
    assert (proof.tested, proof.kept, proof.tester, proof.repeats) == (3, 2, "tess", 2)
    # Two of three fresh answers of each of two tasks.
    assert (proof.fresh.tasks, proof.fresh.solved, proof.fresh.graded) == (2, 4, 6)
    assert proof.fresh.share.value == pytest.approx(2 / 3)
    # 1, 1 and 1 of 3.
    assert proof.directed.share.value == pytest.approx(7 / 9)
    assert proof.directed.share.reason == "fewer than 12 tasks (3)"
    # First answers of three items left out and three alone.
    assert (proof.less.tasks, proof.less.graded, proof.less.solved) == (2, 12, 0)
    assert (proof.shortcut.tasks, proof.shortcut.solved) == (2, 0)


def test_versions_that_were_written_anew_count_among_what_was_tested_and_not_among_what_is_published():
    solved = kept_proof(kept=False, reason="x", shortcut=True)
    again = made_task(1, proof=kept_proof()).model_copy(update={"earlier": (solved,)})
    proof = proof_of([made_person(1, again)], "tess")
    assert (proof.tested, proof.kept, proof.fresh.graded) == (2, 1, 3)
    assert (proof.shortcut.solved, proof.shortcut.graded) == (1, 2)


def test_of_answers_from_less_the_first_counts_alone_since_more_follow_only_where_it_solves():
    spared = kept_proof(without={"a": (True, False, False), "b": (False,)}, alone={})
    # The first of two; all four answers would be 1 of 4.
    assert proof_of(people_of(spared), "").less.share.value == pytest.approx(1 / 2)


def test_an_answer_without_a_grade_is_in_no_share_and_is_counted():
    shown = SolvedShare.of([("p1", (True, None, False)), ("p2", (None, None))])
    assert (shown.tasks, shown.graded, shown.ungraded, shown.share.value) == (1, 2, 3, 0.5)
    nothing = SolvedShare.of([("p1", (None,))])
    assert (nothing.tasks, nothing.share.value, nothing.bound) == (0, None, None)
    assert SolvedShare.of([]) is None


def test_an_interval_takes_twelve_tasks_of_five_personas():
    def of(tasks, people):
        return SolvedShare.of([(f"p{index % people}", (index % 4 > 0,)) for index in range(tasks)]).share

    assert of(12, 5).low is not None
    assert (of(11, 5).low, of(11, 5).reason) == (None, "fewer than 12 tasks (11)")
    assert (of(12, 4).low, of(12, 4).reason) == (None, "fewer than 5 personas (4)")


def test_the_adversarys_bound_is_exact_of_one_trial_a_person_where_it_solved_nothing():
    check = checks_of(*[kept_proof()] * 6)["without any text"]
    # Two people: 1 - .025 ** (1 / 2) = .842.
    assert check.sentence == (
        "An adversary who sees no text solves 0 of 6 tasks that had passed the tests before (95 %: at most 84.2 %)."
    )
    solved = kept_proof(kept=False, reason="x", shortcut=True)
    assert checks_of(kept_proof(), solved)["without any text"].sentence == (
        "An adversary who sees no text solves 1 of 2 tasks that had passed the tests before (no bound), and what it "
        "solves is dropped."
    )


def test_an_adversary_that_could_not_be_graded_has_solved_nothing_and_is_not_tested():
    check = checks_of(kept_proof(kept=False, reason="x", shortcut=None))["without any text"]
    assert (check.state, check.tested) == ("not tested", 0)


@pytest.mark.parametrize(
    ("fresh", "state", "end"),
    [
        # Eighteen tasks of six people: all; a third or two of three by person; those and all; all and two of three.
        # Of a half: SE sqrt(6 * .5^2 / (5/6)) / 18 = .0745; as a logit 2.571 * .0745 / .25 = .766; 31.7 to 68.3.
        ([(True, True, True)] * 18, "passed", "(95 % 54.1 to 100.0); the bar is 80 %, below which the interval"),
        ([(True, False, False)] * 9 + [(True, True, False)] * 9, "failed", "50.0 % of 18 tasks (95 % 31.7 to 68.3)"),
        ([(True, False, False)] * 6 + [(True, True, True)] * 12, "failed", "the bar is 80 %, which the interval"),
        ([(True, True, True)] * 9 + [(True, True, False)] * 9, "passed", "83.3 %"),
    ],
)
def test_the_bar_of_fresh_answers_is_eight_in_ten_and_the_sentence_has_the_interval(fresh, state, end):
    check = checks_of(*(kept_proof(fresh=answers) for answers in fresh))["solvable"]
    assert check.state == state, check.sentence
    assert end in check.sentence
    assert check.tested == 18


def test_too_few_tasks_are_no_test_of_the_bar_nor_are_answers_that_repeat_those_that_decided():
    check = checks_of(*[kept_proof()] * 6)["solvable"]
    assert check.state == "not tested"
    assert "66.7 % of 6 tasks (no interval: fewer than 12 tasks (6)); the bar is 80 %." in check.sentence
    check = checks_of(*[kept_proof(fresh=(True, True, True), repeats=2)] * 18)["solvable"]
    assert (check.state, "they repeat those by which tasks were kept." in check.sentence) == ("not tested", True)


def test_of_tasks_without_a_fresh_answer_nothing_is_said():
    weak = kept_proof(kept=False, reason="x", fresh=(), shortcut=None, without={}, alone={})
    shown = checks_of(weak)
    assert {check.state for check in shown.values()} == {"not tested"}
    assert proof_of(people_of(weak), "").fresh is None
