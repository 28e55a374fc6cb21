"""Figures and flags of single items by several models' scores, against numbers that are worked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats.items import (
    ModelScores,
    difficulty,
    end_chances,
    item_figures,
    item_means,
    levels,
    rest_correlations,
    unusual,
)
from dspy_proact.stats.totals import (
    adjusted,
    change_without,
    flagged,
    halves,
    item_study,
    reliability,
)

NAN = math.nan
PASSES = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]], dtype=float)
"""Five models on three items; the other two items' sums beside the first are 0, 1, 1, 2, 2."""


def data_of(scores, groups=None, **marks):
    """Scores of models; a pass is a score of 1, nothing is unscored and no verdicts differ unless a mark says so."""
    scores = np.asarray(scores, dtype=float)
    nothing = np.where(np.isnan(scores), NAN, 0.0)
    fields = {"passes": np.where(np.isnan(scores), NAN, scores == 1), "unscored": nothing, "split": nothing}
    return ModelScores(scores, groups=groups or list(range(scores.shape[1])), **(fields | marks))


def drawn(seed, models=12, items=24, *, group_size=1, missing=0.0):
    """Answers of models of rising ability, some without a score."""
    rng = np.random.default_rng(seed)
    chances = 1 / (1 + np.exp(-2 * np.linspace(-1, 1, models)[:, None] + rng.standard_normal(items)))
    scores = np.where(rng.random((models, items)) < missing, NAN, (rng.random((models, items)) < chances) * 1.0)
    split = np.where(np.isnan(scores), NAN, (rng.random((models, items)) < 0.1) * 1.0)
    groups = [number // group_size for number in range(items)]
    return data_of(scores, groups, split=split, unscored=np.isnan(scores) * 1.0)


# Difficulty.


@pytest.mark.parametrize(
    ("scores", "bounds"),
    [
        # Wilson's interval of 4 of 8 and of 0 of 10 with z = 1.96; the latter ends at z^2 / (10 + z^2).
        ([1, 1, 1, 1, 0, 0, 0, 0], (0.2152, 0.7848)),
        ([0] * 10, (0.0, 0.2775)),
        # The variance is half of p (1 - p): 8 effective models, quantile (1.96 + 3.182) / 2 = 2.571,
        # q^2 / n = .826, reach sqrt(.826 (.25 + .826 / 4)) / 1.826 = .336.
        ([0, 0.5, 0.5, 1], (0.1637, 0.8363)),
    ],
)
def test_the_interval_of_a_mean_score_is_wilsons_with_an_effective_number_of_models(scores, bounds):
    estimate = difficulty(np.array(scores, dtype=float))
    assert (estimate.low, estimate.high) == pytest.approx(bounds, abs=5e-5)
    assert estimate.reason == ("fewer than 5 models" if len(scores) < 5 else None)


@pytest.mark.parametrize(
    ("scores", "value", "reason"),
    [([], None, "no scores"), ([0.5], 0.5, "one model"), ([0.5] * 9, 0.5, "no variance between models")],
)
def test_an_interval_of_a_mean_score_that_cannot_be_is_missing_with_its_reason(scores, value, reason):
    estimate = difficulty(np.array(scores, dtype=float))
    assert (estimate.value, estimate.low, estimate.reason) == (value, None, reason)


# Correlation with the rest.


def test_the_correlation_with_the_rest_is_pearsons_with_fishers_interval():
    """Deviations -.4, -.4, -.4, .6, .6 and -1.2, -.2, -.2, .8, .8: r = 1.6 / sqrt(1.2 * 2.8), r^2 = 16 / 21.

    Its interval is tanh(1.345 +- 1.960 / sqrt(2)). t^2 = 16 / 21 * 3 / (5 / 21) = 9.6 with 3 degrees of freedom, of
    which .9733 lie below t.
    """
    estimate, p = rest_correlations(data_of(PASSES))[0]
    assert estimate.value == pytest.approx(math.sqrt(16 / 21))
    z = math.atanh(math.sqrt(16 / 21))
    assert (estimate.low, estimate.high) == pytest.approx([math.tanh(z + s * 1.959964 / math.sqrt(2)) for s in (-1, 1)])
    assert p == pytest.approx(0.97332, abs=1e-5)
    assert rest_correlations(data_of(1 - PASSES + np.array([0, 0, 0])))[0][0].value == pytest.approx(estimate.value)


def test_the_rest_is_of_other_groups():
    """Beside the first item, in a group with the second, only the third is the rest: .6 / 1.2 of both variances."""
    (first, _), *_ = rest_correlations(data_of(PASSES, ["a", "a", "b"]))
    # Deviations -.4, -.4, -.4, .6, .6 and -.6, -.6, .4, .4, .4: .24 + .24 - .16 + .24 + .24 = .8 over 1.2.
    assert first.value == pytest.approx(0.8 / 1.2)


@pytest.mark.parametrize(
    ("scores", "value", "reason"),
    [
        (PASSES[:, :1], None, "fewer than two models"),  # there is no rest
        (np.ones((6, 3)), None, "all models score alike"),
        (np.eye(6)[:, [0, 0]] * [[1, 0]], None, "the rest does not vary"),
        # 0, 0, 1 beside 0, 1, 2: 1 / sqrt(2 / 3 * 2).
        (PASSES[[0, 1, 3]], math.sqrt(0.75), "fewer than 4 models"),
        (np.eye(6)[:, [0, 0]], 1.0, "all models on a line"),
    ],
)
def test_a_correlation_that_cannot_be_is_missing_with_its_reason(scores, value, reason):
    estimate, p = rest_correlations(data_of(scores))[0]
    assert (estimate.low, estimate.reason, p) == (None, reason, None)
    assert estimate.value == (value if value is None else pytest.approx(value, abs=1e-4))


def test_a_model_with_fewer_than_half_of_the_items_counts_in_no_correlation():
    part = np.array([[0, NAN, NAN]])
    alone, beside = (rest_correlations(data_of(scores))[0] for scores in (PASSES, np.vstack([PASSES, part])))
    assert beside == alone
    assert item_figures(data_of(np.vstack([PASSES, part])))[0].difficulty.value == pytest.approx(2 / 6)


def test_levels_are_of_the_additive_fit():
    """Without the cell where the better model meets the easy item, which would be .9, models still differ by .4."""
    models, items = levels(np.array([[0.1, 0.5, 0.3], [0.5, NAN, 0.7]]))
    assert models.tolist() == pytest.approx([-0.2, 0.2])
    assert items.tolist() == pytest.approx([0.3, 0.7, 0.5])


def test_a_negative_correlation_of_few_models_is_no_flag():
    """On a nearly falling line the interval of four models is marked and flags nothing; that of eight flags."""
    rest = np.linspace(0, 1, 8)
    for models, flags in ((4, ()), (8, ("negative",))):
        scores = np.stack([1 - rest**1.1, *[rest] * 5], axis=1)[-models:]
        figures = item_figures(data_of(scores))[0]
        assert figures.rest.high is not None
        assert figures.rest.high < 0
        assert figures.rest.reason == (None if flags else "fewer than 5 models")
        assert figures.flags == flags


# Items that nobody or everybody passes.


def test_how_many_items_nobody_passes_is_expected_of_a_beta_binomial():
    """20 items by two models, a quarter passed by both and by neither: variance of rates 2.5 / 19, of chance .125.

    The rest is .0066, so the beta has .25 / .0066 - 1 = 37: half of it, and (18.5 + 1) / 38 of that.
    """
    scores = np.array([[1, 1]] * 5 + [[0, 0]] * 5 + [[1, 0]] * 10, dtype=float).T
    assert end_chances(scores)[:, 0].tolist() == pytest.approx([0.5 * 19.5 / 38] * 2)


def test_where_items_do_not_differ_beyond_chance_models_are_coins():
    assert end_chances(np.array([[1.0, 0.0]] * 20).T)[:, 3].tolist() == pytest.approx([0.25, 0.25])


def test_of_fewer_than_20_items_nothing_is_expected():
    assert np.isnan(end_chances(np.ones((4, 19)))).all()


@pytest.mark.parametrize(("models", "flags"), [(16, ("nobody",)), (4, ())])
def test_an_item_that_nobody_passes_is_flagged_where_that_is_rare(models, flags):
    """Of 40 items that half of the models pass, and one more: of 16 models hardly any item is without a pass."""
    scores = (np.arange(models)[:, None] + np.arange(41)) % 2 * 1.0
    scores[:, 40] = 0
    figures = item_figures(data_of(scores))[40]
    assert (figures.end, figures.passed, figures.flags) == ("nobody", 0, flags)


def test_a_partial_score_of_all_is_a_pass_of_nobody():
    scores = np.tile([[0.5, 1.0, 0.0]], (6, 1))
    assert [figures.end for figures in item_figures(data_of(scores))] == ["nobody", "everybody", "nobody"]


# Marks.


def test_a_mark_is_as_likely_as_on_the_models_other_items():
    """One model, three items, a mark on the first: (0 + 1) / (2 + 2) there; on the others nothing was seen."""
    assert unusual(np.array([[1.0, 0.0, 0.0]])) == pytest.approx([0.25, 1.0, 1.0])
    assert unusual(np.array([[NAN, 0.0, 0.0]]))[0] is None


def test_marks_of_a_model_that_has_many_are_no_wonder():
    """Eight models without a mark but the first, which has one on every item, and on the last all have one."""
    marks = np.zeros((8, 40))
    marks[0] = 1
    marks[1:, 39] = 1
    p = unusual(marks)
    assert p[0] is not None
    assert p[0] > 0.3
    assert p[39] is not None
    assert p[39] < 1e-4


def test_where_items_differ_in_marks_anyway_one_of_many_is_not_unusual():
    """A third of the items have marks of half of the models; alone among clean items such a one is unusual."""
    often = np.zeros((8, 30))
    often[:4, ::3] = 1
    alone = np.zeros((8, 30))
    alone[:4, 0] = 1
    usual, rare = unusual(often)[0], unusual(alone)[0]
    assert usual is not None
    assert rare is not None
    assert rare < 0.001
    assert usual > 0.05


def test_a_disputed_item_is_flagged_and_holds_over_all():
    split = np.zeros((8, 30))
    split[:6, 7] = 1
    figures = item_figures(data_of(drawn(3, 8, 30).scores, split=split))
    assert [number for number, item in enumerate(figures) if "disputed" in item.flags] == [7]
    assert figures[7].split == (6, 8)
    assert (adjusted(figures)["disputed"][7] or 1) < 0.05


# The total.


def test_reliability_of_single_items_is_cronbachs_alpha():
    """Item variances .3 each, totals 0, 1, 1, 3, 3 with 1.8: 3 / 2 (1 - .9 / 1.8) = .75; error^2 is .25 * 1.8 / 9."""
    totals = reliability(data_of(PASSES))
    assert (totals.reliability.value, totals.error) == pytest.approx((0.75, math.sqrt(0.05)))
    assert totals.models == 5


def test_reliability_of_groups_of_one_size_is_alpha_of_their_sums():
    data = drawn(1, 10, 24, group_size=4)
    sums = data.scores.reshape(10, 6, 4).sum(axis=2)
    alpha = 6 / 5 * (1 - sums.var(axis=0, ddof=1).sum() / sums.sum(axis=1).var(ddof=1))
    assert reliability(data).reliability.value == pytest.approx(alpha)


def test_the_interval_of_alpha_leaves_out_one_model_at_a_time_on_the_log_scale():
    """Without a model alpha is that of the textbook; t of 4 degrees of freedom at 97.5 % is 2.776445."""

    def log_rest(scores):
        items, total = scores.var(axis=0, ddof=1).sum(), scores.sum(axis=1).var(ddof=1)
        return math.log(1 - 1.5 * (1 - items / total))

    own = log_rest(PASSES)
    shifts = [log_rest(np.delete(PASSES, model, axis=0)) - own for model in range(5)]
    reach = 2.776445 * math.sqrt(4 / 5 * sum(shift**2 for shift in shifts))
    estimate = reliability(data_of(PASSES)).reliability
    expected = [1 - math.exp(own + reach), 1 - math.exp(own - reach)]
    assert (estimate.low, estimate.high) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("scores", "groups", "reason"),
    [
        (PASSES[:2], None, "fewer than 3 models"),
        (PASSES, ["a"] * 3, "one group"),
        (np.array([[0, 1], [1, 0], [1, 0]]), None, "no variance between models"),
        (np.array([[0, 0], [1, 1], [0, 0], [0, 0]]), None, "depends on one model"),
        (np.full((4, 3), NAN), None, "fewer than 3 models"),
    ],
)
def test_reliability_that_cannot_be_is_missing_with_its_reason(scores, groups, reason):
    assert reliability(data_of(scores, groups)).reliability.reason == reason


