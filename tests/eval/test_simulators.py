"""What simulators of eval/support draw is what they say that they draw; and how shares of data sets are judged."""

from dataclasses import replace

import numpy as np
import pytest
from support.bands import Band
from support.rated import RatedStudy, RatedWorld, simulate_rated
from support.scores import Effects, Thresholds, simulate_pair, simulate_run

ALIKE = Effects(group=0.20, subgroup=0.10)
WORLD = RatedWorld(0.33, 0.5)


def test_runs_have_the_mean_that_they_are_said_to_have():
    """300 runs of 25 scenarios: the standard error of their common mean is about .0025."""
    rng = np.random.default_rng(4)
    runs = [simulate_run(rng, 25, Thresholds.of_mean(0.27), ALIKE) for _ in range(300)]
    assert np.concatenate([run.scores for run in runs]).mean() == pytest.approx(0.27, abs=0.01)
    assert [run.mean for run in runs] == pytest.approx([0.27] * 300)
    assert all(sorted(set(run.groups)) == list(range(25)) for run in runs)
    # 8 dialogues with 1.1 triggers each, in 25 scenarios.
    assert np.mean([len(run.scores) for run in runs]) == pytest.approx(220, abs=10)


@pytest.mark.parametrize("difference", [0, 0.1, -0.2])
def test_pairs_have_the_difference_that_they_are_said_to_have(difference: float):
    """300 pairs: the standard error of their common difference is about .003."""
    rng = np.random.default_rng(5)
    pairs = [simulate_pair(rng, 25, Thresholds.of_mean(0.5), Effects(run=0.05), difference) for _ in range(300)]
    result = np.concatenate([pair.b - pair.a for pair in pairs]).mean()
    assert [pair.difference for pair in pairs] == pytest.approx([difference] * 300)
    assert result == pytest.approx(difference, abs=0.012)


def test_the_mean_rating_of_many_raters_is_the_true_one():
    rng = np.random.default_rng(1)
    results = [
        simulate_rated(rng, [WORLD], RatedStudy(25, 50, 50, 2), by_label=False).ratings.mean() for _ in range(400)
    ]
    assert np.mean(results) == pytest.approx(0.33, abs=0.01)


def test_the_judge_is_more_lenient_by_its_lift_and_sees_as_far_as_it_is_said_to():
    rng = np.random.default_rng(2)
    weak, good = (
        simulate_rated(rng, [replace(WORLD, sight=sight)], RatedStudy(400, 3000, 20, 2)) for sight in (0.5, 0.9)
    )
    assert weak.scores.mean() == pytest.approx(0.43, abs=0.02)
    seen = [np.corrcoef(of.scores[of.rated], of.means[of.rated])[0, 1] for of in (weak, good)]
    assert seen[0] < 0.45 < seen[1]


def test_the_rated_are_drawn_in_equal_numbers_by_label_or_evenly():
    rng = np.random.default_rng(3)
    drawn = simulate_rated(rng, [WORLD], RatedStudy(25, 60, 18, 3))
    counts = [
        sum(rated for label, rated in zip(drawn.labels, drawn.rated, strict=True) if label == own)
        for own in (0, 0.5, 1)
    ]
    assert counts == [20, 20, 20]
    assert (len(drawn.raters), set(drawn.times[drawn.rated])) == (180, {3})
    evenly = simulate_rated(rng, [WORLD], RatedStudy(400, 2000, 18, 1), by_label=False)
    assert np.mean(evenly.scores[evenly.rated]) == pytest.approx(evenly.scores.mean(), abs=0.02)


def test_a_share_may_be_out_by_two_standard_errors_of_the_edge():
    # Of 1,000 data sets 1.6 points at 93 %, and .9 at 98.
    band = Band(0.93, 0.98)
    assert [band.holds(share, 1000) for share in (0.913, 0.914, 0.988, 0.989)] == [False, True, True, False]
    assert not band.holds(0.914, 10_000)
