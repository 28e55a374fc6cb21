"""Tasks are read from a folder, from zips or from the hub, one at a time, and sanitized; a fault is one sentence."""

import json
import tracemalloc
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes.hub import COMMIT, hub_of, printed
from probe_files import (
    CANARY,
    KEY,
    action,
    corpus_document,
    document,
    email,
    event,
    files,
    in_folder,
    in_zips,
    right,
    steps,
    world,
)
from support.probe_tasks import Size, write_synthetic

from dspy_proact.benchmarks.probe.corpus import LARGEST, load_tasks
from dspy_proact.benchmarks.probe.task import Document, Email, Event, ProbeView
from dspy_proact.errors import CorpusError
from dspy_proact.runs import CaseSet

SMALL = Size(items=12, words=20, actions=3)


def refusal(path: str | Path, strict: bool = False) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        load_tasks(str(path), strict=strict)
    return caught.value


def read(path: str | Path, **options: Any) -> CaseSet:
    return load_tasks(str(path), **options)


def views(path: str | Path, **options: Any) -> list[ProbeView]:
    return [case.view_as(ProbeView) for case in read(path, **options).cases]


def test_a_task_is_read_from_its_two_files(tmp_path: Path):
    inputs = corpus_document(annotation_instructions={"task": CANARY})
    tasks = read(in_folder(tmp_path, files(inputs)), sanitize=False)
    (case,) = tasks.cases
    assert (case.key, case.group, case.stratum) == (KEY, "p-0", "easy")
    view = case.view_as(ProbeView)
    assert (view.world.person, view.world.relationships[0].name) == ("Ada Brook", "Bo")
    assert (view.world.current_priorities, view.world.organisation.reporting_to) == (("flour",), "Cy")
    assert [type(item) for item in view.items] == [Email, Event, Document]
    assert [item.id for item in view.items] == ["email_1", "calendar_1", "document_1"]
    stamps = {"metadata": {}, "created_at": "2025-03-01", "updated_at": "2025-03-01", "tags": ["mill"]}
    assert view.items[0].stamps == stamps
    assert (view.actions[0].required, view.gold.evidence) == (("part",), ("email_1", "calendar_1"))
    assert (view.gold.action, view.gold.parameters) == ("order", {"part": "seal"})
    assert view.gold.facets is None
    # What is known and hidden is neither kept nor counted; the model that wrote a task is kept for breakdowns only.
    assert not [word for word in (CANARY, "solves_bottleneck", "writer-1") if word in view.model_dump_json()]
    assert (tasks.corpus.ignored_fields, case.meta["generator"]) == ({}, "writer-1")


def test_tasks_come_in_the_order_of_their_keys_without_fields_that_the_format_does_not_know(tmp_path: Path):
    known = world()
    strange = [{**known["relationships"][0], "mood": "glum"}]
    inputs = corpus_document(
        world_model=world(relationships=strange), data_points=[email(author="Bo"), email("b", author="Bo")]
    )
    outputs = right(true_positive_ids=["b"], difficulty_word="hard")
    tasks = read(in_folder(tmp_path, files(key="b") | files(inputs, outputs, key="a")))
    assert [case.key for case in tasks.cases] == ["a", "b"]
    ignored = {"data_points.payload.author": 2, "difficulty_word": 1, "world_model.relationships.mood": 1}
    assert tasks.corpus.ignored_fields == ignored
    assert not [word for word in ("author", "glum") if word in tasks.cases[0].view_as(ProbeView).model_dump_json()]


def test_a_folder_zips_in_one_and_one_zip_give_the_same_tasks(tmp_path: Path):
    contents = files(key="a") | files(key="b")
    folder, zips, deep = (tmp_path / name for name in ("folder", "zips", "deep"))
    zips.mkdir()
    nested = {f"{name[-11:-5]}/{name}": text for name, text in contents.items()}
    both = zipped(tmp_path / "both.zip", contents | {"__MACOSX/._a_input.json": b"\0\5\x16\7"})
    results = [in_folder(folder, contents), in_zips(zips, contents), in_folder(deep, nested), both]
    assert len({read(index).sha256 for index in results}) == 1


