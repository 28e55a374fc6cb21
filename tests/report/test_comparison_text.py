"""What a person sees of a comparison: 80 columns, and no name that a terminal obeys."""

from dataclasses import replace

import pytest
from comparing import compared, outcome, printed, summary, told
from proact_run import PHASES, run_of, summary_of, trigger

from dspy_proact.report import MEASURES_NOTHING, Summary, compare, comparison_document, summarize

HOSTILE = ["[red]x[/red]", "[/red]", "\x1b[31m", "\x1b]0;title\x07", "\u202eoof", ":smile:"]


def test_a_stand_in_on_either_side_is_said(tmp_path):
    case = trigger()
    first = summary_of(tmp_path / "a", [(case, "PASS")])
    second = summary_of(tmp_path / "b", [(case, "PASS")], model="embedded", embedded=True)
    assert told(compare(first, second)).startswith(MEASURES_NOTHING)
    assert comparison_document(compare(first, second))["b"]["embedded"] is True


@pytest.mark.parametrize("text", HOSTILE)
def test_no_terminal_obeys_the_names_of_runs(tmp_path, text):
    def side(name: str, grade: str) -> Summary:
        case = trigger(text, scenario=text, domain=text)
        made = run_of(tmp_path / name, [(case, grade), (trigger("e", domain="arts"), grade)], text, model=text)
        return replace(summarize(made), path=text)

    plain = compared(tmp_path, [trigger(), trigger("e", domain="arts")], ["FAIL"] * 2, ["PASS"] * 2)
    options = {"force_terminal": True, "color_system": "truecolor"}
    out = printed(compare(side("x", "FAIL"), side("y", "PASS")), **options)
    assert out.count("\x1b") == printed(plain, **options).count("\x1b")  # the tables' own styles and no more
    assert not any(sign in out for sign in ("\x07", "\u202e", "☺"))
    if text.isprintable():
        assert text in out


def test_long_names_fit_eighty_columns(tmp_path):
    long = "vendor/" + "very-" * 40 + "long"
    cases = [
        trigger(f"d{number}", scenario=f"{'S' * 90}{number}", domain=f"{'domain-' * 20}{number % 2}")
        for number in range(8)
    ]
    grades = [["FAIL", "PASS", "PARTIAL"][number % 3] for number in range(8)]
    first = summary_of(tmp_path / "a", zip(cases, grades, strict=True), f"{long}-a", model=f"{long}-m")
    second = summary_of(tmp_path / "b", zip(cases, reversed(grades), strict=True), f"{long}-b", model=f"{long}-n")
    out = printed(compare(first, second))
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out  # nothing is cut away
    assert "[-" in out


def test_wide_numbers_are_not_cut_at_eighty_columns():
    """Thousands of pairs and intervals from -100 to +100 points, the widest that there are."""

    def side(turned: bool) -> Summary:
        worst = [("FAIL", "PASS") if number % 2 else ("PASS", "FAIL") for number in range(2)]
        return summary(
            *(
                outcome(f"k{group}-{again}-{stratum}", worst[group][turned], group=f"s{group}", stratum=stratum)
                for group in range(2)
                for again in range(600)
                for stratum in PHASES
            )
        )

    out = printed(compare(side(False), side(True)))
    assert "[-100.0, +100.0]" in out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 80