# Dropping.


def test_the_change_without_flagged_items_is_a_jackknife_over_groups():
    """1, 0, .5, .5 without the second: 2 / 3 - 1 / 2. Left out one by one: 1/6, 0, 1/4, 1/4.

    SE^2 = 3 / 4 (0 + 1 / 36 + 2 / 144) = 1 / 32; t of 3 degrees of freedom is 3.1824.
    """
    estimate = change_without([(np.array([1, 0, 0.5, 0.5]), np.array([False, True, False, False]))], "abcd")
    reach = 3.1824 / math.sqrt(32)
    assert estimate.value == pytest.approx(1 / 6)
    assert (estimate.low, estimate.high) == pytest.approx((1 / 6 - reach, 1 / 6 + reach), abs=1e-4)


def test_a_change_without_flags_is_none_and_without_items_unknown():
    scores = np.array([1, 0, NAN])
    nothing, of_unseen, everything = ([False] * 3, [False, False, True], [True] * 3)
    for flags in (nothing, of_unseen):
        estimate = change_without([(scores, np.array(flags))], "abc")
        assert (estimate.value, estimate.low, estimate.reason) == (0.0, None, "no item is flagged")
    estimate = change_without([(scores, np.array(everything))], "abc")
    assert (estimate.value, estimate.reason) == (None, "no item is left")


