"""What a run says: counts, scores, evidence and usage, each worked by hand on a run of riddles."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders.riddles import JUDGE, answered, call, case, cases, failed, failed_call, graded, manifest, price, written

from dspy_proact.calls import Call, Failure, Usage
from dspy_proact.errors import UsageError
from dspy_proact.report import Summary, summarize, summary_document
from dspy_proact.report.summary import Scores
from dspy_proact.runs import Case, Manifest, Outcome, StageEvent, VerdictRecord
from dspy_proact.stats import cluster_mean

CASES = [
    case(f"{stratum[0].lower()}{number}", group=f"g{number}", stratum=stratum)
    for stratum in ("RHYME", "NUMBER")
    for number in (1, 2, 3)
]
"""r1, r2, r3, n1, n2 and n3: one of each stratum in each of three groups."""

EVENTS = [
    # Epoch 1: SOLVED, CLOSE, no answer | LOST, no verdict, SOLVED
    answered("r1"), graded("r1", "SOLVED", verified=True),
    answered("r2"), graded("r2", "CLOSE", verified=False),
    failed("r3", "response", "content", "empty"),
    answered("n1"), graded("n1", "LOST"),
    answered("n2"), failed("n2", "verdict", "provider", "rate_limit"),
    answered("n3"), graded("n3", "SOLVED", verified=True),
    # Epoch 2: LOST, nothing yet, CLOSE at the second try | no verdict yet, no verdict, no answer
    answered("r1", epoch=2), graded("r1", "LOST", epoch=2),
    failed("r3", "response", "provider", "server", epoch=2),
    answered("r3", epoch=2), graded("r3", "CLOSE", epoch=2, verified=True),
    answered("n1", epoch=2),
    answered("n2", epoch=2), failed("n2", "verdict", "content", "unreadable", epoch=2),
    failed("n3", "response", "provider", "server", epoch=2),
]  # fmt: skip


@pytest.fixture
def summary(tmp_path: Path) -> Summary:
    return summarize(written(tmp_path, manifest(epochs=2), CASES, EVENTS))


def summarized(path: Path, events: Iterable[StageEvent], listed: Iterable[Case], of: Manifest | None = None) -> Summary:
    return summarize(written(path, of or manifest(), listed, events))


def values(scores: Scores) -> list[float | None]:
    """Pass rate and weighted score, lenient and strict."""
    estimates = (scores.pass_rate, scores.weighted, scores.strict_pass_rate, scores.strict_weighted)
    return [estimate.value for estimate in estimates]


EMPTY, UNREAD = (Failure(kind="content", reason=reason) for reason in ("empty", "unreadable"))
SERVER, LIMITED = (Failure(kind="provider", reason=reason) for reason in ("server", "rate_limit"))
RIVER = '{"words": "a river"}'
"""The response of every case: JSON, since the sphinx' answers have no field of text."""


def outcome(key: str, epoch: int, *state: Any, verified: bool | None = None, **rest: Any) -> Outcome:
    """The outcome of one of `CASES`, with the river for a response and a verdict where it is scored."""
    stratum, group = {"r": "RHYME", "n": "NUMBER"}[key[0]], f"g{key[1]}"
    complete = Outcome(stratum, group, *state, key=key, epoch=epoch, view={"text": f"What is {key}?"}, **rest)
    if complete.label is None:
        return complete
    verdict = VerdictRecord(
        judge="sphinx", label=complete.label, score=complete.score, verified=verified, detail={"remark": "hm"}
    )
    return replace(complete, response=RIVER, verdicts=(verdict,))


def test_an_outcome_tells_label_and_score_or_the_reason_why_there_is_none(summary: Summary):
    first, second = summary.outcomes[:6], summary.outcomes[6:]
    assert first == (
        outcome("r1", 1, "scored", "SOLVED", 1.0, verified=True),
        outcome("r2", 1, "scored", "CLOSE", 0.4, verified=False),
        outcome("r3", 1, "unscored", reason="response: empty", failure=EMPTY),
        outcome("n1", 1, "scored", "LOST", 0.0),
        outcome("n2", 1, "unscored", reason="verdict: rate_limit", response=RIVER, unread=(("sphinx", LIMITED),)),
        outcome("n3", 1, "scored", "SOLVED", 1.0, verified=True),
    )
    assert second == (
        outcome("r1", 2, "scored", "LOST", 0.0),
        outcome("r2", 2, "pending"),
        outcome("r3", 2, "scored", "CLOSE", 0.4, verified=True),
        outcome("n1", 2, "pending", response=RIVER),
        outcome("n2", 2, "unscored", reason="verdict: unreadable", response=RIVER, unread=(("sphinx", UNREAD),)),
        outcome("n3", 2, "unscored", reason="response: server", failure=SERVER),
    )


