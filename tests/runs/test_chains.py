"""Chains: one case after another, each given the answers before it, whatever happens to them."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from builders.riddles import Guess, Riddles, case, cases, failure, guess, outcomes, raising, run
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.runs import Case, Failure, select_cases


def chained(keys: str, chain: str = "saga", group: str = "cave") -> list[Case]:
    return [replace(case(key, group), chain=chain) for key in keys]


def words(keys: str) -> list[str]:
    return [f"guess at {key}" for key in keys]


def test_each_case_is_given_the_answers_before_it_in_its_chain_and_no_others(tmp_path: Path):
    async def answer(case: Case) -> Guess:
        for _ in range(8):  # cases begin one after another: until all that may have begun
            await asyncio.sleep(0)
        return await guess(case)

    benchmark = Riddles([*chained("abc"), *cases("x"), *chained("uv", "ode")], answer)
    run(benchmark, tmp_path, epochs=2, concurrency=8)
    assert {key: sorted(inputs) for key, inputs in benchmark.earlier.items()} == {
        "a": [],
        "b": words("a"),
        "c": words("ab"),
        "x": [],
        "u": [],
        "v": words("u"),
    }
    assert Counter(benchmark.begun) == {(stage, key): 2 for stage in ("response", "verdict") for key in "abcxuv"}
    assert benchmark.most_in_flight == 6  # two chains and a case that stands alone, in two epochs


def test_a_chain_takes_turns_with_everything_else(tmp_path: Path):
    benchmark = Riddles([*chained("abc"), *chained("uv", "ode"), *cases("x")])
    run(benchmark, tmp_path, concurrency=1)
    assert [key for stage, key in benchmark.begun if stage == "response"] == list("auxbvc")


def test_a_resumed_chain_is_given_what_is_on_disk(tmp_path: Path):
    run(Riddles(chained("ab")), tmp_path)
    wider = Riddles(chained("abcd"))
    assert run(wider, tmp_path).stages == 4
    assert wider.earlier == {"c": words("ab"), "d": words("abc")}


def test_a_chain_goes_on_without_an_answer_that_could_not_be_used(tmp_path: Path):
    benchmark = Riddles(chained("abc"), answer=raising(failure("content"), "b"))
    run(benchmark, tmp_path)
    assert benchmark.earlier["c"] == ["guess at a", None]
    again = Riddles(chained("abcd"))
    run(again, tmp_path)
    assert again.earlier == {"d": ["guess at a", None, "guess at c"]}


def test_what_follows_a_failure_of_the_provider_is_not_asked_and_is_tried_again_with_it(tmp_path: Path):
    broken = Riddles([*chained("abcd"), *chained("u", "ode")], answer=raising(failure("provider"), "b"))
    runner = run(broken, tmp_path, concurrency=1)
    assert [key for stage, key in broken.begun if stage == "response"] == ["a", "u", "b"]
    why = "an answer before it in its chain failed; both are tried again together"
    assert outcomes(tmp_path)["d", 1, "response"] == Failure(kind="provider", reason="earlier", detail=why)
    assert runner.ledger.unscored(broken.case_set.cases, 1) == 3
    mended = Riddles(broken.case_set.cases)
    run(mended, tmp_path)
    assert mended.earlier == {"b": words("a"), "c": words("ab"), "d": words("abc")}


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4), alone=st.integers(0, 5), limit=st.integers(0, 30))
def test_a_limit_takes_no_case_without_those_before_it(sizes: list[int], alone: int, limit: int):
    chains = [chained("abcdef"[:size], str(number), str(number % 2)) for number, size in enumerate(sizes)]
    every = [replace(item, key=f"{item.chain}/{item.key}") for chain in chains for item in chain]
    taken = select_cases([*every, *cases(*map(str, range(alone)))], limit)
    assert len(taken) == min(limit, len(every) + alone)
    for chain in chains:
        keys = [item.key[-1] for item in taken if item.chain == chain[0].chain]
        assert keys == [item.key for item in chain][: len(keys)]


@pytest.mark.parametrize("concurrency", [1, 2, 9])
def test_a_failed_verdict_breaks_no_chain(tmp_path: Path, concurrency: int):
    benchmark = Riddles(chained("abc"), grade=raising(failure("provider"), "a"))
    run(benchmark, tmp_path, concurrency=concurrency)
    assert benchmark.earlier["c"] == words("ab")
