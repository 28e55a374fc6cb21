"""Tasks are read from a folder or from zips, one at a time, and what is wrong with them is one sentence."""

import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from probe_files import (
    CANARY,
    KEY,
    action,
    document,
    email,
    event,
    files,
    given,
    in_folder,
    in_zips,
    item,
    right,
    steps,
    world,
)
from support.probe_tasks import Size, write_synthetic

from dspy_proact.benchmarks.probe import corpus as probe_corpus
from dspy_proact.benchmarks.probe.corpus import LARGEST, load_tasks
from dspy_proact.benchmarks.probe.task import Document, Email, Event
from dspy_proact.errors import CorpusError


def refusal(path: str | Path) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        load_tasks(str(path))
    return caught.value


def test_a_task_is_read_from_its_two_files(tmp_path: Path):
    corpus = load_tasks(in_folder(tmp_path, files()), sanitize=False)
    (task,) = corpus
    assert (task.key, task.person, task.difficulty) == (KEY, "p-0", "easy")
    assert task.world.person == "Ada Brook"
    assert task.world.current_priorities == ("flour",)
    assert task.world.organisation.reporting_to == "Cy"
    assert task.world.relationships[0].name == "Bo"
    assert [type(each) for each in task.items] == [Email, Event, Document]
    assert task.actions[0].required == ("part",)
    assert task.gold.evidence == ("email_1", "calendar_1")
    assert (task.gold.action, task.gold.parameters) == ("order", {"part": "seal"})
    assert (task.gold.facets, task.gold.supported_by) == (None, None)


def test_what_is_hidden_is_neither_kept_nor_counted_as_unknown(tmp_path: Path):
    corpus = load_tasks(in_folder(tmp_path, files(given(annotation_instructions={"task": CANARY}))), sanitize=False)
    assert CANARY not in corpus.task(KEY).model_dump_json()
    assert "solves_bottleneck" not in corpus.task(KEY).model_dump_json()
    assert corpus.ignored_fields == {}


def test_our_own_fields_are_read(tmp_path: Path):
    facets = {"who_blocked": "Ada", "who_blocker": None, "what_task": "milling", "why_root_cause": "no seal"}
    bottleneck = {"description": "The pump waits for a seal.", "facets": facets}
    checklist = {"required_steps": steps(supported_by={"part": "email_1"})}
    outputs = right(bottleneck=bottleneck, checklist=checklist)
    (task,) = load_tasks(in_folder(tmp_path, files(outputs=outputs)), sanitize=False)
    assert task.gold.facets
    assert (task.gold.facets.who_blocked, task.gold.facets.who_blocker) == ("Ada", None)
    assert task.gold.facets.when_deadline is None
    assert task.gold.supported_by == {"part": "email_1"}


def test_unknown_fields_are_ignored_and_counted(tmp_path: Path):
    inputs = given(data_points=[email(author="Bo"), email("email_2", author="Bo"), event()])
    path = in_folder(tmp_path, files(inputs, {**right(), "difficulty_word": "hard"}))
    corpus = load_tasks(path)
    assert corpus.ignored_fields == {"data_points.payload.author": 2, "difficulty_word": 1}
    assert "author" not in corpus.task(KEY).model_dump_json()


def test_an_id_may_begin_with_another_kind_than_the_items(tmp_path: Path):
    # The official generator gives evidence such ids; that tells the answer and is no fault of the file.
    inputs = given(data_points=[email("document_9"), event("document_8"), document()])
    outputs = right(true_positive_ids=["document_9", "document_8"])
    (task,) = load_tasks(in_folder(tmp_path, files(inputs, outputs)), sanitize=False)
    assert [each.kind for each in task.items] == ["email", "event", "document"]


def test_folder_zips_and_one_zip_give_the_same_tasks(tmp_path: Path):
    contents = files(key="a") | files(key="b")
    folder, zips, deep = (tmp_path / name for name in ("folder", "zips", "deep"))
    zips.mkdir()
    hashes = {
        load_tasks(in_folder(folder, contents)).sha256,
        load_tasks(in_zips(zips, contents)).sha256,
        load_tasks(str(zips / "sept_1000_inputs_2025.zip")).sha256,
        load_tasks(str(zips / "sept_1000_outputs_2025.zip")).sha256,
        load_tasks(in_folder(deep, {f"{name[-11:-5]}/{name}": text for name, text in contents.items()})).sha256,
    }
    assert len(hashes) == 1
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
        archive.writestr("__MACOSX/._a_input.json", b"\0\5\x16\7")
    assert load_tasks(str(tmp_path / "both.zip")).sha256 in hashes


