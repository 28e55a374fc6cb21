"""Shards: parts of the cases by a hash, whatever their order and whatever is asked for beside."""

import hashlib

import pytest
from builders.riddles import case, manifest, written
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dspy_proact.errors import RunError, UsageError
from dspy_proact.runs import Case, Shard, Shards, shard_of
from dspy_proact.runs.shard import joined

KEYS = st.lists(st.text(min_size=1), unique=True)


@given(KEYS, st.integers(1, 50))
def test_each_key_is_in_one_shard_whatever_the_other_keys_are(keys: list[str], count: int):
    shards = {number: {key for key in keys if shard_of(key, count) == number} for number in range(1, count + 1)}
    assert sum(map(len, shards.values())) == len(keys)
    assert set().union(*shards.values()) == {*keys}


def test_the_shard_of_a_key_is_its_sha256_modulo_the_number_of_shards():
    """A promise: shards of one run that two versions make must fit together."""
    assert [shard_of(key, 8) for key in ("a", "b", "trip-1__t2")] == [
        1 + int(hashlib.sha256(key.encode()).hexdigest(), 16) % 8 for key in ("a", "b", "trip-1__t2")
    ]
    assert shard_of("a", 8) == 4  # the digest of "a" ends with ...bb, and 0xb modulo 8 is 3


@pytest.mark.parametrize(
    "text", ["", "3", "0/3", "4/3", "1/0", "-1/3", "1/3/3", "a/b", "1.0/3", "1/10001", "²/3", "1 /3"]
)
def test_what_is_no_shard_is_refused_with_the_form(text: str):
    with pytest.raises(UsageError, match=r"`scope.shard=.*`: is not I/N, a shard of N, such as 1/8 to 8/8"):
        Shard.of(text)


def test_a_shard_is_read_as_it_is_written_and_cannot_be_made_otherwise():
    assert (Shard.of(" 3/8 "), str(Shard.of("3/8"))) == (Shard(number=3, count=8), "3/8")
    with pytest.raises(ValidationError, match="there is no shard 9 of 8"):
        Shard(number=9, count=8)


def shards(*numbers: int, count: int = 8, cases: tuple[int, ...] = (4, 4, 4, 0, 4, 4, 4, 4)) -> Shards:
    return Shards(count=count, numbers=numbers, cases=cases)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((3,), "shard 3/8"),
        ((1, 2, 3, 5, 7, 8), "shards 1-3, 5, 7-8/8"),
        ((), "shards none/8"),
        ((1, 3), "shards 1, 3/8"),
    ],
)
def test_shards_are_named_by_their_numbers(numbers: tuple[int, ...], text: str):
    assert str(shards(*numbers)) == text


def test_shards_together_are_the_run_where_none_is_left_and_an_empty_one_is_not_missing():
    assert joined([shards(3), shards(1), shards(3)]) == shards(1, 3)
    assert shards(1, 3).missing == (2, 5, 6, 7, 8)  # 4 has no case
    assert joined([shards(number) for number in range(1, 9)]) is None
    assert joined([shards(1), None]) is None
    assert joined([]) is None
    with pytest.raises(UsageError, match="shards of 2 and of 8 do not fit together"):
        joined([shards(1), shards(1, count=2, cases=(3, 5))])


FEW, SOME, MORE = (
    Shards(count=2, numbers=(1,), cases=cases, limit=limit)
    for cases, limit in (((1, 2), 3), ((2, 4), 6), ((9, 9), None))
)
ONE, OTHER = (Shards(count=2, numbers=(1,), cases=(2, 2), strata=(name,)) for name in ("RHYME", "NUMBER"))


@pytest.mark.parametrize(
    ("first", "second", "cases"),
    [
        (FEW, SOME, (2, 4)),
        (SOME, MORE, (9, 9)),
        (ONE, MORE, (9, 9)),
        (ONE, OTHER, ()),  # 4 and 4, or 2 and 2, were one of them a part of the other
        (FEW, ONE, ()),
        (MORE, FEW.model_copy(update={"controls": True}), ()),
        (SOME, SOME.model_copy(update={"cases": (1, 5)}), (2, 5)),  # of answers that exist, of which more came
        (SOME, SOME.model_copy(update={"cases": ()}), ()),
    ],
)
def test_the_cases_of_shards_are_those_of_a_command_that_asked_for_all_and_else_not_known(
    first: Shards, second: Shards, cases: tuple[int, ...]
):
    second = second.model_copy(update={"count": 2})
    for pair in ([first, second], [second, first]):
        together = joined(pair)
        assert together is not None
        assert together.cases == cases
    assert joined([together, second]) == together  # a run that goes on knows no more


@pytest.mark.parametrize("numbers", [(2, 1), (1, 1), (0,), (9,)])
def test_a_record_of_shards_that_cannot_be_is_refused(numbers: tuple[int, ...]):
    with pytest.raises(ValidationError, match="shards are numbered from 1 to 8"):
        shards(*numbers)


def test_a_run_is_widened_by_a_further_shard_and_by_all_and_never_narrowed(tmp_path):
    def kept(now: Shards | None) -> Shards | None:
        return written(tmp_path / "run", manifest(shards=now)).manifest().shards

    assert [kept(now) for now in (shards(3), shards(1), shards(3))] == [shards(3), shards(1, 3), shards(1, 3)]
    with pytest.raises(RunError, match=r"shards of 2 and of 8 do not fit together: .*name another folder with `out`"):
        kept(shards(1, count=2, cases=(3, 5)))
    assert kept(None) is None
    assert kept(shards(2)) is None
    assert "shards" not in (tmp_path / "run" / "manifest.json").read_text("utf-8")


def test_the_chain_of_a_case_decides_where_it_is():
    chained = [Case(key, "cave", "RHYME", case(key).view, chain="walk") for key in "abcdefgh"]
    assert {shard_of(one.chain or one.key, 8) for one in chained} == {shard_of("walk", 8)}
    assert len({shard_of(key, 8) for key in "abcdefgh"}) > 1
