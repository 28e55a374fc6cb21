"""An evaluation as a value: what makes it another run, where it is kept, and that nothing is done twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import jsonl, row, rubric, trigger_point
from specs import spec

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.execution import Completed
from dspy_proact.benchmarks.participant import folder_name
from dspy_proact.benchmarks.proactbench.corpus import Corpus, read_jsonl
from dspy_proact.benchmarks.proactbench.programs import assistant, judge
from dspy_proact.calls import Price
from dspy_proact.errors import RunError
from dspy_proact.models import Gate, ModelSpec
from dspy_proact.report import summarize
from dspy_proact.runs import Event, Observer, RunFolder, Scope

HERE = "http://127.0.0.1:9/v1"
"""An endpoint that nobody calls: an evaluation is made without I/O."""


def corpus(folder: Path, *rows: dict[str, Any], name: str = "corpus.jsonl") -> Corpus:
    """Two dialogues of two scenarios, each with a trigger a phase, unless rows are given."""
    two = [row(), row(unique_id_eval="second", scenario_id="TRAVEL_08")]
    (folder / name).write_text(jsonl(*(rows or two)), encoding="utf-8")
    return read_jsonl(folder / name)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


M, J = spec("openai/m", HERE), spec("openai/j", HERE)


def real(read: Corpus, model: ModelSpec = M, judge: ModelSpec = J, gate: Gate | None = None) -> Evaluation:
    """An evaluation of models that are never called."""
    return Evaluation(read, model, judge, gate=gate)


def test_the_default_folder_names_both_models_and_eight_digits_of_the_identity(here: Path):
    evaluation = Evaluation(corpus(here))
    digits = evaluation.manifest.identity.digest()[:8]
    assert evaluation.default_folder == Path("runs", f"proactbench--embedded--embedded--{digits}")
    assert evaluation.run().path == evaluation.default_folder
    assert RunFolder(here / evaluation.default_folder).exists


def test_routers_in_the_names_of_models_make_no_folders(here: Path):
    evaluation = real(corpus(here), model=spec("openrouter/openai/gpt-5.4", HERE))
    assert evaluation.default_folder.parent == Path("runs")
    assert evaluation.default_folder.name.startswith("proactbench--openrouter_openai_gpt-5.4--openai_j--")


@pytest.mark.parametrize(
    ("change", "differing"),
    [
        ({"model": spec("openai/n", HERE)}, ["assistant.model"]),
        ({"judge": spec("openai/n", HERE)}, ["judge.model"]),
        ({"model": spec("openai/m", HERE, params={"temperature": 0.1})}, ["assistant.decoding.temperature"]),
        ({"model": spec("openai/m", HERE, params={"top_p": None})}, ["assistant.decoding.top_p"]),
        ({"judge": spec("openai/j", HERE, params={"seed": 7})}, ["judge.decoding.seed"]),
        ({"model": spec("openai/m", f"{HERE}/b")}, ["assistant.endpoint"]),
        ({"judge": spec("openai/j", f"{HERE}/b")}, ["judge.endpoint"]),
    ],
)
def test_models_parameters_and_endpoints_are_identity(here: Path, change: dict[str, Any], differing: list[str]):
    read = corpus(here)
    one, other = real(read), real(read, **change)
    assert list(one.manifest.identity.differences(other.manifest.identity)) == differing
    assert one.default_folder != other.default_folder


def patched_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    stricter = judge.GradeResponse.with_instructions(f"{judge.INSTRUCTION} Be strict.")
    monkeypatch.setattr(judge, "GradeResponse", stricter)


def patched_assistant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assistant, "Reply", assistant.Reply.with_instructions("Be proactive."))


@pytest.mark.parametrize(
    ("patch", "differing"),
    [(patched_judge, ["judge.prompt"]), (patched_assistant, ["assistant.program", "assistant.prompt"])],
)
def test_prompts_are_identity(
    here: Path, monkeypatch: pytest.MonkeyPatch, patch: Callable[[pytest.MonkeyPatch], None], differing: list[str]
):
    read = corpus(here)
    before = real(read)
    patch(monkeypatch)
    assert list(before.manifest.identity.differences(real(read).manifest.identity)) == differing


@pytest.mark.parametrize(
    "changed",
    [
        row(trigger_points=[trigger_point(2)]),
        row(trigger_points=[trigger_point(2, evaluation_rubric=rubric("EMERGENT", pass_criteria="Another one."))]),
        row(unique_id_eval="another"),
    ],
)
def test_the_corpus_is_identity(here: Path, changed: dict[str, Any]):
    one, other = real(corpus(here, row())), real(corpus(here, changed, name="other.jsonl"))
    assert list(one.manifest.identity.differences(other.manifest.identity)) == ["corpus"]


def test_where_a_corpus_lies_and_what_is_hidden_in_it_is_no_identity(here: Path):
    one = real(corpus(here, row()))
    other = real(corpus(here, row(token_usage=None), name="moved.jsonl"))
    assert one.manifest.identity.digest() == other.manifest.identity.digest()


@pytest.mark.parametrize(
    "change",
    [
        {"gate": Gate(concurrency=1)},
        {"gate": Gate(retries=0)},
        {"gate": Gate(timeout=1.0)},
        {"model": spec("openai/m", HERE, params={"temperature": 0.7})},  # what the preset sends anyway
        {"model": spec("openai/m", f"{HERE}/")},
    ],
)
def test_how_calls_are_made_is_no_identity(here: Path, change: dict[str, Any]):
    read = corpus(here)
    assert real(read, **change).manifest.identity.digest() == real(read).manifest.identity.digest()


def test_no_secret_of_a_parameter_is_in_the_manifest_and_another_one_is_another_run(here: Path):
    def keyed(secret: str) -> Evaluation:
        return real(corpus(here), model=spec("openai/m", HERE, params={"extra_body": {"auth": [{"token": secret}]}}))

    one, other = keyed("hunter2hunter2").manifest, keyed("hunter3hunter3").manifest
    assert "hunter" not in one.model_dump_json()
    assert list(one.identity.differences(other.identity)) == ["assistant.decoding.extra_body.auth"]


def test_the_manifest_says_what_is_measured_with_what(here: Path):
    read = corpus(here, row(colour="red"))
    manifest = Evaluation(read).manifest
    assert manifest.identity.benchmark == "proactbench"
    assert manifest.strata == ("EMERGENT", "CRITICAL", "RECOVERY")
    assert manifest.labels == ("PASS", "PARTIAL", "FAIL")
    assert (manifest.corpus.rows, manifest.corpus.cases) == (1, 3)
    assert manifest.corpus.ignored_fields == {"colour": 1}
    free = Price(prompt=0.0, completion=0.0, cached=None, reason="the embedded model costs nothing")
    assert (manifest.assistant_price, manifest.judge_prices) == (free, {"embedded": free})
    assert set(manifest.versions) == {"dspy-proact", "dspy", "litellm", "pydantic", "python"}


@pytest.mark.parametrize(
    ("models", "embedded"),
    [
        ({}, False),
        ({"model": spec("embedded")}, True),
        ({"judge": spec("embedded")}, True),
    ],
)
def test_a_run_in_which_a_stand_in_takes_part_is_marked(here: Path, models: dict[str, Any], embedded: bool):
    assert real(corpus(here), **models).manifest.embedded is embedded


def test_running_twice_does_nothing_the_second_time(here: Path):
    read = corpus(here)
    # 6 triggers, each with a response and a verdict
    assert Evaluation(read).run() == Completed(Evaluation(read).default_folder, stages=12, unscored=0)
    before = (Evaluation(read).default_folder / "events.jsonl").read_bytes()
    assert Evaluation(read).run().stages == 0
    assert (Evaluation(read).default_folder / "events.jsonl").read_bytes() == before


def test_a_run_is_widened_by_limit_and_epochs_and_only_what_is_new_is_done(here: Path):
    evaluation = Evaluation(corpus(here))
    assert evaluation.run(scope=Scope(limit=1)).stages == 2
    assert evaluation.run(scope=Scope(limit=4)).stages == 6  # 3 more triggers
    assert evaluation.run().stages == 4  # the last 2 of 6
    assert evaluation.run(scope=Scope(epochs=2)).stages == 12
    summary = summarize(RunFolder(evaluation.default_folder))
    assert (summary.case_count, summary.group_count, summary.count("scored"), summary.complete) == (6, 2, 12, True)


def test_a_run_is_widened_by_phases(here: Path):
    evaluation = Evaluation(corpus(here))
    assert evaluation.run(scope=Scope(strata=("RECOVERY",))).stages == 4  # one trigger in each of two dialogues
    assert evaluation.run().stages == 8


def test_a_folder_of_another_evaluation_is_refused(here: Path):
    Evaluation(corpus(here)).run(here / "run")
    with pytest.raises(RunError, match="differs in corpus"):
        Evaluation(corpus(here, row(), name="other.jsonl")).run(here / "run")


def test_cases_hold_what_grouping_and_export_read_and_views_do_not(here: Path):
    evaluation = Evaluation(corpus(here, row()))
    evaluation.run(scope=Scope(strata=("RECOVERY",)))
    (case,) = RunFolder(evaluation.default_folder).cases()
    assert case.key == "BP_TRAVEL_07_EVA__style3__0123456789abcdef0123456789abcdef__t5"
    assert case.group == "0123456789abcdef0123456789abcdef/TRAVEL_07"
    assert (case.meta["turn"], case.meta["life_domain"], case.meta["style"]) == (5, "travel", 3)
    assert case.meta["curated_response"] == "Answer 5: the one along the cliff."
    shown = json.dumps(case.view)
    assert "Answer 4" in shown
    assert "Question 5" in shown
    for hidden in ("Answer 5", "TRAVEL_07", "0123456789abcdef", "ferry", "curator-1"):
        assert hidden not in shown


def test_the_observer_is_told_of_every_event(here: Path):
    class Count(Observer):
        def __init__(self) -> None:
            self.events: list[Event] = []

        def ended(self, event: Event, last: bool) -> None:
            self.events.append(event)
            assert last is (event.key.stage == "verdict")

    observer = Count()
    finished = Evaluation(corpus(here)).run(observer=observer)
    assert tuple(observer.events) == tuple(RunFolder(finished.path).events())
    assert len(observer.events) == finished.stages


@pytest.mark.parametrize(
    ("model", "folder"),
    [
        ("openai/gpt-5.4", "openai_gpt-5.4"),
        ("hosted_vllm//srv/models/m", "hosted_vllm_srv_models_m"),
        ("ollama/llama3:8b", "ollama_llama3_8b"),
        ("..", "_"),
        ("", "_"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("a b\n*?[x]", "a_b_x_"),
        ("modèle", "mod_le"),
    ],
)
def test_a_folder_is_named_after_the_model(model: str, folder: str):
    assert folder_name(model) == folder


@given(model=st.text(max_size=30) | st.text("./\\-_~a:*\0 ", max_size=10))
def test_any_name_of_a_model_is_one_safe_part_of_a_path(model: str):
    name = folder_name(model)
    assert name.isascii()
    assert all(char.isalnum() or char in "._-" for char in name)
    assert name.strip(".") == name != ""
    assert Path("runs", name).parent == Path("runs")
