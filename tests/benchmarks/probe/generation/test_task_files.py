"""The files of made tasks: what is checked of them as they will be read, before they are written."""

import json
from dataclasses import replace

from builders.made_people import kept_proof, made_task_corpus

from dspy_proact.benchmarks.probe.generation.files import DATASHEET, PAGE, corpus_of, files_of


def corpus(**options):
    made = made_task_corpus(2, **options)
    return corpus_of(made.brief, made.made, made.level, made.prompts, lambda person: person.persona)


def test_gates_are_of_the_files_of_the_tasks_that_are_published():
    weak = kept_proof(kept=False, reason="x", fresh=())
    shown = corpus(weak=weak)
    checks = {check.name: check for check in shown.gates}
    assert checks["readable files"].sentence == "4 of 4 tasks can be read from files."
    assert checks["BM25"].tested == 4
    assert checks["metadata: ids"].state == "not tested"
    assert [check.name for check in shown.checks][:3] == ["solvable", "less than the evidence", "without any text"]
    inputs = [name for name in files_of(shown) if name.endswith("_input.json")]
    assert len(inputs) == 4


def test_a_task_whose_files_cannot_be_read_is_named_and_stops_nothing():
    first = made_task_corpus(1)
    person = first.made.kept[0].item
    actions = tuple(action.model_copy(update={"id": " "}) for action in person.actions)
    tasks = tuple(task.model_copy(update={"action": " "}) for task in person.tasks)
    broken = replace(first.made.kept[0], item=person.model_copy(update={"actions": actions, "tasks": tasks}))
    shown = corpus_of(first.brief, replace(first.made, kept=[broken]), "full", {}, lambda person: person.persona)
    (readable, *_) = shown.gates
    assert (readable.state, readable.sentence) == ("failed", "0 of 3 tasks can be read from files.")
    assert "_input.json" in readable.findings[0].problem
    assert "1 check fails" in files_of(shown)[PAGE]


def test_a_corpus_of_no_task_has_no_gates():
    made = made_task_corpus(0, wanted=2)
    assert list(corpus_of(made.brief, made.made, "full", {}, lambda person: person.persona).gates) == []


def test_page_and_datasheet_are_among_the_files_with_one_canary():
    files = files_of(corpus())
    canary = files[DATASHEET].rpartition("Canary GUID ")[2].split()[0]
    assert canary in files[PAGE]
    assert json.loads(next(iter(files.values())))["data_points"]