def test_the_hash_tells_tasks_apart_and_not_how_they_are_written(tmp_path: Path):
    contents = files()
    tasks = read(in_folder(tmp_path / "one", contents))
    indented = {name: "\ufeff" + json.dumps(json.loads(text), indent=3) for name, text in contents.items()}
    assert read(in_folder(tmp_path / "spaced", indented)).sha256 == tasks.sha256
    changed = files(corpus_document(data_points=[email(body="No."), event()]))
    assert read(in_folder(tmp_path / "one", changed)).sha256 != tasks.sha256
    with pytest.raises(CorpusError, match="changed since the corpus was read"):
        tasks.cases[0].view_as(ProbeView)


def test_of_a_corpus_only_the_task_at_hand_is_held(tmp_path: Path):
    write_synthetic(tmp_path, 0, 12, Size(items=20), zipped=True)
    tracemalloc.start()
    tasks = read(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sizes = [len(case.view_as(ProbeView).model_dump_json()) for case in tasks.cases]
    # 12 tasks of about 120 kB, of which reading holds a few copies of one.
    assert sum(sizes) > 1_200_000
    assert peak < 9 * max(sizes)


# Sanitized tasks


def test_the_leaks_of_a_corpus_find_all_evidence_and_sanitized_none(tmp_path: Path):
    write_synthetic(tmp_path, 0, 20, SMALL, leaks=True)
    prefixes, hits = {"email": "email", "event": "calendar", "document": "document"}, list[bool]()
    for task in views(tmp_path, sanitize=False):
        evidence = set(task.gold.evidence)
        assert {item.id for item in task.items if not item.id.startswith(prefixes[item.kind])} == evidence
        assert {item.id for item in task.items[: len(evidence)]} == evidence
        oldest = sorted(task.items, key=lambda item: (item.stamps or {})["created_at"])
        assert {item.id for item in oldest[: len(evidence)]} == evidence
    for task in views(tmp_path):
        assert {len(item.id) for item in task.items} == {len("item_01234567")}
        assert all(item.id.startswith("item_") and item.stamps is None for item in task.items)
        count = len(task.gold.evidence)
        hits += [item.id in task.gold.evidence for item in task.items[-count:]]
    # About 4.4 of 12 items are evidence, and so as many of those at the end; the standard error is about .055.
    assert 0.2 < sum(hits) / len(hits) < 0.53


def test_tasks_of_a_person_have_what_they_share_in_one_order_and_evidence_anywhere(tmp_path: Path):
    others = [document(f"document_{number}", content=f"{number} kilos") for number in range(20)]
    inputs = [
        corpus_document(data_points=[email(), event(body=kind), *others[::step]])
        for kind, step in (("a", 1), ("b", -1))
    ]
    path, positions = in_folder(tmp_path, files(inputs[0], key="a") | files(inputs[1], key="b")), list[float]()
    for seed in range(40):
        one, other = views(path, seed=seed)
        shared = [[item.id for item in task.items if item.id not in task.gold.evidence] for task in (one, other)]
        assert shared[0] == shared[1]
        positions += [index / 21 for index, item in enumerate(one.items) if item.id in one.gold.evidence]
    assert one.world.today == "Saturday 2025-03-01"  # of the newest e-mail
    # Uniform over the list: a mean of one half, whose standard error is about .29 / sqrt(60 to 80).
    assert 0.39 < sum(positions) / len(positions) < 0.61


def test_our_own_fields_are_read_and_gold_follows_the_new_ids(tmp_path: Path):
    facets = {"who_blocked": "Ada", "who_blocker": None, "what_task": "milling", "why_root_cause": "no seal"}
    bottleneck = {"description": "The pump waits for a seal.", "facets": facets}
    path = in_folder(tmp_path, files(outputs=right(bottleneck=bottleneck)))
    (plain,), (clean,) = views(path, sanitize=False), views(path)
    assert plain.gold.facets.model_dump(exclude_defaults=True) == facets
    held, shown = (
        {item.id: item.model_dump(exclude={"id", "stamps"}) for item in task.items} for task in (clean, plain)
    )
    assert [held[id_] for id_ in clean.gold.evidence] == [shown[id_] for id_ in plain.gold.evidence]
    assert (clean.world, clean.actions, clean.gold.parameters) == (plain.world, plain.actions, plain.gold.parameters)


def test_ids_and_order_come_from_seed_and_task_and_not_from_the_file(tmp_path: Path):
    items = [email(), event(), document(), email("email_2", body="Later.")]
    orders = {"one": items, "other": items[::-1]}
    one, other = (read(in_folder(tmp_path / name, files(corpus_document(data_points=orders[name])))) for name in orders)
    assert (one.cases[0].view_as(ProbeView), one.sha256) == (other.cases[0].view_as(ProbeView), other.sha256)
    assert read(tmp_path / "one", seed=4).sha256 != one.sha256
    seeded = [[item.model_dump() for item in views(tmp_path / "one", seed=seed)[0].items] for seed in range(5)]
    assert len({item["id"] for items in seeded for item in items}) == 20
    assert len({tuple(item["kind"] for item in items) for items in seeded}) > 1


# What is wrong with a task


def executed(**changes):
    return right(checklist={"required_steps": steps(**changes)})


CRITERIA = "checklist.required_steps[2].success_criteria"
TWICE = "is at [0] already; an id stands once"
OBJECTS = [{**item, "params_schema": {"required": [{"name": "part"}]}} for item in world()["available_actions"]]
BAD_INPUTS = [
    (corpus_document(data_points=[email(), event(), document("email_1")]), "data_points[2].id", f"'email_1' {TWICE}"),
    (
        corpus_document(world_model=world(available_actions=[action("order", "part"), action("order")])),
        "world_model.available_actions[1].id",
        f"'order' {TWICE}",
    ),
    (
        corpus_document(world_model=world(available_actions=OBJECTS)),
        "world_model.available_actions[0].params_schema.required[0]",
        "input should be a valid string, not an object",
    ),
    (
        corpus_document(data_points=[{**email(), "type": "memo"}]),
        "data_points[0].type",
        "input should be 'email', 'event' or 'document', not 'memo'",
    ),
    (
        corpus_document(data_points=[event(attendees="Ada")]),
        "data_points[0].payload.attendees",
        "input should be a valid list, not 'Ada'",
    ),
]
DICTIONARY = "input should be a valid dictionary, not a list"
BAD_OUTPUTS = [
    (
        right(true_positive_ids=["email_1", "email_7"]),
        "true_positive_ids[1]",
        "'email_7' is none of the input's 3 items",
    ),
    (executed(correct_action="pray"), f"{CRITERIA}.correct_action", "'pray' is none of the input's 2 actions"),
    (executed(correct_parameters=None), f"{CRITERIA}.correct_parameters", "the field is missing"),
    (executed(correct_parameters=["seal"]), f"{CRITERIA}.correct_parameters", DICTIONARY),
    (
        right(checklist={"required_steps": steps()[:2]}),
        "checklist.required_steps",
        "one step of type 'task_execution' is expected, not 0",
    ),
    ([], None, "an object is expected, not a list"),
]
BAD = [*((side, *bad) for side, table in (("input", BAD_INPUTS), ("output", BAD_OUTPUTS)) for bad in table)]


@pytest.mark.parametrize(("side", "content", "field", "problem"), BAD)
def test_a_bad_file_is_refused_with_file_and_field(tmp_path: Path, side: str, content, field: str, problem: str):
    message = refusal(in_folder(tmp_path, files(**{f"{side}s": content})))
    assert (message.source, message.field) == (str(tmp_path / f"{KEY}_{side}.json"), field)
    assert problem in str(message)
    assert "\n" not in str(message)


UNUSABLE = {
    "an unknown item": (files(outputs=right(true_positive_ids=["email_7"])), "true_positive_ids[0]"),
    "half a file": ({**files(), f"{KEY}_input.json": '{"world_model": '}, None),
    "no UTF-8": ({**files(), f"{KEY}_input.json": b'{"a": "\xff"}'}, None),
    "a key given twice": ({**files(), f"{KEY}_input.json": '{"a": 1, "a": 2}'}, "a"),
    "no output": ({f"{KEY}_input.json": files()[f"{KEY}_input.json"]}, None),
    "no input": ({f"{KEY}_output.json": files()[f"{KEY}_output.json"]}, None),
}


@pytest.mark.parametrize(("bad", "field"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_pair_of_files_that_cannot_be_used_is_left_out_and_counted_or_refuses_a_strict_corpus(tmp_path, bad, field):
    folder = in_folder(tmp_path, bad | files(key="good_1") | files(key="good_2"))
    why = refusal(folder, strict=True)
    assert (KEY in why.source, why.field) == (True, field)
    tasks = read(folder)
    assert [case.key for case in tasks.cases] == ["good_1", "good_2"]
    (message,) = tasks.corpus.left_out.items()
    assert (tasks.corpus.rows, tasks.corpus.cases, message[1], why.problem in message[0]) == (3, 2, 1, True)


def test_a_task_stays_whose_right_parameters_are_not_those_that_its_action_requires(tmp_path: Path):
    more = {"part": "seal", "note": "by Friday"}
    (task,) = views(in_folder(tmp_path, files(outputs=executed(correct_parameters=more))))
    assert (task.actions[0].required, task.gold.parameters) == (("part",), more)


# What is wrong with where they are


def test_a_place_without_tasks_is_refused(tmp_path: Path):
    twice = {f"{index}/{name}": text for index in ("one", "two") for name, text in files().items()}
    assert "the same name as" in str(refusal(in_folder(tmp_path / "twice", twice)))
    assert "there is no such file; give a folder of *_input.json" in str(refusal(tmp_path / "gone"))
    assert "there is no file of a task in it" in str(refusal(in_folder(tmp_path / "notes", {"notes.json": "{}"})))
    (tmp_path / "tasks.json").write_text("{}")
    assert "not a complete zip: File is not a zip file; give a folder of" in str(refusal(tmp_path / "tasks.json"))
    assert "neither a zip nor a folder" in str(refusal("/dev/zero"))
    assert "not a path: embedded null byte" in str(refusal("a\0b"))
    assert "cannot be read: File name too long" in str(refusal("a" * 5000))


def zipped(path: Path, contents: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return path


def test_a_task_of_too_many_bytes_is_left_out(tmp_path: Path):
    path = zipped(tmp_path / "tasks.zip", files() | files(key="b") | {"b_input.json": b" " * (LARGEST + 1)})
    assert "b_input.json: larger than 16,777,216 bytes" in str(refusal(path, strict=True))
    assert len(read(path).cases) == 1


# The official dataset, from a hub that is played by a server in the layout that its README describes

LOAD = """
import sys
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.errors import CorpusError
for spec in sys.argv[1:]:
    try:
        corpus = load_tasks(spec)
        print(corpus.corpus.name, corpus.corpus.revision, [case.key for case in corpus.cases])
    except CorpusError as error:
        print("CorpusError", error)
"""


def test_the_zips_are_fetched_from_the_hub_at_the_commit_that_is_recorded(tmp_path: Path):
    (tmp_path / "hub").mkdir()
    in_zips(tmp_path / "hub", files(key="a") | files(key="b"))
    zips = {path.name: path.read_bytes() for path in (tmp_path / "hub").iterdir()}
    with hub_of("gilfastino/PROBE", zips | {"README.md": b"not wanted"}) as hub:
        *loaded, gone = printed(LOAD, tmp_path, "probe", "probe@main", "probe@gone", HF_ENDPOINT=hub.url)
    assert loaded == [f"probe {COMMIT} ['a', 'b']"] * 2
    assert hub.fetched
    assert all(COMMIT in path and path.endswith(".zip") for path in hub.fetched)
    assert gone.startswith("CorpusError gilfastino/PROBE@gone: cannot be read (RevisionNotFoundError: ")
    assert gone.endswith("; try again, or download its two zips and give the path of their folder")


def test_only_the_dataset_has_revisions(tmp_path: Path):
    for spec in ("sample", in_folder(tmp_path, files())):
        with pytest.raises(CorpusError, match="only probe has revisions"):
            load_tasks(spec, "main")
    with pytest.raises(CorpusError, match="the revision after @ is empty"):
        load_tasks("probe@")
