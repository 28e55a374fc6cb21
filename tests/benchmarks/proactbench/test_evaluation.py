"""An evaluation as a value: what makes it another run, where it is kept, and that nothing is done twice."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import corpus, row
from drivers.client import spec
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact import Corpus, Evaluation, Gate, ModelSpec, Phase, RunFolder, Scope
from dspy_proact.benchmarks.proactbench.programs import assistant, judge
from dspy_proact.calls import Price
from dspy_proact.evaluation.participant import folder_name

HERE = "http://127.0.0.1:9/v1"
"""An endpoint that nobody calls: an evaluation is made without I/O."""


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
    evaluation = real(corpus(here), model=spec("openrouter/openai/gpt-5.4", HERE))
    digits = evaluation.manifest.identity.digest()[:8]
    assert evaluation.default_folder == Path("runs", f"proactbench--openrouter_openai_gpt-5.4--openai_j--{digits}")


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


def test_prompts_are_identity(here: Path, monkeypatch: pytest.MonkeyPatch):
    read = corpus(here)
    before = real(read).manifest.identity
    stricter = judge.INSTRUCTIONS | {Phase.RECOVERY: "Be strict."}
    with monkeypatch.context() as patch:
        patch.setattr(judge, "INSTRUCTIONS", stricter)
        assert list(before.differences(real(read).manifest.identity)) == ["judge.prompt"]
    monkeypatch.setattr(assistant, "Reply", assistant.Reply.with_instructions("Be proactive."))
    differing = ["assistant.program", "assistant.prompt"]
    assert list(before.differences(real(read).manifest.identity)) == differing


@pytest.mark.parametrize(
    ("change", "hidden"),
    [
        ({"gate": Gate(concurrency=1, retries=0, timeout=1.0)}, {}),
        ({"model": spec("openai/m", HERE, params={"temperature": 0.7})}, {}),  # what the preset sends anyway
        ({"model": spec("openai/m", f"{HERE}/")}, {}),
        ({}, {"token_usage": 7}),
    ],
)
def test_how_calls_are_made_and_what_is_hidden_in_a_corpus_is_no_identity(
    here: Path, change: dict[str, Any], hidden: dict[str, Any]
):
    same = real(corpus(here, row(**hidden), name="moved.jsonl"), **change).manifest.identity
    assert same.digest() == real(corpus(here, row())).manifest.identity.digest()


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
    ("models", "embedded"), [({}, False), ({"model": spec("embedded")}, True), ({"judge": spec("embedded")}, True)]
)
def test_a_run_in_which_a_stand_in_takes_part_is_marked(here: Path, models: dict[str, Any], embedded: bool):
    assert real(corpus(here), **models).manifest.embedded is embedded


def test_cases_hold_what_grouping_and_export_read_and_views_do_not(here: Path):
    evaluation = Evaluation(corpus(here, row()))
    evaluation.run(scope=Scope(strata=("RECOVERY",)))
    (case,) = RunFolder(evaluation.default_folder).cases()
    assert case.key == "BP_TRAVEL_07_EVA__style3__0123456789abcdef0123456789abcdef__t5"
    assert case.group == "0123456789abcdef0123456789abcdef/TRAVEL_07"
    assert (case.meta["turn"], case.meta["life_domain"], case.meta["style"]) == (5, "travel", 3)
    assert case.meta["curated_response"] == "Answer 5: the one along the cliff."
    shown = json.dumps({**case.view})
    assert "Answer 4" in shown
    assert "Question 5" in shown
    for hidden in ("Answer 5", "TRAVEL_07", "0123456789abcdef", "ferry", "curator-1"):
        assert hidden not in shown


@given(model=st.text(max_size=30) | st.text("./\\-_~a:*\0 ", max_size=10))
def test_any_name_of_a_model_is_one_safe_part_of_a_path(model: str):
    name = folder_name(model)
    assert name.isascii()
    assert all(char.isalnum() or char in "._-" for char in name)
    assert name.strip(".") == name != ""
    assert Path("runs", name).parent == Path("runs")
