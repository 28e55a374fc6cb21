"""Two runs on a page: strict differences beside lenient ones, and why a row has no interval or a poor one."""

import pytest
from browser import visit
from proact_run import PHASES, answered, failed, graded, manifest, trigger, written

CASES = [
    trigger(f"d{number}", phase, turn=turn, scenario=f"S{number}", domain=("travel", *["home"] * 3)[number])
    for turn, phase in enumerate(PHASES, start=1)
    for number in range(4)
]
"""A trigger a phase in each of four scenarios, one of which is another domain."""


@pytest.fixture(scope="module")
def half(tmp_path_factory, paged):
    """A passes every second trigger; b passes one more in EMERGENT, and does not answer one in RECOVERY."""
    made = tmp_path_factory.mktemp("half")
    grades = ["PASS", "FAIL", "FAIL", "PASS"] * 3
    a = [event for case, grade in zip(CASES, grades, strict=True) for event in (answered(case), graded(case, grade))]
    b = [*a[:3], graded(CASES[1], "PASS"), *a[4:-2], failed(CASES[-1], "empty")]
    written(made / "a", manifest(), CASES, a)
    written(made / "b", manifest(model="openai/other"), CASES, b)
    return paged(made / "a", made / "b")


def notes(page, section):
    """Every note there, folded ones too."""
    return page.locator(f"{section} p.note").all_text_contents()


def test_strict_differences_stand_beside_lenient_ones(browser, half):
    with visit(browser, half) as page:
        captions = page.locator("#differences caption").all_text_contents()
        assert captions[:4] == ["Mean score", "Mean score, strict", "Pass rate", "Pass rate, strict"]
        found = {
            kind: page.get_attribute(f"[data-at='/comparisons/0/phases/RECOVERY/{kind}weighted/value']", "value")
            for kind in ("", "strict/")
        }
        # Of three that both have scored b scores as a does; of four it passes one fewer.
        assert found == {"": "0.0", "strict/": "-0.25"}
        assert "tried and unscored: 0 and 1." in page.inner_text("#differences article")


def test_an_interval_of_four_scenarios_is_marked_beside_what_cannot_be_significant(browser, half):
    with visit(browser, half) as page:
        told = notes(page, "#differences")
        assert "EMERGENT, CRITICAL, micro, macro: cannot be significant with 4 scenarios." in told
        assert "EMERGENT, micro, macro: too few scenarios: very wide." in told


def test_rows_of_breakdowns_have_their_reasons(browser, half):
    with visit(browser, half) as page:
        assert "travel: one scenario." in notes(page, "#glance")
        assert "travel: one scenario." in notes(page, "#differences")
