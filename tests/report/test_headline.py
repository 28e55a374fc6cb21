"""The headline of a run and of a comparison: one sentence with one interval, and its caveats below."""

from collections.abc import Iterable
from typing import Any

import pytest
from builders.runs import JUDGE, PHASES, outcome, spread, summary, summary_of, trigger
from builders.runs import compared as runs_compared

from dspy_proact.report import Comparison, Summary, compare, comparison_document
from dspy_proact.report.headline import comparison_headline, headline
from dspy_proact.runs import Outcome
from dspy_proact.stats import Headline

ALL = "no interval: all scenarios shift alike"


def run(*grades: str | None, scenarios: int = 6, **changes: Any) -> Summary:
    """Phase by phase a trigger a scenario; None is unscored, a blank pending."""
    positions = [(phase, f"s{number}") for phase in PHASES for number in range(scenarios)]
    outcomes: list[Outcome] = []
    for (phase, group), grade in zip(positions, grades, strict=True):
        name, of = f"{phase} {group}", {"group": group, "stratum": phase}
        outcomes.append(outcome(name, None, state="pending", **of) if grade == "" else outcome(name, grade, **of))
    return summary(*outcomes, **changes)


def words(text: str) -> int:
    return len(text.split())


def test_a_run_has_one_sentence_with_one_interval_and_its_lowest_phase_below():
    """In 20 scenarios 19, 18 and 1 of 20 pass: 38 of 60, 63.3 %, and 1 of 20, 5 %."""
    grades = [*["PASS"] * 19, "FAIL", *["PASS"] * 18, *["FAIL"] * 2, *["FAIL"] * 19, "PASS"]
    first = headline(run(*grades, scenarios=20))
    assert first.text.startswith("m scored 63.3 of 100 (95 % ")
    assert first.text.endswith(") on 60 triggers of proactbench, judged by j.")
    assert first.text.count("95 %") == 1
    assert words(first.text) <= 30
    assert first.number is not None
    assert (first.number.value, first.side, first.count) == (pytest.approx(38 / 60), None, 60)
    (lowest,) = first.caveats
    assert lowest.startswith("Lowest in RECOVERY: 5.0 of 100 (95 % ")


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
    assert not any("Lowest" in line for line in headline(run(*grades)).caveats)


@pytest.mark.parametrize(("grade", "state"), [(None, "unscored"), ("", "pending")])
def test_a_run_without_a_score_has_none(grade: str | None, state: str):
    message = "m has no score, with 0 of 18 triggers of proactbench scored, judged by j."
    first = headline(run(*[grade] * 18))
    assert first.lines == (message, f"Without a score: 18 {state}.")
    assert first.claim["value"] is None


def test_a_mean_that_a_stratum_without_scores_leaves_out_is_a_sentence():
    outcomes = [outcome("d1", "PASS"), outcome("d2", None, stratum="RECOVERY")]
    first = headline(summary(*outcomes, benchmark="proactivebench"))
    assert first.text == (
        "m has no mean over phases: no scores in CRITICAL, RECOVERY, with 1 of 2 triggers of proactivebench scored, "
        "judged by j."
    )
    assert first.caveats[0] == "Not in the score: 1 unscored."


def test_no_name_in_a_headline_is_obeyed_by_a_terminal():
    first = Headline("m\x1b[2J scored.", caveats=("Lowest in \x1b]0;x\x07.",))
    assert first.lines == ("m\\x1b[2J scored.", "Lowest in \\x1b]0;x\\x07.")


def test_what_is_wrong_with_the_interval_and_what_is_not_in_the_score_stand_below():
    first = headline(run(*["PASS", "FAIL", "FAIL"] * 2, "PASS", None, "", scenarios=3))
    assert first.text.endswith(") on 7 of 9 triggers of proactbench, judged by j.")
    assert first.caveats == (
        "Fewer than 5 scenarios.",
        "Not in the score: 1 unscored and 1 pending.",
    )


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


def below(comparison: Comparison, begin: str) -> list[str]:
    return [line for line in comparison_headline(comparison).caveats if line.startswith(begin)]


def test_the_overall_score_comes_first_as_one_test_and_phases_below_by_holm(compared):
    """Each of 6 scenarios gains in each phase: by phase 2 / 2^6 x 3 = .094, overall 2 / 2^6 = .031."""
    comparison = compared(["FAIL"] * 18, ["PASS"] * 18, scenarios=6)
    first = comparison_headline(comparison)
    assert first.text == f"b is better than a: +100.0 points ({ALL}) on 18 triggers."
    assert (first.side, first.p, first.count) == ("higher", 2 / 64, 18)
    assert first.number == comparison.lenient.micro.weighted.difference
    (phases,) = below(comparison, "By phase")
    assert phases == ("By phase, adjusted (Holm): no test can show a difference on EMERGENT, CRITICAL and RECOVERY.")


