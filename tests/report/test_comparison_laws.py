"""What holds of every comparison, whatever is compared."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from comparing import GRADES, outcome, printed, summary
from hypothesis import given, settings
from hypothesis import strategies as st
from proact_run import PHASES

from dspy_proact.report import Comparison, Outcome, Summary, compare, comparison_document


@st.composite
def pairs_of_summaries(draw: st.DrawFn) -> tuple[Summary, Summary]:
    """Two runs of the same triggers in up to nine scenarios, with one or two epochs each, some of them unscored."""
    count = draw(st.integers(1, 9))
    asked = [
        (f"k{number}-{stratum}", f"s{number}", stratum)
        for number in range(count)
        for stratum in draw(st.lists(st.sampled_from(PHASES), min_size=1, max_size=3, unique=True))
    ]
    return summary(*draw(_outcomes(asked))), summary(*draw(_outcomes(asked)), path="other")


@st.composite
def _outcomes(draw: st.DrawFn, asked: list[tuple[str, str, str]]) -> list[Outcome]:
    grades = st.sampled_from([*GRADES, *GRADES, None])
    return [
        outcome(key, draw(grades), group=group, stratum=stratum, epoch=epoch)
        for epoch in range(1, draw(st.integers(1, 2)) + 1)
        for key, group, stratum in asked
    ]


def near(value: Any) -> Any:
    """A document whose numbers may differ by rounding."""
    if isinstance(value, dict):
        return {key: near(item) for key, item in value.items()}
    if isinstance(value, list):
        return [near(item) for item in value]
    return pytest.approx(value, abs=1e-9) if isinstance(value, float) else value


@settings(max_examples=12)
@given(both=pairs_of_summaries())
def test_what_is_compared_the_other_way_round_differs_in_sign_only(both: tuple[Summary, Summary]):
    there, back = compare(*both), compare(*reversed(both))
    assert (there.shared, there.otherwise, len(there.pairs)) == (back.shared, back.otherwise, len(back.pairs))
    names = [*PHASES, "micro", "macro"]
    for name, row, mirrored in zip(names, _rows(there), _rows(back), strict=True):
        for one, other in ((row.weighted, mirrored.weighted), (row.passes, mirrored.passes)):
            negated = [None if bound is None else -bound for bound in (other.difference.high, other.difference.low)]
            assert [one.difference.low, one.difference.high] == near(negated), name
            if one.difference.value is not None:
                assert one.difference.value == pytest.approx(-other.difference.value, abs=1e-9)
            assert one.p == other.p, name
            assert (one.reason, one.detectable) == (other.reason, near(other.detectable))
        assert row.scores == tuple(reversed(mirrored.scores))
        assert (row.discordant.only_a, row.discordant.only_b) == (
            mirrored.discordant.only_b,
            mirrored.discordant.only_a,
        )
    assert there.adjusted == back.adjusted
    assert all(there.flips[a][b] == back.flips[b][a] for a in GRADES for b in GRADES)
    assert there.farthest == [(name, pairs, -total) for name, pairs, total in back.farthest]


def _rows(comparison: Comparison) -> list[Any]:
    return [*comparison.rows.values(), comparison.micro, comparison.macro]


@settings(max_examples=12)
@given(both=pairs_of_summaries(), data=st.data())
def test_the_order_of_the_triggers_does_not_matter(both: tuple[Summary, Summary], data: st.DataObject):
    def shuffled(side: Summary) -> Summary:
        place = {key: data.draw(st.integers()) for key in sorted({outcome.key for outcome in side.outcomes})}
        ordered = sorted(side.outcomes, key=lambda outcome: (outcome.epoch, place[outcome.key], outcome.key))
        return replace(side, outcomes=tuple(ordered))

    mixed = compare(*map(shuffled, both))
    assert comparison_document(mixed) == near(comparison_document(compare(*both)))


@settings(max_examples=12)
@given(both=pairs_of_summaries())
def test_a_run_compared_with_itself_does_not_differ(both: tuple[Summary, Summary]):
    same = compare(both[0], both[0])
    for row in _rows(same):
        for paired in (row.weighted, row.passes):
            assert paired.difference.value in (0, None)
            assert paired.p in (1, None)
            assert paired.difference.value is not None or "no pairs" in (paired.reason or "")
    assert same.changed == []
    assert same.farthest == []
    assert sum(same.flips[grade][grade] for grade in GRADES) == len(same.pairs)
    assert same.micro.weighted.p == 1 or same.micro.weighted.groups < 2


@settings(max_examples=12)
@given(both=pairs_of_summaries())
def test_every_comparison_is_json_and_fits_a_terminal(both: tuple[Summary, Summary]):
    comparison = compare(*both)
    document = json.loads(json.dumps(comparison_document(comparison), allow_nan=False))
    nothing = [row for row in _null_without_reason(document["phases"]) if row]
    assert not nothing
    assert max(map(len, printed(comparison).splitlines())) <= 80


def _null_without_reason(phases: dict[str, Any]) -> Iterable[str]:
    """Phases in which a difference or a p is null and nothing says why."""
    for name, row in phases.items():
        for measure in ("weighted", "pass_rate"):
            if row[measure]["value"] is None and not row[measure].get("reason"):
                yield name
            if row[measure]["p"] is None and not row[measure].get("p_reason"):
                yield name