def test_scores_are_over_the_scored_and_strict_ones_over_all_that_were_tried(summary: Summary):
    # RHYME: scored 1, 0.4, 0, 0.4 of which one is solved; one unscored, so 5 were tried; one pending, never counted.
    assert values(summary.scores("RHYME")) == pytest.approx([1 / 4, 1.8 / 4, 1 / 5, 1.8 / 5])
    # NUMBER: scored 0 and 1; three unscored, so 5 were tried.
    assert values(summary.scores("NUMBER")) == pytest.approx([1 / 2, 1 / 2, 1 / 5, 1 / 5])
    # A stratum of which the run was not asked for a case, as by `--phase`.
    assert values(summary.scores("RIDDLE")) == [None] * 4
    # Micro: 6 scored with the sum 1.8 + 1, two of them solved; 10 tried.
    assert values(summary.micro) == pytest.approx([2 / 6, 2.8 / 6, 2 / 10, 2.8 / 10])
    # Macro, the means of the two strata: (1/4 + 1/2) / 2, (0.45 + 0.5) / 2, (0.2 + 0.2) / 2, (0.36 + 0.2) / 2.
    assert values(summary.macro) == pytest.approx([0.375, 0.475, 0.2, 0.28])


def test_intervals_are_clustered_over_groups_in_which_epochs_fall_together(summary: Summary):
    scores, groups = [1.0, 0.4, 0.0, 1.0, 0.0, 0.4], ["g1", "g2", "g1", "g3", "g1", "g3"]
    assert summary.micro.weighted == cluster_mean(scores, groups)
    assert summary.micro.weighted.low is not None


def test_a_score_comes_from_the_grade_and_not_from_the_label(tmp_path: Path):
    events = [answered("a"), graded("a", "SOLVED", score=0.7)]
    assert values(summarized(tmp_path, events, cases("a")).micro) == [1.0, 0.7, 1.0, 0.7]


def test_reasons_are_counted_by_stage_and_the_commonest_comes_first(tmp_path: Path):
    events = [
        failed("a", "response", "content", "empty"),
        answered("b"),
        failed("b", "verdict", "provider", "server"),
        answered("c"),
        failed("c", "verdict", "provider", "server"),
        failed("d", "response", "provider", "server"),
    ]
    reasons = summarized(tmp_path, events, cases("a", "b", "c", "d")).unscored_reasons
    assert next(iter(reasons.items())) == ("verdict: server", 2)
    assert reasons == {"verdict: server": 2, "response: empty": 1, "response: server": 1}


def test_evidence_counts_the_verdicts_with_something_to_check(summary: Summary):
    # Verified r1, n3 and r3; not verified r2; n1 and the second r1 had nothing to check.
    assert (summary.evidence.checked, summary.evidence.verified) == (4, 3)


def test_only_unscored_triggers_have_a_strict_score_of_zero_and_no_other(tmp_path: Path):
    summary = summarized(tmp_path, [failed("a", "response", "content", "empty")], cases("a"))
    assert values(summary.micro) == [None, None, 0.0, 0.0]


def used(path: Path, *calls: Call, **prices: float | None) -> Usage:
    """The assistant's usage when a response took these calls."""
    of = manifest(assistant_price=price(**prices), judge_prices={JUDGE: price(None, None, reason="not in the list")})
    return summarized(path, [answered("a", *calls)], cases("a"), of).usage["assistant"]


def test_usage_adds_up_every_attempt_of_a_role_whatever_became_of_its_stage(tmp_path: Path):
    of = manifest(epochs=2, assistant_price=price(2e-6, 8e-6, 5e-7), judge_prices={JUDGE: price(1e-6, 3e-6)})
    events = [
        answered("a", failed_call(), call(prompt_tokens=100, completion_tokens=20)),
        failed("a", "verdict", "provider", "server", call("judge", prompt_tokens=50, completion_tokens=1)),
        failed("a", "verdict", "content", "unreadable", call("judge", prompt_tokens=50, completion_tokens=2)),
        failed("a", "response", "provider", "server", failed_call(), epoch=2),
        answered("a", call(prompt_tokens=300, completion_tokens=30, cached_tokens=200), epoch=2),
    ]
    summary = summarized(tmp_path, events, cases("a"), of)
    assert summary.usage == {
        # 200 of 400 prompt tokens at the full price: 200 x 2e-6 + 200 x 5e-7 + 50 x 8e-6 = 4e-4 + 1e-4 + 4e-4
        "assistant": Usage(4, 400, 50, 200, pytest.approx(9e-4), None),
        # 100 x 1e-6 + 3 x 3e-6
        "judge": Usage(2, 100, 3, 0, pytest.approx(1.09e-4), None),
    }


