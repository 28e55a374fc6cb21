"""Results files compared with each other."""

from pathlib import Path
from typing import Any

from results_rows import result_point, result_record, result_row
from rows import jsonl

from dspy_proact.benchmarks.proactbench.corpus import read_results
from dspy_proact.benchmarks.proactbench.report import summarize_results
from dspy_proact.report import Summary, compare


def of_file(folder: Path, *rows: dict[str, Any], name: str = "results.jsonl") -> Summary:
    (folder / name).write_text(jsonl(*(rows or [result_row()])), encoding="utf-8")
    return summarize_results(read_results(folder / name))


def test_a_results_file_compared_with_itself_does_not_differ(tmp_path):
    file = of_file(tmp_path)
    comparison = compare(file, file)
    assert (comparison.micro.weighted.difference.value, comparison.changed) == (0.0, [])
    assert len(comparison.pairs) == 3


def test_two_results_files_are_paired_by_trigger_whatever_their_order(tmp_path):
    rows = [result_row(uuid=f"{number:032x}") for number in range(3)]
    better = [
        {**each, "trigger_points": [result_point(2, score="PARTIAL"), *each["trigger_points"][1:]]} for each in rows
    ]
    first, second = of_file(tmp_path, *better), of_file(tmp_path, *reversed(rows), name="other.jsonl")
    comparison = compare(first, second)
    assert len(comparison.pairs) == 9
    assert comparison.rows["EMERGENT"].weighted.difference.value == 0.5  # PARTIAL to PASS
    assert comparison.rows["CRITICAL"].weighted.difference.value == 0.0


def test_of_files_of_two_models_the_model_is_what_changed(tmp_path):
    other = of_file(tmp_path, result_row(evaluated_model="vendor/model-2"), name="other.jsonl")
    assert compare(of_file(tmp_path), other).changed == [("model", "vendor/model-1", "vendor/model-2")]


def test_a_record_that_is_missing_makes_no_other_trigger(tmp_path):
    """Without its record a file cannot say what was asked; the rubric says that it is the same trigger."""
    lacking = of_file(tmp_path, result_row(turn_records=[result_record(2)]), name="lacking.jsonl")
    comparison = compare(of_file(tmp_path), lacking)
    assert (comparison.shared, comparison.otherwise) == (3, 0)