def test_tasks_come_in_the_order_of_their_keys_and_by_key(tmp_path: Path):
    corpus = load_tasks(in_folder(tmp_path, files(key="b") | files(key="a")))
    assert [task.key for task in corpus] == ["a", "b"]
    assert [entry.key for entry in corpus.entries] == ["a", "b"]
    assert (len(corpus), corpus.persons) == (2, ("p-0",))
    assert corpus.task("b").key == "b"
    with pytest.raises(KeyError):
        corpus.task("c")


def test_a_file_that_is_changed_after_reading_is_refused(tmp_path: Path):
    corpus = load_tasks(in_folder(tmp_path, files()))
    in_folder(tmp_path, files(given(world_model=world(persona_occupation="baker"))))
    with pytest.raises(CorpusError, match="changed since the corpus was read"):
        corpus.task(KEY)


def test_the_hash_tells_tasks_apart_and_not_how_they_are_written(tmp_path: Path):
    one, other, spaced = (tmp_path / name for name in ("one", "other", "spaced"))
    contents = files()
    first = load_tasks(in_folder(one, contents)).sha256
    assert load_tasks(in_folder(other, files(given(data_points=[email(body="No."), event()])))).sha256 != first
    indented = {name: "\ufeff" + json.dumps(json.loads(text), indent=3) for name, text in contents.items()}
    assert load_tasks(in_folder(spaced, indented)).sha256 == first


def test_of_a_corpus_only_the_task_at_hand_is_held(tmp_path: Path):
    write_synthetic(tmp_path, 0, 40, Size(items=20), zipped=True)
    tracemalloc.start()
    sizes = [len(task.model_dump_json()) for task in load_tasks(str(tmp_path))]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 40 tasks of about 120 kB, of which reading holds a few copies of one.
    assert sum(sizes) > 4_000_000
    assert peak < 20 * max(sizes)


# What is wrong with a task


def criteria(name: str) -> str:
    return f"checklist.required_steps[2].success_criteria.{name}"


def executed(**changes: Any) -> dict[str, Any]:
    return right(checklist={"required_steps": steps(**changes)})


def without(part: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in names}


IN_THE_INPUT = {
    "an id twice": (
        given(data_points=[email(), event(), document("email_1")]),
        "data_points[2].id",
        "'email_1' is at [0] already; an id stands once",
    ),
    "an action twice": (
        given(world_model=world(available_actions=[action("order", "part"), action("order")])),
        "world_model.available_actions[1].id",
        "'order' is at [0] already; an id stands once",
    ),
    "an unknown kind": (
        given(data_points=[email(), item("memo_1", "memo", {"text": "?"})]),
        "data_points[1]",
        "its 'type' is 'memo', none of 'email', 'event', 'document'",
    ),
    "no kind": (given(data_points=[without(email(), "type")]), "data_points[0]", "the field 'type' is missing"),
    "no body": (
        given(data_points=[{**email(), "payload": without(email()["payload"], "body")}]),
        "data_points[0].payload.body",
        "the field is missing",
    ),
    "a wrong type": (
        given(data_points=[event(attendees="Ada")]),
        "data_points[0].payload.attendees",
        "input should be a valid list, not 'Ada'",
    ),
    "a number as text": (
        given(world_model=world(organizational_structure={**world()["organizational_structure"], "team_size": "3"})),
        "world_model.organizational_structure.team_size",
        "input should be a valid integer, not '3'",
    ),
    "no items": (given(data_points=[]), "data_points", "the list should not be empty"),
    "no actions": (
        given(world_model=world(available_actions=[])),
        "world_model.available_actions",
        "the list should not be empty",
    ),
    "no world": (without(given(), "world_model"), "world_model", "the field is missing"),
    "an unknown difficulty": (
        given(world_model=world(context_difficulty="brutal")),
        "world_model.context_difficulty",
        "input should be 'easy', 'medium' or 'hard', not 'brutal'",
    ),
    "no text": (given(data_points=[email(body="a\0b")]), "data_points[0].payload.body", "holds a NUL character, at"),
}
IN_THE_OUTPUT = {
    "evidence that is no item": (
        right(true_positive_ids=["email_1", "email_7"]),
        "true_positive_ids[1]",
        "'email_7' is none of the input's 3 items",
    ),
    "evidence twice": (
        right(true_positive_ids=["email_1", "email_1"]),
        "true_positive_ids[1]",
        "'email_1' is at [0] already; an id stands once",
    ),
    "no evidence": (right(true_positive_ids=[]), "true_positive_ids", "the list should not be empty"),
    "an action that does not exist": (
        executed(correct_action="pray"),
        criteria("correct_action"),
        "'pray' is none of the input's 2 actions",
    ),
    "a parameter that the action does not have": (
        executed(correct_parameters={"part": "seal", "whom": "Bo"}),
        criteria("correct_parameters"),
        "the action 'order' has no parameter 'whom'; it has 'part'",
    ),
    "no parameters": (executed(correct_parameters=None), criteria("correct_parameters"), "the field is missing"),
    "no step that acts": (
        right(checklist={"required_steps": steps()[:2]}),
        "checklist.required_steps",
        "one step of type 'task_execution' is expected, not 0",
    ),
    "another person": (
        right(world_model=world(persona_id="p-1")),
        "world_model.persona_id",
        "'p-1', while the input is of 'p-0'; the two are no pair",
    ),
    "support by no item": (
        executed(supported_by={"part": "email_7"}),
        criteria("supported_by"),
        "'email_7' is none of the input's 3 items",
    ),
    "support of no parameter": (
        executed(supported_by={"whom": "email_1"}),
        criteria("supported_by"),
        "'whom' is none of the parameters",
    ),
    "facets in part": (
        right(bottleneck={"description": "It waits.", "facets": {"who_blocked": "Ada"}}),
        "bottleneck.facets.who_blocker",
        "the field is missing",
    ),
    "a list": ([], None, "an object is expected, not a list"),
}


