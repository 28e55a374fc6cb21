"""Two runs on the triggers that they share: what differs, and whether it could have been seen."""

import json
from typing import Any

import pytest
from builders.riddles import case as riddle
from builders.riddles import manifest as manifest_of_riddles
from builders.riddles import written as riddles
from builders.runs import PHASES, compared, outcome, spread, summary, summary_of, trigger
from drivers.terminal import printed, unwrapped

from dspy_proact.errors import UsageError
from dspy_proact.report import compare, comparison_document, summarize


def values(paired: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(paired[name] for name in ("value", "low", "high", "p"))


# Differences.


def test_a_run_that_is_better_everywhere_is_above_zero_with_an_exact_p(tmp_path):
    """All of 8 scenarios shift alike: of 2^8 flips, two are as far from 0, so p is 2 / 256; Holm times 3."""
    comparison = compared(tmp_path, spread(8), ["FAIL"] * 24, ["PASS"] * 24)
    document = comparison_document(comparison)
    for phase in PHASES:
        row = document["phases"][phase]
        assert values(row["weighted"]) == (1.0, None, None, 2 / 256)
        assert values(row["pass_rate"]) == (1.0, None, None, 2 / 256)
        assert row["p_holm"] == {"weighted": 6 / 256, "pass_rate": 6 / 256}
        assert row["passes"] == {"both": 0, "only_a": 0, "only_b": 8, "neither": 0}
        assert (row["a"]["value"], row["b"]["value"], row["pairs"]) == (0.0, 1.0, 8)


def test_micro_weighs_triggers_and_macro_phases(tmp_path):
    """Four triggers of EMERGENT gain 1, one each of the others loses 1: micro 2 / 6, macro (1 - 1 - 1) / 3."""
    cases = [
        *spread(4, ["EMERGENT"]),
        trigger("x", "CRITICAL", scenario="S00"),
        trigger("y", "RECOVERY", scenario="S01"),
    ]
    comparison = compared(tmp_path, cases, ["FAIL"] * 4 + ["PASS"] * 2, ["PASS"] * 4 + ["FAIL"] * 2)
    assert comparison.lenient.micro.weighted.difference.value == pytest.approx(1 / 3)
    assert comparison.lenient.macro.weighted.difference.value == pytest.approx(-1 / 3)


def test_strict_differences_stand_beside_lenient_ones(tmp_path):
    """A passes 48, b passes 24 and fails to answer 24: nothing differs where both have scored, and half in all."""
    a, b = ["PASS"] * 48, ["PASS", None] * 24
    comparison = compared(tmp_path, spread(16), a, b)
    document = comparison_document(comparison)
    assert document["triggers"] == {"shared": 48, "compared": 24, "tried": 48, "rephrased": 0}
    assert (document["a"]["unscored"], document["b"]["unscored"]) == (0, 24)
    row = document["phases"]["EMERGENT"]
    assert (row["pairs"], row["weighted"]["value"], row["weighted"]["p"]) == (8, 0.0, 1.0)
    strict = row["strict"]
    assert (strict["pairs"], strict["a"]["value"], strict["b"]["value"]) == (16, 1.0, 0.5)
    # The 8 scenarios that move all move one way: 2 of 2^8 flips are as far.
    assert (strict["weighted"]["value"], strict["weighted"]["p"]) == (-0.5, 2 / 256)
    assert (strict["pass_rate"]["value"], strict["p_holm"]["weighted"]) == (-0.5, 6 / 256)
    assert [document["overall"][name]["strict"]["weighted"]["value"] for name in ("micro", "macro")] == [-0.5, -0.5]


def test_where_nothing_is_unscored_strict_is_lenient(tmp_path):
    comparison = compared(tmp_path, spread(6), ["FAIL"] * 18, ["PASS", "PARTIAL", "FAIL"] * 6)
    row = comparison_document(comparison)["phases"]["CRITICAL"]
    assert row["strict"] == {name: row[name] for name in row["strict"]}
    assert "strict" not in unwrapped(printed(comparison))


@pytest.mark.parametrize("scenarios", [2, 3, 4, 5])
def test_with_five_scenarios_or_fewer_no_difference_is_ever_shown(tmp_path, scenarios):
    """The smallest p of 5 scenarios is 2 / 32, above 5 %."""
    gains = ["PASS", "PARTIAL", "PASS", "PARTIAL", "PASS"][:scenarios] * 3
    comparison = compared(tmp_path, spread(scenarios), ["FAIL"] * 3 * scenarios, gains)
    row = comparison_document(comparison)["phases"]["EMERGENT"]["weighted"]
    assert row["p"] == 2 / 2**scenarios
    assert row["p_reason"] == f"cannot be significant with {scenarios} scenarios"
    assert row["detectable_points"] is None
    assert f": cannot be significant with {scenarios} scenarios." in unwrapped(printed(comparison))


def test_one_scenario_has_a_difference_and_no_p(tmp_path):
    comparison = compared(tmp_path, spread(1), ["FAIL"] * 3, ["PASS"] * 3)
    row = comparison_document(comparison)["phases"]["EMERGENT"]
    assert values(row["weighted"]) == (1.0, None, None, None)
    assert (row["weighted"]["reason"], row["weighted"]["p_reason"]) == ("one scenario", "one scenario")
    assert row["p_holm"] == {"weighted": None, "pass_rate": None}
    assert unwrapped(printed(comparison)).startswith("With 1 scenario no difference between b and a can become ")


def test_a_phase_without_pairs_is_null_with_its_reason_and_so_is_macro(tmp_path):
    comparison = compared(tmp_path, spread(8, PHASES[:2]), ["FAIL"] * 16, ["PASS"] * 16)
    document = comparison_document(comparison)
    recovery = document["phases"]["RECOVERY"]
    assert (recovery["pairs"], recovery["weighted"]["value"], recovery["weighted"]["reason"]) == (0, None, "no pairs")
    assert (recovery["a"]["value"], recovery["a"]["reason"]) == (None, "no scores")
    assert document["overall"]["macro"]["weighted"]["reason"] == "no pairs in RECOVERY"
    assert document["phases"]["EMERGENT"]["p_holm"]["weighted"] == 4 / 256  # two phases are tested: times 2
    assert "; no test can show a difference on RECOVERY." in unwrapped(printed(comparison))


def test_without_a_trigger_scored_in_both_everything_is_null_and_nothing_is_shown(tmp_path):
    comparison = compared(tmp_path, spread(8), [None] * 24, ["PASS"] * 24)
    document = comparison_document(comparison)
    json.dumps(document, allow_nan=False)
    assert document["triggers"] == {"shared": 24, "compared": 0, "tried": 24, "rephrased": 0}
    assert document["overall"]["micro"]["weighted"]["reason"] == "no pairs"
    text = unwrapped(printed(comparison))
    assert text.startswith("b cannot be compared with a: no trigger is scored in both. ")


# Which triggers.


def test_triggers_without_a_score_in_both_are_left_out_of_both_and_counted(tmp_path):
    a, b, c = (trigger(name, scenario=name) for name in "abc")
    first = summary_of(tmp_path / "a", [(a, "PASS"), (b, None), (c, "FAIL")])
    second = summary_of(tmp_path / "b", [(a, "PASS"), (b, "PASS")])
    comparison = compare(first, second)
    assert [pair.key for pair in comparison.pairs] == ["a__t2"]
    assert comparison.lenient.micro.b.value == 1.0  # of the one pair, not of b's two
    document = comparison_document(comparison)
    assert (document["a"]["left_out"], document["b"]["left_out"]) == (2, 1)


@pytest.mark.parametrize("change", [{"user": "Else?"}, {"criterion": "Else."}])
def test_a_trigger_of_one_name_in_other_words_is_another_one_and_is_said(tmp_path, change):
    same = trigger("same", scenario="S")
    first = summary_of(tmp_path / "a", [(same, "PASS"), (trigger("d"), "PASS")])
    second = summary_of(tmp_path / "b", [(same, "PASS"), (trigger("d", **change), "FAIL")], corpus_sha256="dd")
    comparison = compare(first, second)
    assert (comparison.shared, comparison.rephrased) == (1, 1)
    assert comparison.lenient.micro.weighted.difference.value == 0
    assert "1 trigger left out: same name, different text." in unwrapped(printed(comparison))
    assert ("corpus", "cc", "dd") in comparison.changed


def test_runs_whose_triggers_are_all_worded_otherwise_are_refused(tmp_path):
    other = trigger(criterion="Else.")
    with pytest.raises(UsageError, match="all 1 triggers of the same name differ in their text"):
        compare(summary_of(tmp_path / "a", [(trigger(), "PASS")]), summary_of(tmp_path / "b", [(other, "PASS")]))


def test_runs_of_two_benchmarks_are_refused(tmp_path):
    other = summarize(riddles(tmp_path / "b", manifest_of_riddles(), [riddle("d1__t2")]))
    with pytest.raises(UsageError, match=r"of proactbench, .* of riddles"):
        compare(summary_of(tmp_path / "a", [(trigger(), "PASS")]), other)


def test_epochs_are_averaged_and_a_pass_is_one_of_most_epochs():
    """a: PASS and FAIL, 0.5; b: PASS, PASS and PARTIAL, 2.5 / 3. Passes 1 / 2, which is not most, against 2 / 3."""
    a = summary(*(outcome("k", grade, epoch=n) for n, grade in enumerate(("PASS", "FAIL"), start=1)))
    b = summary(*(outcome("k", grade, epoch=n) for n, grade in enumerate(("PASS", "PASS", "PARTIAL"), start=1)))
    comparison = compare(a, b)
    assert comparison.pairs[0].score == (0.5, pytest.approx(2.5 / 3))
    assert comparison.lenient.micro.pass_rate.difference.value == pytest.approx(2 / 3 - 1 / 2)
    assert (comparison.lenient.micro.passes.only_a, comparison.lenient.micro.passes.only_b) == (0, 1)
    assert comparison.flips["PASS"]["PASS"] == 1  # of the first epochs


# What changed, and where.


def test_what_is_recorded_and_changed_is_named_with_its_values(tmp_path):
    case = trigger()
    first = summary_of(tmp_path / "a", [(case, "PASS")])
    second = summary_of(tmp_path / "b", [(case, "PASS")], "openai/k", model="openai/n", parent="e" * 64)
    assert compare(first, second).changed == [
        ("assistant.model", "openai/m", "openai/n"),
        ("judge.model", "openai/j", "openai/k"),
        ("parent", "none", f"{'e' * 12}..."),
    ]


def test_scenarios_that_move_the_difference_most_come_first(tmp_path):
    """Sums of b - a: S00 gains 2, S01 loses 3, S02 gains 0.5, S03 stays, S04 gains 1 and loses 1."""
    grades = {
        "S00": ["FAIL PASS", "FAIL PASS", "PASS PASS"],
        "S01": ["PASS FAIL", "PASS FAIL", "PASS FAIL"],
        "S02": ["FAIL PARTIAL", "FAIL FAIL", "FAIL FAIL"],
        "S03": ["PASS PASS", "PASS PASS", "PASS PASS"],
        "S04": ["FAIL PASS", "PASS FAIL", "FAIL FAIL"],
    }
    made = [
        (trigger(f"{name}-{turn}", scenario=name, turn=turn), pair.split())
        for name, pairs in grades.items()
        for turn, pair in enumerate(pairs, start=1)
    ]
    comparison = compared(tmp_path, [case for case, _ in made], *zip(*(pair for _, pair in made), strict=True))
    persona = "0123456789abcdef"
    assert comparison.farthest == [(f"{persona}/S01", 3, -3.0), (f"{persona}/S00", 3, 2.0), (f"{persona}/S02", 3, 0.5)]


def test_differences_are_broken_down_by_life_domain_and_turn(tmp_path):
    cases = [
        trigger("a", domain="travel", turn=2),
        trigger("b", domain="arts", turn=2),
        trigger("c", domain="arts", turn=10),
    ]
    comparison = compared(tmp_path, cases, ["FAIL"] * 3, ["PASS", "PASS", "FAIL"])
    document = comparison_document(comparison)["breakdowns"]
    assert {name: (row["pairs"], row["weighted"]["value"]) for name, row in document["life_domain"].items()} == {
        "arts": (2, 0.5),
        "travel": (1, 1.0),
    }
    assert list(document["turn"]) == ["2", "10"]  # in the order of turns, not of letters
    assert "travel: one scenario." in unwrapped(printed(comparison))
