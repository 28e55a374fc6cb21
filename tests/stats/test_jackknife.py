import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dspy_proact.stats import Estimate
from dspy_proact.stats.jackknife import Jackknife, ratio


def counted(values: list[float]) -> NDArray[np.float64]:
    return np.array([[value, 1.0] for value in values]).reshape(-1, 2)


def test_a_mean_has_its_textbook_intervals():
    # .1, .2, .3: SE = .1 / sqrt(3); 95 %: t(2) = 4.302653; 98 %: 6.964557.
    mean = Jackknife.of(counted([0.1, 0.2, 0.3]), [0, 1, 2], ratio)
    one = mean.estimate()
    assert [one.value, one.low, one.high] == pytest.approx([0.2, 0.2 - 0.248414, 0.2 + 0.248414], abs=1e-6)
    reach = 6.964557 * 0.1 / math.sqrt(3)
    assert mean.claim_bounds() == pytest.approx((0.2 - reach, 0.2 + reach), abs=1e-6)
    assert mean.claim_bounds((0, 0.25)) == (0, 0.25)


def test_unequal_groups_leave_fewer_degrees_of_freedom_by_hand():
    # 10 groups, one of 2 items and 9 of 1: w = 2/11, 9 times 1/11. sum w^2 = 13/121 = .107438.
    # q = (4/121) / (9/11) = .0404040 and 9 times (1/121) / (10/11) = .0090909: sum .1222222, squared .0149383;
    # sum of squares .0016325 + .0007438 = .0023763. df = 1 / (.107438 + .0149383 - .0023763) = 1 / .1200000.
    unequal = Jackknife.of(counted([place / 10 for place in range(11)]), [*range(10), 0], ratio)
    assert unequal.spread is not None
    assert unequal.spread.df == pytest.approx(8.33333, abs=1e-4)


@pytest.mark.parametrize("groups", [2, 4, 9, 10])
def test_whole_groups_are_left_out_however_few(groups: int):
    # Groups of two equal items each: the same as one item each.
    values = [place / 10 for place in range(groups)]
    twice = Jackknife.of(counted(values * 2), [*range(groups), *range(groups)], ratio).estimate()
    once = Jackknife.of(counted(values), range(groups), ratio).estimate()
    assert [twice.value, twice.low, twice.high] == pytest.approx([once.value, once.low, once.high])
    assert twice.reason == once.reason == ("too few groups: very wide" if groups < 5 else None)


def test_what_nobody_else_adds_to_is_exactly_zero_without_it():
    seen: list[NDArray[np.float64]] = []

    def keep(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        seen.extend(sums)
        return sums.sum(axis=1)

    Jackknife.of(np.array([[0.1, 0, 0], [0, 1 / 3, 0], [0, 0, 0.7]]), range(3), keep)
    assert [others[place] for place, others in enumerate(seen[1:])] == [0, 0, 0]


@pytest.mark.parametrize(
    ("parts", "value", "reason"),
    [
        (counted([]), None, "no items"),
        (counted([0.5]), 0.5, "depends on one group"),
        (counted([0.5] * 2), 0.5, "no variance between groups"),
        (np.zeros((2, 2)), None, "undefined"),
        # Without the first group 0 / 0.
        (np.array([[1.0, 1.0], [0, 0]]), 1, "depends on one group"),
    ],
)
def test_silence_has_a_reason(parts: NDArray[np.float64], value: float | None, reason: str):
    silent = Jackknife.of(parts, range(len(parts)), ratio)
    assert (silent.estimate(), silent.claim_bounds()) == (Estimate(value, reason=reason), (None, None))