@pytest.mark.parametrize("case", IN_THE_INPUT)
def test_a_bad_input_is_told_with_file_and_field(tmp_path: Path, case: str):
    inputs, field, problem = IN_THE_INPUT[case]
    told = refusal(in_folder(tmp_path, files(inputs)))
    assert (told.source, told.field) == (str(tmp_path / f"{KEY}_input.json"), field)
    assert problem in str(told)
    assert "\n" not in str(told)


def test_a_task_whose_right_parameters_are_of_another_action_is_left_out_and_told_of(tmp_path: Path):
    strange = files(outputs=executed(correct_parameters={"part": "seal", "whom": "Bo"}), key="strange")
    tasks = load_tasks(in_folder(tmp_path, {**files(), **strange}))
    (told,) = tasks.left_out
    assert [each.key for each in tasks.entries] == [KEY]
    assert "strange_output.json" in told
    assert told.endswith("the action 'order' has no parameter 'whom'; it has 'part'")


@pytest.mark.parametrize("case", IN_THE_OUTPUT)
def test_a_bad_output_is_told_with_file_and_field(tmp_path: Path, case: str):
    outputs, field, problem = IN_THE_OUTPUT[case]
    told = refusal(in_folder(tmp_path, files(outputs=outputs)))
    assert (told.source, told.field) == (str(tmp_path / f"{KEY}_output.json"), field)
    assert problem in str(told)
    assert "\n" not in str(told)


DAMAGED = {
    b'{"world_model": ': "not JSON: Expecting value, at column 17",
    b"": "not JSON: Expecting value, at column 1",
    b'{"a": "\xff"}': "not UTF-8: invalid start byte, at byte 8; save the file as UTF-8",
    b'{"a": NaN}': "field 'a': NaN is not JSON",
    b'{"a": 1, "a": 2}': "field 'a': the key is given twice in one object",
    b'{"a": ' + b"[" * 100_000: "nested more than 64 levels deep",
    b" " * (LARGEST + 1): "larger than 16,777,216 bytes, which no file of a task is",
}


@pytest.mark.parametrize("content", DAMAGED, ids=lambda content: repr(content[:20]))
def test_a_damaged_file_is_told(tmp_path: Path, content: bytes):
    told = refusal(in_folder(tmp_path, {**files(), f"{KEY}_input.json": content}))
    assert told.source == str(tmp_path / f"{KEY}_input.json")
    assert DAMAGED[content] in str(told)


# What is wrong with where they lie


@pytest.mark.parametrize(("alone", "missing"), [("input", "output"), ("output", "input")])
def test_a_file_without_its_partner_is_told(tmp_path: Path, alone: str, missing: str):
    contents = files(key="a") | files(key="b")
    del contents[f"b_{missing}.json"]
    told = refusal(in_folder(tmp_path, contents))
    assert told.source == str(tmp_path / f"b_{alone}.json")
    assert f"there is no b_{missing}.json for it" in str(told)


