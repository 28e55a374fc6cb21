"""Several verdicts on one response and several responses to one trigger: each number worked by hand on riddles."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from builders.riddles import answered, call, case, cases, failed, graded, judged_by, manifest, price, written
from drivers.terminal import printed

from dspy_proact.report import Summary, summarize, summary_document
from dspy_proact.runs import Case, Outcome, StageEvent

SPHINX, ORACLE = "sphinx", "oracle"
LETTERS = {"S": "SOLVED", "C": "CLOSE", "L": "LOST"}
FOUR = [case(f"r{number}", group=f"g{number}") for number in (1, 2, 3, 4)]
"""One case in each of four groups."""


def summarized(path: Path, listed: list[Case], events: Iterable[StageEvent], *judges: str, **changes: Any) -> Summary:
    of = manifest(**judged_by(*(judges or (SPHINX, ORACLE))), **changes)
    return summarize(written(path, of, listed, events))


def verdicts(key: str, judge: str, letters: str, epoch: int = 1, **more: Any) -> list[StageEvent]:
    """One judge's verdicts on a response, one a judge epoch: `S`, `C` or `L`; `-` is not there, `x` failed."""
    of = {"judge": judge, "epoch": epoch, **more}
    return [
        failed(key, "verdict", "content", f"{judge}s fault", judge_epoch=again, **of)
        if letter == "x"
        else graded(key, LETTERS[letter], judge_epoch=again, **of)
        for again, letter in enumerate(letters, start=1)
        if letter != "-"
    ]


def of_one(path: Path, sphinx: str, oracle: str, **changes: Any) -> Outcome:
    """What becomes of one response with these verdicts."""
    events = [answered("a"), *verdicts("a", SPHINX, sphinx), *verdicts("a", ORACLE, oracle)]
    changes = {"judge_epochs": len(sphinx)} | changes
    (outcome,) = summarized(path, cases("a"), events, **changes).outcomes
    return outcome


@pytest.mark.parametrize(
    ("sphinx", "oracle", "label", "score"),
    [
        # Agreed.
        ("S", "S", "SOLVED", 1.0),
        # Ties go to the lower grade, and the score is the mean whatever the grade.
        ("S", "C", "CLOSE", 0.7),
        ("C", "L", "LOST", 0.2),
        ("S", "L", "LOST", 0.5),
        ("SS", "CC", "CLOSE", 0.7),
        # A majority over judges and judge epochs together: one judge may hold it against the other.
        ("SS", "SL", "SOLVED", 0.75),
        ("SSS", "LLC", "SOLVED", 3.4 / 6),
        ("CL", "SL", "LOST", 0.35),
        # What could not be read has no say.
        ("x", "C", "CLOSE", 0.4),
        ("Sx", "xL", "LOST", 0.5),
        ("xx", "Sx", "SOLVED", 1.0),
    ],
)
def test_the_grade_is_the_majoritys_and_the_score_the_mean_of_what_was_read(
    tmp_path: Path, sphinx: str, oracle: str, label: str, score: float
):
    outcome = of_one(tmp_path, sphinx, oracle)
    assert (outcome.state, outcome.label, outcome.score) == ("scored", label, pytest.approx(score))
    assert len(outcome.verdicts) == sum(letter != "x" for letter in sphinx + oracle)


@pytest.mark.parametrize(
    ("sphinx", "oracle"), [("S", "-"), ("-", "S"), ("-", "-"), ("x", "-"), ("-", "x"), ("xx", "x-")]
)
def test_a_trigger_is_pending_while_a_judge_was_not_asked_or_none_could_be_read(
    tmp_path: Path, sphinx: str, oracle: str
):
    outcome = of_one(tmp_path, sphinx, oracle)
    assert (outcome.state, outcome.label, outcome.reason, outcome.verdicts) == ("pending", None, None, ())


