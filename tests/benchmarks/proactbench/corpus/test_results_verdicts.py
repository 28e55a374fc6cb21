"""What a verdict of a results file says: its grade, or why it is none, and its quotes."""

from pathlib import Path
from typing import Any

import pytest
from results_rows import only, result_point, verdict

from dspy_proact.benchmarks.proactbench.types import Grade

EXACT = [(status, label) for status in ("EVALUATED",) for label in ("PASS", "PARTIAL", "FAIL")]
STRAY = [
    ("EVALUATED", "Pass", Grade.PASS),
    ("EVALUATED", " partial\n", Grade.PARTIAL),
    ("Evaluated", "FAIL", Grade.FAIL),
    (" evaluated ", "fail ", Grade.FAIL),
]


@pytest.mark.parametrize(("status", "label"), EXACT)
def test_the_formats_own_words_are_the_grade(tmp_path: Path, status: str, label: str):
    trigger = only(tmp_path, result_point(2, status=status, score=label))
    assert (trigger.grade, trigger.stray, trigger.unscored_reason) == (Grade(label), False, None)


@pytest.mark.parametrize(("status", "label", "grade"), STRAY)
def test_case_and_outer_blanks_are_read_over_and_marked(tmp_path: Path, status: str, label: str, grade: Grade):
    trigger = only(tmp_path, result_point(2, status=status, score=label))
    assert (trigger.grade, trigger.stray, trigger.unscored_reason) == (grade, True, None)
    assert (trigger.status, trigger.label) == (status, label)


UNREAD: list[tuple[dict[str, Any] | None, str | None, str, bool]] = [
    # Result, response, reason, stray.
    (None, None, "no_response", False),
    (verdict(status="SKIPPED", score=None), None, "no_response", False),
    (None, "", "empty_response", False),
    (None, " \n", "empty_response", False),
    (None, "Hello.", "no_verdict", False),
    (verdict(score=None), "Hello.", "no_verdict", False),
    (verdict(status=None, score=None), "Hello.", "no_verdict", False),
    (verdict(status="SKIPPED", score=None), "Hello.", "not_evaluated", False),
    (verdict(status="SKIPPED", score="N/A"), "", "not_evaluated", False),
    (verdict(status="SKIPPED", score="PASS"), "Hello.", "not_evaluated", False),
    (verdict(status="skipped", score=None), "Hello.", "not_evaluated", True),
    (verdict(status="DONE", score="PASS"), "Hello.", "not_evaluated", True),
    (verdict(status="", score="PASS"), "Hello.", "not_evaluated", True),
    (verdict(status=None, score="PASS"), "Hello.", "not_evaluated", True),
    (verdict(score="GOOD"), "Hello.", "stray_label", True),
    (verdict(score="PASS."), "Hello.", "stray_label", True),
    (verdict(score=""), "Hello.", "stray_label", True),
    (verdict(score="SKIPPED"), "Hello.", "stray_label", True),
    (verdict(status="Evaluated", score="GOOD"), "Hello.", "stray_label", True),
]


@pytest.mark.parametrize(("result", "response", "reason", "stray"), UNREAD)
def test_what_cannot_be_read_is_kept_unscored_with_its_reason(
    tmp_path: Path, result: dict[str, Any] | None, response: str | None, reason: str, stray: bool
):
    trigger = only(tmp_path, result_point(2, result=result), assistant_response=response)
    assert (trigger.grade, trigger.unscored_reason, trigger.stray) == (None, reason, stray)
    assert trigger.response == response


@pytest.mark.parametrize("response", ["", None])
def test_a_verdict_on_an_empty_or_missing_response_counts(tmp_path: Path, response: str | None):
    trigger = only(tmp_path, result_point(2, score="FAIL"), assistant_response=response)
    assert (trigger.grade, trigger.response, trigger.unscored_reason) == (Grade.FAIL, response, None)


EVIDENCE: list[tuple[object, tuple[str, ...]]] = [
    ("", ()),
    (None, ()),
    ([], ()),
    ("[]", ()),
    ("the last boat", ("the last boat",)),
    ('"the last" ... "boat"', ('"the last" ... "boat"',)),
    ('["the last", "boat"]', ("the last", "boat")),
    (' \n["boat"] ', ("boat",)),
    (["the last", "boat"], ("the last", "boat")),
    ([""], ("",)),
    (" ", (" ",)),
    # Lists of something else, no lists, and lists that hide what a line may not hold are texts.
    ('["the last", 4]', ('["the last", 4]',)),
    ("[the last] boat", ("[the last] boat",)),
    ('"boat"', ('"boat"',)),
    ('["\\ud83d"]', ('["\\ud83d"]',)),
    ('["\\u0000"]', ('["\\u0000"]',)),
    ("[" * 100_000, ("[" * 100_000,)),
    (f"[{'9' * 5000}]", (f"[{'9' * 5000}]",)),
]


@pytest.mark.parametrize(("given_evidence", "expected"), EVIDENCE, ids=range(len(EVIDENCE)))
def test_evidence_is_a_text_or_a_list_or_a_list_in_a_text(
    tmp_path: Path, given_evidence: object, expected: tuple[str, ...]
):
    assert only(tmp_path, result_point(2, evidence=given_evidence)).evidence == expected


def test_a_verdict_may_be_without_rationale_and_evidence(tmp_path: Path):
    bare = only(tmp_path, result_point(2, result={"status": "EVALUATED", "score": "PASS"}))
    assert (bare.grade, bare.reasoning, bare.evidence) == (Grade.PASS, "", ())
    assert only(tmp_path, result_point(2, rationale=None, evidence=None)) == bare
