"""`dspy-proact report` of a results file: scores, what is wrong with it, and every refusal with its message."""

import json

import pytest
from results_rows import DIALOGUE, result_point, result_record, result_row, stats
from rows import jsonl, row


def file_with(folder, *rows):
    (folder / "results.jsonl").write_text(jsonl(*(rows or [result_row()])), encoding="utf-8")
    return "results.jsonl"


def corpus_with(folder, *rows):
    (folder / "corpus.jsonl").write_text(jsonl(*(rows or [row()])), encoding="utf-8")
    return "corpus.jsonl"


FAULTY = result_row(
    trigger_points=[
        result_point(1, score="Pass"),
        result_point(2, "CRITICAL", evidence="a quote that is not there"),
        result_point(3, "CRITICAL", score="PARTIAL", evidence=""),
        result_point(4, "RECOVERY", result=None),
        result_point(5, "RECOVERY", result=None),
    ],
    turn_records=[
        *map(result_record, (1, 2, 3, 6)),
        result_record(4, assistant_response=""),
        result_record(5, assistant_response=None),
    ],
    trigger_stats={"EMERGENT": stats("PASS"), "CRITICAL": stats("PASS", "PASS")},
    num_trigger_points=3,
)


def test_scores_and_faults_are_printed_with_the_next_step(proact, tmp_path):
    status, out, err = proact("report", file_with(tmp_path, FAULTY))
    text = " ".join(out.split())
    assert status == 0
    for said in (
        "(2 unscored), judged by a judge that the file does not name. ",
        "3/5",
        "unscored 2: empty_response 1, no_response 1. Strict scores count them as 0.",
        "dropped triggers: cannot be known (name the corpus that it answers with --corpus).",
        "labels that the official evaluator loses: 1 ('EVALUATED/Pass' 1).",
        f"PASS or PARTIAL whose evidence is too short or not in the response: 1 ({DIALOGUE}__t2).",
        f"PASS or PARTIAL without evidence: 1 ({DIALOGUE}__t3).",
        f"no response: 1 ({DIALOGUE}__t5).",
        f"empty response: 1 ({DIALOGUE}__t4).",
        f"response without a trigger: 1 ({DIALOGUE}__t6).",
        "counts stated in the rows: EMERGENT PASS 1, CRITICAL PASS 2; by their own labels: "
        "EMERGENT Pass 1, CRITICAL PASS 1/PARTIAL 1, RECOVERY SKIPPED 2.",
    ):
        assert said in text
    assert "Next: dspy-proact rejudge results.jsonl --corpus" in err
    assert max(map(len, out.splitlines())) <= 80


def test_json_has_the_report_and_the_faults_and_no_nan(proact, tmp_path):
    status, out, _ = proact("report", file_with(tmp_path, FAULTY), "--json", "--by", "turn")
    document = json.loads(out)
    assert (status, "NaN" in out) == (0, False)
    assert document["triggers"]["unscored_reasons"] == {"empty_response": 1, "no_response": 1}
    assert list(document["breakdowns"]["turn"]) == ["1", "2", "3", "4", "5"]
    assert document["results"] == {
        "dropped": {"total": None, "by_phase": None, "reason": "name the corpus that it answers with --corpus"},
        "stray_labels": {"EVALUATED/Pass": 1},
        "evidence_not_in_response": [f"{DIALOGUE}__t2"],
        "no_evidence": [f"{DIALOGUE}__t3"],
        "missing_responses": [f"{DIALOGUE}__t5"],
        "empty_responses": [f"{DIALOGUE}__t4"],
        "responses_that_end_within_a_sentence": [],
        "responses_without_a_trigger": [f"{DIALOGUE}__t6"],
        "counts_stated": {"EMERGENT": stats("PASS"), "CRITICAL": stats("PASS", "PASS")},
        "counts_from_labels": {
            "EMERGENT": {"Pass": 1},
            "CRITICAL": {"PASS": 1, "PARTIAL": 1},
            "RECOVERY": {"SKIPPED": 2},
        },
        "triggers_stated": 3,
        "weighted_stated": {"CRITICAL": 1.0, "EMERGENT": 1.0},
        # What can be read: EMERGENT the one `Pass`; CRITICAL a PASS and a PARTIAL.
        "weighted_recomputed": {"EMERGENT": 1.0, "CRITICAL": 0.75, "RECOVERY": None},
        "ignored_fields": {},
    }


def test_with_its_corpus_the_dropped_triggers_are_counted(proact, tmp_path):
    kept = result_row(trigger_points=[result_point(2)], turn_records=[result_record(2)])
    status, out, _ = proact("report", file_with(tmp_path, kept), "--corpus", corpus_with(tmp_path))
    assert status == 0
    assert "dropped triggers: 2 (CRITICAL 1, RECOVERY 1), against the corpus 'corpus.jsonl'." in " ".join(out.split())


def test_another_corpus_is_no_measure_of_what_was_dropped(proact, tmp_path):
    """Its triggers are not those of the file: to count them all as dropped would be a false charge."""
    other = corpus_with(tmp_path, row(unique_id_eval="other"))
    status, out, err = proact("report", file_with(tmp_path), "--corpus", other)
    assert (status, out) == (2, "")
    assert "3 of its 3 triggers are not in the corpus 'corpus.jsonl'" in err


def test_a_file_in_which_every_trigger_was_dropped_is_not_taken_for_the_samples(proact, tmp_path):
    dropped = result_row(trigger_points=[], turn_records=[], trigger_stats={}, num_trigger_points=0)
    status, out, _ = proact("report", file_with(tmp_path, dropped), "--json")
    document = json.loads(out)
    assert status == 0
    assert document["overall"]["micro"]["weighted"]["reason"] == "no scores"
    assert document["results"]["dropped"]["total"] is None


def test_a_file_on_the_sample_is_measured_against_it_without_being_asked(proact):
    proact("eval", "--limit", 4, "--out", "run")
    proact("export", "run", "--format", "proactbench")
    _, out, _ = proact("report", "exports/run.jsonl", "--json")
    assert json.loads(out)["results"]["dropped"]["total"] == 45  # of 49


def test_a_corpus_is_not_asked_of_a_run(proact):
    proact("eval", "--limit", 1, "--out", "run")
    status, _, err = proact("report", "run", "--corpus", "sample")
    assert status == 2
    assert "--corpus is for results files" in err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (jsonl(row()), "as in a corpus: this is no results file"),
        ("\n", "empty"),
        ("{nope\n", "line 1: not JSON"),
        (jsonl(result_row()).replace("null", "NaN") + "{}", "line 2"),
        (jsonl(result_row(), result_row()), "same dialogue stands on line 1"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_what_is_no_results_file_is_refused_by_name(proact, tmp_path, content, said):
    (tmp_path / "results.jsonl").write_bytes(content if isinstance(content, bytes) else content.encode())
    status, out, err = proact("report", "results.jsonl")
    assert (status, out) == (2, "")
    assert err.startswith("Error: results.jsonl")
    assert said in err


def test_an_unknown_key_to_break_down_by_is_refused_with_those_that_there_are(proact, tmp_path):
    status, _, err = proact("report", file_with(tmp_path), "--by", "mood")
    assert status == 2
    assert "life_domain" in err