@pytest.mark.parametrize(("oracle", "score"), [("S-", 1.0), ("x-", 1.0), ("L-", 2 / 3)])
def test_a_further_verdict_that_is_awaited_takes_nothing_away(tmp_path: Path, oracle: str, score: float):
    outcome = of_one(tmp_path, "SS", oracle)
    assert (outcome.state, outcome.label, outcome.awaited) == ("scored", "SOLVED", 1)
    assert outcome.score == pytest.approx(score)


def test_without_any_verdict_the_trigger_is_unscored_for_the_first_judges_reason(tmp_path: Path):
    outcome = of_one(tmp_path, "xx", "xx")
    assert (outcome.state, outcome.label, outcome.reason) == ("unscored", None, "verdict: sphinxs fault")


def test_asking_for_more_judge_epochs_keeps_what_is_scored_and_says_what_is_awaited(tmp_path: Path):
    events = [answered("a"), *verdicts("a", SPHINX, "S"), *verdicts("a", ORACLE, "S")]
    assert summarized(tmp_path, cases("a"), events).count("scored") == 1
    widened = summarized(tmp_path, cases("a"), [], judge_epochs=2)
    assert (widened.count("scored"), widened.awaited, widened.complete) == (1, 2, False)
    assert summary_document(widened)["several_verdicts"]["awaited"] == 2


Cuts = dict[str, tuple[float, float]]


def cut(path: Path, listed: list[Case], cuts: dict[str, Cuts], **letters: str) -> Summary:
    """Each case graded by judges as their letters say; a judge has cuts for some strata, or none."""
    of = manifest(**judged_by(*cuts), judge_epochs=3)
    judges = tuple(judge.model_copy(update={"cuts": cuts[judge.model]}) for judge in of.identity.judges)
    of = of.model_copy(update={"identity": of.identity.model_copy(update={"judges": judges})})
    events = [
        event
        for item in listed
        for event in (
            answered(item.key),
            *(e for name, letter in letters.items() for e in verdicts(item.key, name, letter)),
        )
    ]
    return summarize(written(path, of, listed, events))


@pytest.mark.parametrize(
    ("sphinx", "oracle", "label", "score"),
    [
        # Cuts at .5 and 1.5 of the mean level, where S is 2, C 1 and L 0: SSC 1.67; SLL .67, though nobody said CLOSE.
        # Each judge has one say, and the score is the labels' mean: 1, .5 and 0; a tie goes to the worse.
        ("SSC", "SLL", "CLOSE", 0.75),
        ("SSS", "LLL", "LOST", 0.5),
        ("SSS", "CSS", "SOLVED", 1.0),
        # Over what could be read: 2 of one verdict, (2 + 1) / 2 of two; a cut belongs to the upper label.
        ("xSx", "SCx", "SOLVED", 1.0),
        ("xxx", "CCC", "CLOSE", 0.5),
    ],
)
def test_each_compiled_judge_has_one_say_by_where_its_mean_level_lies_among_its_cuts(
    tmp_path: Path, sphinx: str, oracle: str, label: str, score: float
):
    cuts: dict[str, Cuts] = {judge: {"RHYME": (0.5, 1.5)} for judge in (SPHINX, ORACLE)}
    (outcome,) = cut(tmp_path, cases("a"), cuts, sphinx=sphinx, oracle=oracle).outcomes
    assert (outcome.state, outcome.label, outcome.score) == ("scored", label, pytest.approx(score))


def test_each_judge_and_stratum_has_its_own_cuts_and_one_without_goes_by_the_commonest_label(tmp_path: Path):
    listed = [case("r1", stratum="RHYME"), case("n1", stratum="NUMBER")]
    lenient = cut(tmp_path / "a", listed, {SPHINX: {"RHYME": (0.2, 0.6)}}, sphinx="CCL")
    # RHYME: (1 + 1 + 0) / 3 = .67 is SOLVED. NUMBER: CLOSE by majority, mean score (.4 + .4 + 0) / 3.
    assert [(item.label, item.score) for item in lenient.outcomes] == [
        ("SOLVED", 1.0),
        ("CLOSE", pytest.approx(0.8 / 3)),
    ]
    # Level 1 is SOLVED for sphinx and LOST for the oracle.
    both: dict[str, Cuts] = {SPHINX: {"RHYME": (0.2, 0.6)}, ORACLE: {"RHYME": (1.1, 1.9)}}
    (outcome,) = cut(tmp_path / "b", cases("a"), both, sphinx="C", oracle="C").outcomes
    assert (outcome.label, outcome.score) == ("LOST", 0.5)


