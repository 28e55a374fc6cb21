"""The gain in kappa that a compile shows in four of five: nothing is promised that the rules forbid."""

import numpy as np
import pytest

from dspy_proact.stats import SimulatedJudges, improvement_shown, simulate_compile, smallest_gain


@pytest.mark.parametrize(("labels", "groups"), [(59, 25), (200, 9)])
def test_where_nothing_may_be_claimed_no_gain_is_promised(labels: int, groups: int):
    assert smallest_gain(labels, groups) is None


def test_it_is_worked_from_labels_and_groups_by_hand():
    # t of 19 degrees: 2.5395 at .99, .8610 at .80; .9 x 3.4005 / sqrt(120) = .2794.
    assert smallest_gain(120, 20) == pytest.approx(0.2794, abs=1e-4)


def test_a_gain_that_is_promised_is_shown_in_four_of_five():
    """120 labels, a judge that hardly agrees with people: .23 was promised before, and shown in about 60 of 100."""
    promised = smallest_gain(120, 20)
    judges = SimulatedJudges(rater=0.8, start=0.2, better=0.64)
    assert judges.gain == pytest.approx(promised, abs=0.005)
    drawn = [simulate_compile(np.random.default_rng(seed), 120, 20, judges) for seed in range(100)]
    shown = [improvement_shown(x.before, x.after, x.soft, x.strata, x.groups, order="ABC") for x in drawn]
    assert sum(shown) >= 76  # the standard error of 80 is 4


def test_candidates_of_one_worth_gain_nothing():
    assert SimulatedJudges(rater=0.8, start=0.5).gain == 0
