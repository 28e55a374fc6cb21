"""Two runs or results files on the triggers that they share: what differs, and whether it could have been seen."""

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proact_run import JUDGE, PHASES, answered, failed, graded, manifest, run_of, summary_of, trigger, written
from results_rows import result_point, result_record, result_row
from rich.console import Console
from rows import jsonl
from toy import case as riddle
from toy import manifest as manifest_of_riddles
from toy import written as riddles

from dspy_proact.corpus import read_results
from dspy_proact.errors import UsageError
from dspy_proact.report import (
    MEASURES_NOTHING,
    Comparison,
    GivenVerdict,
    Outcome,
    Summary,
    compare,
    comparison_document,
    print_comparison,
    summarize,
)
from dspy_proact.report.proactbench import summarize_results
from dspy_proact.report.proactbench.particulars import NOUNS
from dspy_proact.runs import Case

SCORES = {"PASS": 1.0, "PARTIAL": 0.5, "FAIL": 0.0}
GRADES = tuple(SCORES)
HOSTILE = ["[red]x[/red]", "[/red]", "\x1b[31m", "\x1b]0;title\x07", "\u202eoof", ":smile:"]


def spread(scenarios: int, phases: Iterable[str] = PHASES) -> list[Case]:
    """A trigger a scenario and phase, phase by phase."""
    return [
        trigger(f"d{number}", phase, turn=turn, scenario=f"S{number:02d}")
        for turn, phase in enumerate(phases, start=1)
        for number in range(scenarios)
    ]


def compared(folder: Path, cases: Sequence[Case], a: Iterable[str | None], b: Iterable[str | None]) -> Comparison:
    """Two runs that grade these triggers so."""
    first = summary_of(folder / "a", zip(cases, a, strict=True))
    second = summary_of(folder / "b", zip(cases, b, strict=True))
    return compare(first, second)


def outcome(
    key: str, grade: str | None, *, group: str = "s", stratum: str = "EMERGENT", epoch: int = 1, **changes: Any
) -> Outcome:
    """What became of a trigger; None: unscored."""
    view = {"conversation": [{"user": f"Ask {key}", "assistant": None}], "rubric": {"phase": stratum}}
    shared = {"key": key, "epoch": epoch, "view": view, "response": "r", "meta": {"turn": 1, "life_domain": group}}
    if grade is None:
        return Outcome(stratum, group, "unscored", reason="response: empty", **{**shared, "response": None, **changes})
    verdict = GivenVerdict("j", 1, grade, SCORES[grade], None, {})
    return Outcome(stratum, group, "scored", grade, SCORES[grade], verdicts=(verdict,), **{**shared, **changes})


def summary(*outcomes: Outcome, **changes: Any) -> Summary:
    fields = {
        "path": "run",
        "benchmark": "proactbench",
        "model": "m",
        "judges": ("j",),
        "embedded": False,
        "nouns": NOUNS,
    }
    return Summary(**(fields | {"strata": PHASES, "labels": GRADES, "outcomes": outcomes} | changes))


def printed(comparison: Comparison, width: int = 80, **options: Any) -> str:
    file = io.StringIO()
    print_comparison(comparison, Console(file=file, width=width, **options), explain=True)
    return file.getvalue()


def told(comparison: Comparison) -> str:
    """What is printed, without the breaks of lines."""
    return " ".join(printed(comparison).split())