def test_two_judges_are_compared_by_the_labels_that_the_cuts_give(tmp_path: Path):
    summary = cut(tmp_path, cases("a"), {SPHINX: {"RHYME": (0.5, 1.8)}, ORACLE: {}}, sphinx="SSC", oracle="CCC")
    # Sphinx: 1.67 is CLOSE by its cuts, as the oracle says.
    (agreement,) = summary_document(summary)["several_verdicts"]["agreement"]
    assert agreement["table"]["CLOSE"]["CLOSE"] == 1


def jury(path: Path) -> Summary:
    """Four responses: sphinx says S S C L, oracle says S C C S."""
    events = [event for entry in FOUR for event in [answered(entry.key)]]
    quoted = {SPHINX: (True, False, None, True), ORACLE: (True, True, False, True)}
    for judge, letters in ((SPHINX, "SSCL"), (ORACLE, "SCCS")):
        for item, letter, verified in zip(FOUR, letters, quoted[judge], strict=True):
            events += verdicts(item.key, judge, letter, verified=verified)
    return summarized(path, FOUR, events)


def test_what_each_judge_said_and_how_far_two_agree(tmp_path: Path):
    result = summary_document(jury(tmp_path))["several_verdicts"]
    assert list(result) == ["responses", "unanimous", "awaited", "judges", "agreement"]
    assert (result["responses"], result["unanimous"]) == (4, 2)
    sphinx, oracle = (result["judges"][name] for name in (SPHINX, ORACLE))
    assert list(result["judges"]) == [SPHINX, ORACLE]
    # (1 + 1 + 0.4 + 0) / 4 and (1 + 0.4 + 0.4 + 1) / 4
    assert [item["weighted"]["value"] for item in (sphinx, oracle)] == pytest.approx([0.6, 0.7])
    assert [item["verdicts"] for item in (sphinx, oracle)] == [4, 4]
    assert [item["evidence"] for item in (sphinx, oracle)] == [
        {"checked": 3, "verified": 2},
        {"checked": 4, "verified": 3},
    ]
    (agreement,) = result["agreement"]
    assert (agreement["first"], agreement["second"], agreement["responses"]) == (SPHINX, ORACLE, 4)
    assert agreement["exact"]["value"] == pytest.approx(2 / 4)
    # Quadratic weights of disagreement: a step 1/4, both 1. Observed: SC 1/4 and LS 1, together 5/4 of 4 responses.
    # By chance: sphinx has S 2, C 1, L 1, oracle S 2, C 2; over 4, SC 2 x 2 / 4, CS 1 x 2 / 4, LS 1 x 2, LC 1 x 2 / 4
    # = (1 + 0.5 + 2 + 0.5) / 4 = 1. So 1 - 1.25 / 1.
    assert agreement["kappa_quadratic"]["value"] == pytest.approx(-0.25)
    assert agreement["table"] == {
        "SOLVED": {"SOLVED": 1, "CLOSE": 1, "LOST": 0},
        "CLOSE": {"SOLVED": 0, "CLOSE": 1, "LOST": 0},
        "LOST": {"SOLVED": 1, "CLOSE": 0, "LOST": 0},
    }
    difference = agreement["score_difference"]
    assert (difference["pairs"], difference["groups"]) == (4, 4)
    assert difference["value"] == pytest.approx(0.1)  # 0.7 - 0.6
    # The differences are 0, -0.6, 0 and 1: no flip of signs has a sum nearer to 0 than their 0.4.
    assert difference["p"] == pytest.approx(1.0)
    assert agreement["evidence"] == {"first": {"checked": 3, "verified": 2}, "second": {"checked": 4, "verified": 3}}


