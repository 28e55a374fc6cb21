"""The race: who is dropped, on what, and that clearly better candidates win."""

import random
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.compile.guards import rank
from dspy_proact.compile.search import Race, in_turns, is_sure, rounds
from dspy_proact.compile.training import Candidate


class Table:
    """A training set whose scores are known: by program and key. It counts what it is asked."""

    def __init__(self, scores: Mapping[str, Sequence[float]], groups: int, harms: Mapping[str, Sequence[float]] = {}):
        count = len(next(iter(scores.values())))
        self.compare = [dspy.Example(key=f"{number:03d}") for number in range(count)]
        watched = len(next(iter(harms.values()))) if harms else 0
        self.watched = [dspy.Example(key=f"w{number:03d}") for number in range(watched)]
        self.groups = {item.key: f"g{int(item.key.strip('w')) % groups}" for item in [*self.compare, *self.watched]}
        self.width, self.calls, self._turn = 4, list[tuple[str, str]](), threading.Lock()
        self._scores, self._harms = scores, harms

    def scored(self, program: str, example: dspy.Example) -> float:
        with self._turn:
            self.calls.append((program, example.key))
        return self._scores[program][int(example.key)]

    def harmed(self, program: str, example: dspy.Example) -> float | None:
        with self._turn:
            self.calls.append((program, example.key))
        return self._harms[program][int(example.key[1:])]


def race_of(table: Table, programs: Sequence[str], seed: int = 0) -> Race:
    known: Any = table
    race: Race = Race(known, seed)
    for program in programs:
        race.enter(program)
    return race


# The rule, by hand


@pytest.mark.parametrize(
    ("lead", "groups", "sure"),
    [
        # Mean .5; deviations of the groups' sums: a +.5, b -.5 (their squares sum to .5). CR1: sqrt(2 / 1 * .5) / 2 =
        # .5, which the mean does not exceed.
        ([1, 0], "ab", False),
        # Mean 2/3; sums a 1/3, b 1/3, c -2/3, squares 6/9: sqrt(3 / 2 * 6 / 9) / 3 = 1/3. 2/3 > 1/3.
        ([1, 1, 0], "abc", True),
        # Mean 1/3: sums 2/3, -1/3, -1/3, squares 6/9: error 1/3, which 1/3 does not exceed.
        ([1, 0, 0], "abc", False),
        # The same three of each twice, in pairs: mean 1/3, sums 4/3, -2/3, -2/3, squares 24/9, sqrt(3/2 * 24/9) / 6 =
        # 1/3. More examples of the same groups are no more sure.
        ([1, 1, 0, 0, 0, 0], "aabbcc", False),
        # As singles they are: mean 1/3, squares 6 * (2/9) = 12/9, sqrt(6/5 * 12/9) / 6 = .21.
        ([1, 1, 0, 0, 0, 0], "abcdef", True),
        # Every group alike: no error at all.
        ([0.1, 0.1], "ab", True),
        ([0, 0], "ab", False),
        ([-1, -1], "ab", False),
        # A single group says nothing about others.
        ([1, 1, 1], "aaa", False),
    ],
)
def test_a_lead_is_sure_where_its_mean_exceeds_its_standard_error_over_groups(lead, groups, sure):
    assert is_sure(lead, list(groups)) is sure


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, [1]), (4, [4]), (5, [4, 5]), (8, [4, 8]), (17, [4, 8, 16, 17]), (50, [4, 8, 16, 32, 50])]
)
def test_rounds_double_up_to_everything(count, sizes):
    assert rounds(count) == sizes


@given(groups=st.lists(st.sampled_from("abcd"), min_size=1, max_size=30), seed=st.integers(0, 5), order=st.randoms())
def test_groups_take_turns_in_an_order_that_the_seed_alone_decides(groups, seed, order: random.Random):
    """Whatever the order of the examples; in each turn no group comes twice, and none comes again before it is due."""
    examples = [dspy.Example(key=f"{number:02d}") for number in range(len(groups))]
    of = {example.key: group for example, group in zip(examples, groups, strict=True)}
    keys = [turn.key for turn in in_turns(examples, of, seed)]
    shuffled = order.sample(examples, len(examples))
    assert [turn.key for turn in in_turns(shuffled, of, seed)] == keys
    assert sorted(keys) == sorted(of)
    counts = dict.fromkeys(of.values(), 0)
    turns = []
    for key in keys:
        turns.append(counts[of[key]])
        counts[of[key]] += 1
    assert turns == sorted(turns)