def values(paired: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(paired[name] for name in ("value", "low", "high", "p"))


# Laws.


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


@settings(max_examples=30)
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


@settings(max_examples=30)
@given(both=pairs_of_summaries(), data=st.data())
def test_the_order_of_the_triggers_does_not_matter(both: tuple[Summary, Summary], data: st.DataObject):
    def shuffled(side: Summary) -> Summary:
        place = {key: data.draw(st.integers()) for key in sorted({outcome.key for outcome in side.outcomes})}
        ordered = sorted(side.outcomes, key=lambda outcome: (outcome.epoch, place[outcome.key], outcome.key))
        return replace(side, outcomes=tuple(ordered))

    mixed = compare(*map(shuffled, both))
    assert comparison_document(mixed) == near(comparison_document(compare(*both)))


@settings(max_examples=30)
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


@settings(max_examples=30)
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
    shown = " and ".join(["EMERGENT ({0}), CRITICAL ({0})", "RECOVERY ({0})"])
    said = shown.format("+100.0 points, no interval: all scenarios shift alike")
    assert told(comparison).startswith(f"b is better than a on {said}.")


def test_a_run_that_is_worse_in_one_phase_is_shown_down_in_it_alone(tmp_path):
    cases = spread(8)
    a, b = ["PASS"] * 24, ["PASS"] * 16 + ["PARTIAL"] * 8
    comparison = compared(tmp_path, cases, a, b)
    recovery = comparison.rows["RECOVERY"].weighted
    assert (recovery.difference.value, recovery.p) == (-0.5, 2 / 256)
    assert comparison.adjusted["RECOVERY"][0] == 6 / 256  # the smallest of three, times 3
    assert comparison.adjusted["EMERGENT"][0] == 1.0
    assert comparison.micro.weighted.difference.value == pytest.approx(-1 / 6)  # 8 x -0.5 / 24
    assert told(comparison).startswith("b is worse than a on RECOVERY (-50.0 points, ")
    assert "; on EMERGENT and CRITICAL nothing could be seen." in told(comparison)


def test_micro_weighs_triggers_and_macro_phases(tmp_path):
    """Four triggers of EMERGENT gain 1, one each of the others loses 1: micro 2 / 6, macro (1 - 1 - 1) / 3."""
    cases = [
        *spread(4, ["EMERGENT"]),
        trigger("x", "CRITICAL", scenario="S00"),
        trigger("y", "RECOVERY", scenario="S01"),
    ]
    comparison = compared(tmp_path, cases, ["FAIL"] * 4 + ["PASS"] * 2, ["PASS"] * 4 + ["FAIL"] * 2)
    assert comparison.micro.weighted.difference.value == pytest.approx(1 / 3)
    assert comparison.macro.weighted.difference.value == pytest.approx(-1 / 3)


def test_where_both_differ_nowhere_nothing_is_shown_and_it_says_why(tmp_path):
    comparison = compared(tmp_path, spread(8), ["PARTIAL"] * 24, ["PARTIAL"] * 24)
    assert comparison_document(comparison)["phases"]["CRITICAL"]["weighted"] == {
        "value": 0.0,
        "low": None,
        "high": None,
        "reason": "no pair differs",
        "pairs": 8,
        "scenarios": 8,
        "p": 1.0,
        "detectable_points": None,
        "detectable_half_points": None,
    }
    assert told(comparison).startswith("b scores as a does on each of 24 triggers that both have scored.")


def test_what_would_have_been_seen_is_by_the_test_of_its_row(tmp_path):
    """One of 12 scenarios of each phase gains: standard error 1/12 (by hand in tests/stats/test_paired.py)."""
    cases = spread(12)
    grades = [grade for _ in range(3) for grade in ["PASS", *["FAIL"] * 11]]
    document = comparison_document(compared(tmp_path, cases, ["FAIL"] * 36, grades))

    def seen(row: dict[str, Any]) -> tuple[int, int]:
        return row["weighted"]["detectable_points"], row["weighted"]["detectable_half_points"]

    # (2.8200 + .8755) / 12 and 2.8200 / 12 after Holm over three.
    assert seen(document["phases"]["EMERGENT"]) == (31, 24)
    # The macro mean is a single test of the same twelve: (2.2010 + .8755) / 12 and 2.2010 / 12.
    assert seen(document["overall"]["macro"]) == (26, 18)


def test_strict_differences_stand_beside_lenient_ones(tmp_path):
    """A passes 48, b passes 24 and fails to answer 24: nothing differs where both have scored, and half in all."""
    a, b = ["PASS"] * 48, ["PASS", None] * 24
    comparison = compared(tmp_path, spread(16), a, b)
    document = comparison_document(comparison)
    assert document["triggers"] == {"shared": 48, "compared": 24, "tried": 48, "worded_otherwise": 0}
    assert (document["a"]["unscored"], document["b"]["unscored"]) == (0, 24)
    row = document["phases"]["EMERGENT"]
    assert (row["pairs"], row["weighted"]["value"], row["weighted"]["p"]) == (8, 0.0, 1.0)
    strict = row["strict"]
    assert (strict["pairs"], strict["a"]["value"], strict["b"]["value"]) == (16, 1.0, 0.5)
    # The 8 scenarios that move all move one way: 2 of 2^8 flips are as far.
    assert (strict["weighted"]["value"], strict["weighted"]["p"]) == (-0.5, 2 / 256)
    assert (strict["pass_rate"]["value"], strict["p_holm"]["weighted"]) == (-0.5, 6 / 256)
    assert [document["overall"][name]["strict"]["weighted"]["value"] for name in ("micro", "macro")] == [-0.5, -0.5]
    assert "strict: over what both have tried, the unscored counting 0: 0 of a, 24 of b." in told(comparison)


def test_where_nothing_is_unscored_strict_is_lenient(tmp_path):
    comparison = compared(tmp_path, spread(6), ["FAIL"] * 18, ["PASS", "PARTIAL", "FAIL"] * 6)
    row = comparison_document(comparison)["phases"]["CRITICAL"]
    assert row["strict"] == {name: row[name] for name in row["strict"]}
    assert "strict" not in told(comparison)


@pytest.mark.parametrize("scenarios", [2, 3, 4, 5])
def test_with_five_scenarios_or_fewer_no_difference_is_ever_shown(tmp_path, scenarios):
    """The smallest p of 5 scenarios is 2 / 32, above 5 %."""
    gains = ["PASS", "PARTIAL", "PASS", "PARTIAL", "PASS"][:scenarios] * 3
    comparison = compared(tmp_path, spread(scenarios), ["FAIL"] * 3 * scenarios, gains)
    row = comparison_document(comparison)["phases"]["EMERGENT"]["weighted"]
    assert row["p"] == 2 / 2**scenarios
    assert row["p_reason"] == f"cannot be significant with {scenarios} scenarios"
    text = told(comparison)
    few = f"{scenarios} scenarios are too few in 3 phases"
    assert text.startswith(f"No difference of b from a could have been shown, for {few}.")
    assert f": cannot be significant with {scenarios} scenarios." in text


def test_at_four_scenarios_an_interval_bears_its_mark(tmp_path):
    text = told(compared(tmp_path, spread(4), ["FAIL"] * 12, ["PASS", "FAIL", "PARTIAL", "FAIL"] * 3))
    assert "EMERGENT, CRITICAL, RECOVERY, micro, macro: cannot be significant with 4 scenarios." in text
    assert "EMERGENT, CRITICAL, RECOVERY, micro, macro: too few scenarios: very wide." in text


@pytest.mark.parametrize("scenarios", [2, 3, 4, 5])
def test_where_nothing_can_be_significant_no_difference_is_said_to_be_seen(tmp_path, scenarios):
    gains = ["PASS", "FAIL", "PARTIAL", "FAIL", "PASS"][:scenarios] * 3
    comparison = compared(tmp_path, spread(scenarios), ["FAIL"] * 3 * scenarios, gains)
    assert comparison_document(comparison)["phases"]["EMERGENT"]["weighted"]["detectable_points"] is None
    assert "in four of five" not in told(comparison)


def test_one_scenario_has_a_difference_and_no_p(tmp_path):
    comparison = compared(tmp_path, spread(1), ["FAIL"] * 3, ["PASS"] * 3)
    row = comparison_document(comparison)["phases"]["EMERGENT"]
    assert values(row["weighted"]) == (1.0, None, None, None)
    assert (row["weighted"]["reason"], row["weighted"]["p_reason"]) == ("one scenario", "one scenario")
    assert row["p_holm"] == {"weighted": None, "pass_rate": None}
    assert ": one scenario." in told(comparison)
    few = "1 scenario is too few in 3 phases"
    assert told(comparison).startswith(f"No difference of b from a could have been shown, for {few}.")


def test_a_phase_without_pairs_is_null_with_its_reason_and_so_is_macro(tmp_path):
    comparison = compared(tmp_path, spread(8, PHASES[:2]), ["FAIL"] * 16, ["PASS"] * 16)
    document = comparison_document(comparison)
    recovery = document["phases"]["RECOVERY"]
    assert (recovery["pairs"], recovery["weighted"]["value"], recovery["weighted"]["reason"]) == (0, None, "no pairs")
    assert (recovery["a"]["value"], recovery["a"]["reason"]) == (None, "no scores")
    assert document["overall"]["macro"]["weighted"]["reason"] == "no pairs in RECOVERY"
    assert document["phases"]["EMERGENT"]["p_holm"]["weighted"] == 4 / 256  # two phases are tested: times 2
    assert told(comparison).startswith("b is better than a on EMERGENT (")
    assert "; on RECOVERY nothing could have been shown." in told(comparison)


def test_without_a_trigger_scored_in_both_everything_is_null_and_nothing_is_shown(tmp_path):
    comparison = compared(tmp_path, spread(8), [None] * 24, ["PASS"] * 24)
    document = comparison_document(comparison)
    json.dumps(document, allow_nan=False)
    assert document["triggers"] == {"shared": 24, "compared": 0, "tried": 24, "worded_otherwise": 0}
    assert document["overall"]["micro"]["weighted"]["reason"] == "no pairs"
    text = told(comparison)
    assert "0 triggers scored in both, of 24 shared; left out: 24 of a, 24 of b." in text
    assert text.startswith("b cannot be compared with a: no trigger is scored in both; ")


# Which triggers.


def test_triggers_without_a_score_in_both_are_left_out_of_both_and_counted(tmp_path):
    a, b, c = (trigger(name, scenario=name) for name in "abc")
    first = summary_of(tmp_path / "a", [(a, "PASS"), (b, None), (c, "FAIL")])
    second = summary_of(tmp_path / "b", [(a, "PASS"), (b, "PASS")])
    comparison = compare(first, second)
    assert [pair.key for pair in comparison.pairs] == ["a__t2"]
    assert comparison.micro.scores[1].value == 1.0  # of the one pair, not of b's two
    document = comparison_document(comparison)
    assert (document["a"]["left_out"], document["b"]["left_out"]) == (2, 1)
    assert "1 trigger scored in both, of 2 shared; left out: 2 of a, 1 of b." in told(comparison)


def test_pending_triggers_are_left_out(tmp_path):
    case = trigger()
    half = summarize(written(tmp_path / "b", manifest(), [case], [answered(case)]))
    comparison = compare(summary_of(tmp_path / "a", [(case, "PASS")]), half)
    assert (comparison.shared, len(comparison.pairs)) == (1, 0)


@pytest.mark.parametrize("change", [{"user": "Else?"}, {"criterion": "Else."}])
def test_a_trigger_of_one_name_in_other_words_is_another_one_and_is_said(tmp_path, change):
    same = trigger("same", scenario="S")
    first = summary_of(tmp_path / "a", [(same, "PASS"), (trigger("d"), "PASS")])
    second = summary_of(tmp_path / "b", [(same, "PASS"), (trigger("d", **change), "FAIL")], corpus_sha256="dd")
    comparison = compare(first, second)
    assert (comparison.shared, comparison.otherwise) == (1, 1)
    assert comparison.micro.weighted.difference.value == 0
    assert "1 trigger of one name are worded otherwise, and left out." in told(comparison)
    assert ("corpus", "cc", "dd") in comparison.changed


def test_runs_without_a_trigger_in_common_are_refused_by_name(tmp_path):
    with pytest.raises(UsageError) as caught:
        compare(
            summary_of(tmp_path / "a", [(trigger("x"), "PASS")]), summary_of(tmp_path / "b", [(trigger("y"), "PASS")])
        )
    assert str(caught.value).startswith(f"{tmp_path / 'a'} and {tmp_path / 'b'}: no trigger in common")


def test_runs_whose_triggers_are_all_worded_otherwise_are_refused(tmp_path):
    other = trigger(criterion="Else.")
    with pytest.raises(UsageError, match="all 1 triggers of one name are worded otherwise"):
        compare(summary_of(tmp_path / "a", [(trigger(), "PASS")]), summary_of(tmp_path / "b", [(other, "PASS")]))


def test_runs_of_two_benchmarks_are_refused(tmp_path):
    other = summarize(riddles(tmp_path / "b", manifest_of_riddles(), [riddle("d1__t2")]))
    with pytest.raises(UsageError, match=r"of proactbench, .* of riddles"):
        compare(summary_of(tmp_path / "a", [(trigger(), "PASS")]), other)


def test_runs_of_any_benchmark_can_be_compared(tmp_path):
    same = summarize(riddles(tmp_path / "b", manifest_of_riddles(), [riddle("a")]))
    comparison = compare(same, same)
    assert (comparison.shared, comparison.strata) == (1, ("RHYME", "NUMBER"))
    printed(comparison)


def test_epochs_are_averaged_and_a_pass_is_one_of_most_epochs():
    """a: PASS and FAIL, 0.5; b: PASS, PASS and PARTIAL, 2.5 / 3. Passes 1 / 2, which is not most, against 2 / 3."""
    a = summary(*(outcome("k", grade, epoch=n) for n, grade in enumerate(("PASS", "FAIL"), start=1)))
    b = summary(*(outcome("k", grade, epoch=n) for n, grade in enumerate(("PASS", "PASS", "PARTIAL"), start=1)))
    comparison = compare(a, b)
    assert comparison.pairs[0].score == (0.5, pytest.approx(2.5 / 3))
    assert comparison.micro.passes.difference.value == pytest.approx(2 / 3 - 1 / 2)
    assert (comparison.micro.discordant.only_a, comparison.micro.discordant.only_b) == (0, 1)
    assert comparison.flips["PASS"]["PASS"] == 1  # of the first epochs


def test_an_epoch_without_a_grade_does_not_count_and_the_first_with_one_is_shown():
    a = summary(outcome("k", None), outcome("k", "PARTIAL", epoch=2))
    comparison = compare(a, summary(outcome("k", "FAIL")))
    assert comparison.pairs[0].score == (0.5, 0.0)
    assert comparison.flips["PARTIAL"]["FAIL"] == 1


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
    assert "assistant.model: openai/m -> openai/n" in told(compare(first, second))


def test_where_nothing_is_recorded_as_changed_that_is_said(tmp_path):
    same = summary_of(tmp_path / "a", [(trigger(), "PASS")])
    assert "changed: nothing that is recorded" in told(compare(same, same))


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
    assert f"{persona}/S01 (-3.0 over 3), {persona}/S00 (+2.0 over 3)" in told(comparison)


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
    assert "* fewer than 10 triggers." in told(comparison)
    assert "travel: one scenario." in told(comparison)


# Judges.


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


# Results files.


def of_file(folder: Path, *rows: dict[str, Any], name: str = "results.jsonl") -> Summary:
    (folder / name).write_text(jsonl(*(rows or [result_row()])), encoding="utf-8")
    return summarize_results(read_results(folder / name))


def test_a_results_file_compared_with_itself_does_not_differ(tmp_path):
    file = of_file(tmp_path)
    comparison = compare(file, file)
    assert (comparison.micro.weighted.difference.value, comparison.changed) == (0.0, [])
    assert len(comparison.pairs) == 3


def test_two_results_files_are_paired_by_trigger_whatever_their_order(tmp_path):
    rows = [result_row(uuid=f"{number:032x}") for number in range(3)]
    better = [
        {**each, "trigger_points": [result_point(2, score="PARTIAL"), *each["trigger_points"][1:]]} for each in rows
    ]
    first, second = of_file(tmp_path, *better), of_file(tmp_path, *reversed(rows), name="other.jsonl")
    comparison = compare(first, second)
    assert len(comparison.pairs) == 9
    assert comparison.rows["EMERGENT"].weighted.difference.value == 0.5  # PARTIAL to PASS
    assert comparison.rows["CRITICAL"].weighted.difference.value == 0.0


def test_of_files_of_two_models_the_model_is_what_changed(tmp_path):
    other = of_file(tmp_path, result_row(evaluated_model="vendor/model-2"), name="other.jsonl")
    assert compare(of_file(tmp_path), other).changed == [("model", "vendor/model-1", "vendor/model-2")]


def test_a_record_that_is_missing_makes_no_other_trigger(tmp_path):
    """Without its record a file cannot say what was asked; the rubric says that it is the same trigger."""
    lacking = of_file(tmp_path, result_row(turn_records=[result_record(2)]), name="lacking.jsonl")
    comparison = compare(of_file(tmp_path), lacking)
    assert (comparison.shared, comparison.otherwise) == (3, 0)


# What a person sees.


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
