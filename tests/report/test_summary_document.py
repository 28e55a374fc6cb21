"""The JSON of `report --json`: names, order and nesting are a promise, as DESIGN.md gives them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from toy import JUDGE, answered, call, case, failed, failed_call, graded, identity, manifest, price, written

from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.report import summarize, summary_document
from dspy_proact.runs import Case, CorpusRecord, Event

PHASES = ("EMERGENT", "CRITICAL", "RECOVERY")
LABELS = ("PASS", "PARTIAL", "FAIL")
ESTIMATES = ("pass_rate", "weighted", "strict_pass_rate", "strict_weighted")


def documented(path: Path, cases: list[Case], events: list[Event], **changes: Any) -> dict[str, Any]:
    """The document of a run of a benchmark with ProactBench's phases and grades."""
    of = manifest(
        identity=identity(benchmark="proactbench"),
        strata=PHASES,
        labels=LABELS,
        nouns=NOUNS,
        corpus=CorpusRecord(name="sample", revision=None, rows=1, cases=4, ignored_fields={"colour": 2}),
        **changes,
    )
    return summary_document(summarize(written(path, of, cases, events)))


def finished(groups: int) -> tuple[list[Case], list[Event]]:
    """A finished run: in each group one trigger a phase; the grade of all three is PASS, PARTIAL or FAIL by turns."""
    cases, events = [], []
    for group in range(groups):
        for phase in PHASES:
            key, label = f"{group}/{phase}", LABELS[group % 3]
            cases.append(case(key, group=f"g{group}", stratum=phase))
            score = {"PASS": 1.0, "PARTIAL": 0.5, "FAIL": 0.0}[label]
            events += [answered(key), graded(key, label, score=score, verified=True)]
    return cases, events


