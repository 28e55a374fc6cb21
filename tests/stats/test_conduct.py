"""What is unusual in how a rater rated: that a p value is small for it, and not for being strict."""

import math

import numpy as np
import pytest

from dspy_proact.stats import Panel
from dspy_proact.stats.conduct import conducts, drift_p, likeness_p, outlier_p, run_p

CUTS = np.array([-0.3, 0.5])
RATERS = 6


def panel_of(rng, items, heights=(0.0,) * RATERS, changed=None):
    """Every rater on half of the items, in the order of the items; `changed` makes others of the last one's labels."""
    level = rng.standard_normal(items)
    chosen = [sorted(rng.choice(RATERS, 3, replace=False).tolist()) for _ in range(items)]
    seen = level[:, None] + np.array(heights) + 0.6 * rng.standard_normal((items, RATERS))
    labels = np.count_nonzero(seen[:, :, None] >= CUTS, axis=2)
    if changed is not None:
        own = [item for item, of in enumerate(chosen) if RATERS - 1 in of]
        labels[own, RATERS - 1] = changed(labels[own, RATERS - 1])
    ratings = [[int(labels[item, rater]) for rater in of] for item, of in enumerate(chosen)]
    return Panel.of(ratings, [0, 1, 2], chosen), [item for item in range(items) for _ in range(3)]


def of_last(panel, order):
    return conducts(panel, order)[panel.names.index(RATERS - 1)]


def test_labels_by_chance_have_less_in_common_and_strict_ones_have_not():
    rng = np.random.default_rng(1)
    by_chance = [of_last(*panel_of(rng, 160, changed=rng.permutation)).likeness for _ in range(20)]
    strict = [of_last(*panel_of(rng, 160, (*[0.0] * 5, -1.2))).likeness for _ in range(20)]
    assert np.median(by_chance) < 0.005
    assert min(strict) > 0.05


def test_what_is_in_common_does_not_depend_on_how_often_a_label_is_given():
    # Others pair as (0, 0) and (1, 1) 45 times each, and 5 times either way apart. Beside 20 zeros and 20 ones a rater
    # gives what others would, or nearly always 0.
    pairs = np.array(
        [[[1.0, 0], [0, 0]]] * 45 + [[[0, 0], [0, 1.0]]] * 45 + [[[0, 1.0], [0, 0]], [[0, 0], [1.0, 0]]] * 5
    )
    others = np.eye(2)[[0] * 20 + [1] * 20]
    as_others = [0] * 18 + [1] * 2 + [1] * 18 + [0] * 2
    strict = [0] * 20 + [1] * 8 + [0] * 12
    against = [1] * 20 + [0] * 20
    as_others, strict, against = (likeness_p(own, others, pairs) for own in (as_others, strict, against))
    assert as_others > 0.5
    assert strict > 0.2
    assert against < 1e-6


def test_too_little_is_not_tested():
    pairs, others = np.eye(2)[None], np.eye(2)[[0] * 5 + [1] * 4]
    assert likeness_p([0] * 5 + [1] * 4, others, pairs) is None, "nine ratings"
    assert likeness_p([0] * 12, np.eye(2)[[0, 1] * 6], pairs) is None, "one label"
    assert likeness_p([0, 1] * 6, np.eye(2)[[0, 1] * 6], pairs[:0]) is None, "no other pair"
    assert (drift_p([1.0] * 12), drift_p([1.0, 2.0] * 4), run_p([0] * 12), run_p([0, 1] * 4)) == (None,) * 4
    assert (outlier_p(5, [1, 2]), outlier_p(5, [1, 1, 1])) == (None, None)


def test_a_change_in_time_is_a_correlation_with_order():
    # Of 0 to 11 in order the correlation is 1, and z the root of 11: p = 2 (1 - Phi(3.317)) = .00091.
    assert drift_p(list(range(12))) == pytest.approx(0.00091, abs=1e-5)
    assert drift_p([0.0, 1.0] * 6) > 0.5


def test_whom_a_rater_is_beside_is_no_change_of_their_own():
    # All see alike. Ann is beside Bob first and beside Cleo, who is a level lower on every item, later.
    level = [1, 2] * 10
    ratings = [[each, each - (place >= 10)] for place, each in enumerate(level)]
    people = [["Ann", "Cleo" if place >= 10 else "Bob"] for place in range(20)]
    ann = conducts(Panel.of(ratings, [0, 1, 2], people), range(40))[0]
    assert (ann.moved, ann.drift) == (pytest.approx(0), None)


def test_the_p_of_a_run_is_its_expected_number():
    # 6 of 12 alike, all in a row at the end: 1 of comb(12, 6) = 924 orders a place, 7 places, for either label.
    assert run_p([0] * 6 + [1] * 6) == pytest.approx(2 * 7 / math.comb(12, 6))
    assert run_p([0, 1] * 6) == 1.0, "runs of one are expected"


def test_a_run_is_no_less_probable_than_its_p():
    rng = np.random.default_rng(2)
    labels = [0] * 20 + [1] * 10
    p = [run_p(rng.permutation(labels).tolist()) for _ in range(2000)]
    # At 5 % two standard errors are a point.
    assert np.mean(np.array(p) <= 0.05) <= 0.06


def test_a_number_beyond_others_is_a_t_test_of_one_more():
    # 1, 2 and 3 have mean 2 and SD 1: t = (6 - 2) / sqrt(4 / 3) = 3.464 with 2 degrees of freedom, p = .0371.
    assert outlier_p(6, [1, 2, 3]) == pytest.approx(0.0371, abs=1e-4)
    assert outlier_p(2, [1, 2, 3]) == 0.5
    assert outlier_p(-2, [1, 2, 3]) == pytest.approx(1 - 0.0371, abs=1e-4)


def test_one_label_throughout_is_beside_how_often_others_give_it():
    rng = np.random.default_rng(3)
    constant = of_last(*panel_of(rng, 120, changed=np.ones_like))
    assert (constant.longest, constant.likeness) == (constant.ratings, None)
    assert constant.run < 0.01
    # Where the others are as different, nobody can tell.
    divided = of_last(*panel_of(rng, 120, (-3.0, 3.0, -3.0, 3.0, -3.0, 3.0)))
    assert divided.run is None or divided.run > 0.05


def test_shares_are_of_the_others_on_the_same_items():
    # Ann gives 0, 0; Bob 0, 1; Cleo 1, 1: Ann is as Bob once of two, as Cleo never; Bob and Cleo agree once.
    ann = conducts(Panel.of([[0, 0, 1], [0, 1, 1]], [0, 1], [["Ann", "Bob", "Cleo"]] * 2), range(6))[0]
    assert (ann.ratings, ann.same, ann.theirs) == (2, 0.25, 0.5)
    # Above the others by 0 - .5 on the first item, and by 0 - 1 on the second.
    assert ann.moved == pytest.approx(-0.5)
    alone = conducts(Panel.of([[0], [1]], [0, 1], [["Ann"], ["Ann"]]), range(2))[0]
    assert (alone.same, alone.theirs, alone.moved, alone.likeness) == (None,) * 4