def test_halves_are_alike_in_level():
    """Means 0, .2, .4, .6 go to the halves as a, b, b, a."""
    scores = np.array([[0.4, 0.4], [0, 0], [0.6, 0.6], [0.2, 0.2]])
    first, second = halves(data_of(scores))
    assert (sorted(first.scores[:, 0]), sorted(second.scores[:, 0])) == ([0, 0.6], [0.2, 0.4])


def test_the_change_by_flags_of_other_models_takes_ten_models():
    assert item_study(drawn(2, 9)).split_change.reason == "fewer than 10 models"
    data = drawn(2, 16, 40)
    data.split[:, 3] = 1
    study, (first, second) = item_study(data), halves(data)
    assert all(flagged(item_figures(half))[3] for half in (first, second))
    assert study.split_change.value is not None


# Laws.


def numbers_of(item):
    """All numbers of an item's figures, nan for what is missing."""
    bounds = [getattr(of, name) for of in (item.difficulty, item.rest) for name in ("value", "low", "high")]
    tests = [item.p_negative, item.p_disputed, item.p_unscored, item.expected_end]
    return np.array([*bounds, *tests, item.models, item.passed, *item.unscored, *item.split], dtype=float)


def halved(data):
    """The scores of the models of the first half, whatever the order of models and items."""
    first, _ = halves(data)
    names = item_means(data.scores).round(9)
    return sorted(sorted(zip(names, row, strict=True)) for row in first.scores.tolist())


