"""A sanitized task tells its answer by what its items say and by nothing else."""

from pathlib import Path

from probe_files import KEY, document, email, event, files, given, in_folder, right, steps
from support.probe_tasks import Size, write_synthetic

from dspy_proact.benchmarks.probe.corpus import load_tasks, sanitized
from dspy_proact.benchmarks.probe.task import Task

SMALL = Size(items=12, words=20, actions=3)
PREFIXES = {"email": "email", "event": "calendar", "document": "document"}


def by_the_id_rule(task: Task) -> set[str]:
    """The items whose id begins with another kind than theirs."""
    return {item.id for item in task.items if not item.id.startswith(PREFIXES[item.kind])}


def test_the_leaks_of_a_corpus_find_all_evidence_and_sanitized_none(tmp_path: Path):
    write_synthetic(tmp_path, 0, 8, SMALL, leaks=True)
    for task in load_tasks(str(tmp_path), sanitize=False):
        evidence = set(task.gold.evidence)
        assert by_the_id_rule(task) == evidence
        assert {item.id for item in task.items[: len(evidence)]} == evidence
        oldest = sorted(task.items, key=lambda item: (item.stamps or {})["created_at"])
        assert {item.id for item in oldest[: len(evidence)]} == evidence
    for task in load_tasks(str(tmp_path)):
        # The rule has nothing to go by: it names everything or nothing.
        assert by_the_id_rule(task) == {item.id for item in task.items}
        assert all(item.stamps is None for item in task.items)


def test_evidence_stands_first_no_more_often_than_chance_has_it(tmp_path: Path):
    write_synthetic(tmp_path, 0, 40, SMALL, leaks=True)
    hits, places = 0, 0
    for task in load_tasks(str(tmp_path)):
        count = len(task.gold.evidence)
        hits += sum(item.id in task.gold.evidence for item in task.items[:count])
        places += count
    # Of 40 tasks with 3 to 6 of 12 items about .4 are hit; the standard error is about .04.
    assert 0.25 < hits / places < 0.55


def test_ids_have_one_form_and_gold_follows_them(tmp_path: Path):
    outputs = right(checklist={"required_steps": steps(supported_by={"part": "email_1"})})
    path = in_folder(tmp_path, files(outputs=outputs))
    (plain,), (clean,) = load_tasks(path, sanitize=False), load_tasks(path)
    assert {len(item.id) for item in clean.items} == {len("item_01234567")}
    held = {item.id: item.model_dump(exclude={"id", "stamps"}) for item in clean.items}
    shown = {item.id: item.model_dump(exclude={"id", "stamps"}) for item in plain.items}
    assert [held[each] for each in clean.gold.evidence] == [shown[each] for each in plain.gold.evidence]
    assert clean.gold.supported_by
    assert held[clean.gold.supported_by["part"]] == shown["email_1"]
    assert (clean.world, clean.actions, clean.gold.parameters) == (plain.world, plain.actions, plain.gold.parameters)


def test_the_order_of_the_file_leaves_no_trace(tmp_path: Path):
    items = [email(), event(), document(), email("email_2", body="Later.")]
    one, other = (
        load_tasks(in_folder(tmp_path / name, files(given(data_points=each))))
        for name, each in (("one", items), ("other", items[::-1]))
    )
    assert one.task(KEY) == other.task(KEY)
    assert one.sha256 == other.sha256


def test_a_seed_gives_ids_and_order_and_another_seed_others(tmp_path: Path):
    write_synthetic(tmp_path, 0, 1, SMALL)
    (task,) = load_tasks(str(tmp_path), sanitize=False)
    assert sanitized(task, 3) == sanitized(task, 3)
    assert not {item.id for item in sanitized(task, 3).items} & {item.id for item in sanitized(task, 4).items}
    texts = [[item.model_dump(exclude={"id"}) for item in sanitized(task, seed).items] for seed in (3, 4)]
    assert texts[0] != texts[1]
    assert load_tasks(str(tmp_path), seed=3).sha256 != load_tasks(str(tmp_path), seed=4).sha256


def test_an_item_of_two_tasks_has_two_ids(tmp_path: Path):
    # What lies in two tasks of a person is evidence in neither.
    one, other = load_tasks(in_folder(tmp_path, files(key="a") | files(key="b")))
    assert not {item.id for item in one.items} & {item.id for item in other.items}


def test_unsanitized_ids_order_and_stamps_are_the_files(tmp_path: Path):
    (task,) = load_tasks(in_folder(tmp_path, files()), sanitize=False)
    assert [item.id for item in task.items] == ["email_1", "calendar_1", "document_1"]
    assert task.items[0].stamps == {
        "metadata": {},
        "created_at": "2025-03-01",
        "updated_at": "2025-03-01",
        "tags": ["mill"],
    }
