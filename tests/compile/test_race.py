"""The race: on what candidates are compared, who is dropped, who wins, and what is said of each."""

import random
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known_scores import KnownAnswer, KnownScores

from dspy_proact.compile.guards import chosen
from dspy_proact.compile.race import Race, in_turns, rounds
from dspy_proact.compile.target import TOKENS


def race_of(training: Any, seed: int = 0) -> Race:
    """All programs of a training set, raced."""
    race = Race(training, seed)
    race.run([race.enter(program) for program in list(training.programs.values())[1:]])
    return race


def winner(training: Any) -> str:
    choice = chosen(race_of(training), training)
    return choice.tried[choice.index].program.name


class Pair(dspy.Module):
    """A program that answers items of odd and of even numbers by a predictor each."""

    def __init__(self, odd: str, even: str):
        super().__init__()
        self.odd, self.even = (dspy.Predict(dspy.Signature("item -> answer", text)) for text in (odd, even))
        self.name = f"{odd} {even}"


class Pairs(KnownScores):
    """Programs whose score at an item is that of the instruction of the predictor which is asked there."""

    def __init__(self, *texts: tuple[str, str]):
        super().__init__({f"{odd} {even}": [0.0] * 24 for odd, even in texts})
        self.programs = {f"{odd} {even}": Pair(odd, even) for odd, even in texts}
        self.student = self.programs[f"{texts[0][0]} {texts[0][1]}"]

    def answer(self, program: Any, example: dspy.Example) -> Any:
        name = ("even", "odd")[int(example.key) % 2]
        score = {"good": 1.0, "plain": 0.5, "bad": 0.0}[getattr(program, name).signature.instructions]
        answer = KnownAnswer(example, score, None)
        return SimpleNamespace(**vars(answer), trace=[SimpleNamespace(predictor=name)])


# The order


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(1, [1]), (12, [12]), (13, [12, 13]), (24, [12, 24]), (48, [12, 24, 48]), (50, [12, 24, 48, 50])],
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


# Who is dropped


def test_the_lower_half_is_dropped_at_twelve_items_and_at_twenty_four():
    """Of 19 candidates 10 stay, then 5; these and the start are tried on all 48."""
    training = KnownScores({"start": [0.5] * 48} | {f"p{worth:02d}": [worth / 20] * 48 for worth in range(19)})
    shares = [candidate.share for candidate in race_of(training).candidates()]
    assert shares == [1.0] + [0.25] * 9 + [0.5] * 5 + [1.0] * 5
    assert len(training.calls) == len(set(training.calls)) == 48 + 9 * 12 + 5 * 24 + 5 * 48


def test_of_three_nobody_is_dropped():
    training = KnownScores({"start": [0.0] * 48, "a": [0.1] * 48, "b": [0.2] * 48, "c": [0.3] * 48})
    assert [candidate.share for candidate in race_of(training).candidates()] == [1.0] * 4


@given(
    data=st.data(), others=st.integers(1, 9), count=st.integers(8, 40), groups=st.integers(2, 8), seed=st.integers(0, 9)
)
def test_a_candidate_that_is_better_on_every_item_always_wins(data, others, count, groups, seed):
    chance = data.draw(st.randoms(use_true_random=False))
    names = [f"p{number}" for number in range(others)]
    names.insert(data.draw(st.integers(1, others)), "best")
    scores = {name: [1.0 if name == "best" else chance.choice([0.0, 0.5]) for _ in range(count)] for name in names}
    race = race_of(KnownScores(scores, groups), seed)
    assert race.leader == names.index("best")
    assert race.candidates()[race.leader].score == pytest.approx(1)


def test_who_was_dropped_for_another_is_raced_again_without_it():
    """The best five break a guard: the best of those that were dropped for them is tried on the rest, and wins."""
    scores = {"start": [0.0] * 48} | {f"p{worth:02d}": [worth / 20] * 48 for worth in range(1, 11)}
    broken = {f"p{worth:02d}": ("offers",) for worth in range(6, 11)}
    training: Any = KnownScores(scores, broken=lambda name: broken.get(name, ()))
    race = race_of(training)
    assert race.candidates()[5].share < 1
    choice = chosen(race, training)
    assert choice.tried[choice.index].program.name == "p05"
    assert {choice.tried[index].program.name: names for index, names in choice.broken.items() if names} == broken
    assert len(training.calls) == len(set(training.calls))


# On what


def test_an_item_in_the_demos_of_a_candidate_counts_for_neither_side():
    """Three are right at 0 to 3 alone, and one at the items of its demos and nowhere else."""
    scores = {"start": [1.0] * 3 + [0.0] * 9, "shown": [0.0] * 4 + [1.0] * 4 + [0.0] * 4}
    assert winner(KnownScores(scores)) == "shown"
    training = KnownScores(scores, shown={"shown": {"004", "005", "006", "007"}})
    tried = race_of(training).candidates()
    assert {key for name, key in training.calls if name == "shown"} == {f"{n:03d}" for n in (0, 1, 2, 3, 8, 9, 10, 11)}
    # Of the start the mean of all is 3/12; on the eight items of both it is ahead by 3/8.
    assert [(candidate.score, candidate.share) for candidate in tried] == [(0.25, 1), (0, 1)]
    assert winner(training) == "start"


