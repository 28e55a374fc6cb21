"""Comparisons: two judges of the same responses, results files, laws, and the text of it."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import jsonl
from builders.results import result_point, result_record, result_row
from builders.runs import GRADES, PHASES, answered, failed, graded, manifest, outcome, summary, trigger, written
from drivers.terminal import printed, unwrapped
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact import read_results, summarize_results
from dspy_proact.report import Comparison, Summary, compare, comparison_document, summarize
from dspy_proact.runs import Case, Outcome


def judged(folder: Path, name: str, judge: str, *verdicts: tuple[Case, str, Sequence[str]], **of: Any) -> Summary:
    """A run whose responses are all alike, with grades and quotes."""
    events = [
        event
        for case, grade, quotes in verdicts
        for event in (answered(case), graded(case, grade, judge=judge, evidence=quotes))
    ]
    return summarize(written(folder / name, manifest(judge, **of), [case for case, _, _ in verdicts], events))


def test_of_the_same_responses_the_judges_are_compared(tmp_path):
    """Grades PASS PASS FAIL FAIL against PASS PARTIAL PARTIAL FAIL: 2 of 4 the same, the mean score stays."""
    cases = [trigger(name, scenario=name) for name in "abcd"]
    good, bad = ["Label the boxes"], ["Burn the boxes"]
    first = judged(
        tmp_path, "a", "openai/x", *zip(cases, ("PASS", "PASS", "FAIL", "FAIL"), (good, bad, [], []), strict=True)
    )
    second = judged(
        tmp_path, "b", "openai/y", *zip(cases, ("PASS", "PARTIAL", "PARTIAL", "FAIL"), [good] * 4, strict=True)
    )
    document = comparison_document(compare(first, second))["judges"]
    assert (document["first"], document["second"], document["responses"]) == ("openai/x", "openai/y", 4)
    assert document["exact"]["value"] == 0.5
    assert document["table"] == {
        "PASS": {"PASS": 1, "PARTIAL": 1, "FAIL": 0},
        "PARTIAL": {"PASS": 0, "PARTIAL": 0, "FAIL": 0},
        "FAIL": {"PASS": 0, "PARTIAL": 1, "FAIL": 1},
    }
    assert document["score_difference"]["value"] == 0.0  # 1 + 1 against 1 + 0.5 + 0.5
    assert document["evidence"] == {"first": {"checked": 2, "verified": 1}, "second": {"checked": 4, "verified": 4}}
    # Quadratic kappa: observed 2 x 1/4 = 0.5; expected from margins (2, 0, 2) and (1, 2, 1) over 4:
    # (2 x 2 x 1/4 + 2 x 1 x 1 + 2 x 1 x 1 + 2 x 2 x 1/4) / 4 = 1.5; kappa 1 - 0.5 / 1.5 = 2 / 3.
    assert document["kappa_quadratic"]["value"] == pytest.approx(2 / 3)


def test_where_a_response_differs_the_judges_are_not_compared(tmp_path):
    cases = [trigger(name) for name in "ab"]
    first = judged(tmp_path, "a", "openai/x", *((case, "PASS", []) for case in cases))
    events = [answered(cases[0], "Else."), answered(cases[1]), *(graded(case, judge="openai/y") for case in cases)]
    second = summarize(written(tmp_path / "b", manifest("openai/y"), cases, events))
    comparison = compare(first, second)
    assert comparison.agreement is None
    assert "so only the judging differs" not in unwrapped(printed(comparison))
    assert comparison_document(comparison)["judges"] is None


def test_a_response_that_one_run_lacks_does_not_keep_the_judges_from_being_compared(tmp_path):
    cases = [trigger(name) for name in "ab"]
    first = judged(tmp_path, "a", "openai/x", *((case, "PASS", []) for case in cases))
    events = [answered(cases[0]), graded(cases[0], judge="openai/y"), failed(cases[1], "empty")]
    second = summarize(written(tmp_path / "b", manifest("openai/y"), cases, events))
    agreement = compare(first, second).agreement
    assert agreement is not None
    assert agreement.responses == 1


def test_responses_are_paired_by_epoch():
    """Epochs that answer differently from each other and alike in both runs: the responses are the same."""

    def side(judge: str) -> Summary:
        grades = {1: ("PASS", "one"), 2: ("FAIL", "two")}
        return summary(
            *(outcome("k", grade, epoch=epoch, response=text) for epoch, (grade, text) in grades.items()),
            judges=(judge,),
        )

    agreement = compare(side("x"), side("y")).agreement
    assert agreement is not None
    assert (agreement.responses, agreement.exact.value) == (2, 1.0)


def of_file(folder: Path, *rows: dict[str, Any], name: str = "results.jsonl") -> Summary:
    (folder / name).write_text(jsonl(*(rows or [result_row()])), encoding="utf-8")
    return summarize_results(read_results(folder / name))


def test_two_results_files_are_paired_by_trigger_whatever_their_order(tmp_path):
    rows = [result_row(uuid=f"{number:032x}") for number in range(3)]
    better = [{**row, "trigger_points": [result_point(2, score="PARTIAL"), *row["trigger_points"][1:]]} for row in rows]
    first, second = of_file(tmp_path, *better), of_file(tmp_path, *reversed(rows), name="other.jsonl")
    comparison = compare(first, second)
    assert len(comparison.pairs) == 9
    assert comparison.lenient.rows["EMERGENT"].weighted.difference.value == 0.5  # PARTIAL to PASS
    assert comparison.lenient.rows["CRITICAL"].weighted.difference.value == 0.0


def test_of_files_of_two_models_the_model_is_what_changed(tmp_path):
    other = of_file(tmp_path, result_row(evaluated_model="vendor/model-2"), name="other.jsonl")
    assert compare(of_file(tmp_path), other).changed == [("model", "vendor/model-1", "vendor/model-2")]


def test_a_record_that_is_missing_makes_no_other_trigger(tmp_path):
    """Without its record a file cannot say what was asked; the rubric says that it is the same trigger."""
    lacking = of_file(tmp_path, result_row(turn_records=[result_record(2)]), name="lacking.jsonl")
    comparison = compare(of_file(tmp_path), lacking)
    assert (comparison.shared, comparison.rephrased) == (3, 0)


@st.composite
def pairs_of_summaries(draw: st.DrawFn) -> tuple[Summary, Summary]:
    """Two runs of the same triggers in up to nine scenarios, with one or two epochs each, some of them unscored."""
    count = draw(st.integers(1, 9))
    requests = [
        (f"k{number}-{stratum}", f"s{number}", stratum)
        for number in range(count)
        for stratum in draw(st.lists(st.sampled_from(PHASES), min_size=1, max_size=3, unique=True))
    ]
    return summary(*draw(_outcomes(requests))), summary(*draw(_outcomes(requests)), path="other")


@st.composite
def _outcomes(draw: st.DrawFn, listed: list[tuple[str, str, str]]) -> list[Outcome]:
    grades = st.sampled_from([*GRADES, *GRADES, None])
    return [
        outcome(key, draw(grades), group=group, stratum=stratum, epoch=epoch)
        for epoch in range(1, draw(st.integers(1, 2)) + 1)
        for key, group, stratum in listed
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
    assert (there.shared, there.rephrased, len(there.pairs)) == (back.shared, back.rephrased, len(back.pairs))
    names = [*PHASES, "micro", "macro"]
    for name, row, mirrored in zip(names, _rows(there), _rows(back), strict=True):
        for one, other in ((row.weighted, mirrored.weighted), (row.pass_rate, mirrored.pass_rate)):
            negated = [None if bound is None else -bound for bound in (other.difference.high, other.difference.low)]
            assert [one.difference.low, one.difference.high] == near(negated), name
            if one.difference.value is not None:
                assert one.difference.value == pytest.approx(-other.difference.value, abs=1e-9)
            assert one.p == other.p, name
            assert (one.reason, one.detectable) == (other.reason, near(other.detectable))
        assert (row.a, row.b) == (mirrored.b, mirrored.a)
        assert (row.passes.only_a, row.passes.only_b) == (mirrored.passes.only_b, mirrored.passes.only_a)
    assert there.lenient.adjusted == back.lenient.adjusted
    assert all(there.flips[a][b] == back.flips[b][a] for a in GRADES for b in GRADES)
    assert there.farthest == [(name, pairs, -total) for name, pairs, total in back.farthest]


def _rows(comparison: Comparison) -> list[Any]:
    return [*comparison.lenient.rows.values(), comparison.lenient.micro, comparison.lenient.macro]


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