def test_models_go_to_the_same_halves_in_any_order():
    """But for two that are alike in level and in all that they have in common with others: 1 of 800 data sets."""
    same = 0
    for seed in range(200):
        data, rows = drawn(seed), np.random.default_rng(seed).permutation(12)
        moved = [array[rows] for array in (data.scores, data.passes, data.unscored, data.split)]
        same += halved(data) == halved(ModelScores(*moved[:2], data.groups, *moved[2:]))
    assert same >= 198


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 4]), st.sampled_from([0.0, 0.1]))
def test_the_order_of_models_and_items_and_the_names_of_groups_do_not_matter(seed, size, missing):
    data = drawn(seed, group_size=size, missing=missing)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(data.scores)), rng.permutation(len(data.groups))
    arrays = (array[rows][:, columns] for array in (data.scores, data.passes, data.unscored, data.split))
    scores, passes, unscored, split = arrays
    moved = ModelScores(scores, passes, [f"group {data.groups[column]}" for column in columns], unscored, split)
    one, other = item_study(data), item_study(moved)
    for column, item in zip(columns, other.items, strict=True):
        assert numbers_of(item) == pytest.approx(numbers_of(one.items[column]), nan_ok=True, abs=1e-9)
        assert (item.end, item.flags) == (one.items[column].end, one.items[column].flags)
    for name in ("change", *(["split_change"] if halved(data) == halved(moved) else [])):
        pair = [getattr(study, name) for study in (one, other)]
        assert pair[0].value == pytest.approx(pair[1].value)
        assert pair[0].low == pytest.approx(pair[1].low)
    assert one.totals.reliability.low == pytest.approx(other.totals.reliability.low)
    assert [one.changes[row].value for row in rows] == pytest.approx([change.value for change in other.changes])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": ["a"]}, "one row a model"),
        ({"split": np.zeros((2, 3))}, "one row a model"),
        ({"unscored": np.full((5, 3), 2.0)}, "must be in"),
    ],
)
def test_scores_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        data_of(PASSES, **changes)