def test_two_files_of_one_name_are_told(tmp_path: Path):
    twice = {f"{place}/{name}": text for place in ("one", "two") for name, text in files().items()}
    assert "the same name as" in str(refusal(in_folder(tmp_path, twice)))


def test_nothing_there_is_told(tmp_path: Path):
    assert "there is no such file; give a folder of *_input.json" in str(refusal(tmp_path / "gone"))
    assert "there is no such file" in str(refusal(tmp_path / "gone.zip"))
    assert "there is no file of a task in it" in str(refusal(in_folder(tmp_path, {"notes.json": "{}"})))
    (tmp_path / "tasks.json").write_text("{}")
    assert "not a complete zip: File is not a zip file; give a folder of" in str(refusal(tmp_path / "tasks.json"))


def test_what_is_neither_file_nor_folder_is_told():
    assert "neither a zip nor a folder" in str(refusal("/dev/zero"))
    assert "not a path: embedded null byte" in str(refusal("a\0b"))
    assert "cannot be read: File name too long" in str(refusal("a" * 5000))


def test_one_zip_without_the_other_is_told(tmp_path: Path):
    in_zips(tmp_path, files())
    (tmp_path / "sept_1000_outputs_2025.zip").unlink()
    told = refusal(tmp_path / "sept_1000_inputs_2025.zip")
    assert f"there is no {KEY}_output.json for it; 1 inputs and 0 outputs were found" in str(told)


def zipped(folder: Path, extra: dict[str, str | bytes]) -> Path:
    path = folder / "tasks.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**files(), **extra}.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("size", [10, 500, -1])
def test_a_truncated_zip_is_told(tmp_path: Path, size: int):
    path = zipped(tmp_path, {})
    path.write_bytes(path.read_bytes()[:size])
    told = refusal(path)
    assert told.source == str(path)
    assert "not a complete zip" in str(told)


def test_a_damaged_member_is_told(tmp_path: Path):
    path = zipped(tmp_path, {})
    whole = bytearray(path.read_bytes())
    whole[120:140] = bytes(20)
    path.write_bytes(whole)
    assert "cannot be unpacked" in str(refusal(path))


@pytest.mark.parametrize("name", ["../a_input.json", "/etc/a_input.json", "x/../../a_input.json", "C:\\a_input.json"])
def test_a_member_that_leads_out_of_the_archive_is_refused(tmp_path: Path, name: str):
    told = refusal(zipped(tmp_path, {name: "{}"}))
    assert "leads out of the archive; do not trust it" in str(told)
    assert [each.name for each in tmp_path.iterdir()] == ["tasks.zip"]


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path):
    told = refusal(zipped(tmp_path, {"b_input.json": b" " * (20 << 20)}))
    assert "'b_input.json' has 20,971,520 bytes; a file of a task has at most 16,777,216" in str(told)


def test_a_bomb_that_lies_about_its_size_is_not_unpacked(tmp_path: Path):
    path = zipped(tmp_path, {"b_input.json": b" " * (15 << 20)})
    size = (15 << 20).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, (1000).to_bytes(4, "little")))
    outputs = zipfile.ZipFile(path, "a")
    outputs.writestr("b_output.json", json.dumps(right()))
    outputs.close()
    tracemalloc.start()
    told = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "b_input.json: cannot be unpacked: Bad CRC-32" in str(told)
    assert peak < 4 << 20


@pytest.mark.parametrize(
    ("limit", "most", "problem"),
    [
        ("MOST_MEMBERS", 1, "2 members; at most 1 are read"),
        ("MOST_BYTES", 100, "bytes when unpacked; at most 100 are read"),
    ],
)
def test_an_archive_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, problem: str
):
    monkeypatch.setattr(probe_corpus, limit, most)
    assert problem in str(refusal(zipped(tmp_path, {})))


def test_an_encrypted_zip_is_told(tmp_path: Path):
    path = zipped(tmp_path, {})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    assert "is encrypted; unpack it and give the folder" in str(refusal(path))


# What can be asked for


def test_only_the_dataset_has_revisions(tmp_path: Path):
    for spec in ("sample", in_folder(tmp_path, files())):
        with pytest.raises(CorpusError, match="only probe has revisions"):
            load_tasks(spec, "main")
    with pytest.raises(CorpusError, match="the revision after @ is empty"):
        load_tasks("probe@")
