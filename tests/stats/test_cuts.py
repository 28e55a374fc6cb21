"""Cuts on the mean level of several verdicts: best by exhaustive search, kept where they gain by more than chance."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import START_CUTS, Estimate, apply_cuts, keep_cuts
from dspy_proact.stats.cuts import KeptCuts, fit_cuts, ordinal_agreement

law = settings(deadline=None, max_examples=25)
means = st.integers(0, 8).map(lambda quarter: quarter / 4)
counts = st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any)
# One row is (mean level, counts of people's grades, scenario).
rows = st.lists(st.tuples(means, counts, st.integers(0, 12)), max_size=25)
Rows = list[tuple[float, list[int], int]]


def soft(table: Rows) -> list[list[float]]:
    return [[count / sum(grades) for count in grades] for _, grades, _ in table]


def hard(people: Sequence[int]) -> list[list[float]]:
    return np.eye(3)[list(people)].tolist()


def plainly_fitted(mean_levels: list[float], labels: list[list[float]]):
    """Every pair of cuts in turn: best agreement, nearest to the start, highest."""
    values = sorted(set(mean_levels))
    places = sorted({*((a + b) / 2 for a, b in pairwise(values)), *START_CUTS})
    pairs = [(a, b) for a in places for b in places if a < b]

    def rank(cuts: tuple[float, float]):
        levels = np.array([sum(mean >= cut for cut in cuts) for mean in mean_levels], dtype=int)
        agreement = ordinal_agreement(levels, np.array(labels).reshape(-1, 3)).sum()
        return round(agreement, 9), -round(abs(cuts[0] - START_CUTS[0]) + abs(cuts[1] - START_CUTS[1]), 9), cuts

    return max(pairs, key=rank)


def shifted_judge(seed: int, shift: float, items: int = 96) -> tuple[list[float], list[list[float]], list[int]]:
    """Mean levels of five noisy verdicts on items of 12 scenarios, by a judge that is too high by `shift`."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, items)
    votes = np.clip(np.rint(truth[:, None] + shift + rng.normal(0, 0.5, (items, 5))), 0, 2)
    return votes.mean(axis=1).tolist(), hard(truth.tolist()), (np.arange(items) % 12).tolist()


def test_ordinal_agreement_by_hand():
    # Level 0 of (.5, .25, .25): 1 - (0 + .25 + .5) / 2. Level 1: 1 - (.5 + .25) / 2. Level 2: 1 - (1 + .25) / 2.
    soft = np.array([[0.5, 0.25, 0.25]] * 3)
    assert ordinal_agreement(np.arange(3), soft).tolist() == [0.625, 0.625, 0.375]


def test_a_mean_level_reaches_its_cut():
    assert apply_cuts([0, 0.49, 0.5, 1.49, 1.5, 2], (0.5, 1.5)).tolist() == [0, 0, 1, 1, 2, 2]
    assert apply_cuts([1, 1], (1.2, 1.6)).tolist() == [0, 0]
    assert apply_cuts([], (0.5, 1.5)).tolist() == []


def test_a_lenient_judge_gets_higher_cuts():
    # FAILs are at 0.6 and 0.8, PARTIALs at 1.2, PASSes at 2. First cut between .8 and 1.2; second between 1.2 and 2,
    # where the start's 1.5 is nearer to itself than 1.6 is.
    cuts = fit_cuts([0.6, 0.8, 1.2, 2], hard([0, 0, 1, 2]))
    assert cuts == (1, 1.5)
    assert apply_cuts([0.6, 0.8, 1.2, 2], cuts).tolist() == [0, 0, 1, 2]


def test_ties_go_to_the_start():
    assert fit_cuts([0, 1, 2], hard([0, 1, 2])) == (0.5, 1.5)
    # FAILs at 0.4 and 0.8: midpoint 0.6. (.5, .6) lifts the 0.8 by two, (.5, 1.5) and (.6, 1.5) by one: the start.
    assert fit_cuts([0.4, 0.8], hard([0, 0])) == (0.5, 1.5)
    assert fit_cuts([], []) == (0.5, 1.5)
    kept = keep_cuts([], [], [], [])
    assert kept == KeptCuts((0.5, 1.5), (0.5, 1.5), False, Estimate(None, reason="no items"), None, None)


def test_cuts_of_a_shifted_judge_are_kept():
    mean_levels, labels, groups = shifted_judge(0, 0.6)
    kept = keep_cuts(mean_levels, labels, groups, [group % 4 for group in groups])
    assert kept.kept
    assert kept.cuts == kept.fitted == fit_cuts(mean_levels, labels)
    assert kept.cuts[0] > 0.5
    assert kept.gain.low is not None
    assert kept.low98 is not None
    assert 0 < kept.low98 < kept.gain.low


def test_cuts_of_an_unshifted_judge_are_not_kept():
    kept = [shifted_judge(seed, 0) for seed in range(20)]
    results = [keep_cuts(*one, [group % 4 for group in one[2]]) for one in kept]
    assert not any(one.kept for one in results)
    assert all(one.cuts == (0.5, 1.5) for one in results)
    # By chance some would have been fitted all the same.
    assert any(one.fitted != (0.5, 1.5) for one in results)


def test_the_gain_is_out_of_fold():
    # Fold A: FAIL at 1, fold B: PARTIAL at 1, six each in a scenario of its own. Fitted to B the start stands, and so
    # A gains nothing; fitted to A (only the start's cuts exist: one value) it stands too.
    alone = keep_cuts([1] * 12, hard([0] * 6 + [1] * 6), range(12), "A" * 6 + "B" * 6)
    assert alone.gain == Estimate(0, reason="no variance between groups")
    # Both folds: 6 FAILs at 1, 6 PARTIALs at 1.25. Fitted to either: 1.125, which gains 1/2 at each FAIL of the other.
    mean_levels, people = ([1.0] * 3 + [1.25] * 3) * 4, ([0] * 3 + [1] * 3) * 4
    gain = keep_cuts(mean_levels, hard(people), range(24), "A" * 12 + "B" * 12)
    assert gain.fitted == (1.125, 1.5)
    assert gain.gain.value == pytest.approx(0.25)
    # Gains 1/2 twelve times, 0 twelve times: s^2 = 24 * .0625 / 23, SE = sqrt(.0625 / 23) = .052129; t(23) = 2.068658.
    assert gain.gain.low == pytest.approx(0.25 - 2.068658 * 0.052129, abs=1e-5)
    # t(23) at .99 = 2.499867.
    assert gain.low98 == pytest.approx(0.25 - 2.499867 * 0.052129, abs=1e-5)
    assert gain.kept


@law
@given(rows, st.randoms())
def test_the_search_is_exhaustive_and_sees_neither_order_nor_doubling(table: Rows, random):
    mean_levels, labels = [mean for mean, _, _ in table], soft(table)
    cuts = fit_cuts(mean_levels, labels)
    assert cuts == plainly_fitted(mean_levels, labels)
    shuffled = random.sample(table, len(table)) * 2
    assert fit_cuts([mean for mean, _, _ in shuffled], soft(shuffled)) == cuts