def test_what_phases_show_is_below_the_sentence_of_the_overall_score(compared):
    """8 of 8 scenarios gain in EMERGENT and lose in CRITICAL: nothing overall, and 2 / 2^8 x 3 = .023 by phase."""
    a = ["FAIL"] * 8 + ["PASS"] * 16
    b = ["PASS"] * 8 + ["FAIL"] * 8 + ["PASS"] * 8
    comparison = compared(a, b)
    first = comparison_headline(comparison)
    assert first.text.startswith("No difference between b and a was detected: 0.0 points (")
    assert (first.side, first.p) == (None, 1.0)
    (phases,) = below(comparison, "By phase")
    assert phases.endswith("b higher on EMERGENT; b lower on CRITICAL; no difference detected on RECOVERY.")


def test_a_phase_whose_interval_excludes_0_is_not_said_to_show_no_difference(compared):
    """5 of 8 scenarios gain in EMERGENT, none in the others: p is 2 / 2^5 = .063, and the interval lies above 0."""
    comparison = compared(FAILED, ["PASS"] * 5 + ["FAIL"] * 19)
    difference = comparison.lenient.rows["EMERGENT"].weighted.difference
    assert (difference.low or 0) > 0
    (phases,) = below(comparison, "By phase")
    assert phases.endswith("no side can be claimed on EMERGENT; no difference detected on CRITICAL and RECOVERY.")


def turned(tmp_path) -> Comparison:
    """In each of 12 scenarios a passes 1 of 4 triggers; b passes the same and leaves 2 of its fails unscored.

    On what both have scored both pass alike but for a trigger that b gains in 11 scenarios of EMERGENT, which it pays
    with two passes of a that it leaves unscored: lenient above, strict below.
    """
    cases = [case for turn in (1, 11, 21, 31) for case in spread_at(12, turn)]
    a = [*["FAIL"] * 12, *["PASS"] * 12, *["PASS"] * 12, *["FAIL"] * 12]
    b = [*["PASS"] * 11, "FAIL", *[None] * 24, *["FAIL"] * 12]
    return runs_compared(tmp_path, cases, a, b)


def spread_at(scenarios: int, turn: int):
    return [trigger(f"d{number}", "EMERGENT", turn=turn, scenario=f"S{number:02d}") for number in range(scenarios)]


def test_no_side_is_claimed_where_the_unscored_turn_the_sign(tmp_path):
    """Scored in both: 11 of 24 gain, +45.8; tried by both: (11 - 24) / 48 = -27.1."""
    comparison = turned(tmp_path)
    first = comparison_headline(comparison)
    assert first.text.startswith(
        "Whether b scores higher or lower than a depends on unscored triggers: +45.8 points (95 % "
    )
    assert first.text.endswith(") without them, -27.1 counting them 0.")
    assert words(first.text) <= 30
    assert (first.side, comparison.lenient.side, comparison.strict.side) == (None, "higher", "lower")
    assert "depending on the unscored triggers on EMERGENT" in below(comparison, "By phase")[0]
    assert below(comparison, "Left out") == ["Left out of 48 shared triggers: 24 unscored by b."]
    assert not below(comparison, "80 %")


def test_a_side_that_is_shown_only_without_the_unscored_is_not_claimed(compared):
    """All that both score b passes and a fails, 8 of 48; b leaves the others, which a passes half of, unscored."""
    a = [*["FAIL"] * 8, *["PASS", "FAIL"] * 4] * 3
    b = [*["PASS"] * 8, *[None] * 8] * 3
    comparison = compared(a, b, scenarios=16)
    first = comparison_headline(comparison)
    assert (first.side, comparison.lenient.side, comparison.strict.side) == (None, "higher", None)
    assert first.text.startswith("Whether b differs from a depends on unscored triggers: +100.0 points")
    assert first.text.endswith("without them, +25.0 counting them 0.")


def test_what_was_not_tried_is_left_out_by_nobody():
    comparison = compare(run(*FAILED, scenarios=8), run(*BETTER[:-2], "", "", scenarios=8))
    assert below(comparison, "Left out") == ["Left out of 24 shared triggers: 2 not tried by both."]


def test_too_few_scenarios_are_said_to_show_nothing(compared):
    comparison = compared(["FAIL"] * 15, ["PASS", "FAIL", "PASS"] * 5, scenarios=5)
    first = comparison_headline(comparison)
    assert first.text.startswith(
        "With 5 scenarios no difference between b and a can become significant: +66.7 points ("
    )
    assert first.side is None