def test_agreement_is_between_each_judges_own_majority_and_mean(tmp_path: Path):
    events = [answered("a"), *verdicts("a", SPHINX, "LSS"), *verdicts("a", ORACLE, "LCC")]
    result = summary_document(summarized(tmp_path, cases("a"), events, judge_epochs=3))["several_verdicts"]
    (agreement,) = result["agreement"]
    assert (agreement["responses"], agreement["table"]["SOLVED"]["CLOSE"]) == (1, 1)
    # (0 + 0.4 + 0.4) / 3 - (0 + 1 + 1) / 3 = -1.2 / 3
    assert agreement["score_difference"]["value"] == pytest.approx(-0.4)
    assert [judge["verdicts"] for judge in result["judges"].values()] == [3, 3]
    assert [judge["weighted"]["value"] for judge in result["judges"].values()] == pytest.approx([2 / 3, 0.8 / 3])


def test_agreement_is_on_the_responses_that_both_could_grade(tmp_path: Path):
    letters = {"r1": ("S", "S"), "r2": ("S", "x"), "r3": ("x", "L"), "r4": ("S", "L")}
    events = [answered(key) for key in letters]
    for key, (sphinx, oracle) in letters.items():
        events += [*verdicts(key, SPHINX, sphinx), *verdicts(key, ORACLE, oracle)]
    summary = summarized(tmp_path, FOUR, events)
    result = summary_document(summary)["several_verdicts"]
    assert (result["responses"], result["unanimous"]) == (2, 1)
    assert [judge["verdicts"] for judge in result["judges"].values()] == [3, 3]
    (agreement,) = result["agreement"]
    assert (agreement["responses"], agreement["exact"]["value"]) == (2, 0.5)
    assert agreement["score_difference"]["value"] == pytest.approx(-0.5)  # (1 + 0) / 2 - (1 + 1) / 2
    assert summary.count("scored") == 4


def test_of_three_judges_every_two_are_compared_in_their_order(tmp_path: Path):
    events = [answered("a"), *(event for judge in "zyx" for event in verdicts("a", judge, "S"))]
    result = summary_document(summarized(tmp_path, cases("a"), events, "z", "y", "x"))
    pairs = [(item["first"], item["second"]) for item in result["several_verdicts"]["agreement"]]
    assert pairs == [("z", "y"), ("z", "x"), ("y", "x")]
    assert (result["run"]["judge"], result["run"]["judges"]) == ("z + y + x", ["z", "y", "x"])


def test_one_judge_asked_again_has_nobody_to_agree_with(tmp_path: Path):
    events = [answered("a"), *verdicts("a", SPHINX, "SL"), answered("b"), *verdicts("b", SPHINX, "CC")]
    result = summary_document(summarized(tmp_path, cases("a", "b"), events, SPHINX, judge_epochs=2))
    assert (result["run"]["judge"], result["run"]["judge_epochs"]) == (SPHINX, 2)
    judged = result["several_verdicts"]
    assert (judged["responses"], judged["unanimous"], judged["agreement"]) == (2, 1, [])
    assert judged["judges"][SPHINX]["verdicts"] == 4


def test_the_use_of_each_judge_is_its_own_and_the_role_has_the_sum(tmp_path: Path):
    prices = {SPHINX: price(1e-3, 1e-2), ORACLE: price(2e-3, 1e-2)}
    events = [
        answered("a"),
        graded("a", "SOLVED", call("judge"), judge=SPHINX),
        failed("a", "verdict", "content", "unreadable", call("judge"), call("judge"), judge=ORACLE),
    ]
    summary = summarize(
        written(tmp_path, manifest(**(judged_by(SPHINX, ORACLE) | {"judge_prices": prices})), cases("a"), events)
    )
    # 10 tokens in and 5 out a call: 10 x 1e-3 + 5 x 1e-2, and twice 10 x 2e-3 + 5 x 1e-2
    assert {name: (usage.calls, usage.usd) for name, usage in summary.judge_usage.items()} == {
        SPHINX: (1, pytest.approx(0.06)),
        ORACLE: (2, pytest.approx(0.14)),
    }
    total = summary.usage["judge"]
    assert (total.calls, total.prompt_tokens, total.completion_tokens) == (3, 30, 15)
    assert total.usd == pytest.approx(0.2)


