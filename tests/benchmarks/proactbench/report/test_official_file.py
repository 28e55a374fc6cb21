"""A run as a results file of the official evaluator, which reads back as the run."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proact_run import JUDGE, MODEL, PHASES, RESPONSE, answered, failed, graded, manifest, trigger, written
from results_rows import OFFICIAL_KEYS, TEXTS
from toy import answered as guessed
from toy import case as riddle
from toy import graded as marked
from toy import manifest as manifest_of_riddles
from toy import written as riddles

from dspy_proact.benchmarks.proactbench.corpus.results import ResultTrigger, read_results
from dspy_proact.benchmarks.proactbench.report.results import export_results, summarize_results
from dspy_proact.calls import Call
from dspy_proact.errors import UsageError
from dspy_proact.report import compare, summarize
from dspy_proact.runs import Case, Event, RunFolder

GRADES = st.sampled_from(["PASS", "PARTIAL", "FAIL"])


def exported(folder: RunFolder, name: str = "out.jsonl") -> tuple[tuple[ResultTrigger, ...], list[str]]:
    """The triggers of the results file that a run makes, and what the format could not hold."""
    lost = export_results(folder, summarize(folder), folder.path.with_name(name))
    return read_results(folder.path.with_name(name)).triggers, lost


def used(role: str, prompt: int | None, completion: int | None, **changes: Any) -> Call:
    fields = {"started": 1.0, "latency": 0.5, "finish_reason": "stop"}
    return Call(role=role, prompt_tokens=prompt, completion_tokens=completion, **(fields | changes))


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Case], list[Event]]:
    """Triggers of one to three dialogues, answered and graded with any text, unscored or pending; one is graded."""
    cases: list[Case] = []
    events: list[Event] = []
    for number in range(draw(st.integers(1, 3))):
        for turn in draw(st.lists(st.integers(1, 10), min_size=1, max_size=3, unique=True)):
            user = draw(TEXTS.filter(str.strip))
            case = trigger(f"d{number}", draw(st.sampled_from(PHASES)), turn=turn, user=user, curated=draw(TEXTS))
            states = ("graded", "graded", "no response", "no verdict", "pending") if cases else ("graded",)
            events += draw(_events(case, draw(st.sampled_from(states))))
            cases.append(case)
    return cases, events


@st.composite
def _events(draw: st.DrawFn, case: Case, state: str) -> list[Event]:
    if state == "pending":
        return []
    if state == "no response":
        return [failed(case, "empty")]
    response = draw(TEXTS)
    if state == "no verdict":
        return [answered(case, response), failed(case, "unreadable", judge=JUDGE)]
    evidence, reasoning = draw(st.lists(TEXTS, max_size=3)), draw(TEXTS)
    verdict = graded(case, draw(GRADES), reasoning=reasoning, evidence=evidence, response=response)
    return [answered(case, response), verdict]


@settings(max_examples=20)
@given(made=runs())
def test_a_results_file_reads_back_as_the_run(tmp_path_factory, made: tuple[list[Case], list[Event]]):
    cases, events = made
    folder = written(tmp_path_factory.mktemp("x") / "run", manifest(), cases, events)
    triggers, _ = exported(folder)
    tried = {outcome.key: outcome for outcome in summarize(folder).outcomes if outcome.state != "pending"}
    assert [each.key for each in triggers] == list(tried)
    for each in triggers:
        outcome = tried[each.key]
        assert (each.grade, each.response) == (outcome.label, outcome.response)
        assert (each.unscored_reason is None) == (outcome.state == "scored")
        assert each.user_message == outcome.view["conversation"][-1]["user"]
        assert each.curated_response == outcome.meta["curated_response"]
        assert each.rubric.model_dump(mode="json") == outcome.view["rubric"]
        assert each.origin.model_dump().items() <= dict(outcome.meta).items()
        detail = outcome.verdicts[0].detail if outcome.verdicts else {"reasoning": "", "evidence": []}
        assert each.reasoning == detail["reasoning"]
        assert list(each.evidence) == [quote["text"] for quote in detail["evidence"]]


@settings(max_examples=10)
@given(made=runs())
def test_a_run_and_its_results_file_do_not_differ(tmp_path_factory, made: tuple[list[Case], list[Event]]):
    folder = written(tmp_path_factory.mktemp("x") / "run", manifest(), *made)
    exported(folder)
    run, file = summarize(folder), summarize_results(read_results(folder.path.with_name("out.jsonl")))
    comparison = compare(run, file)
    assert len(comparison.pairs) == run.count("scored") == file.count("scored")
    assert comparison.micro.weighted.difference.value == 0
    assert sum(comparison.flips[grade][grade] for grade in comparison.flips) == len(comparison.pairs)
    assert file.count("unscored") == run.count("unscored")
    assert (file.evidence.checked, file.evidence.verified) == (run.evidence.checked, run.evidence.verified)


def test_a_row_has_the_official_keys_in_their_order_and_the_documented_one(tmp_path):
    case = trigger()
    folder = written(tmp_path / "run", manifest(), [case], [answered(case), graded(case)])
    exported(folder)
    (line,) = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(json.loads(line)) == [*OFFICIAL_KEYS, "unique_id_eval"]
    assert json.loads(line)["evaluated_model"] == MODEL
    assert json.loads(line)["trigger_points"][0]["evaluation_result"] == {
        "status": "EVALUATED",
        "score": "PASS",
        "rationale": "because",
        "evidence": "Label the boxes today.",
    }


def test_triggers_of_a_dialogue_make_one_row_and_the_unscored_are_skipped_in_its_counts(tmp_path):
    cases = [trigger("d1", turn=1), trigger("d1", turn=2), trigger("d1", "RECOVERY", turn=3), trigger("d2", turn=1)]
    events = [event for case in cases[1:] for event in (answered(case), graded(case, "PARTIAL"))]
    exported(written(tmp_path / "run", manifest(), cases, [failed(cases[0], "empty"), *events]))
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines())
    assert first["trigger_stats"] == {
        "EMERGENT": {"PASS": 0, "PARTIAL": 1, "FAIL": 0, "SKIPPED": 1},
        "RECOVERY": {"PASS": 0, "PARTIAL": 1, "FAIL": 0, "SKIPPED": 0},
    }
    assert (first["num_trigger_points"], second["num_trigger_points"]) == (3, 1)


def test_tokens_are_those_of_the_first_epoch_by_dialogue_and_role(tmp_path):
    one, other = trigger("d1"), trigger("d2")
    events = [
        answered(one, RESPONSE, used("assistant", 10, 5)),
        graded(one, "PASS", used("judge", 20, None), used("judge", 21, 2)),
        answered(other, RESPONSE, used("assistant", 7, 7)),
        graded(other, "FAIL", used("judge", 1, 1)),
        answered(one, RESPONSE, used("assistant", 1000, 1000), epoch=2),
    ]
    folder = written(tmp_path / "run", manifest(epochs=2), [one, other], events)
    exported(folder)
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines())
    assert first["token_usage"] == {
        "assistant": {"prompt_tokens": 10, "completion_tokens": 5, "calls": 1},
        "judge": {"prompt_tokens": 41, "completion_tokens": 2, "calls": 2},  # 20 + 21 and 0 + 2
    }
    assert second["token_usage"]["assistant"] == {"prompt_tokens": 7, "completion_tokens": 7, "calls": 1}


def test_of_several_verdicts_the_first_with_the_common_grade_is_kept(tmp_path):
    case = trigger()
    judges = ("openai/a", "openai/b", "openai/c")
    verdicts = [
        graded(case, grade, judge=judge, reasoning=f"so says {judge}")
        for judge, grade in zip(judges, ("PASS", "FAIL", "FAIL"), strict=True)
    ]
    folder = written(tmp_path / "run", manifest(*judges), [case], [answered(case), *verdicts])
    (only,), lost = exported(folder)
    assert (only.grade, only.reasoning) == ("FAIL", "so says openai/b")
    assert "2 further verdicts on one response; the first with the common grade is kept" in lost


def test_what_the_format_cannot_hold_is_listed_with_its_count(tmp_path):
    cases = [trigger(name) for name in "abcde"]
    a, b, c, d, _ = cases
    events = [
        *(answered(a, "Label the boxes\0 today.", truncated=True), graded(a, reasoning="x\0y")),
        failed(b, "empty"),
        failed(c, "empty"),
        *(answered(d), failed(d, "unreadable", judge=JUDGE)),
    ]
    triggers, lost = exported(written(tmp_path / "run", manifest(), cases, events))
    assert [each.key for each in triggers] == ["a__t2", "b__t2", "c__t2", "d__t2"]
    assert (triggers[0].response, triggers[0].reasoning) == ("Label the boxes\ufffd today.", "x\ufffdy")
    assert lost == [
        "3 reasons of unscored triggers: response: empty 2, verdict: unreadable 1",
        "1 pending triggers, which are left out",
        "1 marks of a response cut at the token limit",
        "2 characters that no file holds safely, replaced by U+FFFD",
        lost[-1],
    ]
    assert all(word in lost[-1] for word in ("judge", "decoding", "endpoints", "versions", "latencies"))


def test_later_epochs_are_left_out_and_said(tmp_path):
    case = trigger()
    events = [event for epoch in (1, 2, 3) for event in (answered(case, f"Try {epoch}.", epoch=epoch),)]
    grades = [graded(case, grade, epoch=epoch) for epoch, grade in ((1, "FAIL"), (2, "PASS"), (3, "PASS"))]
    (only,), lost = exported(written(tmp_path / "run", manifest(epochs=3), [case], [*events, *grades]))
    assert (only.response, only.grade) == ("Try 1.", "FAIL")
    assert "2 outcomes of later epochs" in lost


def test_a_run_in_which_nothing_was_tried_makes_no_file(tmp_path):
    folder = written(tmp_path / "run", manifest(), [trigger()])
    with pytest.raises(UsageError, match="nothing in it was tried yet"):
        exported(folder)
    assert not (tmp_path / "out.jsonl").exists()


def test_the_official_format_holds_runs_of_its_own_benchmark_only(tmp_path):
    folder = riddles(tmp_path / "run", manifest_of_riddles(), [riddle("a")], [guessed("a"), marked("a", "SOLVED")])
    with pytest.raises(UsageError, match="a run of 'riddles'"):
        exported(folder)
