"""A classifier that ranks picked items, tested on groups that it has not seen, and by exchanges."""

import numpy as np
import pytest

from dspy_proact.stats.separation import EXCHANGES, Drawn, Pool, separation


def pool(group, values, *picked):
    """A pool of items of these values, of which a draw picks the items of these indices and has all others."""
    features = np.array(values, dtype=float).reshape(len(values), -1)
    others = np.array([index for index in range(len(values)) if index not in picked])
    return Pool(group, features, (Drawn(np.array(picked), others),))


def test_what_always_tells_separates_all_pairs_and_no_exchange_reaches_it():
    result = separation([pool(group, [5, 1, 2, 3], 0) for group in range(8)], [0])
    assert result is not None
    assert (result.share.value, result.first) == (1.0, 1.0)
    assert result.p == pytest.approx(1 / (1 + EXCHANGES))
    assert result.share.low == pytest.approx(0.025 ** (1 / 8))  # exact bounds of eight trials, all of them right


def test_it_learns_the_side_from_other_groups():
    """Picked is the smallest in two groups of four and the largest in the others.

    With one left out, those like it are the fewer: it is ranked by what holds of the others, and no pair is right.
    """
    pools = [pool(group, [1, 2, 3] if group % 2 else [3, 2, 1], 0) for group in range(4)]
    result = separation(pools, [0])
    assert result is not None
    assert result.share.value == 0.0
    assert result.p == 1.0


def test_equal_items_count_as_half_and_share_the_first_rank():
    """Of 3 others two are as high as the picked one and one is lower: (0.5 + 0.5 + 1) / 3 of the pairs, 1/3 first."""
    result = separation([pool(group, [1, 1, 1, 0], 0) for group in range(8)], [0])
    assert result is not None
    assert result.share.value == pytest.approx(2 / 3)
    assert result.first == pytest.approx(1 / 3)


def test_a_column_that_does_not_vary_within_a_pool_tells_nothing():
    assert separation([pool(group, [group] * 3, 0) for group in range(8)], [0]) is None
    assert separation([pool(0, [1, 2, 3], 0)], [0]) is None  # nobody else to learn from


def drawn(rng, people, shift=0.0):
    """Two draws of each person that share their six others; picked items are higher by `shift`."""
    pools = []
    for person in range(people):
        values = rng.standard_normal((10, 3))
        values[6:, 0] += shift
        shared = np.arange(6)
        pools.append(Pool(person, values, (Drawn(np.array([6, 7]), shared), Drawn(np.array([8, 9]), shared))))
    return pools


def test_where_nothing_tells_p_is_at_most_5_percent_in_5_of_100_sets():
    rng = np.random.default_rng(0)
    results = [separation(drawn(rng, 15), range(3), seed) for seed in range(200)]
    claimed = sum(one.p <= 0.05 for one in results)
    covered = sum(one.share.low <= 0.5 <= one.share.high for one in results)
    # Of 200 sets 10 are expected, and two standard errors are 6.2; the interval has .5 in at least 19 of 20.
    assert 3 <= claimed <= 17
    assert covered >= 185


def test_a_shift_of_one_standard_deviation_is_seen():
    result = separation(drawn(np.random.default_rng(1), 30, shift=1.0), range(3))
    assert result.p < 0.005
    assert result.share.low > 0.5
    assert result.share.high > 0.69  # two normals one deviation apart: Phi(1 / sqrt(2)) = .76, less what fitting costs


def test_the_same_seed_gives_the_same_p():
    pools = drawn(np.random.default_rng(2), 15)
    values = [separation(pools, range(3), seed).p for seed in (1, 1)]
    assert values[0] == values[1]
