import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study import LABELS

from dspy_proact.stats import Estimate, Standing, standings

law = settings(deadline=None, max_examples=25)
grades = st.sampled_from(LABELS)
rows = st.lists(st.tuples(st.lists(grades, max_size=4), grades, st.integers(0, 12)), max_size=20)
Rows = list[tuple[list[str], str, int]]
FAIL, PARTIAL, PASS = LABELS


def test_one_person_by_hand():
    # Ann: F, F, P against (F), (F 1/2, P 1/2), (P): observed 3 * 1/2 of 1.5 * 1 + 1.5 * 2: 1 - 1.5 / 4.5 = 2/3.
    # Against the judge's F, P, P: table FF 1, FP 1, PP 1: 3 * 1 of 1 * 1 + 2 * 2 = 5: 2/5.
    ann, bob, cleo = standings(
        [[FAIL, FAIL], [FAIL, FAIL, PASS], [PASS, PASS], [PASS]],
        [["ann", "bob"], ["ann", "bob", "cleo"], ["ann", "bob"], ["cleo"]],
        [FAIL, PASS, PASS, FAIL],
        LABELS,
        [0, 1, 2, 3],
    )
    assert (ann.rater, ann.ratings, ann.shared) == ("ann", 3, 3)
    assert ann.against_others.value == pytest.approx(2 / 3)
    assert ann.against_judge.value == pytest.approx(2 / 5)
    assert (bob.against_others, bob.against_judge) == (ann.against_others, ann.against_judge)
    # Cleo: P, P against P, F of the judge: as far apart as chance. Of the others she saw two Fs: likewise.
    assert (cleo.ratings, cleo.shared) == (2, 1)
    assert cleo.against_others == Estimate(0, reason="rests on one group")
    assert cleo.against_judge.value == 0


def test_a_person_alone_with_equal_gradings_has_no_kappa():
    one = standings([[PASS]] * 6, [["ann"]] * 6, [PASS] * 6, LABELS, range(6))
    others = Estimate(None, reason="no item that others rated too")
    equal = Estimate(None, reason="all gradings equal")
    assert one == [Standing("ann", 6, 0, others, equal)]
    assert standings([], [], [], LABELS, []) == []
    assert standings([[]], [[]], [PASS], LABELS, [0]) == []


def test_what_does_not_align_is_refused():
    with pytest.raises(ValueError, match="lengths differ"):
        standings([[PASS]], [["ann"]], [], LABELS, [0])


def told(table: Rows, names: str) -> list[tuple[int, int, int, float, float]]:
    """What is said of each person, in the order of the names; 9 for a kappa that is missing."""
    ratings, judge, groups = ([row[column] for row in table] for column in range(3))
    people = [list(names[: len(row[0])]) for row in table]
    kappas = [
        (names.index(str(one.rater)), one.ratings, one.shared, one.against_others, one.against_judge)
        for one in standings(ratings, people, judge, LABELS, groups)  # pyright: ignore[reportArgumentType]
    ]
    return sorted(
        (*counts, *(9 if kappa.value is None else round(kappa.value, 9) + 0 for kappa in (others, judge)))
        for *counts, others, judge in kappas
    )  # pyright: ignore[reportReturnType]


@law
@given(rows, st.randoms())
def test_neither_the_order_of_items_nor_the_names_of_people_matter(table: Rows, random):
    assert told(random.sample(table, len(table)), "WXYZ") == told(table, "ABCD")
