"""A run in the form of Every Eval Ever: it fits the schemas, its files fit each other, and no failure is a score."""

import hashlib
import json
import re
import uuid
from pathlib import Path

import jsonschema
import pytest
from builders.runs import RESPONSE, answered, failed, graded, manifest, run_of, trigger, written

from dspy_proact import Evaluation, RunFolder, Scope, summarize
from dspy_proact.evaluation.checks import file_of
from dspy_proact.evaluation.registry import benchmarks
from dspy_proact.exchange.every_eval_ever import aggregate_path, export_every_eval_ever

SCHEMAS = Path(__file__).parent / "every_eval_ever"
"""Those of the package itself, version 0.3.0."""
UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def fits(value: dict, schema: str) -> None:
    form = json.loads((SCHEMAS / f"{schema}.schema.json").read_text("utf-8"))
    jsonschema.Draft7Validator(form).validate(value)


def exported(run: RunFolder, folder: Path) -> tuple[dict, list[dict], list[str]]:
    summary = summarize(run)
    path = folder / aggregate_path(summary)
    path.parent.mkdir(parents=True, exist_ok=True)
    lost = export_every_eval_ever(run, summary, path)
    aggregate = json.loads(path.read_text("utf-8"))
    fits(aggregate, "eval")
    data = path.with_name(f"{path.stem}_samples.jsonl").read_bytes()
    rows = [json.loads(line) for line in data.splitlines()]
    for row in rows:
        fits(row, "instance_level_eval")
    if rows:
        detailed = aggregate["detailed_evaluation_results"]
        assert detailed["file_path"] == path.with_name(f"{path.stem}_samples.jsonl").relative_to(folder).as_posix()
        assert (detailed["total_rows"], detailed["checksum"]) == (len(rows), hashlib.sha256(data).hexdigest())
        assert {row["evaluation_id"] for row in rows} == {aggregate["evaluation_id"]}
        assert {row["model_id"] for row in rows} == {aggregate["model_info"]["id"]}
        results = {result["evaluation_result_id"] for result in aggregate["evaluation_results"]}
        assert {row["evaluation_result_id"] for row in rows} <= results
    return aggregate, rows, lost


OURS = [name for name, declared in benchmarks().items() if file_of(declared) is None]


@pytest.mark.parametrize("name", OURS)
def test_a_run_of_every_benchmark_fits_the_schemas_with_its_intervals(tmp_path, name):
    Evaluation("sample", benchmark=benchmarks()[name]).run(tmp_path / "run", Scope(limit=6, epochs=2))
    summary = summarize(tmp_path / "run")
    aggregate, rows, _ = exported(RunFolder(tmp_path / "run"), tmp_path)
    assert len(rows) == len(summary.scored)
    results = {result["evaluation_result_id"]: result for result in aggregate["evaluation_results"]}
    micro = results[f"{name}.micro_score"]
    assert micro["score_details"]["score"] == summary.micro.weighted.value
    interval = micro["score_details"]["uncertainty"].get("confidence_interval", {"lower": None, "upper": None})
    assert (interval["lower"], interval["upper"]) == (summary.micro.weighted.low, summary.micro.weighted.high)
    assert micro["metric_config"]["level_names"] == [*reversed(summary.labels)]
    for measure in summary.measures:
        if (value := summary.measured(summary.outcomes)[measure.name].value) is not None:
            config = results[f"{name}.{measure.name}"]["metric_config"]
            assert results[f"{name}.{measure.name}"]["score_details"]["score"] == value
            assert config["lower_is_better"] is not measure.higher_is_better


def test_a_row_has_the_conversation_the_grade_and_what_it_rests_on(tmp_path):
    run = run_of(tmp_path / "run", [(trigger(), "PARTIAL")], "openai/j", model="acme/nova:8b")
    aggregate, (row,), _ = exported(run, tmp_path)
    assert aggregate["model_info"]["name"] == "acme/nova:8b"
    assert row["model_id"] == "acme/nova-8b"
    assert [message["role"] for message in row["messages"]] == ["user", "assistant", "user", "assistant"]
    assert row["messages"][-1] == {"turn_idx": 3, "role": "assistant", "content": RESPONSE}
    assert row["output"] is None
    assert (row["answer_attribution"][0]["source"], row["evaluation"]["num_turns"]) == ("messages[3].content", 2)
    assert (row["evaluation"]["score"], row["evaluation"]["is_correct"]) == (0.5, False)
    (verdict,) = json.loads(row["metadata"]["verdicts"])
    assert (verdict["grade"], verdict["quotes"][0]["start"]) == ("PARTIAL", 0)
    assert row["metadata"]["grade"] == "PARTIAL"
    assert row["input"]["reference"] == ["RUBRIC\nPASS: Plans.\nPARTIAL: Hints.\nFAIL: Does nothing."]


def test_a_case_without_a_grade_is_no_row_and_is_counted(tmp_path):
    cases = [trigger(name, user=name) for name in "abc"]
    events = [failed(cases[0], "empty"), answered(cases[1]), graded(cases[1])]
    aggregate, rows, lost = exported(written(tmp_path / "run", manifest(), cases, events), tmp_path)
    assert [row["sample_id"] for row in rows] == ["b__t2"]
    assert lost[:2] == ["1 cases without a grade, since a row must have a score", "1 pending cases"]
    details = aggregate["evaluation_results"][0]["score_details"]
    assert details["details"]["unscored"] == "1"
    assert details["uncertainty"]["num_samples"] == 1
    strict = next(
        one for one in aggregate["evaluation_results"] if one["metric_config"]["metric_name"] == "strict_score"
    )
    assert (strict["score_details"]["score"], strict["score_details"]["uncertainty"]["num_samples"]) == (0.5, 2)


def test_its_path_follows_from_the_run_and_is_a_uuid_of_version_4(tmp_path):
    run = run_of(tmp_path / "run", [(trigger(), "PASS")], model="a/b/c")
    path = aggregate_path(summarize(run))
    assert re.fullmatch(rf"data/proactbench/a/b_c/{UUID4}\.json", path)
    assert uuid.UUID(Path(path).stem).version == 4
    assert path == aggregate_path(summarize(run))
    other = run_of(tmp_path / "other", [(trigger(), "PASS")], model="a/b/d")
    assert Path(aggregate_path(summarize(other))).name != Path(path).name


def test_the_command_writes_both_files_and_refuses_one_stream(proact, tmp_path):
    run_of(tmp_path / "run", [(trigger(), "PASS")])
    status, out, err = proact("export", "run", "--format", "every-eval-ever")
    written_to = Path(out.strip())
    assert (status, written_to.parts[:3], written_to.is_file()) == (0, ("exports", "data", "proactbench"), True)
    assert f"Its rows are in {written_to.with_name(written_to.stem + '_samples.jsonl')}." in err
    assert proact("export", "run", "--format", "every-eval-ever", "--out", "mine.json")[0] == 0
    assert Path("mine_samples.jsonl").is_file()
    status, _, err = proact("export", "run", "--format", "every-eval-ever", "--out", "-")
    assert (status, "every-eval-ever is two files; name the first with --out" in err) == (2, True)
