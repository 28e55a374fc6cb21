"""What is simulated is what is said of it."""

from dataclasses import replace

import numpy as np
import pytest

from dspy_proact.stats import RatedStudy, RatedWorld, correction, simulate_rated, simulate_rated_runs, unlabelled

WORLD = RatedWorld(0.33, 0.5)


def test_the_mean_rating_of_many_raters_is_the_true_one():
    rng = np.random.default_rng(1)
    found = [simulate_rated(rng, [WORLD], RatedStudy(25, 50, 50, 2), by_label=False).given.mean() for _ in range(400)]
    assert np.mean(found) == pytest.approx(0.33, abs=0.01)


def test_the_judge_is_more_lenient_by_its_lift_and_sees_as_far_as_it_is_said_to():
    rng = np.random.default_rng(2)
    weak, good = (
        simulate_rated(rng, [replace(WORLD, sight=sight)], RatedStudy(400, 3000, 20, 2)) for sight in (0.5, 0.9)
    )
    assert weak.score.mean() == pytest.approx(0.43, abs=0.02)
    seen = [np.corrcoef(of.score[of.rated], of.means[of.rated])[0, 1] for of in (weak, good)]
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
    assert np.mean(evenly.score[evenly.rated]) == pytest.approx(evenly.score.mean(), abs=0.02)


def test_without_labels_a_correction_is_the_mean_of_the_rated():
    rated = simulate_rated(np.random.default_rng(4), [WORLD], RatedStudy(25, 60, 18, 3))
    assert correction(unlabelled(rated)).value == pytest.approx(rated.means[rated.rated].mean())


def test_strata_share_groups_and_raters():
    worlds = [replace(WORLD, likeness=0.9), replace(WORLD, likeness=0.9, mean=0.5)]
    rated = simulate_rated(np.random.default_rng(6), worlds, RatedStudy(40, 30, 12, 2))
    assert rated.order == [0, 1]
    assert [int(rated.of_stratum(stratum).rated.sum()) for stratum in (0, 1)] == [30, 30]
    assert rated.rater_count == 12
    means = np.array(
        [
            [np.mean(of.score[np.array(of.groups) == group]) for group in range(40)]
            for of in map(rated.of_stratum, (0, 1))
        ]
    )
    assert np.corrcoef(means)[0, 1] > 0.3


def test_runs_are_judged_on_the_same_cases_and_move_together():
    rng = np.random.default_rng(2)
    world = replace(WORLD, sight=0.9)
    runs = [[world, replace(world, mean=0.5)], [world, replace(world, mean=0.2)]]
    a, b = simulate_rated_runs(rng, runs, RatedStudy(400, 100, 18, 2))
    assert (a.groups, a.strata) == (b.groups, b.strata)
    assert np.corrcoef(a.score, b.score)[0, 1] > 0.2
    # Each run's ratings are of cases of its own choice, by the same people.
    assert set(a.of.tolist()) != set(b.of.tolist())
    assert set(a.raters) == set(b.raters) == set(range(18))
