import math

import numpy as np
import pytest
from dspy_proact.stats.units import Units, ratio
from numpy.typing import NDArray

from dspy_proact.stats import Estimate, t_quantile


def counted(values: list[float]) -> NDArray[np.float64]:
    return np.array([[value, 1.0] for value in values]).reshape(-1, 2)


def test_degrees_of_freedom_by_hand():
    assert Units.of(range(4)).df == pytest.approx(3)
    assert Units.of(["only"]).df == 1
    # 10 scenarios, one of 2 items and 9 of 1: w = 2/11, 9 times 1/11. sum w^2 = 13/121 = .107438.
    # q = (4/121) / (9/11) = .0404040 and 9 times (1/121) / (10/11) = .0090909: sum .1222222, squared .0149383;
    # sum of squares .0016325 + .0007438 = .0023763. df = 1 / (.107438 + .0149383 - .0023763) = 1 / .1200000.
    assert Units.of([*range(10), 0]).df == pytest.approx(8.33333, abs=1e-4)


def test_a_mean_has_its_textbook_intervals():
    # .1, .2, .3: SE = .1 / sqrt(3); 95 %: t(2) = 4.302653; 98 %: 6.964557.
    values = counted([0.1, 0.2, 0.3])
    units = Units.of([0, 1, 2])
    one = units.estimate(values, ratio, undefined="")
    assert [one.value, one.low, one.high] == pytest.approx([0.2, 0.2 - 0.248414, 0.2 + 0.248414], abs=1e-6)
    assert t_quantile(0.99, 2) == pytest.approx(6.964557, abs=1e-6)
    reach = 6.964557 * 0.1 / math.sqrt(3)
    assert units.claim_bounds(values, ratio, bounds=(-1, 1)) == pytest.approx((0.2 - reach, 0.2 + reach), abs=1e-6)
    assert units.claim_bounds(values, ratio, bounds=(0, 0.25)) == (0, 0.25)


@pytest.mark.parametrize("groups", [2, 4, 9, 10])
def test_whole_scenarios_are_left_out_however_few(groups: int):
    # Scenarios of two equal items each: the same as one item each.
    values = [place / 10 for place in range(groups)]
    twice = Units.of([*range(groups), *range(groups)]).estimate(counted(values * 2), ratio, undefined="")
    once = Units.of(range(groups)).estimate(counted(values), ratio, undefined="")
    assert [twice.value, twice.low, twice.high] == pytest.approx([once.value, once.low, once.high])
    assert twice.reason == once.reason == ("too few groups: very wide" if groups < 5 else None)


def test_what_nobody_else_adds_to_is_exactly_zero_without_it():
    seen: list[NDArray[np.float64]] = []

    def keep(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        seen.extend(sums)
        return sums.sum(axis=1)

    parts = np.array([[0.1, 0, 0], [0, 1 / 3, 0], [0, 0, 0.7]])
    Units.of(range(3)).estimate(parts, keep, undefined="", bounds=(0, 2))
    assert [others[place] for place, others in enumerate(seen[1:])] == [0, 0, 0]


def test_rounding_past_the_range_is_cut():
    above = Units.of([0, 1, 2]).estimate(counted([1, 1, 0.9]), lambda sums: np.full(len(sums), 1 + 1e-15), undefined="")
    assert above == Estimate(1, reason="the same whichever group is left out")


def test_silence_has_a_reason():
    assert Units.of([]).estimate(counted([]), ratio, undefined="?") == Estimate(None, reason="no items")
    assert Units.of([0, 1]).estimate(np.zeros((2, 2)), ratio, undefined="nothing") == Estimate(None, reason="nothing")
    assert Units.of([0]).estimate(counted([0.5]), ratio, undefined="") == Estimate(0.5, reason="rests on one group")
    for values in ([], [0.5], [0.5, 0.5]):
        assert Units.of(range(len(values))).claim_bounds(counted(values), ratio, bounds=(0, 1)) == (None, None)