@pytest.mark.parametrize(
    ("cached", "usd"),
    [(None, 1e-4), (0.0, 4e-5)],  # 100 x 1e-6: they cost as much as others; (100 - 60) x 1e-6: they may be free
)
def test_cached_tokens_have_their_price(tmp_path: Path, cached: float | None, usd: float):
    calls = call(prompt_tokens=100, completion_tokens=0, cached_tokens=60)
    usage = used(tmp_path, calls, prompt=1e-6, completion=0.0, cached=cached)
    assert usage.usd == pytest.approx(usd)


UNCOUNTED = "1 of 2 answers came without token counts"


@pytest.mark.parametrize(
    ("silent", "prices", "reason"),
    [
        ({}, {"prompt": None, "completion": 1e-6}, "not in the list"),
        ({}, {"prompt": 1e-6, "completion": None}, "not in the list"),
        ({"prompt_tokens": None}, {"prompt": 1e-6, "completion": 1e-6}, UNCOUNTED),
        ({"completion_tokens": None}, {"prompt": 1e-6, "completion": 1e-6}, UNCOUNTED),
    ],
)
def test_an_unknown_price_or_count_leaves_the_cost_open_with_its_reason(
    tmp_path: Path, silent: dict[str, None], prices: dict[str, float | None], reason: str
):
    usage = used(tmp_path, call(), call(**silent), failed_call(), **prices, reason="not in the list")
    assert (usage.calls, usage.usd, usage.reason) == (3, None, reason)


def test_attempts_that_were_not_answered_cost_nothing(tmp_path: Path):
    attempts = (failed_call(), failed_call(error="timeout"))
    assert used(tmp_path / "a", *attempts, prompt=1e-6, completion=1e-6) == Usage(2, 0, 0, 0, 0.0, None)
    assert used(tmp_path / "b", prompt=1e-6, completion=1e-6) == Usage(0, 0, 0, 0, 0.0, None)


def test_a_breakdown_groups_outcomes_by_a_key_of_their_cases(tmp_path: Path):
    pages = {"a": 10, "b": 9, "c": 9, "d": 9}
    listed = [case(key, group=f"g{key}", page=page) for key, page in pages.items()]
    events = [answered(key) for key in "abc"]
    events += [graded(key, label) for key, label in (("a", "SOLVED"), ("b", "CLOSE"), ("c", "LOST"))]
    events += [failed("d", "response", "content", "empty")]
    summary = summarized(tmp_path, events, listed)
    broken_down = summary.breakdown("page")
    assert list(broken_down) == ["9", "10"]  # as numbers, not as words
    nine, ten = broken_down.values()
    assert ([item.key for item in nine], [item.key for item in ten]) == (["b", "c", "d"], ["a"])
    assert values(summary.scores_of(nine)) == pytest.approx([0.0, 0.2, 0.0, 0.4 / 3])
    assert values(summary.scores_of(ten)) == [1.0] * 4


def test_a_breakdown_has_numbers_first_each_in_order_and_a_group_without_a_name(tmp_path: Path):
    styles = {"a": "late", "b": 2, "c": "early", "d": 10}
    listed = [*(case(key, "g", style=style) for key, style in styles.items()), case("e", "g")]
    result = summarized(tmp_path, [], listed).breakdown("style")
    assert {name: [item.key for item in outcomes] for name, outcomes in result.items()} == {
        "2": ["b"],
        "10": ["d"],
        "": ["e"],
        "early": ["c"],
        "late": ["a"],
    }
    assert list(result) == ["2", "10", "", "early", "late"]


def test_a_key_that_no_case_has_is_refused_naming_those_that_there_are(tmp_path: Path):
    listed = [case("a", "g", page=1, author="Anon")]
    summary = summarized(tmp_path, [], listed)
    with pytest.raises(UsageError, match=r"nothing to group by 'colour'; the keys are author, page$"):
        summary.breakdown("colour")
    with pytest.raises(UsageError, match=r"nothing to group by 'page'; the keys are none$"):
        summarized(tmp_path / "bare", [], cases("a")).breakdown("page")


def test_a_group_is_small_by_its_triggers_and_not_by_how_often_they_were_asked(tmp_path: Path):
    """Nine triggers at two epochs are eighteen outcomes of a small group; ten at one epoch are not small."""
    listed = [case(f"{page}/{number}", "g", page=page) for page, many in ((1, 9), (2, 10)) for number in range(many)]
    result = summary_document(summarized(tmp_path, [], listed, manifest(epochs=2)), by=["page"])["breakdowns"]["page"]
    assert (result["1"]["total"], result["1"]["small"]) == (18, True)
    assert (result["2"]["total"], "small" in result["2"]) == (20, False)
