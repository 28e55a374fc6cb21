"""Synthetic tasks of eval/support are of the published size, valid, and the same for the same arguments."""

from pathlib import Path

import pytest
from support.probe_tasks import EVIDENCE, Size, synthetic_tasks, write_synthetic

from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.task import ProbeView

SMALL = Size(items=10, words=30, actions=4)


def test_the_same_arguments_give_the_same_tasks_and_more_begin_with_fewer():
    tasks = list(synthetic_tasks(1, 6, SMALL))
    assert tasks[:3] == list(synthetic_tasks(1, 3, SMALL))
    assert tasks != list(synthetic_tasks(2, 6, SMALL))
    with pytest.raises(ValueError, match="more than 6 items"):
        synthetic_tasks(0, 1, Size(items=6))


def test_they_are_valid_and_their_evidence_tells_every_right_value(tmp_path: Path):
    folder, zips = tmp_path / "folder", tmp_path / "zips"
    for path in (folder, zips):
        path.mkdir()
        write_synthetic(path, 0, 9, SMALL, zipped=path is zips)
    tasks = load_tasks(str(folder))
    assert (tasks.sha256, tasks.corpus.ignored_fields) == (load_tasks(str(zips)).sha256, {})
    assert (len(tasks.cases), len({case.group for case in tasks.cases})) == (9, 3)
    views = [case.view_as(ProbeView) for case in tasks.cases]
    assert len({(view.world.person, view.gold.action) for view in views}) == 9
    for view in views:
        assert EVIDENCE[0] <= len(view.gold.evidence) <= EVIDENCE[1]
        shown = " ".join(item.model_dump_json() for item in view.items if item.id in view.gold.evidence)
        assert view.gold.parameters
        assert all(value in shown for value in view.gold.parameters.values())
