"""Cuts on the mean level of several verdicts: best by exhaustive search, kept where they gain by more than chance."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import START_CUTS, apply_cuts, keep_cuts
from dspy_proact.stats.cuts import fit_cuts, ordinal_agreement

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


def fitted(mean_levels: Sequence[float], labels: list[list[float]]) -> tuple[float, float]:
    return fit_cuts(np.array(mean_levels), np.array(labels).reshape(-1, 3))


def plainly_fitted(mean_levels: list[float], labels: list[list[float]]):
    """Every pair of cuts in turn: best agreement, nearest to the start, highest."""
    values = sorted(set(mean_levels))
    positions = sorted({*((a + b) / 2 for a, b in pairwise(values)), *START_CUTS})
    pairs = [(a, b) for a in positions for b in positions if a < b]

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


def test_a_lenient_judge_gets_higher_cuts():
    # FAILs are at 0.6 and 0.8, PARTIALs at 1.2, PASSes at 2. First cut between .8 and 1.2; second between 1.2 and 2,
    # where the start's 1.5 is nearer to itself than 1.6 is.
    cuts = fitted([0.6, 0.8, 1.2, 2], hard([0, 0, 1, 2]))
    assert cuts == (1, 1.5)
    assert apply_cuts([0.6, 0.8, 1.2, 2], cuts).tolist() == [0, 0, 1, 2]


def test_ties_go_to_the_start():
    assert fitted([0, 1, 2], hard([0, 1, 2])) == START_CUTS
    # FAILs at 0.4 and 0.8: midpoint 0.6. (.5, .6) lifts the 0.8 by two, (.5, 1.5) and (.6, 1.5) by one: the start.
    assert fitted([0.4, 0.8], hard([0, 0])) == START_CUTS
    assert keep_cuts([], [], [], []) == START_CUTS


def test_cuts_of_a_shifted_judge_are_kept_and_those_of_another_not():
    mean_levels, labels, groups = shifted_judge(0, 0.6)
    cuts = keep_cuts(mean_levels, labels, groups, [group % 4 for group in groups])
    assert cuts == fitted(mean_levels, labels)
    assert cuts[0] > 0.5
    others = [shifted_judge(seed, 0) for seed in range(20)]
    assert {keep_cuts(*one, [group % 4 for group in one[2]]) for one in others} == {START_CUTS}
    # By chance some would have been fitted all the same.
    assert {fitted(*one[:2]) for one in others} != {START_CUTS}


def test_the_gain_is_out_of_fold():
    # Fold A: FAIL at 1, fold B: PARTIAL at 1, six each in a scenario of its own. Fitted to B the start stands, and so
    # A gains nothing; fitted to A (only the start's cuts exist: one value) it stands too.
    assert keep_cuts([1] * 12, hard([0] * 6 + [1] * 6), range(12), "A" * 6 + "B" * 6) == START_CUTS
    # Both folds: 6 FAILs at 1, 6 PARTIALs at 1.25. Fitted to either: 1.125, which gains 1/2 at each FAIL of the other:
    # 1/2 twelve times, 0 twelve times: s^2 = 24 * .0625 / 23, SE = .052129; .25 - 2.499867 * SE (t(23) at .99) > 0.
    mean_levels, people = ([1.0] * 3 + [1.25] * 3) * 4, ([0] * 3 + [1] * 3) * 4
    assert keep_cuts(mean_levels, hard(people), range(24), "A" * 12 + "B" * 12) == (1.125, 1.5)
    # With two FAILs of 24: mean 1/24, SE = sqrt(.0199 / 23) = .0294: not above 0.
    few = [0, *[1] * 11] * 2
    assert keep_cuts([1.0, *[1.25] * 11] * 2, hard(few), range(24), "A" * 12 + "B" * 12) == START_CUTS


@law
@given(rows, st.randoms())
def test_the_search_is_exhaustive_and_sees_neither_order_nor_doubling(table: Rows, random):
    mean_levels, labels = [mean for mean, _, _ in table], soft(table)
    cuts = fitted(mean_levels, labels)
    assert cuts == plainly_fitted(mean_levels, labels)
    shuffled = random.sample(table, len(table)) * 2
    assert fitted([mean for mean, _, _ in shuffled], soft(shuffled)) == cuts