def test_a_candidate_whose_demos_are_all_items_is_never_chosen():
    assert winner(KnownScores({"start": [0.0] * 2, "all": [1.0] * 2}, shown={"all": {"000", "001"}})) == "start"


def test_a_dropped_candidate_has_the_leaders_mean_and_the_difference_on_the_items_of_both():
    """However high its own mean on the twelve items that it was tried on."""
    example = KnownScores({"start": [0.0] * 48})
    easy = {item.key for item in in_turns(example.examples, example.groups, 0)[:12]}

    def on(first: float, then: float) -> list[float]:
        return [first if item.key in easy else then for item in example.examples]

    scores = {"start": on(0.8, 0.2), **{f"p{n}": on(0.9, 0.3) for n in range(3)}, "q": on(0.7, 0.1)}
    start, *leaders, dropped = race_of(KnownScores(scores)).candidates()
    # The leaders' mean is 12/48 of .9 and the rest of .3, .45. On the first twelve the last one is .2 below it.
    assert [start.score, leaders[0].score] == [pytest.approx(0.35), pytest.approx(0.45)]
    assert (dropped.score, dropped.share) == (pytest.approx(0.25), 0.25)


def test_harm_is_measured_in_step_and_compared_likewise():
    scores = {"kind": [0.5] * 48, **dict.fromkeys("abc", [1.0] * 48), "pushy": [0.0] * 48}
    harms = {"kind": [0.25] * 8, **dict.fromkeys("abc", [0.0] * 8), "pushy": [1.0] * 8}
    training = KnownScores(scores, harms=harms)
    assert [candidate.harm for candidate in race_of(training).candidates()] == [0.25, 0, 0, 0, 1]
    # Dropped after 12 of 48 items, with 2 of 8 that are watched.
    assert len([key for name, key in training.calls if name == "pushy"]) == 12 + 2


# Who wins


def test_a_candidate_that_is_only_tied_with_the_start_never_replaces_it():
    """However few its tokens."""
    chance = random.Random(0)
    for _ in range(200):
        start = [chance.choice([0.0, 0.5, 1.0]) for _ in range(48)]
        scores = {"start": start, "tied": chance.sample(start, 48)}
        assert winner(KnownScores(scores, tokens={"start": 9, "tied": 1})) == "start"


def test_of_better_ones_that_tie_the_one_with_fewer_tokens_wins():
    scores = {"start": [0.0] * 12, "first": [1.0, 0.0] * 6, "second": [0.0, 1.0] * 6}
    assert winner(KnownScores(scores, tokens={"start": 100, "first": 120, "second": 110})) == "second"
    assert winner(KnownScores(scores, tokens={"start": 100, "first": 110, "second": 120})) == "first"
    assert winner(KnownScores(scores)) == "first"


@pytest.mark.parametrize(
    ("tokens", "by_default", "wins"), [(150, True, "best"), (151, True, "next"), (151, False, "best")]
)
def test_a_candidate_that_writes_more_than_half_more_is_dropped_by_default(tokens, by_default, wins):
    scores = {"start": [0.0] * 12, "best": [1.0] * 12, "next": [0.5] * 12}
    counts = {"start": 100, "best": tokens, "next": 100}
    training: Any = KnownScores(scores, tokens=counts, guarded_by_default=by_default)
    race = race_of(training)
    choice = chosen(race, training)
    assert choice.tried[choice.index].program.name == choice.tried[race.leader].program.name == wins
    assert choice.broken.get(1) == ((TOKENS,) if wins == "next" else ())
    assert training.guarded == [wins]  # what guards ask of other items, they ask of nobody else


# The best predictors joined


def test_the_best_predictors_of_candidates_that_gain_and_lose_alike_are_joined():
    training = Pairs(("plain", "plain"), ("good", "bad"), ("bad", "good"))
    race = race_of(training)
    assert race.leader == 0
    joined: Any = race.joined()
    assert [predictor.signature.instructions for predictor in joined.predictors()] == ["good", "good"]
    race.run([race.enter(joined)])
    assert race.leader == 3
    assert race.joined() is None


def test_of_one_candidate_nothing_is_joined_with_the_student():
    assert race_of(Pairs(("plain", "plain"), ("good", "bad"))).joined() is None


def test_where_one_candidate_has_the_best_of_every_predictor_nothing_is_joined():
    assert race_of(Pairs(("plain", "plain"), ("good", "plain"), ("bad", "plain"))).joined() is None
