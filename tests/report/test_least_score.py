"""The assertion of a score in a test: what passes, what fails and with which sentence, and what is a mistake."""

import subprocess
import sys

import pytest
from builders.runs import manifest, outcome, run_of, spread, summary

from dspy_proact import Evaluation, RunFolder, Scope, assert_score, summarize
from dspy_proact.errors import RunError, UsageError
from dspy_proact.report.least_score import is_under


def scored(passes, of=20, *more, **changes):
    """A trigger a scenario, of which the first so many pass."""
    grades = ["PASS" if number < passes else "FAIL" for number in range(of)]
    return summary(*(outcome(f"t{n}", grade, group=f"s{n}") for n, grade in enumerate(grades)), *more, **changes)


def sentence(*arguments, **named):
    with pytest.raises(AssertionError) as caught:
        assert_score(*arguments, **named)
    return str(caught.value)


def test_a_score_that_is_reached_passes_and_one_below_says_by_how_much_on_how_many():
    run = scored(9)
    assert_score(run, at_least=45)
    low, high = run.micro.strict_weighted.low, run.micro.strict_weighted.high
    assert sentence(run, at_least=45.1) == (
        f"m judged by j: the strict score is 45.0 of 100 (95 % {100 * low:.1f} to {100 * high:.1f}), under 45.1; "
        "of 20 triggers 20 scored, 0 unscored, 0 pending (run)"
    )


def test_the_lower_end_of_the_interval_is_asserted_where_it_is_wanted():
    run = scored(9)
    low = 100 * run.micro.strict_weighted.low
    assert_score(run, low - 0.01, lower=True)
    tested = f"(95 % {low:.1f} to "
    below = sentence(run, low + 0.01, lower=True)
    assert tested in below
    assert f", and its lower end, {low:.1f}, is under {low + 0.01:g}; of 20" in below
    # Where the score itself is under it as well, the lower end is what was tested all the same.
    assert f", and its lower end, {low:.1f}, is under 90; of 20" in sentence(run, 90, lower=True)
    assert_score(run, low + 0.01)
    alone = summary(outcome("t", "PASS"))
    assert "(no interval: one scenario), and so no lower end that could reach 1;" in sentence(alone, 1, lower=True)


def test_a_stratum_is_asserted_by_its_name_in_any_case_of_letters():
    run = scored(20, 20, outcome("r", "FAIL", stratum="RECOVERY"))
    assert_score(run, 90)
    assert_score(run, 100, on="emergent")
    assert "the strict score on RECOVERY is 0.0 of 100" in sentence(run, at_least=40, on="Recovery")
    with pytest.raises(UsageError, match="`on=RECOVRY`: is none of the phases EMERGENT, CRITICAL, RECOVERY"):
        assert_score(run, 40, on="RECOVRY")


def test_a_run_that_is_not_complete_or_has_unscored_cases_fails_with_its_reason():
    pending = outcome("p", None, state="pending", reason=None)
    assert "but the run is not complete: repeat the command" in sentence(scored(20, 20, pending), 1)
    unscored = [outcome(f"u{number}", None) for number in range(2)]
    run = scored(20, 20, *unscored)
    text = "but 2 triggers without a grade (response: empty 2), where at most 0 may be; of 22 triggers 20 scored"
    assert text in sentence(run, 1)
    # They count 0: 20 of 22.
    assert_score(run, 90, most_unscored=2)
    assert "is 90.9 of 100" in sentence(run, 91, most_unscored=2)
    assert_score(scored(20, 20, outcome("u", None, stratum="RECOVERY")), 100, on="EMERGENT")
    assert "the strict score on CRITICAL is not known, under 1; of 0 triggers" in sentence(scored(20), 1, on="CRITICAL")


def test_points_are_of_a_hundred_and_no_rounding_fails_a_score_that_is_reached():
    for points in (0.4, 101, -1, float("nan")):
        with pytest.raises(UsageError, match="is in points of 100"):
            assert_score(scored(20), points)
    with pytest.raises(UsageError, match="its labels have no order, and so no score"):
        assert_score(scored(20, ordered=False), 40)
    assert_score(scored(0), 0)
    # 100 * .57 is 56.99999999999999.
    assert [is_under(0.57, 57), is_under(0.57, 57.01), is_under(None, 0)] == [False, True, True]


def test_a_run_is_given_in_every_form_and_what_is_none_is_no_failed_assertion(tmp_path):
    done = Evaluation("sample").run(tmp_path / "run", Scope(limit=6))
    for form in (done, done.path, str(done.path), RunFolder(done.path), summarize(done.path)):
        assert_score(form, 0)
        assert "embedded judged by embedded: the strict score is" in sentence(form, 100)
    with pytest.raises(RunError):
        assert_score(tmp_path / "none", 40)


TEST = """
from dspy_proact import assert_score

def test_the_assistant_takes_up_what_was_mentioned():
    assert_score("run", at_least=40, on="RECOVERY")
"""


def test_pytest_shows_the_line_of_the_test_and_the_sentence_and_no_line_of_ours(tmp_path):
    cases = spread(6)
    run_of(tmp_path / "run", [(case, "FAIL") for case in cases], model="openai/m", variant=None)
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert '>       assert_score("run", at_least=40, on="RECOVERY")' in done.stdout
    assert "openai/m judged by openai/j: the strict score on RECOVERY is 0.0 of 100" in done.stdout
    assert "raise AssertionError" not in done.stdout
    assert manifest().model_name == "openai/m"
