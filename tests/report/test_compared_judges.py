"""Two judges of the same responses: how far they agree, and when they are not compared."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from comparing import outcome, summary, told
from proact_run import JUDGE, answered, failed, graded, manifest, trigger, written

from dspy_proact.report import Summary, compare, comparison_document, summarize
from dspy_proact.runs import Case


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
    text = told(compare(first, second))
    assert "flips from the first to the second: PASS -> PARTIAL 1, FAIL -> PARTIAL 1." in text
    assert "verdicts with a quote that stands in the response: 1 of 2 and 4 of 4." in text


@pytest.mark.parametrize(("grades", "shift"), [(("FAIL", "PARTIAL"), 0.5), (("PASS", "FAIL"), -1.0)])
def test_a_second_judge_that_is_more_lenient_is_above_zero(tmp_path, grades, shift):
    case = trigger()
    both = [judged(tmp_path, f"r{n}", f"openai/{n}", (case, grade, [])) for n, grade in enumerate(grades)]
    assert comparison_document(compare(*both))["judges"]["score_difference"]["value"] == shift


def test_one_judge_at_two_times_has_two_names(tmp_path):
    case = trigger()
    first, second = (judged(tmp_path, name, JUDGE, (case, "PASS", [])) for name in "ab")
    assert comparison_document(compare(first, second))["judges"]["first"] == f"{JUDGE} (a)"


def test_where_a_response_differs_the_judges_are_not_compared(tmp_path):
    cases = [trigger(name) for name in "ab"]
    first = judged(tmp_path, "a", "openai/x", *((case, "PASS", []) for case in cases))
    events = [answered(cases[0], "Else."), answered(cases[1]), *(graded(case, judge="openai/y") for case in cases)]
    second = summarize(written(tmp_path / "b", manifest("openai/y"), cases, events))
    comparison = compare(first, second)
    assert comparison.agreement is None
    assert "so what differs is the judging" not in told(comparison)
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


def test_judges_that_agree_on_everything_have_no_kappa_with_its_reason(tmp_path):
    case = trigger()
    first, second = (judged(tmp_path, name, f"openai/{name}", (case, "PASS", [])) for name in "ab")
    document = comparison_document(compare(first, second))["judges"]
    assert document["kappa_quadratic"] == {"value": None, "low": None, "high": None, "reason": "all gradings equal"}
    assert document["exact"]["value"] == 1.0
