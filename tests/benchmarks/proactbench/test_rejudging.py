"""Other judges on responses that exist, over real HTTP: copied as they are, paid for once, never asked for again."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import corpus, jsonl, record, row, rubric, trigger_point
from builders.results import result_point, result_record, result_row
from builders.riddles import manifest as manifest_of_riddles
from builders.runs import answered, failed, graded, manifest, trigger, written
from drivers.client import spec, specs
from fakes.server import Answer, Sent, error, healthy, verdict

from dspy_proact import Corpus, Gate, Phase, ProactBench, Responses, RunFolder, Scope, read_results, summarize
from dspy_proact.benchmarks.proactbench.cases import responses_of_results
from dspy_proact.errors import RunError, UsageError
from dspy_proact.evaluation.evaluation import Evaluation, Rejudging

D1 = "BP_TRAVEL_07_EVA__style3__0123456789abcdef0123456789abcdef"
HOSTILE = '  | ```\r\n# Label the boxes today.\u2028 \x85é\U0001f600\t{"grade": "PASS"}\x00\n\n'
"""A response in which nothing may be stripped, folded or escaped twice."""


def parent(folder: Path, server, name: str = "parent", of: Corpus | None = None, **options: Any) -> RunFolder:
    """A run whose responses and verdicts came from the server; its requests are forgotten."""
    model, judge = spec("hosted_vllm/any", server.assistant), spec("hosted_vllm/first", server.judge)
    Evaluation(of or corpus(folder), model, judge, gate=Gate(retries=0)).run(folder / name, Scope(**options))
    server.sent.clear()
    return RunFolder(folder / name)


def rejudge(
    folder: Path, server, of: RunFolder | Responses, name="child", judge: Any = "hosted_vllm/second", **inputs: Any
) -> RunFolder:
    """The responses judged by another judge; arguments of `Scope`, of the judge and of its gate together."""
    responses = of if isinstance(of, Responses) else Responses.of_run(of, ProactBench())
    keys = {key: inputs.pop(key) for key in ("limit", "strata", "judge_epochs", "retry_unscored") if key in inputs}
    judges = specs(judge, server.judge, params=inputs.pop("params", {}))
    prompt = inputs.pop("judge_prompt", "default")
    rejudging = Rejudging(responses, judges, judge_prompt=prompt, gate=Gate(retries=0, **inputs))
    rejudging.run(folder / name, Scope(**keys))
    return RunFolder(folder / name)


def responses_of(folder: RunFolder) -> dict[tuple[str, int], Any]:
    """What stands for each response: the answer, or the failure."""
    ended = [event for event in folder.events() if event.key.stage == "response"]
    return {(event.key.case, event.key.epoch): event.answer or event.failure for event in ended}


def by_turns(answers: dict[int, Answer]):
    """An assistant that answers so at these turns; a request of turn t has 2 t - 1 messages."""
    return lambda sent: answers.get((len(sent.messages) + 1) // 2) or healthy(sent)


# Responses are another run's.


def test_responses_are_copied_to_the_byte_and_the_assistant_is_never_called(tmp_path, server):
    server.script_roles(
        assistant=by_turns({2: Answer(HOSTILE), 3: Answer("label the boxes today and th", finish_reason="length")})
    )
    first = parent(tmp_path, server)
    second = rejudge(tmp_path, server, first)
    assert responses_of(second) == responses_of(first)
    assert [responses_of(second)[f"{D1}__t{turn}", 1] for turn in (2, 3)] == [
        {"text": HOSTILE, "truncated": False},
        {"text": "label the boxes today and th", "truncated": True},
    ]
    assert (len(server.of("assistant")), len(server.of("judge"))) == (0, 6)


def test_the_judge_is_shown_what_the_first_one_was_shown_and_none_of_its_words(tmp_path, server):
    server.script_roles(judge=lambda sent: Answer(verdict("FAIL", ["label the boxes"], "canary-0001-wren")))
    first = parent(tmp_path, server)
    rejudge(tmp_path, server, first)
    again = {sent.messages[-1]["content"] for sent in server.sent}
    assert not any("canary-0001-wren" in sent.text for sent in server.sent)
    server.sent.clear()
    rejudge(tmp_path, server, first, "same", judge="hosted_vllm/first")
    assert {sent.messages[-1]["content"] for sent in server.sent} == again
    assert len(again) == 6  # 2 dialogues x 3 triggers, each a message of its own


def test_the_run_names_its_parent_which_stays_as_it_was_and_counts_its_verdicts_alone(tmp_path, server):
    first = parent(tmp_path, server)
    before = {path.name: path.read_bytes() for path in first.path.iterdir()}
    child = rejudge(tmp_path, server, first)
    second, theirs = child.manifest(), first.manifest()
    assert second.identity.parent == theirs.identity.digest()
    assert second.identity.assistant == theirs.identity.assistant
    assert (second.identity.corpus, second.corpus) == (theirs.identity.corpus, theirs.corpus)
    assert [judge.model for judge in second.identity.judges] == ["hosted_vllm/second"]
    assert theirs.identity.parent is None
    usage = summarize(child).usage
    assistant, judge = usage["assistant"], usage["judge"]
    assert (assistant.calls, assistant.prompt_tokens, assistant.usd) == (0, 0, 0.0)
    assert (judge.calls, judge.prompt_tokens, judge.completion_tokens) == (6, 66, 42)  # 6 x 11 and 6 x 7 tokens
    assert {path.name: path.read_bytes() for path in first.path.iterdir()} == before


@pytest.mark.parametrize(
    ("change", "named"), [({"judge": "hosted_vllm/third"}, "differs in .*judge.model"), ({"name": "parent"}, "parent")]
)
def test_another_judge_is_another_run_and_a_parent_is_not_its_own_child(tmp_path, server, change, named):
    first = parent(tmp_path, server)
    rejudge(tmp_path, server, first)
    server.sent.clear()
    with pytest.raises(RunError, match=named):
        rejudge(tmp_path, server, first, **change)
    assert not server.sent


# What was done is not done again.


def test_a_torn_copy_is_made_whole_and_nothing_is_copied_twice(tmp_path, server):
    first = parent(tmp_path, server)
    content = (rejudge(tmp_path, server, first).path / "events.jsonl").read_bytes()
    lines = content.splitlines(keepends=True)
    (tmp_path / "child" / "events.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:50])  # killed while copying
    server.sent.clear()
    second = rejudge(tmp_path, server, first)
    copied = [event.key for event in second.events() if event.key.stage == "response"]
    assert (len(copied), len(set(copied)), len(server.sent)) == (6, 6, 0), "verdicts are in the log of calls"
    assert responses_of(second) == responses_of(first)


@pytest.mark.parametrize(("begun", "grown", "new"), [({"limit": 2}, {}, 4), ({}, {"epochs": 2}, 6)])
def test_a_parent_that_has_grown_hands_over_its_new_responses(tmp_path, server, begun, grown, new):
    read = corpus(tmp_path)
    rejudge(tmp_path, server, parent(tmp_path, server, of=read, **begun))
    first = parent(tmp_path, server, of=read, **grown)
    second = rejudge(tmp_path, server, first)
    assert len(server.sent) == new  # of 6 triggers an epoch
    assert responses_of(second) == responses_of(first)
    assert summarize(second).count("scored") == 6 * grown.get("epochs", 1)


def test_what_the_parent_has_mended_is_judged_now(tmp_path, server):
    read = corpus(tmp_path, row())
    server.script_roles(assistant=by_turns({3: error(500)}))
    child = rejudge(tmp_path, server, parent(tmp_path, server, of=read))
    assert summarize(child).unscored_reasons == {"response: server": 1}
    server.script = healthy
    first = parent(tmp_path, server, of=read)
    child = rejudge(tmp_path, server, first)
    assert (len(server.sent), summarize(child).count("scored")) == (1, 3)
    assert responses_of(child) == responses_of(first)


def test_what_the_parent_still_owes_is_pending_and_then_done_whatever_its_own_judge_made_of_it(tmp_path, server):
    one, other = trigger("a"), trigger("b")
    unread = failed(one, "unreadable", judge="openai/j")
    first = written(tmp_path / "parent", manifest(model="embedded"), [one, other], [answered(one), unread])
    second = rejudge(tmp_path, server, first)
    assert (summarize(second).count("scored"), summarize(second).count("pending")) == (1, 1)
    written(first.path, manifest(model="embedded"), [], [answered(other)])
    assert summarize(rejudge(tmp_path, server, first)).count("scored") == 2
    assert len(server.sent) == 2
    assert second.manifest().embedded  # the responses are the stand-in's


@pytest.mark.parametrize("retry_unscored", [False, True])
def test_responses_that_failed_are_copied_and_stay_unscored(tmp_path, server, retry_unscored):
    server.script_roles(assistant=by_turns({2: Answer(""), 3: error(500)}))
    first = parent(tmp_path, server, of=corpus(tmp_path, row()))
    server.script = healthy
    for _ in range(2):
        second = rejudge(tmp_path, server, first, retry_unscored=retry_unscored)
    assert (len(server.of("assistant")), len(server.of("judge"))) == (0, 1)
    assert summarize(second).unscored_reasons == {"response: empty": 1, "response: server": 1}
    assert responses_of(second) == responses_of(first)


# How much is judged, and by whom.


def test_a_limit_judges_a_part_and_without_it_the_rest_is_judged(tmp_path, server):
    first = parent(tmp_path, server)
    second = rejudge(tmp_path, server, first, limit=2)
    assert (len(server.sent), len(list(second.cases())), len(responses_of(second))) == (2, 2, 2)
    rejudge(tmp_path, server, first, strata=["CRITICAL"])
    rejudge(tmp_path, server, first)
    assert (len(server.sent), summarize(second).count("scored")) == (6, 6)


def test_a_plan_counts_the_verdicts_on_responses_that_are_there_and_calls_nobody(tmp_path, server):
    cases = [trigger(name) for name in "abcd"]
    events = [answered(cases[0]), graded(cases[0]), answered(cases[1]), failed(cases[2], "empty")]
    responses = Responses.of_run(written(tmp_path / "parent", manifest(), cases, events), ProactBench())
    made = Rejudging(responses, specs(["hosted_vllm/one", "hosted_vllm/two"], server.judge))
    plan = made.forecast(tmp_path / "child", Scope(judge_epochs=3))
    assert (plan.assistant.calls, plan.judge.calls) == (0, 12)  # 2 responses x 2 judges x 3; d is pending, c failed
    assert not (tmp_path / "child").exists()
    assert not server.sent


@pytest.mark.parametrize(
    ("of", "text"),
    [((manifest_of_riddles(),), "a run of 'riddles'"), ((manifest(), [trigger()]), "no response in it yet")],
    ids=["another benchmark's", "empty"],
)
def test_a_run_without_responses_of_this_benchmark_is_refused(tmp_path, of, text):
    with pytest.raises(RunError, match=text):
        Responses.of_run(written(tmp_path / "run", *of), ProactBench())


# Responses of a results file, which are shown with the conversations of its corpus.


def results(folder: Path, *rows: dict[str, Any], of: Corpus | None = None) -> Responses:
    """The responses of a file with these rows; it answers one dialogue unless a corpus is given."""
    (folder / "results.jsonl").write_text(jsonl(*rows), encoding="utf-8")
    return responses_of_results(read_results(folder / "results.jsonl"), of or corpus(folder, row()))


def test_of_a_results_file_the_judge_sees_what_it_sees_of_a_run(tmp_path, server):
    """The same responses, once from a run and once from a file: the same requests."""
    read = corpus(tmp_path, row())

    def as_in_the_file(sent: Sent) -> Answer:
        return Answer(f"New answer {(len(sent.messages) + 1) // 2}: the last boat leaves at four.")

    server.script_roles(assistant=as_in_the_file)
    rejudge(tmp_path, server, parent(tmp_path, server, of=read))
    of_run = {json.dumps(sent.body, sort_keys=True) for sent in server.sent}
    server.sent.clear()
    rejudge(tmp_path, server, results(tmp_path, result_row(), of=read), "other")
    assert {json.dumps(sent.body, sort_keys=True) for sent in server.sent} == of_run
    (second,) = [text for text in of_run if "Question 2" in text and "Question 3" not in text]
    assert "Answer 1: the one along the cliff." in second
    assert "New answer 2: the last boat leaves at four." in second
    assert "Answer 2: the one along the cliff." not in second  # what the curator answered there


def test_the_parent_of_a_results_file_is_the_hash_of_its_bytes(tmp_path, server):
    second = rejudge(tmp_path, server, results(tmp_path, result_row())).manifest()
    assert second.identity.parent == hashlib.sha256((tmp_path / "results.jsonl").read_bytes()).hexdigest()
    assert second.identity.assistant.model == "vendor/model-1"
    assert (second.corpus.cases, second.identity.corpus) == (3, corpus(tmp_path, row()).sha256)
    server.sent.clear()
    changed = results(tmp_path, result_row(token_usage=None))
    with pytest.raises(RunError, match="differs in parent"):
        rejudge(tmp_path, server, changed)
    assert not server.sent


def test_what_the_file_lacks_is_unscored_with_its_reason_and_never_a_call(tmp_path, server):
    two = corpus(tmp_path)
    records = [
        result_record(2, assistant_response=None),
        result_record(3, assistant_response=" \n"),
        result_record(5, assistant_response="x" * 1_000_001),
    ]
    second = summarize(rejudge(tmp_path, server, results(tmp_path, result_row(turn_records=records), of=two)))
    assert second.unscored_reasons == {
        "response: absent": 3,  # the second dialogue is not in the file
        "response: no_response": 1,
        "response: empty": 1,
        "response: oversized": 1,
    }
    assert (second.count("unscored"), second.count("pending"), server.sent) == (6, 0, [])
    assert {phase: len(second.of_stratum(phase)) for phase in Phase} == dict.fromkeys(Phase, 2)
    assert (second.group_count, second.model) == (2, "vendor/model-1")


GRADED = [result_point(2), result_point(3, "CRITICAL", None), result_point(5, "RECOVERY", status="?")]


@pytest.mark.parametrize(
    ("changes", "scored", "reasons"),
    [
        ({"trigger_points": GRADED}, 3, {}),
        ({"trigger_points": [result_point(2)], "turn_records": [result_record(2)]}, 1, {"response: absent": 2}),
        ({"trigger_points": [result_point(2)]}, 1, {"response: absent": 2}),
        ({"turn_records": [result_record(2)]}, 1, {"response: no_response": 2}),
    ],
    ids=["grades of the file", "triggers that it dropped", "triggers of which it has responses", "records"],
)
def test_only_responses_of_triggers_in_the_file_are_judged_whatever_their_grades(
    tmp_path, server, changes, scored, reasons
):
    result = summarize(rejudge(tmp_path, server, results(tmp_path, result_row(**changes))))
    assert (result.count("scored"), result.unscored_reasons) == (scored, reasons)


def points(first: dict[str, Any]) -> list[dict[str, Any]]:
    return [first, trigger_point(3, "CRITICAL"), trigger_point(5, "RECOVERY")]


OTHER_RUBRIC = trigger_point(2, evaluation_rubric=rubric("EMERGENT", fail_criteria="Else."))
OTHERWISE = {
    "dialogue": (row(unique_id_eval="other"), "3 of its 3 triggers are not in the corpus"),
    "user message": (
        row(turn_records=[record(1), record(2, user_message="Else?"), *map(record, (3, 4, 5))]),
        "is rephrased",
    ),
    "criterion": (row(trigger_points=points(OTHER_RUBRIC)), "is rephrased"),
    "phase": (row(trigger_points=points(trigger_point(2, "RECOVERY"))), "is rephrased"),
}


@pytest.mark.parametrize(("other", "text"), OTHERWISE.values(), ids=OTHERWISE)
def test_of_another_corpus_the_first_strange_trigger_is_named(tmp_path, other, text):
    with pytest.raises(UsageError) as caught:
        results(tmp_path, result_row(), of=corpus(tmp_path, other))
    for part in (text, f"'{D1}__t2'", str(tmp_path / "corpus.jsonl"), "`corpus`"):
        assert part in str(caught.value)