def objects(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in the document with its path."""
    if isinstance(value, dict):
        yield path, value
        for key, inner in value.items():
            yield from objects(inner, f"{path}.{key}")


def assert_is_a_document(found: dict[str, Any]) -> None:
    """What holds of every run: JSON without nan, the shape, and a reason beside every null that is a result."""
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    controls = ["controls", "controls_reason"] if found["controls"] is None else ["controls"]
    shape = [
        "headline",
        "run",
        "complete",
        "scenarios",
        "scenarios_reached",
        "triggers",
        "phases",
        "overall",
        *controls,
        "evidence",
        "usage",
    ]
    assert list(found) == shape
    assert list(found["triggers"]) == ["total", "scored", "unscored", "pending", "unscored_reasons"]
    assert list(found["phases"]) == list(PHASES)
    for phase in found["phases"].values():
        assert list(phase) == ["total", "pass", "partial", "fail", "unscored", "pending", *ESTIMATES]
    assert list(found["overall"]) == ["micro", "macro"]
    for scores in found["overall"].values():
        assert list(scores) == list(ESTIMATES)
    assert list(found["evidence"]) == ["checked", "verified"]
    assert list(found["usage"]) == ["assistant", "judge"]
    for path, item in objects({name: found[name] for name in ("phases", "overall", "usage")}):
        if None in item.values():
            assert item["reason"], path
        if "value" in item:
            assert list(item) in (["value", "low", "high"], ["value", "low", "high", "reason"]), path
        if "usd" in item:
            names = ["calls", "prompt_tokens", "completion_tokens", "cached_tokens", "usd"]
            assert list(item) in (names, [*names, "reason"]), path


def test_the_whole_document_of_a_small_run(tmp_path: Path):
    """Written out once, in order; with one scenario every bound is null, so that all numbers are worked by hand."""
    cases = [
        case("e1", stratum="EMERGENT"),
        case("e2", stratum="EMERGENT"),
        case("c1", stratum="CRITICAL"),
        case("c2", stratum="CRITICAL"),
        case("r1", stratum="RECOVERY"),
    ]
    events = [
        answered("e1", call(prompt_tokens=1000, completion_tokens=100, cached_tokens=400)),
        graded("e1", "PASS", call("judge"), score=1.0, verified=True),
        answered("e2", failed_call(), call(prompt_tokens=1000, completion_tokens=100)),
        graded("e2", "FAIL", call("judge"), score=0.0),
        answered("c1"),
        graded("c1", "PARTIAL", call("judge"), score=0.5, verified=False),
        failed("c2", "response", "provider", "server"),
        failed("c2", "response", "content", "empty"),
    ]
    prices = {
        "assistant_price": price(2e-6, 1e-5, 5e-7),
        "judge_prices": {JUDGE: price(None, None, reason="not in the list")},
    }
    found = documented(tmp_path, cases, events, **prices)

    def estimate(value: float | None, reason: str = "one scenario") -> dict[str, Any]:
        return {"value": value, "low": None, "high": None, "reason": reason}

    def estimates(*four: float | None, reason: str = "one scenario") -> dict[str, Any]:
        return dict(zip(ESTIMATES, [estimate(value, reason) for value in four], strict=True))

    expected = {
        "headline": "traveller scored 50.0 of 100 (no interval: one scenario) on the 3 scored of 5 triggers of the "
        "corpus sample (1 unscored and 1 pending), judged by sphinx.",
        "run": {
            "path": str(tmp_path),
            "benchmark": "proactbench",
            "model": "traveller",
            "judge": "sphinx",
            "triggers": 5,
            "truncated": 0,
            "embedded": False,
            "id": identity(benchmark="proactbench").digest()[:8],
            "judges": ["sphinx"],
            "program": "default",
            "system_prompt": None,
            "learned_on": 0,
            "cards": {},
            "judge_prompt": "default",
            "parent": None,
            "created": "2026-01-02T03:04:05+00:00",
            "epochs": 1,
            "judge_epochs": 1,
            "tried_again": 1,
            "seconds": 3.0,  # from the first call, at 1, to the last failure, at 4
            "corpus": {
                "name": "sample",
                "revision": None,
                "dialogues": 1,
                "triggers": 4,
                "ignored_fields": {"colour": 2},
                "left_out": {},
                "sha256": "cc",
            },
            "versions": {"python": "3"},
        },
        "complete": False,
        "scenarios": 1,
        "scenarios_reached": 1,
        "triggers": {
            "total": 5,
            "scored": 3,
            "unscored": 1,
            "pending": 1,
            "unscored_reasons": {"response: empty": 1},
        },
        "phases": {
            # PASS and FAIL
            "EMERGENT": {"total": 2, "pass": 1, "partial": 0, "fail": 1, "unscored": 0, "pending": 0}
            | estimates(0.5, 0.5, 0.5, 0.5),
            # PARTIAL, and one unscored
            "CRITICAL": {"total": 2, "pass": 0, "partial": 1, "fail": 0, "unscored": 1, "pending": 0}
            | estimates(0.0, 0.5, 0.0, 0.25),
            "RECOVERY": {"total": 1, "pass": 0, "partial": 0, "fail": 0, "unscored": 0, "pending": 1}
            | estimates(None, None, None, None, reason="no scores"),
        },
        "overall": {
            # Of 3 scored one passes, with the sum 1.5; 4 were tried.
            "micro": estimates(1 / 3, 0.5, 0.25, 0.375),
            "macro": estimates(None, None, None, None, reason="no scores in RECOVERY"),
        },
        "controls": None,
        "controls_reason": "control turns were not asked for; --controls asks at them",
        "evidence": {"checked": 2, "verified": 1},
        "usage": {
            "assistant": {
                "calls": 3,
                "prompt_tokens": 2000,
                "completion_tokens": 200,
                "cached_tokens": 400,
                # 1600 x 2e-6 + 400 x 5e-7 + 200 x 1e-5 = 0.0032 + 0.0002 + 0.002
                "usd": pytest.approx(0.0054),
            },
            "judge": {
                "calls": 3,
                "prompt_tokens": 30,
                "completion_tokens": 15,
                "cached_tokens": 0,
                "usd": None,
                "reason": "not in the list",
            },
        },
    }
    assert found == expected
    assert [(path, list(item)) for path, item in objects(found)] == [
        (path, list(item)) for path, item in objects(expected)
    ]
    assert_is_a_document(found)


@pytest.mark.parametrize("groups", [0, 1, 3])
def test_a_run_that_has_tried_nothing_is_a_document_with_reasons(tmp_path: Path, groups: int):
    cases, _ = finished(groups)
    found = documented(tmp_path, cases, [])
    assert_is_a_document(found)
    assert found["complete"] is (groups == 0)
    assert (found["scenarios"], found["scenarios_reached"]) == (groups, 0)
    counts = {"total": 3 * groups, "scored": 0, "unscored": 0, "pending": 3 * groups}
    assert found["triggers"] == counts | {"unscored_reasons": {}}
    nothing = {"value": None, "low": None, "high": None, "reason": "no scores"}
    assert [found["overall"]["micro"][name] for name in ESTIMATES] == [nothing] * 4
    assert found["overall"]["macro"]["weighted"]["reason"] == "no scores in EMERGENT, CRITICAL, RECOVERY"
    assert found["evidence"] == {"checked": 0, "verified": 0}


@pytest.mark.parametrize("groups", [1, 2, 4, 5])
@pytest.mark.parametrize("done", [0.3, 0.7, 1.0])
def test_a_run_that_was_stopped_anywhere_is_a_document(tmp_path: Path, groups: int, done: float):
    cases, events = finished(groups)
    assert_is_a_document(documented(tmp_path, cases, events[: int(done * len(events))]))


def test_a_benchmark_with_other_strata_and_labels_has_them_in_their_order(tmp_path: Path):
    cases = [case("a", stratum="NUMBER"), case("b", stratum="RHYME")]
    found = summary_document(summarize(written(tmp_path, manifest(), cases, [answered("a"), graded("a", "CLOSE")])))
    assert list(found["strata"]) == ["RHYME", "NUMBER"]
    counts = {"total": 1, "solved": 0, "close": 1, "lost": 0, "unscored": 0, "pending": 0}
    assert list(found["strata"]["NUMBER"].items())[:6] == list(counts.items())
