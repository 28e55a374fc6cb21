"""The JSON of `report --json`: names, order and nesting are a promise, as DESIGN.md gives them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders.riddles import answered, call, case, failed, graded, identity, manifest, written

from dspy_proact.benchmarks.proactbench.types import NOUNS
from dspy_proact.report import summarize, summary_document
from dspy_proact.runs import Case, CorpusRecord, StageEvent

PHASES = ("EMERGENT", "CRITICAL", "RECOVERY")
LABELS = ("PASS", "PARTIAL", "FAIL")
ESTIMATES = ("pass_rate", "weighted", "strict_pass_rate", "strict_weighted")


def documented(path: Path, cases: list[Case], events: list[StageEvent], **changes: Any) -> dict[str, Any]:
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


def finished(groups: int) -> tuple[list[Case], list[StageEvent]]:
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


def assert_is_a_document(result: dict[str, Any]) -> None:
    """What holds of every run: JSON without nan, the shape, and a reason beside every null that is a result."""
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    controls = ["controls", "controls_reason"] if result["controls"] is None else ["controls"]
    shape = [
        "headline",
        "claim",
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
        "usd",
    ]
    assert list(result) == shape
    assert list(result["triggers"]) == ["total", "scored", "unscored", "pending", "unscored_reasons"]
    assert list(result["phases"]) == list(PHASES)
    for phase in result["phases"].values():
        assert list(phase) == ["total", "pass", "partial", "fail", "unscored", "pending", *ESTIMATES]
    assert list(result["overall"]) == ["micro", "macro"]
    for scores in result["overall"].values():
        assert list(scores) == list(ESTIMATES)
    assert list(result["evidence"]) == ["checked", "verified"]
    assert list(result["usage"]) == ["assistant", "judge"]
    for path, item in objects({name: result[name] for name in ("phases", "overall", "usage")}):
        if None in item.values():
            assert item["reason"], path
        if "value" in item:
            assert list(item) in (["value", "low", "high"], ["value", "low", "high", "reason"]), path
        if "usd" in item:
            names = ["calls", "retries", "prompt_tokens", "completion_tokens", "cached_tokens", "usd"]
            assert list(item) in (names, [*names, "reason"]), path


@pytest.mark.parametrize("groups", [0, 1, 3])
def test_a_run_that_has_tried_nothing_is_a_document_with_reasons(tmp_path: Path, groups: int):
    cases, _ = finished(groups)
    result = documented(tmp_path, cases, [])
    assert_is_a_document(result)
    assert result["complete"] is (groups == 0)
    assert (result["scenarios"], result["scenarios_reached"]) == (groups, 0)
    counts = {"total": 3 * groups, "scored": 0, "unscored": 0, "pending": 3 * groups}
    assert result["triggers"] == counts | {"unscored_reasons": {}}
    nothing = {"value": None, "low": None, "high": None, "reason": "no scores"}
    assert [result["overall"]["micro"][name] for name in ESTIMATES] == [nothing] * 4
    assert result["overall"]["macro"]["weighted"]["reason"] == "no scores in EMERGENT, CRITICAL, RECOVERY"
    assert result["evidence"] == {"checked": 0, "verified": 0}


@pytest.mark.parametrize("groups", [1, 2, 4, 5])
@pytest.mark.parametrize("done", [0.3, 0.7, 1.0])
def test_a_run_that_was_stopped_anywhere_is_a_document(tmp_path: Path, groups: int, done: float):
    cases, events = finished(groups)
    assert_is_a_document(documented(tmp_path, cases, events[: int(done * len(events))]))


def test_a_benchmark_with_other_strata_and_labels_has_them_in_their_order(tmp_path: Path):
    cases = [case("a", stratum="NUMBER"), case("b", stratum="RHYME")]
    result = summary_document(summarize(written(tmp_path, manifest(), cases, [answered("a"), graded("a", "CLOSE")])))
    assert list(result["strata"]) == ["RHYME", "NUMBER"]
    counts = {"total": 1, "solved": 0, "close": 1, "lost": 0, "unscored": 0, "pending": 0}
    assert list(result["strata"]["NUMBER"].items())[:6] == list(counts.items())


def test_what_is_said_of_the_run_is_what_its_manifest_and_its_events_say(tmp_path: Path):
    """From the first call, at 1, to the last failure, at 4; golden runs hold the rest."""
    events = [failed("e1", "response", "provider", "server"), answered("e1", call())]
    run = documented(tmp_path, [case("e1", stratum="EMERGENT")], events, learned_on=2, epochs=3)["run"]
    assert (run["tried_again"], run["seconds"], run["learned_on"], run["epochs"]) == (1, 3.0, 2, 3)
    assert (run["created"], run["versions"]) == ("2026-01-02T03:04:05+00:00", {"python": "3"})
    corpus = {"name": "sample", "revision": None, "dialogues": 1, "triggers": 4, "left_out": {}, "sha256": "cc"}
    assert run["corpus"] == {**corpus, "ignored_fields": {"colour": 2}}
