"""Synthetic tasks are of the published size, valid, and the same for the same arguments."""

import json
from itertools import islice
from pathlib import Path

import litellm
import pytest
from support.probe_tasks import EVIDENCE, Size, synthetic_tasks, write_synthetic

from dspy_proact.benchmarks.probe.corpus import load_tasks

SMALL = Size(items=10, words=30, actions=4)


def test_the_same_arguments_give_the_same_tasks_and_more_begin_with_fewer():
    tasks = list(synthetic_tasks(1, 6, SMALL))
    assert tasks == list(synthetic_tasks(1, 6, SMALL))
    assert tasks[:3] == list(synthetic_tasks(1, 3, SMALL))
    assert tasks != list(synthetic_tasks(2, 6, SMALL))


def test_a_task_has_the_published_size():
    # Published: 79.3 items, 25.27 actions, 96,294 to 122,098 tokens.
    (task,) = synthetic_tasks(0, 1)
    assert len(task.given["data_points"]) == 80
    assert len(task.given["world_model"]["available_actions"]) == 25
    assert 96_000 < litellm.token_counter("gpt-4o", text=json.dumps(task.given)) < 122_000


def test_they_are_valid_whichever_way_they_are_written(tmp_path: Path):
    folder, zips = tmp_path / "folder", tmp_path / "zips"
    for path in (folder, zips):
        path.mkdir()
        write_synthetic(path, 0, 9, SMALL, zipped=path is zips)
    corpus = load_tasks(str(folder))
    assert corpus.sha256 == load_tasks(str(zips)).sha256
    assert corpus.ignored_fields == {}
    # Four tasks a person.
    assert (len(corpus), len(corpus.persons)) == (9, 3)


def test_there_are_as_many_as_are_asked_for():
    # Published: 1,000 samples of 235 people.
    keys = {task.key for task in synthetic_tasks(0, 1000, Size(items=7, words=1, actions=2))}
    assert len(keys) == 1000


def test_tasks_of_a_person_share_the_actions_and_resolve_by_another():
    first, second = islice(synthetic_tasks(0, 8, SMALL), 2)
    assert first.given["world_model"] == second.given["world_model"]
    taken = [task.right["checklist"]["required_steps"][2]["success_criteria"] for task in (first, second)]
    assert taken[0]["correct_action"] != taken[1]["correct_action"]


def test_every_right_value_stands_in_the_evidence(tmp_path: Path):
    write_synthetic(tmp_path, 0, 6, SMALL)
    for task in load_tasks(str(tmp_path)):
        assert EVIDENCE[0] <= len(task.gold.evidence) <= EVIDENCE[1]
        shown = " ".join(item.model_dump_json() for item in task.items if item.id in task.gold.evidence)
        assert task.gold.parameters
        assert all(value in shown for value in task.gold.parameters.values())


def test_a_size_without_room_is_refused():
    with pytest.raises(ValueError, match="more than 6 items"):
        synthetic_tasks(0, 1, Size(items=6))
