from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import (
    Estimate,
    Improvement,
    Improvements,
    Judged,
    Panel,
    holm,
    improvement,
    t_quantile,
    within_strata_kappa,
)

law = settings(deadline=None, max_examples=12)
PHASES = ["E", "C", "R"]
levels = st.integers(0, 2)
counts = st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any)
# One row is (before, after, counts of people's grades, phase, scenario).
Row = tuple[int, int, list[int], str, int]
rows = st.lists(st.tuples(levels, levels, counts, st.sampled_from(PHASES), st.integers(0, 16)), max_size=40)
few_rows = st.lists(st.tuples(levels, levels, counts, st.sampled_from(PHASES), st.integers(0, 3)), max_size=12)


def compare(table: Sequence[Row], seed: int = 0) -> Improvements:
    before, after, _, strata, groups = ([row[column] for row in table] for column in range(5))
    return improvement(before, after, soft(table), strata, groups, order=PHASES, seed=seed)  # pyright: ignore[reportArgumentType]


def soft(table: Sequence[Row]) -> list[list[float]]:
    return [[count / sum(row[2]) for count in row[2]] for row in table]


def numbers(one: Estimate) -> list[float | None]:
    return [one.value, one.low, one.high]


def study(labels: int, groups: int, wrong_before: int, wrong_after: int = 0) -> list[Row]:
    """Items that people fail or pass in turn, six a scenario; before and after grade every n-th of them wrongly."""
    table: list[Row] = []
    for place in range(labels):
        truth = 2 * (place % 2)
        before, after = (
            (2 - truth if every and place % every == 0 else truth) for every in (wrong_before, wrong_after)
        )
        table.append((before, after, [1 - truth // 2, 0, truth // 2], "ECR"[place // 2 % 3], place // 6 % groups))
    return table


# Worked by hand.


def test_one_phase_by_hand():
    # People F, P four times; before always F, after right: kappas 0 and 1. Without any scenario 0 and 1 again.
    # Of 2^4 swaps: the kappas are 0 and 1 only in the data and its mirror, or where the changed are all or none.
    table: list[Row] = [
        row for place in range(4) for row in ((0, 0, [1, 0, 0], "E", place), (0, 2, [0, 0, 1], "E", place))
    ]
    one = compare(table).overall
    assert (one.before.value, one.after.value, one.difference.value) == (0, 1, 1)
    assert one.p == 2 / 16
    assert (one.labels, one.groups, one.shown) == (8, 4, False)
    assert one.reason == "no claim: fewer than 60 items and fewer than 10 groups"


def agreement(levels: list[int], soft: list[list[float]], strata: str, groups: Sequence[int]) -> Estimate:
    """Of one judge alone."""
    return improvement(levels, levels, soft, strata, groups, order=sorted({*strata})).overall.before


def test_bounds_keep_the_weights_of_all_labels():
    # X: levels 0, 2, 2 of F, F, P, twice each; Y: 0, 2 of F, P, twice each. Weights .6 and .4.
    # In squared steps: X: 6 * 2 * 4 = 48 of 4 (4 * 4 + 2 * 2) = 80: .4. Y: 1. Mean .64.
    judged, soft = [0, 2, 2, 0, 2] * 2, [[1, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]] * 2
    one = agreement(judged, soft, "XXXYY" * 2, range(10))
    assert one.value == pytest.approx(0.64)
    # Left out in X: FF: 5 * 2 * 4 of 4 (3 * 4 + 2 * 1) = 40/56: 2/7; FP: 5 * 1 * 4 of 4 (3 * 3 + 2 * 2) = 20/52: 8/13;
    # PP: 5 * 2 * 4 of 4 (4 * 3 + 1 * 2) = 40/56: 2/7. In Y always 1. So .4 + .6 times these; without one of Y .64.
    # SE^2 = 9/10 * 2 * .36 ((2/7 - .4)^2 + (8/13 - .4)^2 + (2/7 - .4)^2) = .046958; t(9) = 2.262157.
    reach = 2.262157 * (0.9 * 2 * 0.36 * (2 * (2 / 7 - 0.4) ** 2 + (8 / 13 - 0.4) ** 2)) ** 0.5
    assert [one.low, one.high] == pytest.approx([0.64 - reach, min(1, 0.64 + reach)], abs=1e-6)


def test_what_rests_on_one_item_or_is_the_same_without_any_has_no_bounds():
    assert agreement([2], [[0.5, 0, 0.5]], "X", [0]) == Estimate(0, reason="rests on one group")
    soft = [[1, 0, 0], [0.5, 0, 0.5], [0, 1 / 3, 2 / 3]]
    constant = agreement([1, 1, 1], soft, "XXX", range(3))
    assert constant == Estimate(0, reason="the same whichever group is left out")
    # Y, whose labels are alike, does not count.
    assert agreement([0, 2, 0], [soft[0], [0, 0, 1], soft[0]], "XXY", range(3)) == Estimate(
        1, reason="rests on one group"
    )


def test_an_improvement_that_is_large_is_shown():
    # 72 labels, 12 scenarios; before wrong at every fifth.
    one = compare(study(72, 12, 5)).overall
    assert one.after.value == 1
    assert one.low98 is not None
    assert one.difference.low is not None
    assert 0 < one.low98 < one.difference.low
    assert (one.shown, one.reason) == (True, "improvement shown")
    assert one.p is not None
    assert one.p < 0.01
    assert one.adjusted == one.p


def test_a_deterioration_is_none():
    one = compare([(after, before, *rest) for before, after, *rest in study(72, 12, 5)]).overall  # pyright: ignore[reportArgumentType]
    assert one.high98 is not None
    assert one.high98 < 0
    assert (one.shown, one.reason) == (False, "no improvement shown")


def test_the_98_percent_interval_is_wider_by_the_ratio_of_the_quantiles():
    one = compare(study(72, 12, 5, 9)).overall
    assert one.difference.value is not None
    assert one.difference.high is not None
    assert one.high98 is not None
    reach, wider = one.difference.high - one.difference.value, one.high98 - one.difference.value
    # 12 scenarios of 6 items: df = 11.
    assert wider / reach == pytest.approx(t_quantile(0.99, 11) / t_quantile(0.975, 11))


@pytest.mark.parametrize(
    ("labels", "groups", "reason"),
    [
        (59, 12, "no claim: fewer than 60 items"),
        (72, 9, "no claim: fewer than 10 groups"),
        (60, 10, "improvement shown"),
    ],
)
def test_few_labels_or_scenarios_carry_no_claim(labels: int, groups: int, reason: str):
    one = compare(study(labels, groups, 5)).overall
    assert (one.reason, one.shown) == (reason, reason == "improvement shown")
    assert one.low98 is not None
    assert one.low98 > 0


def test_the_same_levels_show_nothing():
    one = compare(study(72, 12, 5, 5))
    for part in (one.overall, *one.strata):
        assert part.difference == Estimate(0, reason="the same whichever group is left out")
        assert (part.p, part.adjusted, part.low98, part.high98, part.shown) == (1, 1, None, None, False)
    assert one.overall.reason == "no improvement shown: both grade alike"


def test_a_difference_without_an_interval_shows_nothing():
    # Every scenario alike: one of its six items is mended.
    table = [(0 if place % 6 == 5 else b, a, *rest) for place, (b, a, *rest) in enumerate(study(72, 12, 0))]
    one = compare(table).overall  # pyright: ignore[reportArgumentType]
    # R alone improves, from a kappa of 0 to 1, with a third of the labels.
    assert numbers(one.difference) == [pytest.approx(1 / 3), None, None]
    assert not one.shown
    assert one.reason == "no improvement shown: the difference has no interval (the same whichever group is left out)"


def test_random_swaps_do_not_see_the_order_of_items():
    table = study(102, 17, 5, 4)
    p = compare(table).overall.p
    assert p is not None
    assert 0.05 < p < 1
    for seed in range(3):
        shuffled = [table[place] for place in np.random.default_rng(seed).permutation(len(table))]
        assert compare(shuffled).overall.p == p
    assert compare(table, seed=1).overall.p == pytest.approx(p, abs=0.03)
    assert compare(table, seed=1).overall.p != p


def test_strata_are_read_together():
    one = compare(study(72, 12, 5, 9))
    assert [part.labels for part in one.strata] == [24, 24, 24]
    assert [part.reason for part in one.strata] == ["no claim: fewer than 60 items"] * 3
    assert [part.adjusted for part in one.strata] == holm([part.p for part in one.strata])


def test_a_stratum_is_only_shown_if_its_adjusted_p_is():
    # E improves at 7 items that are in 5 scenarios of 12: its interval lies above 0, yet of 2^5 swaps 2 are as far.
    table: list[Row] = []
    for stratum, place in product(PHASES, range(96)):
        truth = 2 * (place // 12 % 2)
        before = 2 - truth if stratum == "E" and place % 12 < 5 and place // 12 < 6 else truth
        table.append((before, truth, [1 - truth // 2, 0, truth // 2], stratum, place % 12))
    one = compare(table).strata[0]
    assert one.low98 is not None
    assert one.low98 > 0
    assert (one.p, one.adjusted) == (2 / 32, 2 / 32 * 3)
    assert (one.shown, one.reason) == (False, "no improvement shown once the strata are read together")


@pytest.mark.parametrize(("raters", "whom"), [(1, " with this rater"), (3, " with these 3 raters"), (4, "")])
def test_a_claim_is_of_the_raters_where_they_are_few(raters: int, whom: str):
    table = study(72, 12, 5)
    before, after, _, strata, groups = ([row[column] for row in table] for column in range(5))
    ratings = [[row[2].index(1)] for row in table]
    panel = Panel.of(ratings, [0, 1, 2], [[place % raters] for place in range(72)])
    one = improvement(before, after, soft(table), strata, groups, order=PHASES, panel=panel).overall  # pyright: ignore[reportArgumentType]
    assert (one.shown, one.reason) == (True, f"improvement shown{whom}")


def test_a_gain_that_some_raters_see_and_others_do_not_is_less_sure():
    table = study(144, 24, 5)
    before, after, _, strata, groups = ([row[column] for row in table] for column in range(5))
    # Raters 0 to 2 give the truth, and so see the gain; 3 to 5 the middle grade, and see none.
    who = [(place + place // 6) % 6 for place in range(144)]
    ratings = [[row[2].index(1)] if rater < 3 else [1] for row, rater in zip(table, who, strict=True)]
    panel = Panel.of(ratings, [0, 1, 2], [[rater] for rater in who])
    labels = panel.counts.tolist()
    these = improvement(before, after, labels, strata, groups, order=PHASES).overall  # pyright: ignore[reportArgumentType]
    others = improvement(before, after, labels, strata, groups, order=PHASES, panel=panel).overall  # pyright: ignore[reportArgumentType]
    assert others.difference.value == these.difference.value
    assert others.low98 is not None
    assert these.low98 is not None
    assert others.low98 < these.low98


def test_a_panel_is_that_of_the_labels():
    with pytest.raises(ValueError, match="the shares of the panel's ratings"):
        improvement([0], [1], [[1, 0, 0]], "E", [0], order="E", panel=Panel.of([[1]], [0, 1, 2]))


# Silence and ties.


def test_no_labels_leave_no_value():
    silent = Estimate(None, reason="no items")
    nothing = Improvement(
        silent, silent, silent, None, None, None, None, 0, 0, shown=False, reason="no claim: no items"
    )
    assert improvement([], [], [], [], [], order=PHASES) == Improvements(nothing, (nothing,) * 3)


def test_a_phase_without_labels_is_silent_and_the_others_speak():
    table = [row for row in study(108, 12, 5) if row[3] != "C"]
    one = compare(table)
    assert one.strata[1].difference == Estimate(None, reason="no items")
    assert (one.strata[1].p, one.strata[1].adjusted) == (None, None)
    assert one.overall.shown
    assert [part.adjusted for part in one.strata if part.p] == holm([part.p for part in one.strata if part.p])


def test_equal_labels_leave_no_value():
    one = compare([(0, 2, [0, 0, 4], "ECR"[place % 3], place) for place in range(72)])
    for part in (one.overall, *one.strata):
        assert (part.difference.value, part.p, part.shown) == (None, None, False)
        assert part.reason == "no claim: all items graded alike"


def test_a_phase_of_equal_labels_is_named():
    table = [(b, a, [1, 0, 0] if stratum == "R" else c, stratum, s) for b, a, c, stratum, s in study(108, 12, 5)]
    one = compare(table)
    assert one.overall.reason == "improvement shown; without R: all items graded alike"
    assert one.strata[2].reason == "no claim: all items graded alike"


def test_one_scenario_and_one_item_have_no_claim():
    for table in (study(6, 1, 3), study(1, 1, 1)):
        one = compare(table).overall
        assert not one.shown
        assert one.p in {None, 1}
        assert one.reason.startswith("no claim")


@pytest.mark.parametrize(
    ("before", "strata", "groups", "order"),
    [([0], "EE", [0, 1], "E"), ([0, 0], "E", [0, 1], "E"), ([0, 0], "EE", [0], "E"), ([0, 0], "EC", [0, 1], "E")],
)
def test_what_does_not_align_is_refused(before: list[int], strata: str, groups: list[int], order: str):
    with pytest.raises(ValueError, match=r"one (level|stratum|group)|order must name"):
        improvement(before, [0, 1], [[1, 0, 0], [0, 0, 1]], strata, groups, order=order)


# Laws.


@law
@given(few_rows)
def test_p_is_the_share_of_all_swaps(table: list[Row]):
    one = compare(table).overall
    labels, strata = soft(table), [row[3] for row in table]
    groups = sorted({row[4] for row in table})
    differences: list[float] = []
    for swaps in product((0, 1), repeat=len(groups)):
        swapped = dict(zip(groups, swaps, strict=True))
        kappas = [
            within_strata_kappa([row[turn ^ swapped[row[4]]] for row in table], labels, strata) for turn in (0, 1)
        ]
        if None not in kappas:
            differences.append(abs((kappas[1] or 0) - (kappas[0] or 0)))
    if one.p is not None:
        assert one.p == pytest.approx(np.mean(np.array(differences) >= differences[0] - 1e-9))


@law
@given(rows)
def test_before_and_after_are_the_estimates_of_each(table: list[Row]):
    one = compare(table).overall
    strata = [row[3] for row in table]
    for part, column in ((one.before, 0), (one.after, 1)):
        judged = [int(str(row[column])) for row in table]
        alone = compare([(level, level, *row[2:]) for level, row in zip(judged, table, strict=True)])
        assert part == alone.overall.before == alone.overall.after
        assert part.value == pytest.approx(within_strata_kappa(judged, soft(table), strata), abs=1e-9)
    if one.difference.value is not None:
        assert one.difference.value == pytest.approx((one.after.value or 0) - (one.before.value or 0))


@law
@given(rows)
def test_of_one_stratum_it_is_the_kappa_of_people_s_shares_unless_labels_are_equal(table: list[Row]):
    within = compare([(*row[:3], "E", row[4]) for row in table]).overall.before
    ratings = [[level for level, count in enumerate(row[2]) for _ in range(count)] for row in table]
    judge, groups = [row[0] for row in table], [row[4] for row in table]
    if within.value is not None:
        plain = Judged.of(Panel.of(ratings, [0, 1, 2]), judge, [0, 1, 2], groups).kappa("quadratic")
        assert numbers(within) == pytest.approx(numbers(plain), abs=1e-9)


@law
@given(rows)
def test_exchanging_before_and_after_turns_the_difference(table: list[Row]):
    one = compare(table)
    other = compare([(after, before, *rest) for before, after, *rest in table])  # pyright: ignore[reportArgumentType]
    for part, turned in zip((one.overall, *one.strata), (other.overall, *other.strata), strict=True):
        value, low, high = (None if number is None else -number for number in numbers(part.difference))
        assert numbers(turned.difference) == pytest.approx([value, high, low], abs=1e-9)
        assert (turned.p, turned.adjusted) == (part.p, part.adjusted)
        assert (turned.before, turned.after) == (part.after, part.before)
        assert not (part.shown and turned.shown)


@law
@given(rows, st.randoms())
def test_neither_the_order_of_items_nor_the_names_of_scenarios_matter(table: list[Row], random):
    shuffled = [(*row[:4], f"group {row[4]}") for row in random.sample(table, len(table))]
    one, other = compare(table), compare(shuffled)  # pyright: ignore[reportArgumentType]
    for part, again in zip((one.overall, *one.strata), (other.overall, *other.strata), strict=True):
        assert numbers(again.difference) == pytest.approx(numbers(part.difference), abs=1e-9)
        assert (again.p, again.adjusted, again.shown, again.reason) == (part.p, part.adjusted, part.shown, part.reason)
