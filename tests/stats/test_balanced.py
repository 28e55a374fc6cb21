from collections import Counter

import pytest

from dspy_proact.stats import balanced_counts, balanced_order, drawn_counts

KEYS = [f"k{n}" for n in range(40)]
KINDS = [("s", label) for label in "a" * 25 + "b" * 12 + "c" * 3]
A, B, C = ("s", "a"), ("s", "b"), ("s", "c")


@pytest.mark.parametrize(
    ("count", "drawn"),
    [(6, [2, 2, 2]), (7, [3, 2, 2]), (12, [5, 4, 3]), (30, [15, 12, 3]), (99, [25, 12, 3]), (0, [0, 0, 0])],
)
def test_kinds_are_drawn_as_equally_as_they_last(count, drawn):
    assert balanced_counts([25, 12, 3], count).tolist() == drawn


def test_every_first_part_of_the_order_is_balanced():
    order = balanced_order(KEYS, KINDS)
    assert sorted(order) == list(range(40))
    for count in range(41):
        drawn = Counter(KINDS[place] for place in order[:count])
        # Within a round the kinds come by chance, so that one may be a case ahead.
        least, most = min(drawn[A], drawn[B]), max(drawn[A], drawn[B])
        assert most - least <= 1 or least == 12
        assert drawn[C] >= min(3, least - 1)


def test_strata_are_drawn_equally_whatever_labels_they_have():
    kinds = [("s", "a")] * 20 + [("s", "b")] * 10 + [("t", "a")] * 9 + [("t", "b")]
    order = [kinds[place] for place in balanced_order(KEYS, kinds)]
    # Of 12, six a stratum: three of each label of s, and all that t has of b.
    assert Counter(stratum for stratum, _ in order[:12]) == {"s": 6, "t": 6}
    counted = Counter(order[:12])
    assert (counted["s", "a"], counted["s", "b"]) == (3, 3)
    assert counted["t", "b"] == 1
    sizes = {("s", "a"): 20, ("s", "b"): 10, ("t", "a"): 9, ("t", "b"): 1}
    assert drawn_counts(sizes, 12).tolist() == [3, 3, 5, 1]
    assert drawn_counts(sizes, 100).tolist() == [20, 10, 9, 1]


def test_the_order_depends_on_keys_kinds_and_seed_alone():
    order = [KEYS[place] for place in balanced_order(KEYS, KINDS)]
    backwards = balanced_order(KEYS[::-1], KINDS[::-1])
    assert [KEYS[::-1][place] for place in backwards] == order
    assert [KEYS[place] for place in balanced_order(KEYS, KINDS, seed=1)] != order


def test_a_case_of_a_kind_is_as_likely_as_any_other():
    first = Counter(balanced_order(KEYS, [A] * 40, seed)[0] for seed in range(400))
    # 400 draws of 40 cases: 10 each, standard deviation 3.1; five of these from it has a probability below 1 in 1,000.
    assert max(first.values()) < 26
    assert len(first) > 36


def test_the_place_in_a_round_tells_nothing_of_the_kind():
    begins = Counter(KINDS[balanced_order(KEYS, KINDS, seed)[0]] for seed in range(300))
    assert min(begins[A], begins[B], begins[C]) > 60
