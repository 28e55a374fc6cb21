"""A run as rows of MLflow and as results of the Hugging Face hub."""

import json
from importlib import import_module

import huggingface_hub
import pytest
import yaml
from builders.runs import RESPONSE, answered, manifest, run_of, trigger, written
from fakes import mlflow_package
from fakes.server import Answer, verdict

from dspy_proact import Evaluation, Gate, ModelSpec, RunFolder, Scope, summarize
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.registry import benchmarks
from dspy_proact.exchange.hub_results import export_hub
from dspy_proact.exchange.mlflow_rows import export_mlflow
from dspy_proact.mlflow import scorer


def rows_of(run, folder):
    lost = export_mlflow(run, summarize(run), path := folder / "rows.json")
    return json.loads(path.read_text()), lost


def hub_entry(run, folder, dataset="acme/moves"):
    """What the hub's own reader makes of the file."""
    lost = export_hub(run, summarize(run), path := folder / "results.yaml", dataset)
    assert lost == ()
    (entry,) = huggingface_hub.parse_eval_result_entries(yaml.safe_load(path.read_text()))
    return entry


# Rows of MLflow


@pytest.mark.parametrize("name", list(benchmarks()))
def test_every_benchmark_has_rows_whose_inputs_hide_what_the_assistant_did_not_see(name, tmp_path):
    Evaluation("sample", benchmark=name).run(tmp_path / "run", Scope(limit=4, epochs=2))
    run = RunFolder(tmp_path / "run")
    rows, lost = rows_of(run, tmp_path)
    answers = [event for event in run.events() if event.answer]
    assert (len(rows), lost) == (len(answers), [])
    for row in rows:
        assert row.keys() == {"inputs", "outputs", "expectations", "tags"}
        assert row["inputs"]["messages"][-1]["content"]
        assert row["expectations"]["case"]["benchmark"] == name
        assert {*map(type, row["tags"].values())} == {str}
        if hidden := row["expectations"].get("hidden"):
            assert hidden not in json.dumps(row["inputs"], ensure_ascii=False)


def test_no_line_of_a_rubric_is_in_the_inputs(proactbench, tmp_path):
    Evaluation("sample").run(tmp_path / "run", Scope(limit=6))
    rows, _ = rows_of(RunFolder(tmp_path / "run"), tmp_path)
    for row in rows:
        rubric = row["expectations"]["case"]["view"]["rubric"]
        criteria = [text for name, text in rubric.items() if name.endswith("_criteria")]
        assert len(criteria) == 3
        assert all(text in row["expectations"]["hidden"] for text in criteria)
        assert not any(text in json.dumps(row["inputs"], ensure_ascii=False) for text in criteria)


def test_tags_say_what_the_run_gave_and_what_has_no_answer_is_no_row(tmp_path):
    rows, lost = rows_of(run_of(tmp_path / "run", [(trigger("a"), "PARTIAL"), (trigger("b"), None)]), tmp_path)
    assert [(row["outputs"], row["tags"]["dspy_proact.grade"], row["tags"]["dspy_proact.score"]) for row in rows] == [
        (RESPONSE, "PARTIAL", "0.5")
    ]
    assert lost == ["1 trigger without an answer"]


@pytest.mark.parametrize("package", ["stand-in", "mlflow"])
def test_rows_are_graded_by_a_scorer_as_the_run_was(package, proactbench, server, tmp_path, monkeypatch):
    """The judge is sent the same requests, and the grades are the same."""
    server.script = lambda sent: Answer(verdict("PARTIAL", [sent.text[-1:]], "because"))
    spec = ModelSpec(name="openai/j", api_base=server.judge)
    Evaluation("sample", "embedded", spec, gate=Gate(retries=0)).run(tmp_path / "run", Scope(limit=3))
    rows, _ = rows_of(RunFolder(tmp_path / "run"), tmp_path)
    before = sorted(sent.wire for sent in server.sent)
    server.sent.clear()
    if package == "mlflow" and not mlflow_package.INSTALLED:
        pytest.skip("MLflow is not installed")
    monkeypatch.chdir(tmp_path)
    with mlflow_package.stand_in(tmp_path / "package") if package == "stand-in" else monkeypatch.context():
        graded = scorer(spec, benchmark="proactbench", gate=Gate(retries=0))
        import_module("mlflow.genai").evaluate(data=rows, scorers=[graded])
    assert sorted(sent.wire for sent in server.sent) == before


# Results of the hub


@pytest.fixture
def run(tmp_path):
    """Two PASS, one PARTIAL and one without a verdict: 2.5 of 4 is 62.5 %."""
    grades = ("PASS", "PASS", "PARTIAL", None)
    return run_of(tmp_path / "run", zip(map(trigger, "abcd"), grades, strict=True))


def test_the_hubs_own_reader_takes_the_score_that_ranks(run, tmp_path):
    entry = hub_entry(run, tmp_path, "acme/moves:dialogues")
    assert (entry.dataset_id, entry.task_id, entry.value) == ("acme/moves", "dialogues", 62.5)
    assert "strict score, in percent" in entry.notes
    assert "3 of 4 triggers scored" in entry.notes
    assert f"judge {run.manifest().identity.judge_name}" in entry.notes
    assert entry.date == run.manifest().created
    assert hub_entry(run, tmp_path).task_id == "default"


@pytest.mark.parametrize(("revision", "kept"), [("0" * 40, True), ("main", False), (None, False)])
def test_a_commit_of_the_dataset_is_its_revision(tmp_path, revision, kept):
    corpus = manifest().corpus.model_copy(update={"revision": revision})
    run = run_of(tmp_path / "run", [(trigger("a"), "PASS")], corpus=corpus)
    assert hub_entry(run, tmp_path).dataset_revision == (revision if kept else None)


@pytest.mark.parametrize("dataset", [None, "", "moves", "a/b/c", "a/b:", "a b/c", "https://huggingface.co/a/b"])
def test_a_dataset_must_be_named(run, tmp_path, dataset):
    with pytest.raises(UsageError, match="OWNER/NAME"):
        export_hub(run, summarize(run), tmp_path / "results.yaml", dataset)
    assert not (tmp_path / "results.yaml").exists()


def test_neither_a_part_of_a_run_nor_a_stand_in_has_a_score_on_a_models_page(tmp_path):
    cases = [trigger("a"), trigger("b")]
    run = written(tmp_path / "run", manifest(), cases, [answered(cases[0])])
    with pytest.raises(UsageError, match="2 of 2 triggers are pending"):
        hub_entry(run, tmp_path)
    Evaluation("sample").run(tmp_path / "stood in", Scope(limit=2))
    with pytest.raises(UsageError, match="a stand-in took part"):
        hub_entry(RunFolder(tmp_path / "stood in"), tmp_path)


@pytest.mark.parametrize("name", ['a"b: [x]', "a\nb", "- !!python/object:x", "ü日"])
def test_a_name_stays_a_text_whatever_is_in_it(tmp_path, name):
    run = run_of(tmp_path / "run", [(trigger("a"), "PASS")], name)
    assert f"judge {name};" in hub_entry(run, tmp_path).notes
