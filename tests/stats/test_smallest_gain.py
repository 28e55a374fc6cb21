"""The gain in kappa that a compile shows in four of five: nothing is promised that the rules forbid."""

import numpy as np
import pytest
from support.compiles import SimulatedJudges, simulate_compile

from dspy_proact.stats import improvement_shown, smallest_gain


@pytest.mark.parametrize(("labels", "groups"), [(59, 25), (200, 9)])
def test_where_nothing_may_be_claimed_no_gain_is_promised(labels: int, groups: int):
    assert smallest_gain(labels, groups, 6) is None


def test_it_is_worked_from_labels_and_groups_by_hand():
    # t of 19 degrees: 2.5395 at .99, .8610 at .80; .9 x 3.4005 / sqrt(120) = .2794.
    assert smallest_gain(120, 20, 3) == pytest.approx(0.2794, abs=1e-4)


def test_raters_that_stand_for_others_count():
    # The harmonic mean of 19 and 5 degrees of freedom is 7.9167: t 2.9037 and .8894; .9 x 3.7932 / sqrt(120).
    assert smallest_gain(120, 20, 6) == pytest.approx(0.3116, abs=1e-4)


def test_a_gain_that_is_promised_is_shown_in_four_of_five():
    """120 labels, a judge that hardly agrees with people: .23 was promised before, and shown in about 60 of 100."""
    promised = smallest_gain(120, 20, 3)
    judges = SimulatedJudges(rater=0.8, start=0.2).gaining(promised)
    assert judges.gain == pytest.approx(promised, abs=0.005)
    assert shown(judges, 100) >= 76  # the standard error of 80 is 4


def test_a_gain_that_is_promised_of_six_lenient_and_severe_raters_is_shown_in_four_of_five():
    promised = smallest_gain(120, 20, 6)
    judges = SimulatedJudges(rater=0.8, start=0.2, raters=6, leniency=0.5).gaining(promised)
    assert judges.gain == pytest.approx(promised, abs=0.005)
    assert shown(judges, 100) >= 76


def shown(judges, compiles):
    drawn = [simulate_compile(np.random.default_rng(seed), 120, 20, judges) for seed in range(compiles)]
    told = [(one.before, one.after, one.soft, one.strata, one.groups) for one in drawn]
    panels = [None if one.panel.raters is None else one.panel for one in drawn]
    return sum(improvement_shown(*each, order="ABC", panel=panel) for each, panel in zip(told, panels, strict=True))
