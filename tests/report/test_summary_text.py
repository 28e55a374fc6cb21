"""What a person reads: every number with its denominator, and nothing that a file or a model says is obeyed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from builders.riddles import JUDGE, answered, call, case, cases, failed, graded, manifest, price, written
from drivers.terminal import printed

from dspy_proact.plain_text import printable
from dspy_proact.report import Summary, summarize
from dspy_proact.runs import Case, Outcome, StageEvent

PHASES = ("EMERGENT", "CRITICAL", "RECOVERY")
LABELS = ("PASS", "PARTIAL", "FAIL")


def summarized(path: Path, listed: list[Case], events: Iterable[StageEvent] = (), **changes: Any) -> Summary:
    return summarize(written(path, manifest(**changes), listed, events))


def large(share: dict[str, int]) -> Summary:
    """A finished run of 213 triggers a phase in 25 scenarios, with these counts of grades in each phase."""
    assert sum(share.values()) == 213
    grades = [label for label, count in share.items() for _ in range(count)]
    score = {"PASS": 1.0, "PARTIAL": 0.5, "FAIL": 0.0}
    outcomes = tuple(
        Outcome(phase, f"scenario {number * 7 % 25}", "scored", label, score[label], key=f"{phase} {number}")
        for phase in PHASES
        for number, label in enumerate(grades)
    )
    return Summary("run", "proactbench", "traveller", (JUDGE,), PHASES, LABELS, embedded=False, outcomes=outcomes)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),  # the one-byte form of the same
        ("a\x00b", "a\\x00b"),
        ("a\rb\x08c\x7f", "a\\rb\\x08c\\x7f"),
        ("\u202eevil\u202c", "\\u202eevil\\u202c"),
        ("\u2066a\u2069\u200f", "\\u2066a\\u2069\\u200f"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("\u2028line\u2029", "\\u2028line\\u2029"),
        ("\U000e0041", "\\U000e0041"),  # a tag character, invisible
        ("\ud800", "\\ud800"),
        ("o" + "\u0301" * 10, "o" + "\u0301" * 8 + "\\u0301" * 2),  # a heap would cover the lines above
        ("\ue000\U0010ffff", "\\ue000\\U0010ffff"),  # private and unassigned: a font may draw anything
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_shown_as_text(text: str, shown: str):
    assert printable(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "openai/gpt-5.4",
        "Zürich, façade, ñandú, œuvre",
        "e\u0301",
        "o" + "\u0301" * 8 + "o" + "\u0301" * 8,
        "Привет, 漢字, עברית, العربية",
        "“—” … € 50 %",
        "[red]x[/red]",
        "a\\x1b",
    ],
)
def test_normal_text_is_left_alone(text: str):
    assert printable(text) == text


def test_the_notes_give_epochs_and_what_was_used(tmp_path: Path):
    listed = [case("a", "g1"), case("b", "g2"), case("c", "g2")]
    events = [
        answered("a", call(prompt_tokens=1200, completion_tokens=34, cached_tokens=1000)),
        graded("a", "SOLVED", call("judge"), verified=True),
        failed("b", "response", "content", "empty"),
        answered("c"),
        graded("c", "SOLVED", verified=False),
    ]
    prices = {
        "assistant_price": price(1e-3, 1e-2),
        "judge_prices": {JUDGE: price(None, None, reason="not in the list")},
    }
    text = printed(summarized(tmp_path, listed, events, epochs=2, **prices))
    assert "3 cases x 2 epochs in 2 groups" in text
    # 1200 x 1e-3 + 34 x 1e-2 = 1.2 + 0.34
    assert "assistant: 1 calls, 1,200 tokens in (1,000 cached, 83 %), 34 out, USD 1.5400" in text
    assert "judge: 1 calls, 10 tokens in (0 cached), 5 out, cost unknown (not in the list)" in text


def test_answers_that_were_cut_say_what_raises_the_limit_and_equal_causes_are_one(tmp_path: Path):
    keys = [f"{number}" for number in range(10)]
    events = [failed(key, "response", "content", "cut", detail="cut at 500 tokens before any text") for key in keys[:4]]
    for key in keys[4:]:
        events.append(answered(key))
        events.append(failed(key, "verdict", "content", "unreadable", detail=f"no {'abcdef'[int(key) - 4]}"))
    text = printed(summarized(tmp_path, cases(*keys), events))
    assert "4 x response: cut: cut at 500 tokens before any text\n1 x verdict: unreadable: no a\n" in text
    assert "\n2 x other causes\n" in text
    raised = "cut at the token limit before any text: 4 responses; raise it with `model.params` max_tokens=N"
    assert raised in " ".join(text.split())


def test_rows_of_a_breakdown_have_their_reasons(tmp_path: Path):
    pages = {"a": 10, "b": 9, "c": 9}
    listed = [case(key, group=f"g{key}", page=page) for key, page in pages.items()]
    events = [
        event
        for key, label in zip("abc", ("SOLVED", "CLOSE", "LOST"), strict=True)
        for event in (answered(key), graded(key, label))
    ]
    text = printed(summarized(tmp_path, listed, events), by=["page"])
    assert "10: one group." in text.splitlines()


def test_the_human_reference_stands_beside_proactbench_only(proactbench: object, tmp_path: Path):
    assert "human reference" not in printed(summarized(tmp_path, cases("a")))
    assert "human reference" in printed(large({"PASS": 71, "PARTIAL": 71, "FAIL": 71}))


def test_a_pass_rate_near_an_end_of_the_scale_is_marked_where_the_score_is_not():
    text = " ".join(printed(large({"PASS": 10, "PARTIAL": 100, "FAIL": 103})).split())
    rows = "EMERGENT, CRITICAL, RECOVERY, micro, macro"
    assert f"pass rate of {rows}: close to the end of the scale: the interval may be too narrow." in text
    assert "close to the end" not in printed(large({"PASS": 40, "PARTIAL": 100, "FAIL": 73}))
