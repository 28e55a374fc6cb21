"""A run as a results file of the official evaluator, and what can be known of such a file without a call."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import corpus, row
from builders.results import DIALOGUE, TEXTS, read, result_point, result_record, result_row, stats
from builders.riddles import answered as guessed
from builders.riddles import case as riddle
from builders.riddles import graded as marked
from builders.riddles import manifest as manifest_of_riddles
from builders.riddles import written as riddles
from builders.runs import JUDGE, PHASES, RESPONSE, answered, failed, graded, manifest, trigger, written
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from dspy_proact import Corpus, compare, print_summary, summarize, summary_document
from dspy_proact.benchmarks.proactbench.corpus.results import ResultTrigger, read_results
from dspy_proact.benchmarks.proactbench.report.results import (
    Check,
    check_document,
    check_lines,
    check_results,
    export_results,
    summarize_results,
)
from dspy_proact.calls import Call
from dspy_proact.errors import UsageError
from dspy_proact.runs import Case, RunFolder, StageEvent

# A run as a file


def exported(folder: RunFolder) -> tuple[tuple[ResultTrigger, ...], list[str], list[dict[str, Any]]]:
    """The triggers of the results file that a run makes, what the format could not hold, and the raw rows."""
    path = folder.path.with_name("out.jsonl")
    lost = export_results(folder, summarize(folder), path)
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    return read_results(path).triggers, lost, rows


def call(role: str, prompt: int | None, completion: int | None) -> Call:
    times = {"started": 1.0, "latency": 0.5, "finish_reason": "stop"}
    return Call(role=role, prompt_tokens=prompt, completion_tokens=completion, **times)


LOST = Call(role="judge", prompt_tokens=20, started=1.0, latency=0.5, error="timeout")
"""A call that was not answered, which the official evaluator counts in no usage."""


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Case], list[StageEvent]]:
    """Triggers of one to three dialogues, answered and graded with any text, unscored or pending; one is graded."""
    cases: list[Case] = []
    events: list[StageEvent] = []
    for number in range(draw(st.integers(1, 3))):
        for turn in draw(st.lists(st.integers(1, 10), min_size=1, max_size=3, unique=True)):
            user = draw(TEXTS.filter(str.strip))
            case = trigger(f"d{number}", draw(st.sampled_from(PHASES)), turn=turn, user=user, curated=draw(TEXTS))
            states = ("graded", "graded", "no response", "no verdict", "pending") if cases else ("graded",)
            state, response = draw(st.sampled_from(states)), draw(TEXTS.filter(str.strip))
            evidence, reasoning = draw(st.lists(TEXTS, max_size=3)), draw(TEXTS)
            grade = draw(st.sampled_from(["PASS", "PARTIAL", "FAIL"]))
            verdict = graded(case, grade, reasoning=reasoning, evidence=evidence, response=response)
            unread = failed(case, "unreadable", judge=JUDGE)
            if state == "no response":
                events.append(failed(case, "empty"))
            elif state != "pending":
                events += [answered(case, response), verdict if state == "graded" else unread]
            cases.append(case)
    return cases, events


@settings(max_examples=20)
@given(made=runs())
def test_a_results_file_reads_back_as_the_run(tmp_path_factory, made: tuple[list[Case], list[StageEvent]]):
    folder = written(tmp_path_factory.mktemp("x") / "run", manifest(), *made)
    triggers, _, _ = exported(folder)
    run, file = summarize(folder), summarize_results(read_results(folder.path.with_name("out.jsonl")))
    tried = {outcome.key: outcome for outcome in run.outcomes if outcome.state != "pending"}
    assert [entry.key for entry in triggers] == list(tried)
    assert [outcome.reason for outcome in file.outcomes] == [entry.unscored_reason for entry in triggers]
    for item in triggers:
        outcome = tried[item.key]
        assert (item.grade, item.response) == (outcome.label, outcome.response)
        assert (item.unscored_reason is None) == (outcome.state == "scored")
        assert item.user_message == outcome.view["conversation"][-1]["user"]
        assert item.curated_response == outcome.meta["curated_response"]
        assert item.rubric.model_dump(mode="json") == outcome.view["rubric"]
        assert item.origin.model_dump().items() <= dict(outcome.meta).items()
        detail = outcome.verdicts[0].detail if outcome.verdicts else {"reasoning": "", "evidence": []}
        assert item.reasoning == detail["reasoning"]
        assert list(item.evidence) == [quote["text"] for quote in detail["evidence"]]
    comparison, check = compare(run, file), check_results(read_results(folder.path.with_name("out.jsonl")))
    assert len(comparison.pairs) == run.count("scored") == file.count("scored")
    assert comparison.lenient.micro.weighted.difference.value == 0
    assert sum(comparison.flips[grade][grade] for grade in comparison.flips) == len(comparison.pairs)
    assert (file.evidence.checked, file.evidence.verified) == (run.evidence.checked, run.evidence.verified)
    text = json.dumps(summary_document(file, by=["life_domain", "turn"]) | check_document(check), allow_nan=False)
    assert json.loads(text)["triggers"]["total"] == len(triggers)
    assert not check.misstated  # what we write states what it says
    assert not check.stray
    print_summary(file, Console(file=io.StringIO()), by=["life_domain"])


def test_tokens_are_those_of_the_first_epoch_by_dialogue_and_role_and_later_epochs_are_left_out(tmp_path):
    one, other = trigger("d1"), trigger("d2")
    events = [
        answered(one, RESPONSE, call("assistant", 10, 5)),
        graded(one, "FAIL", call("judge", 20, None), LOST, call("judge", 21, 2)),
        answered(other, RESPONSE, call("assistant", 7, 7)),
        graded(other, "FAIL", call("judge", 1, 1)),
        answered(one, "Again.", call("assistant", 1000, 1000), epoch=2),
        graded(one, "PASS", epoch=2),
    ]
    triggers, lost, (first, second) = exported(written(tmp_path / "run", manifest(epochs=2), [one, other], events))
    assert first["token_usage"] == {
        "assistant": {"prompt_tokens": 10, "completion_tokens": 5, "calls": 1},
        "judge": {"prompt_tokens": 41, "completion_tokens": 2, "calls": 2},  # 20 + 21 and 0 + 2
    }
    assert second["token_usage"]["assistant"] == {"prompt_tokens": 7, "completion_tokens": 7, "calls": 1}
    assert (triggers[0].response, triggers[0].grade) == (RESPONSE, "FAIL")
    assert "2 outcomes of later epochs" in lost


def test_of_several_verdicts_the_first_with_the_common_grade_is_kept(tmp_path):
    case = trigger()
    judges = {"openai/a": "PASS", "openai/b": "FAIL", "openai/c": "FAIL"}
    verdicts = [graded(case, grade, judge=judge, reasoning=f"so says {judge}") for judge, grade in judges.items()]
    (only,), lost, _ = exported(written(tmp_path / "run", manifest(*judges), [case], [answered(case), *verdicts]))
    assert (only.grade, only.reasoning) == ("FAIL", "so says openai/b")
    assert "2 further verdicts on one response; the first with the common grade is kept" in lost


def test_what_the_format_cannot_hold_is_listed_with_its_count(tmp_path):
    a, b, c, d, _ = cases = [trigger(name) for name in "abcde"]
    events = [
        *(answered(a, "Label the boxes\0 today.", truncated=True), graded(a, reasoning="x\0y")),
        failed(b, "empty"),
        failed(c, "empty"),
        *(answered(d), failed(d, "unreadable", judge=JUDGE)),
    ]
    triggers, lost, _ = exported(written(tmp_path / "run", manifest(), cases, events))
    assert [item.key for item in triggers] == ["a__t2", "b__t2", "c__t2", "d__t2"]
    assert (triggers[0].response, triggers[0].reasoning) == ("Label the boxes\ufffd today.", "x\ufffdy")
    assert lost == [
        "3 reasons of unscored triggers: response: empty 2, verdict: unreadable 1",
        "1 pending triggers, which are left out",
        "1 marks of a response cut at the token limit",
        "2 characters that no file holds safely, replaced by U+FFFD",
        "judge, prompts, decoding, endpoints, versions, prices, latencies, which calls failed, and where quotes stand",
    ]


def test_a_run_in_which_nothing_was_tried_and_one_of_another_benchmark_make_no_file(tmp_path):
    with pytest.raises(UsageError, match="nothing in it was tried yet"):
        exported(written(tmp_path / "run", manifest(), [trigger()]))
    folder = riddles(tmp_path / "toy", manifest_of_riddles(), [riddle("a")], [guessed("a"), marked("a", "SOLVED")])
    with pytest.raises(UsageError, match="a run of 'riddles'"):
        exported(folder)
    assert not (tmp_path / "out.jsonl").exists()


# A file as a summary


def checked(folder: Path, *rows: dict[str, Any], of: Corpus | None = None) -> Check:
    return check_results(read(folder, *(rows or [result_row()])), of)


def one(label: str = "PASS", evidence: Any = "the last boat leaves at four", **changes: Any) -> dict[str, Any]:
    """A row with one trigger, at turn 2; changes of its verdict, and `response` of its record."""
    record = {"assistant_response": changes.pop("response")} if "response" in changes else {}
    point = result_point(2, score=label, evidence=evidence, **changes)
    return result_row(trigger_points=[point], turn_records=[result_record(2, **record)])


# What is wrong with a file


def published(emergent: int, critical: int, recovery: int) -> list[dict[str, Any]]:
    """198 rows whose triggers are so many a phase, the n-th trigger of a phase in the n-th row."""
    totals = {"EMERGENT": emergent, "CRITICAL": critical, "RECOVERY": recovery}
    turns = [(phase, again) for again in (0, 1) for phase in PHASES]
    return [
        result_row(
            uuid=f"{number:032x}",
            trigger_points=[
                result_point(turn, phase)
                for turn, (phase, again) in enumerate(turns, start=1)
                if number + 198 * again < totals[phase]
            ],
            turn_records=[],
        )
        for number in range(198)
    ]


@pytest.mark.parametrize(
    ("counts", "dropped"),
    [
        # Of 201, 232 and 191: the counts of qwen3.5-9b, which lost 21, 47 and 35.
        ((180, 185, 156), {"EMERGENT": 21, "CRITICAL": 47, "RECOVERY": 35}),
        ((201, 232, 191), dict.fromkeys(PHASES, 0)),
        ((301, 232, 100), {"EMERGENT": 0, "CRITICAL": 0, "RECOVERY": 91}),  # more of one phase hide no other
    ],
)
def test_in_a_file_with_all_published_dialogues_dropped_triggers_show_by_phase(tmp_path, counts, dropped):
    check = checked(tmp_path, *published(*counts))
    assert check.dropped == dropped
    assert check_document(check)["dropped"]["total"] == sum(dropped.values())
    assert check_lines(check)[0].startswith(f"dropped triggers: {sum(dropped.values())}")
    assert check_lines(check)[0].endswith(", taken for the published corpus, which has 624.")


def test_without_its_corpus_it_is_unknown_what_another_file_has_dropped(tmp_path):
    check = checked(tmp_path, *published(201, 232, 191)[:197])
    why = "name the corpus that it answers"
    assert check_document(check)["dropped"] == {"total": None, "by_phase": None, "reason": why}


def test_with_its_corpus_what_was_dropped_is_exact_and_a_trigger_without_a_response_is_missing(tmp_path):
    """Of two dialogues the file has one, and of that two of its three triggers."""
    of = corpus(tmp_path, row(), row(unique_id_eval="second"))
    kept = result_row(trigger_points=[result_point(2), result_point(3, "CRITICAL")], turn_records=[])
    check = checked(tmp_path, kept, of=of)
    assert check.dropped == {"EMERGENT": 1, "CRITICAL": 1, "RECOVERY": 2}
    assert check.against == f"against the corpus {str(tmp_path / 'corpus.jsonl')!r}"
    assert check.faults["missing_responses"] == [f"{DIALOGUE}__t2", f"{DIALOGUE}__t3"]


def test_labels_are_counted_with_their_status_and_held_against_the_counts_that_are_stated(tmp_path):
    """The official evaluator counts a label as it stands, so that `Pass` is a new label and `Evaluated` is SKIPPED."""
    points = [
        result_point(1, score="PASS"),
        result_point(2, score="Pass"),
        result_point(3, status="Evaluated"),
        result_point(4, "RECOVERY", None),
        result_point(5, score="Pass"),
    ]
    stated = {"EMERGENT": stats("PASS", "PASS", "PASS"), "RECOVERY": stats("FAIL")}
    check = checked(tmp_path, result_row(trigger_points=points, turn_records=[], trigger_stats=stated))
    assert list(check.stray.items()) == [("EVALUATED/Pass", 2), ("Evaluated/PASS", 1)]
    assert check.counted == {"EMERGENT": {"PASS": 1, "Pass": 2, "SKIPPED": 1}, "RECOVERY": {"SKIPPED": 1}}
    assert check_lines(check)[8] == (
        "counts stated in the rows: EMERGENT PASS 3, RECOVERY FAIL 1; "
        "by their own labels: EMERGENT PASS 1/Pass 2/SKIPPED 1, RECOVERY SKIPPED 1."
    )
    stated = {"EMERGENT": {"PASS": 1, "Pass": 2, "SKIPPED": 1, "FAIL": 0}, "RECOVERY": {"SKIPPED": 1}}
    check = checked(tmp_path, result_row(trigger_points=points, turn_records=[], trigger_stats=stated))
    assert not check.misstated
    assert check_document(check)["weighted_recomputed"]["EMERGENT"] == 1  # all four read as PASS


@pytest.mark.parametrize(
    ("label", "evidence", "response", "faults"),
    [
        ("PASS", "the last boat", "The last boat leaves.", ()),
        ("PARTIAL", "the last boat", "“The last — boat” leaves.", ()),
        ("PASS", "the first boat", "The last boat leaves.", ("evidence_not_in_response",)),
        ("PASS", '["the first boat", "the last boat"]', "The last boat leaves.", ()),  # one of them stands there
        ("PASS", "the last", "The last boat leaves.", ("evidence_not_in_response",)),  # too short to count
        ("PASS", None, "The last boat leaves.", ("no_evidence",)),
        ("PASS", "the last boat", None, ("evidence_not_in_response", "missing_responses")),
        ("FAIL", "the first boat", "The last boat leaves.", ()),  # a FAIL need not quote
        ("MAYBE", "the first boat", "The last boat leaves.", ()),  # no grade, nothing to verify
        ("FAIL", "", " \n\u3000", ("empty_responses",)),
    ],
)
def test_credit_needs_evidence_that_stands_in_the_response(tmp_path, label, evidence, response, faults):
    check = checked(tmp_path, one(label, evidence, response=response))
    assert {name: keys for name, keys in check.faults.items() if keys} == {key: [f"{DIALOGUE}__t2"] for key in faults}


LONG = "The last boat leaves at four in the afternoon"


@pytest.mark.parametrize(
    ("response", "cut"),
    [
        (f"{LONG} and then you", True),
        (f"# Boats\n\n{LONG} and then you  \n", True),
        (f"{LONG[:-2]}あ", True),  # letters are letters in every script
        *((f"{LONG}{end}", False) for end in (".", ":)", " 4711", ".\n\nYours\nAnn")),
        *((f"Boats:\n{mark} {LONG}", False) for mark in ("-", "12.", ">", "|")),
        ("Four", False),
    ],
)
def test_a_response_that_ends_within_a_sentence_may_have_been_cut(tmp_path, response, cut):
    faults = checked(tmp_path, one("FAIL", "", response=response)).faults
    assert bool(faults["responses_that_end_within_a_sentence"]) is cut


def test_each_fault_names_its_first_trigger_and_how_many_more_there_are(tmp_path):
    points = [result_point(turn, evidence="the first boat") for turn in (2, 3)]
    check = checked(tmp_path, result_row(trigger_points=points, novelty=1))
    text = f"PASS or PARTIAL whose evidence is too short or not in the response: 2 ({DIALOGUE}__t2 and 1 more)."
    assert text in check_lines(check)
    assert f"response without a trigger: 1 ({DIALOGUE}__t5)." in check_lines(check)
    assert "triggers stated in the rows: 3; there are 2." in check_lines(check)
    assert check_document(check)["ignored_fields"] == {"novelty": 1}


# Safe to read, whatever is in it