@pytest.mark.parametrize("unknown", [SPHINX, ORACLE])
def test_where_one_judges_price_is_unknown_that_of_the_role_is_too(tmp_path: Path, unknown: str):
    prices = {name: price(1e-3, 1e-2) for name in (SPHINX, ORACLE)} | {unknown: price(None, None, reason="no list")}
    of = manifest(**(judged_by(SPHINX, ORACLE) | {"judge_prices": prices}))
    events = [answered("a"), *(graded("a", "SOLVED", call("judge"), judge=name) for name in (SPHINX, ORACLE))]
    summary = summarize(written(tmp_path, of, cases("a"), events))
    assert (summary.usage["judge"].usd, summary.usage["judge"].reason) == (None, "no list")
    known = {name: usage.usd for name, usage in summary.judge_usage.items()}
    assert known == {SPHINX: pytest.approx(0.06), ORACLE: pytest.approx(0.06)} | {unknown: None}


def test_the_variances_of_repeats_and_what_they_are_worth(tmp_path: Path):
    """Three triggers, two responses to each, two verdicts on each, scored 0 or 1: a balanced nested analysis."""
    scored = {"r1": ("SS", "SS"), "r2": ("SS", "LL"), "r3": ("LL", "LS")}
    events = []
    for key, responses in scored.items():
        for epoch, letters in enumerate(responses, start=1):
            events += [answered(key, epoch=epoch), *verdicts(key, SPHINX, letters, epoch)]
    result = summary_document(summarized(tmp_path, FOUR[:3], events, SPHINX, epochs=2, judge_epochs=2))["repeats"]
    # Means of the responses 1 1, 1 0, 0 1/2; of the triggers 1, 1/2, 1/4; of all 7/12.
    # Between verdicts: only the last response differs, 2 x (1/2)^2 over 12 - 6: 1/12.
    # Between responses: 2 x 2 x (1/2)^2 + 2 x 2 x (1/4)^2 = 5/4 over 6 - 3: 5/12. Less 1/12, by 2 verdicts: 1/6.
    # Between triggers: 4 x (5^2 + 1^2 + 4^2) / 144 = 7/6 over 3 - 1: 7/12. Less 5/12, by 4 verdicts: 1/24.
    assert result == {
        "case_variance": {"value": pytest.approx(1 / 24)},
        "response_variance": {"value": pytest.approx(1 / 6)},
        "judge_variance": {"value": pytest.approx(1 / 12)},
        "within_variance": {"value": pytest.approx(1 / 4)},  # 1/6 + 1/12
        "design_effect": {"value": pytest.approx(1.0)},  # each trigger is its own scenario
        "epochs_worth": {"value": 54},  # 9 x (1/4) / (1/24)
        "judge_epochs_worth": {"value": 4},  # 9 x (1/12) / (1/24 + 1/6) = 3.6
    }


def test_a_person_reads_how_verdicts_count_and_what_repeats_are_worth(tmp_path: Path):
    lines = [line.rstrip() for line in printed(jury(tmp_path), width=300).splitlines()]
    assert "several verdicts: the commonest grade counts, ties go to the lower; the score is their mean." in lines
    assert any(line.startswith("worth paying for: epochs unknown (no repeated responses)") for line in lines)
    # Both say the same of two responses, and lie .6 and 1 apart at the others: (.36 / 2 + 1 / 2) / 4.
    assert "variance of the score between verdicts on one response 0.170." in lines