def test_where_test_and_interval_disagree_a_difference_is_neither_claimed_nor_denied(compared):
    """Five of 6 scenarios gain a half in each phase: p is 2 / 2^5; of 5 x .5 and 0 the interval is .42 +- .21."""
    comparison = compared(
        ["FAIL"] * 18, ["PARTIAL", "PARTIAL", "PARTIAL", "PARTIAL", "PARTIAL", "FAIL"] * 3, scenarios=6
    )
    first = comparison_headline(comparison)
    assert first.text.startswith("Whether b differs from a is open: +41.7 points (95 % +20.2 to +63.1) on 18 triggers")
    assert (first.side, first.p) == (None, 2 / 32)
    assert below(comparison, "Close to the end")[0].endswith(
        "the test and the interval disagree, so that nothing is claimed."
    )


def test_one_base_of_all_phases_is_no_range(compared):
    """In each phase 8 of 16 scenarios pass in a, and in b, where two others do, as many."""
    a = ["PASS" if number % 2 else "FAIL" for number in range(48)]
    b = [{0: "PASS", 1: "FAIL", 16: "PASS", 17: "FAIL", 32: "PASS", 33: "FAIL"}.get(n, g) for n, g in enumerate(a)]
    (line,) = below(compared(a, b, scenarios=16), "80 %")
    assert " points from 50.0 in one phase, after Holm." in line


def test_power_is_of_the_one_test_from_its_base_and_a_range_over_phases(compared):
    """Of 16 scenarios 8 pass in each phase of a, in b 9, 9 and 7; one row is by hand in tests/stats/test_paired.py."""
    a = ["PASS" if number % 2 else "FAIL" for number in range(48)]
    rising, falling = {0, 16, 18, 32, 34}, {17, 33, 35, 37}
    b = ["PASS" if number in rising else "FAIL" if number in falling else grade for number, grade in enumerate(a)]
    comparison = compared(a, b, scenarios=16)
    document = comparison_document(comparison)
    points = [row["weighted"]["detectable_points"] for row in document["phases"].values()]
    overall = document["overall"]["micro"]["weighted"]["detectable_points"]
    assert below(comparison, "80 %") == [
        f"80 % power to detect a fall of {overall} points from 51.0 overall and {min(points)} to {max(points)} points "
        "from 46.9 to 53.1 in one phase, after Holm."
    ]


def test_of_two_judges_nobody_is_said_to_be_better_and_that_comes_first(compared):
    first = comparison_headline(compared(FAILED, BETTER, "openai/k"))
    assert first.text.startswith(f"b (judged by openai/k) scores higher than a (judged by {JUDGE}): ")
    assert first.caveats[0] == "The responses are the same, so only the judging differs."
    assert not any("word for word" in line for line in first.caveats)


def test_that_two_runs_were_judged_differently_is_the_first_line(tmp_path):
    cases = spread(8)
    a = summary_of(tmp_path / "a", zip(cases, FAILED, strict=True))
    b = summary_of(tmp_path / "b", zip(cases, BETTER, strict=True), "openai/k", text="Other words, in a row.")
    first = comparison_headline(compare(a, b))
    assert first.caveats[0] == "Judged differently: the difference may be due to the judges."
    assert "better" not in first.text


def test_answers_that_are_the_same_in_both_are_counted(compared):
    """Every response of the builder is the same text."""
    assert below(compared(FAILED, BETTER), "The same response") == [
        "The same response in both, word for word: 24 of 24 triggers."
    ]


def test_a_program_is_not_tested_on_what_it_was_compiled_on(compared):
    first = comparison_headline(compared(FAILED, BETTER, learned_on=3))
    assert first.caveats[-1] == "b was compiled on 3 of these dialogues, so this comparison is not a test of it."


def test_a_stand_in_on_one_side_measures_nothing(compared):
    first = comparison_headline(compared(FAILED, BETTER, embedded=True))
    assert first.text.startswith("Demonstration with the embedded stand-in as assistant: b scores higher than a: ")


def test_the_json_has_the_value_beside_the_sentence(compared):
    comparison = compared(FAILED, BETTER)
    first, document = comparison_headline(comparison), comparison_document(comparison)
    assert document["headline"] == first.text
    overall = document["overall"]["micro"]["weighted"]
    claim = document["claim"]
    assert claim == first.claim
    assert [claim[name] for name in ("value", "low", "high", "p", "count")] == [
        *(overall[name] for name in ("value", "low", "high", "p")),
        document["triggers"]["compared"],
    ]
    assert (claim["side"], claim["test"]) == ("higher", "permutation test that flips whole scenarios")
    assert claim["caveats"] == list(first.caveats)
