"""Before a compile, every bundled benchmark scores on its sample what a run scores."""

import pytest

from dspy_proact import AssistantTarget, Compile, Evaluation, Recipe, summarize
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.runs import Scope

FEW = 12


@pytest.mark.parametrize(
    ("name", "settings", "folds"),
    [
        ("proactbench", {}, 2),
        ("proactiveagent", {"history": 3}, 2),
        ("proactivebench", {}, 2),
        ("proagentbench", {"samples": 2}, 3),
        ("probe", {"agent": "react"}, 3),
        ("probe", {"agent": "stages", "oracle": "evidence"}, 3),
    ],
)
def test_before_is_what_a_run_scores(request, tmp_path, name, settings, folds):
    request.getfixturevalue(name)  # skipped where its folder was removed
    declared = benchmark_named(name)
    named = {"benchmark": declared, "settings": declared.settings_type(**settings)}
    Evaluation("sample", **named).run(tmp_path / "run", Scope(limit=FEW, controls=bool(declared.controls)))
    summary = summarize(tmp_path / "run")
    target = AssistantTarget("sample", strata=declared.strata, limit=FEW, **named)
    finished = Compile(target, Recipe(trials=1, folds=folds, max_demos=0)).run(tmp_path / "compile")
    before = {row.name: row.before.value for row in (finished.artefact.card.target, *finished.artefact.card.rows)}
    measured = {name: estimate.value for name, estimate in summary.measured(summary.outcomes).items()}
    scores = {stratum.lower(): summary.scores(stratum).weighted.value for stratum in summary.strata}
    for row, value in ({"score": summary.micro.weighted.value} | measured | scores).items():
        if row in before:
            assert before[row] == pytest.approx(value, abs=1e-12), row
    assert before["score"] is not None
    if declared.controls:
        assert before["offers"] == pytest.approx(summary.controls.rate.value, abs=1e-12)