# Races


@given(
    data=st.data(), others=st.integers(1, 6), count=st.integers(8, 40), groups=st.integers(2, 8), seed=st.integers(0, 9)
)
def test_a_candidate_that_is_better_on_every_example_always_wins(data, others, count, groups, seed):
    chance = data.draw(st.randoms(use_true_random=False))
    scores = {f"p{number}": [chance.choice([0.0, 0.5]) for _ in range(count)] for number in range(others)}
    best = data.draw(st.integers(0, others))
    names = [*scores]
    names.insert(best, "best")
    scores["best"] = [1.0] * count
    race = race_of(Table(scores, groups), names, seed)
    assert best in race.run(range(len(names)))
    assert rank(race.candidates())[0] == best
    assert race.candidates()[best] == Candidate("best", 1.0, None, 1.0)


@given(data=st.data(), count=st.integers(1, 40), groups=st.integers(1, 8), seed=st.integers(0, 9))
def test_every_candidate_is_tried_on_a_beginning_of_one_order_and_on_nothing_twice(data, count, groups, seed):
    """So that of two the shorter one's examples are among the longer one's; whoever stays is tried on all."""
    chance = data.draw(st.randoms(use_true_random=False))
    scores = {f"p{number}": [chance.choice([0.0, 0.5, 1.0]) for _ in range(count)] for number in range(5)}
    table = Table(scores, groups)
    race = race_of(table, [*scores], seed)
    left = race.run(range(5))
    order = [turn.key for turn in in_turns(table.compare, table.groups, seed)]
    assert len(set(table.calls)) == len(table.calls)
    for index, candidate in enumerate(race.candidates()):
        tried = {key for program, key in table.calls if program == candidate.program}
        assert tried == set(order[: len(tried)])
        assert len(tried) in rounds(count)
        assert candidate.share == len(tried) / count
        assert (candidate.share == 1) >= (index in left)
        assert candidate.score == pytest.approx(sum(scores[candidate.program][int(key)] for key in tried) / len(tried))
    assert left  # not everybody is dropped
    assert race.candidates()[rank(race.candidates())[0]].share == 1


def test_who_was_dropped_for_another_is_raced_again_without_it():
    """The winner breaks a guard: the second, who was dropped after four examples, is tried on the rest."""
    scores = {"start": [0.0] * 32, "second": [0.5] * 32, "winner": [1.0] * 32}
    table = Table(scores, 4)
    race = race_of(table, [*scores])
    assert race.run(range(3)) == [2]
    assert [candidate.share for candidate in race.candidates()] == [0.125, 0.125, 1.0]
    assert race.run([0, 1]) == [1]
    assert [candidate.share for candidate in race.candidates()] == [0.125, 1.0, 1.0]
    assert rank(race.candidates())[:2] == [2, 1]
    assert len(table.calls) == 4 + 32 + 32
    equal = race_of(Table(dict.fromkeys(scores, [0.5] * 20), 5), [*scores])
    assert equal.run(range(3)) == rank(equal.candidates()) == [0, 1, 2]


def test_who_does_more_harm_drops_nobody_and_harm_is_looked_at_in_step():
    scores = {"kind": [0.0] * 32, "pushy": [1.0] * 32}
    harms = {"kind": [0.0] * 8, "pushy": [1.0] * 8}
    table = Table(scores, 4, harms)
    race = race_of(table, [*scores])
    assert race.run(range(2)) == [0, 1]
    assert [(candidate.score, candidate.harm, candidate.share) for candidate in race.candidates()] == [
        (0, 0, 1),
        (1, 1, 1),
    ]
    harmless = Table(scores, 4, {"kind": [0.0] * 8, "pushy": [0.0] * 8})
    race = race_of(harmless, [*scores])
    assert race.run(range(2)) == [1]
    # Dropped after 4 of 32 examples, with 1 of 8 that are watched.
    assert len([key for program, key in harmless.calls if program == "kind"]) == 4 + 1
