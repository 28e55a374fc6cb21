from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study import LABELS, PHASES, TIES, numbers, study

from dspy_proact.benchmarks.proactbench.report.published_rule import excludes, published_rule
from dspy_proact.stats import Estimate, Judged, Panel, Standing, alpha_estimate, cross_tables, majority, standings
from dspy_proact.stats.agreement import kappa_of_items

law = settings(deadline=None, max_examples=10)
FAIL, PARTIAL, PASS = LABELS
grades = st.sampled_from(LABELS)
rows = st.lists(st.tuples(st.lists(grades, max_size=4), grades), max_size=12)
# Alpha and kappa with their bounds as the study prints them, and its confusion matrices: human by judge.
PUBLISHED = {
    "EMERGENT": (83, (0.1703, -0.0521, 0.3391), (0.5455, 0.2565, 0.8347), ((3, 1, 0), (1, 4, 0), (2, 2, 7)), 14),
    "CRITICAL": (83, (0.1576, -0.0285, 0.2873), (0.2692, -0.0245, 0.5561), ((4, 1, 0), (0, 0, 1), (2, 5, 6)), 10),
    "RECOVERY": (109, (0.2780, 0.0494, 0.4474), (0.5522, 0.2278, 0.8413), ((6, 2, 0), (0, 4, 3), (0, 1, 4)), 14),
}


def one_person(judge: list[str]) -> Standing:
    """Who passes every item."""
    panel = Panel.of([[PASS]] * len(judge), LABELS, [["ann"]] * len(judge))
    (one,) = standings(Judged.of(panel, judge, LABELS, range(len(judge))))
    return one


@pytest.mark.parametrize("stratum", PHASES)
def test_the_published_study(stratum: str, data: Path):
    items = study(data).of(stratum)
    ratings, alpha_printed, kappa_printed, confusion, exact = PUBLISHED[stratum]
    one = published_rule(items.ratings, items.judge, LABELS, TIES)
    assert (one.ratings, one.confusion, one.exact) == (ratings, confusion, exact)
    assert one.items == sum(map(sum, confusion))
    # Another random generator: the bounds differ by at most .015.
    assert numbers(one.alpha) == pytest.approx(alpha_printed, abs=0.02)
    assert numbers(one.kappa) == pytest.approx(kappa_printed, abs=0.02)
    assert [one.alpha.value, one.kappa.value] == pytest.approx([alpha_printed[0], kappa_printed[0]], abs=5e-5)


def test_the_published_exclusion_leaves_45_items(data: Path):
    items = study(data).without({"A08"})
    one = published_rule(items.ratings, items.judge, LABELS, TIES, min_ratings=3)
    assert (one.items, one.ratings) == (45, 258)


def test_a_consensus_by_hand():
    # Consensus PARTIAL (tie), PASS, FAIL, none of three ratings but the last.
    ratings = [[PASS, PARTIAL], [PASS], [FAIL, FAIL, PASS], []]
    judge = [PARTIAL, FAIL, FAIL, PASS]
    one = published_rule(ratings, judge, LABELS, TIES)
    assert (one.items, one.ratings, one.exact) == (3, 6, 2)
    assert one.confusion == ((1, 0, 0), (0, 1, 0), (1, 0, 0))
    # Observed agreement 2/3, by chance (1 * 2 + 1 * 1 + 1 * 0) / 9 = 1/3.
    assert one.kappa.value == pytest.approx(0.5)
    three = published_rule(ratings, judge, LABELS, TIES, min_ratings=3)
    assert (three.items, three.ratings, three.confusion) == (1, 6, ((1, 0, 0), (0, 0, 0), (0, 0, 0)))
    assert three.alpha == one.alpha


# Silence and ties.


@pytest.mark.parametrize("ratings", [[], [[], []]])
def test_no_ratings_leave_no_value(ratings: list[list[str]]):
    one = published_rule(ratings, [PASS] * len(ratings), LABELS, TIES)
    assert (one.items, one.ratings, one.exact) == (0, 0, 0)
    assert [one.kappa, one.alpha] == [Estimate(None, reason="no items")] * 2


def test_equal_and_single_ratings_leave_no_value():
    equal = Estimate(None, reason="all gradings equal")
    one = published_rule([[PASS, PASS]] * 3, [PASS] * 3, LABELS, TIES)
    assert [one.kappa, one.alpha] == [equal, equal]
    single = published_rule([[PASS], [FAIL]], [PASS, FAIL], LABELS, TIES)
    assert (single.kappa.value, single.alpha.value) == (1, None)


def test_one_item_has_no_bounds():
    one = published_rule([[PASS, FAIL]], [FAIL], LABELS, TIES)
    assert [one.kappa, one.alpha] == [Estimate(0, reason="rests on one item")] * 2


@law
@given(rows)
def test_values_are_those_of_the_plain_statistics(table: list[tuple[list[str], str]]):
    ratings, judge = [ratings for ratings, _ in table], [grade for _, grade in table]
    one = published_rule(ratings, judge, LABELS, TIES)
    items = range(len(ratings))
    assert one.alpha.value == pytest.approx(alpha_estimate(Panel.of(ratings, LABELS), "ordinal", items).value)
    pairs = [(majority(given, TIES), grade) for given, grade in table if given]
    tables = cross_tables([label for label, _ in pairs], [grade for _, grade in pairs], LABELS)
    assert one.kappa.value == pytest.approx(kappa_of_items(tables, range(len(pairs)), "none").value)
    assert published_rule(ratings, judge, LABELS, TIES) == one


@pytest.mark.parametrize(("count", "excluded"), [(5, True), (4, False)])
def test_a_person_with_five_ratings_that_do_not_agree_with_the_judge_is_left_out(count: int, excluded: bool):
    one = one_person([FAIL, PASS, FAIL, PASS, FAIL][:count])
    assert one.against_judge.value == pytest.approx(0)
    assert excludes(one) is excluded


def test_a_person_without_a_kappa_is_kept():
    assert not excludes(one_person([PASS] * 6))


def test_the_published_study_leaves_one_person_out(data: Path):
    items = study(data)
    rated = items.where([bool(given) for given in items.ratings])
    panel = Panel.of(rated.ratings, LABELS, rated.raters)
    told = standings(Judged.of(panel, rated.judge, LABELS, rated.groups))
    assert len(told) == 18
    assert sorted(one.ratings for one in told) == [1, 2, *[17] * 16]
    out = [one for one in told if excludes(one)]
    assert [one.rater for one in out] == ["A08"]
    assert out[0].against_judge.value == pytest.approx(-0.024, abs=5e-4)
    left = items.without({one.rater for one in out})
    assert sum(map(len, left.ratings)) == 258
    assert sum(len(ratings) >= 3 for ratings in left.ratings) == 45
