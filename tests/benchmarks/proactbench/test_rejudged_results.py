"""Other judges on the responses of a results file, which are shown with the conversations of its corpus."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from rejudging import D1, corpus, parent, quoting, rejudge
from results_rows import result_point, result_record, result_row
from rows import jsonl, record, row, rubric, trigger_point
from server import Answer, Sent

from dspy_proact.benchmarks.proactbench.cases import responses_of_results
from dspy_proact.benchmarks.proactbench.corpus import Corpus, read_results
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import RunError, UsageError
from dspy_proact.report import Summary, summarize


def results(folder: Path, *rows: dict[str, Any], of: Corpus | None = None) -> Responses:
    """The responses of a file with these rows; it answers one dialogue unless a corpus is given."""
    (folder / "results.jsonl").write_text(jsonl(*rows), encoding="utf-8")
    return responses_of_results(read_results(folder / "results.jsonl"), of or corpus(folder, row()))


def test_a_results_file_is_judged_with_the_conversations_of_its_corpus(tmp_path, server):
    server.script = quoting
    rejudge(tmp_path, server, results(tmp_path, result_row()))
    texts = {str(sent.messages[-1]["content"]) for sent in server.sent}
    assert len(texts) == 3
    (second,) = [text for text in texts if "Question 2" in text and "Question 3" not in text]
    assert "Answer 1: the one along the cliff." in second
    assert "\n    New answer 2: the last boat leaves at four." in second
    assert "Answer 2: the one along the cliff." not in second  # what the curator answered there


def test_of_a_results_file_the_judge_sees_what_it_sees_of_a_run(tmp_path, server):
    """The same responses, once from a run and once from a file: the same requests."""
    read = corpus(tmp_path, row())
    server.script_roles(assistant=lambda sent: Answer(_as_in_the_file(sent)))
    rejudge(tmp_path, server, parent(tmp_path, server, of=read))
    of_run = {json.dumps(sent.body, sort_keys=True) for sent in server.sent}
    server.sent.clear()
    rejudge(tmp_path, server, results(tmp_path, result_row(), of=read), "other")
    assert {json.dumps(sent.body, sort_keys=True) for sent in server.sent} == of_run


def _as_in_the_file(sent: Sent) -> str:
    return f"New answer {(len(sent.messages) + 1) // 2}: the last boat leaves at four."


def test_the_parent_of_a_results_file_is_the_hash_of_its_bytes(tmp_path, server):
    second = rejudge(tmp_path, server, results(tmp_path, result_row())).manifest()
    assert second.identity.parent == hashlib.sha256((tmp_path / "results.jsonl").read_bytes()).hexdigest()
    assert second.identity.assistant.model == "vendor/model-1"
    assert (second.corpus.cases, second.identity.corpus) == (3, corpus(tmp_path, row()).sha256)


def test_a_file_that_has_changed_is_another_parent(tmp_path, server):
    rejudge(tmp_path, server, results(tmp_path, result_row()))
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


@pytest.mark.parametrize(
    ("changes", "scored", "reasons"),
    [
        (
            {
                "trigger_points": [
                    result_point(2),
                    result_point(3, "CRITICAL", None),
                    result_point(5, "RECOVERY", status="?"),
                ]
            },
            3,
            {},
        ),
        ({"trigger_points": [result_point(2)], "turn_records": [result_record(2)]}, 1, {"response: absent": 2}),
        ({"trigger_points": [result_point(2)]}, 1, {"response: absent": 2}),
        ({"turn_records": [result_record(2)]}, 1, {"response: no_response": 2}),
    ],
    ids=["grades of the file", "triggers that it dropped", "triggers of which it has responses", "records"],
)
def test_only_responses_of_triggers_in_the_file_are_judged_whatever_their_grades(
    tmp_path, server, changes, scored, reasons
):
    found = summarize(rejudge(tmp_path, server, results(tmp_path, result_row(**changes))))
    assert (found.count("scored"), found.unscored_reasons) == (scored, reasons)


def test_of_another_corpus_the_first_strange_trigger_is_named(tmp_path):
    with pytest.raises(UsageError) as caught:
        results(tmp_path, result_row(), of=corpus(tmp_path, row(unique_id_eval="other")))
    assert f"3 of its 3 triggers are not in the corpus '{tmp_path / 'corpus.jsonl'}'" in str(caught.value)
    assert f"'{D1}__t2'" in str(caught.value)
    assert "--corpus" in str(caught.value)


OTHERWISE = {
    "user message": row(
        turn_records=[*(record(n) for n in (1,)), record(2, user_message="Else?"), *map(record, (3, 4, 5))]
    ),
    "criterion": row(
        trigger_points=[
            trigger_point(2, evaluation_rubric=rubric("EMERGENT", fail_criteria="Else.")),
            trigger_point(3, "CRITICAL"),
            trigger_point(5, "RECOVERY"),
        ]
    ),
    "phase": row(
        trigger_points=[trigger_point(2, "RECOVERY"), trigger_point(3, "CRITICAL"), trigger_point(5, "RECOVERY")]
    ),
}


@pytest.mark.parametrize("other", OTHERWISE.values(), ids=OTHERWISE)
def test_another_wording_of_a_trigger_is_refused_and_named(tmp_path, other):
    with pytest.raises(UsageError) as caught:
        results(tmp_path, result_row(), of=corpus(tmp_path, other))
    assert f"the trigger '{D1}__t2' is worded otherwise" in str(caught.value)


def test_a_wording_before_the_trigger_cannot_be_checked_and_is_the_corpuss(tmp_path, server):
    """A results file has only the last message, so that the history is what the corpus says it is."""
    server.script = quoting
    first = row(turn_records=[record(1, user_message="Hello there?"), *map(record, (2, 3, 4, 5))])
    rejudge(tmp_path, server, results(tmp_path, result_row(), of=corpus(tmp_path, first)))
    assert all("Hello there?" in str(sent.messages[-1]["content"]) for sent in server.sent)


def test_the_summary_of_a_rejudged_file_has_every_trigger_of_the_corpus(tmp_path, server):
    two = corpus(tmp_path)
    summary: Summary = summarize(rejudge(tmp_path, server, results(tmp_path, result_row(), of=two)))
    assert {phase: len(summary.of_stratum(phase)) for phase in Phase} == dict.fromkeys(Phase, 2)
    assert (summary.group_count, summary.model) == (2, "vendor/model-1")
