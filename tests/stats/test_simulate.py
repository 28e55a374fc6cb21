import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.stats import Effects, Thresholds, simulate_pair, simulate_run

ALIKE = Effects(group=0.20, subgroup=0.10)


@pytest.mark.parametrize("mean", [0.05, 0.27, 0.5, 0.95])
def test_cuts_have_the_wanted_mean_and_shares(mean: float):
    cuts = Thresholds.of_mean(mean)
    assert cuts.mean == pytest.approx(mean)
    # Shares of a standard normal: Phi(-full) score 1, and 4/3 mean (1 - mean) score .5.
    full = math.erfc(cuts.full / math.sqrt(2)) / 2
    some = math.erfc(cuts.half / math.sqrt(2)) / 2
    assert some - full == pytest.approx(4 / 3 * mean * (1 - mean))


@given(st.floats(0.05, 0.95), st.floats(-0.9, 0.9))
def test_raised_cuts_have_the_raised_mean(mean: float, difference: float):
    cuts = Thresholds.of_mean(mean)
    if 0.001 < mean + difference < 0.999:
        raised = cuts.raised(difference)
        assert raised.mean == pytest.approx(mean + difference)
        assert raised.full - raised.half == pytest.approx(cuts.full - cuts.half)


def test_a_mean_cannot_be_raised_out_of_its_range():
    with pytest.raises(ValueError, match="cannot be raised"):
        Thresholds.of_mean(0.5).raised(0.5)


def test_latent_numbers_are_scored_by_the_cuts():
    assert Thresholds(0, 1).scores(np.array([-0.5, 0.5, 1.5])).tolist() == [0, 0.5, 1]


def test_runs_have_the_mean_that_they_are_said_to_have():
    """300 runs of 25 scenarios: the standard error of their common mean is about .0025."""
    rng = np.random.default_rng(4)
    runs = [simulate_run(rng, 25, Thresholds.of_mean(0.27), ALIKE) for _ in range(300)]
    assert np.concatenate([run.scores for run in runs]).mean() == pytest.approx(0.27, abs=0.01)
    assert [run.mean for run in runs] == pytest.approx([0.27] * 300)
    assert all(sorted(set(run.groups)) == list(range(25)) for run in runs)
    # 8 dialogues with 1.1 triggers each, in 25 scenarios.
    assert np.mean([len(run.scores) for run in runs]) == pytest.approx(220, abs=10)


def test_scenarios_are_of_unequal_size():
    rng = np.random.default_rng(4)
    sizes = [np.bincount(simulate_run(rng, 8, Thresholds.of_mean(0.5), ALIKE).groups) for _ in range(300)]
    assert 7 < np.median([size.max() / size.min() for size in sizes]) < 13


@pytest.mark.parametrize("difference", [0, 0.1, -0.2])
def test_pairs_have_the_difference_that_they_are_said_to_have(difference: float):
    """300 pairs: the standard error of their common difference is about .003."""
    rng = np.random.default_rng(5)
    pairs = [simulate_pair(rng, 25, Thresholds.of_mean(0.5), Effects(run=0.05), difference) for _ in range(300)]
    found = np.concatenate([pair.b - pair.a for pair in pairs]).mean()
    assert [pair.difference for pair in pairs] == pytest.approx([difference] * 300)
    assert found == pytest.approx(difference, abs=0.012)


def test_runs_on_the_same_triggers_resemble_each_other_by_their_shared_effects():
    # Cut at 0 into halves: P(both above) = 1/4 + asin(.55) / (2 pi), so the correlation is 2 asin(.55) / pi = .371.
    rng = np.random.default_rng(6)
    pairs = [simulate_pair(rng, 25, Thresholds(0, 0), Effects()) for _ in range(200)]
    a, b = (np.concatenate([getattr(pair, side) for pair in pairs]) for side in "ab")
    assert np.corrcoef(a, b)[0, 1] == pytest.approx(2 * math.asin(0.55) / math.pi, abs=0.02)


def test_a_seed_gives_the_same_data():
    one, other = (simulate_pair(np.random.default_rng(7), 8, Thresholds.of_mean(0.5), Effects(), 0.1) for _ in range(2))
    assert (one.a.tolist(), one.b.tolist(), one.groups) == (other.a.tolist(), other.b.tolist(), other.groups)
