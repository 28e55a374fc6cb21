"""The sentence of a run and of a comparison: what was shown, that nothing was, that nothing could have been."""

from collections.abc import Iterable
from typing import Any

import pytest
from builders.runs import JUDGE, PHASES, outcome, spread, summary
from builders.runs import compared as runs_compared

from dspy_proact.report import Comparison, Summary, compare, comparison_document
from dspy_proact.report.headline import comparison_headline, headline
from dspy_proact.runs import Outcome

ALL = "no interval: all scenarios shift alike"


def run(*grades: str | None, scenarios: int = 6, **changes: Any) -> Summary:
    """Phase by phase a trigger a scenario; None is unscored, a blank pending."""
    positions = [(phase, f"s{number}") for phase in PHASES for number in range(scenarios)]
    outcomes: list[Outcome] = []
    for (phase, group), grade in zip(positions, grades, strict=True):
        name, of = f"{phase} {group}", {"group": group, "stratum": phase}
        outcomes.append(outcome(name, None, state="pending", **of) if grade == "" else outcome(name, grade, **of))
    return summary(*outcomes, **changes)


def test_a_run_is_told_by_its_score_and_its_lowest_phase_with_intervals():
    """In 20 scenarios 19, 18 and 1 of 20 pass: 38 of 60, 63.3 %, and 1 of 20, 5 %."""
    grades = [*["PASS"] * 19, "FAIL", *["PASS"] * 18, *["FAIL"] * 2, *["FAIL"] * 19, "PASS"]
    text = headline(run(*grades, scenarios=20))
    assert text.startswith("m scored 63.3 of 100 (95 % ")
    assert ") on 60 triggers of proactbench, lowest in RECOVERY: 5.0 of 100 (95 % " in text
    assert text.endswith("), judged by j.")


@pytest.mark.parametrize(
    "grades",
    [
        ["PASS", "FAIL"] * 9,
        [*["PASS", "FAIL"] * 6, "PASS", *["FAIL"] * 5],
        [*["PASS"] * 6, *["PASS", "FAIL"] * 3, *[None] * 6],
    ],
    ids=["shared", "within the others' intervals", "beside a phase without a score"],
)
def test_a_last_place_that_is_not_shown_is_not_told(grades: list[str | None]):
    assert "lowest" not in headline(run(*grades))


@pytest.mark.parametrize(("grade", "state"), [(None, "unscored"), ("", "pending")])
def test_a_run_without_a_score_has_none(grade: str | None, state: str):
    message = f"m has no score, with 0 of 18 triggers of proactbench scored (18 {state}), judged by j."
    assert headline(run(*[grade] * 18)) == message


def test_too_few_scenarios_are_said_beside_the_interval():
    assert ", too few scenarios: very wide) on 9 triggers" in headline(run(*["PASS", "FAIL", "FAIL"] * 3, scenarios=3))


@pytest.fixture
def compared(tmp_path):
    def of(
        a: Iterable[str | None], b: Iterable[str | None], *judges: str, scenarios: int = 8, **of_b: Any
    ) -> Comparison:
        return runs_compared(tmp_path, spread(scenarios), a, b, *judges, **of_b)

    return of


FAILED = ["FAIL"] * 24
BETTER = ["PASS"] * 8 + ["FAIL"] * 16
"""In EMERGENT."""


def test_what_is_shown_has_its_points_and_the_rest_is_said_to_be_unseen(compared):
    message = comparison_headline(compared(FAILED, BETTER))
    rest = "no difference was detected on CRITICAL and RECOVERY"
    assert message == f"b is better than a on EMERGENT (+100.0 points, {ALL}); {rest}."


def test_strict_scores_that_differ_where_lenient_ones_do_not_are_told(compared):
    b = [None if number % 16 < 13 else "PASS" for number in range(48)]
    message = comparison_headline(compared(["PASS"] * 48, b, scenarios=16))
    assert "; based on the 9 of 48 shared triggers scored in both: 39 unscored by b; " in message
    # 13 of 16 scenarios of each phase lose 1: -81.3 points; the flips of these 13 make p 2 / 2^13, times 3.
    assert "with the unscored counted 0, b scores lower than a on EMERGENT (-81.2 points, 95 % " in message


def test_what_was_not_tried_is_left_out_by_nobody():
    message = comparison_headline(compare(run(*FAILED, scenarios=8), run(*BETTER[:-2], "", "", scenarios=8)))
    assert "; based on the 22 of 24 shared triggers scored in both: 2 not tried by both;" in message


def test_better_here_and_worse_there_are_one_sentence(compared):
    a = ["FAIL"] * 8 + ["PASS"] * 16
    b = ["PASS"] * 8 + ["FAIL"] * 8 + ["PASS"] * 8
    message = comparison_headline(compared(a, b))
    assert (
        f"is better than a on EMERGENT (+100.0 points, {ALL}) and is worse on CRITICAL (-100.0 points, {ALL})"
        in message
    )


def test_what_holm_does_not_bear_out_is_not_claimed(compared):
    """All 6 scenarios of EMERGENT gain: p is 2 / 2^6 = .031, and three phases make it .094."""
    comparison = compared(["FAIL"] * 18, ["PASS"] * 6 + ["FAIL"] * 12, scenarios=6)
    assert comparison.lenient.rows["EMERGENT"].weighted.p == 2 / 64
    few = "6 scenarios are too few in 3 phases"
    message = comparison_headline(comparison)
    assert message == f"A test of b against a within one phase cannot become significant: {few}."


def test_where_nothing_is_shown_it_is_said_what_is_detected_and_from_what_score(compared):
    """One of 12 scenarios gains (by hand in tests/stats/test_paired.py)."""
    message = comparison_headline(compared(["FAIL"] * 36, ["PASS", *["FAIL"] * 35], scenarios=12))
    power = (
        "the most sensitive, EMERGENT, has 80 % power to detect 60 points from a score of 4.2, and 50 % to detect 46"
    )
    assert message == f"No difference between b and a was detected in any phase; {power}."
    alike = compared(["FAIL"] * 36, ["PASS", *["FAIL"] * 11] * 3, scenarios=12)
    macro = comparison_document(alike)["overall"]["macro"]["weighted"]  # a single test of the same twelve
    assert (macro["detectable_points"], macro["detectable_half_points"]) == (52, 35)


def test_of_two_judges_nobody_is_said_to_be_better(compared):
    message = comparison_headline(compared(FAILED, BETTER, "openai/k"))
    assert message.startswith(f"b (judged by openai/k) scores higher than a (judged by {JUDGE}) on EMERGENT (")
    assert message.endswith("; the responses are the same, so only the judging differs.")


def test_a_program_is_not_tested_on_what_it_was_compiled_on(compared):
    message = comparison_headline(compared(FAILED, BETTER, learned_on=3))
    assert message.endswith("; b was compiled on 3 of these dialogues, so this comparison is not a test of it.")


def test_a_stand_in_on_one_side_measures_nothing(compared):
    assert comparison_headline(compared(FAILED, BETTER, embedded=True)).startswith(
        "Demonstration with the embedded stand-in as assistant: b "
    )
