"""Tasks of PROBE are published by person, read by other tools, and scored from the published folder."""

import atexit
import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import datasets
import pytest
from builders.made_corpus import middle_share
from drivers.croissant import mlcroissant

from dspy_proact import Evaluation, Generation
from dspy_proact.benchmarks.probe.benchmark import Probe
from dspy_proact.compile.assistant_target import AssistantTarget
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.reviewing import Review
from dspy_proact.publish.publication import publish
from dspy_proact.publish.publishing import Owner, PublicationRecord

pytestmark = [
    pytest.mark.usefixtures("probe"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:mlcroissant"),
]
PEOPLE = 4


@cache
def made_tasks():
    """Tasks of four people, each proved by one sample."""
    folder = Path(mkdtemp(), "mine")
    atexit.register(shutil.rmtree, folder.parent)
    Generation(items=PEOPLE, proof="light", benchmark="probe", settings={"tasks.distractors": 10}).run(folder)
    return folder


@pytest.fixture
def mine(tmp_path):
    return Path(shutil.copytree(made_tasks(), tmp_path / "mine"))


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    made = publish(
        made_tasks(),
        tmp_path_factory.mktemp("probe") / "public",
        held_back=middle_share(made_tasks()),
        owner=Owner(licence="mit"),
    )
    return made.path, made.held_back


def documents(folder, side="input"):
    return {path.name: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob(f"tasks/*_{side}.json"))}


def rows(folder, name="tasks.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def test_people_of_a_persona_are_in_one_part_with_all_their_tasks(both):
    people = [{one["world_model"]["persona_id"] for one in documents(folder).values()} for folder in both]
    assert len(people[0] | people[1]) == PEOPLE
    personas = [{id_.rpartition("-")[0] for id_ in of} for of in people]
    assert not personas[0] & personas[1]
    assert sorted([*documents(both[0]), *documents(both[1])]) == sorted(documents(made_tasks()))
    for folder, own in zip(both, people, strict=True):
        assert {item["key"] for item in rows(folder, "items.jsonl")} == own


def test_no_text_of_a_held_back_task_and_no_reason_of_a_distractor_is_published(both):
    public, hidden = both
    published = b"\n".join(path.read_bytes() for path in public.rglob("*") if path.is_file()).decode()
    secrets = [one["bottleneck"]["description"] for one in documents(hidden, "output").values()]
    secrets += [one["world_model"]["persona_full_name"] for one in documents(hidden).values()]
    known = json.dumps([documents(public), documents(public, "output")], ensure_ascii=False)
    secrets = [text for text in secrets if json.dumps(text, ensure_ascii=False)[1:-1] not in known]
    assert len(secrets) >= len(documents(hidden))
    assert [text for text in secrets if json.dumps(text, ensure_ascii=False)[1:-1] in published] == []
    assert not (public / "distractors.jsonl").exists()
    assert not (public / "audits.jsonl").exists()
    reasons = [row["why_not"] for row in rows(made_tasks(), "distractors.jsonl") if row["why_not"]]
    reasons = [reason for reason in reasons if json.dumps(reason, ensure_ascii=False)[1:-1] not in known]
    assert reasons
    assert not any(json.dumps(reason, ensure_ascii=False)[1:-1] in published for reason in reasons)


def test_the_published_tasks_are_those_that_were_made_and_are_scored(both, tmp_path):
    every = publish(made_tasks(), tmp_path / "every").path
    made, published = (Evaluation(str(of), benchmark="probe").case_set for of in (made_tasks(), every))
    assert made.sha256 == published.sha256
    assert published.corpus.ignored_fields == made.corpus.ignored_fields
    assert not published.corpus.held_back
    Evaluation(str(both[0]), benchmark="probe").run(tmp_path / "run")


def test_no_agent_is_tuned_on_what_is_held_back_whichever_file_says_so(both, tmp_path):
    public, hidden = both
    AssistantTarget(str(public), benchmark="probe")
    with pytest.raises(UsageError, match="is held back, so that nothing has learned it"):
        AssistantTarget(str(hidden), benchmark="probe")
    for side in ("input", "output"):
        folder = Path(shutil.copytree(hidden, tmp_path / side))
        for path in folder.glob(f"tasks/*_{side}.json"):
            document = json.loads(path.read_text("utf-8"))
            assert document.pop("held_back") is True
            path.write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(UsageError, match="is held back"):
            AssistantTarget(str(folder), benchmark="probe")


def test_other_tools_read_the_tasks_as_rows(both, tmp_path):
    public, _ = both
    read = datasets.load_dataset(str(public), cache_dir=str(tmp_path))["test"]
    inputs, outputs = documents(public), documents(public, "output")
    assert len(read) == len(inputs)
    for row in read:
        for side, texts in (("input", inputs), ("output", outputs)):
            expected = dict(texts[f"{row['task']}_{side}.json"])
            assert expected.pop("canary") == row["canary"]
            assert json.loads(row[side]) == expected
    described = mlcroissant.Dataset(public / "croissant.json")
    assert not described.metadata.ctx.issues.errors
    assert [record["tasks/task"].decode() for record in described.records("tasks")] == [row["task"] for row in read]


def test_rejected_tasks_are_left_out_and_the_card_counts_what_is_left(mine, tmp_path):
    items = Probe().corpus.reviewing().items(mine)
    answers = {"happens": "yes", "reads_like_test": "no", "reviewer": "ann"}
    reviews = [
        Review(item=items[0].key, mark=items[0].mark, verdict="reject", reason="Two actions resolve it.", **answers),
        Review(item=items[1].key, mark=items[1].mark, verdict="accept", **answers),
    ]
    public = publish(mine, tmp_path / "public", reviews=reviews).path
    assert [row["task"] for row in rows(public)] == [item.key for item in items[1:]]
    assert f"{items[0].key}_input.json" not in documents(public)
    record = PublicationRecord.model_validate_json((public / "publication.json").read_bytes())
    assert record.items == len(items) - 1
    assert record.rows == {"inputs": len(items) - 1, "outputs": len(items) - 1, "tasks": len(items) - 1}
    card = (public / "README.md").read_text("utf-8")
    assert f"| tasks | {len(items) - 1} |" in card
    assert f"1 person reviewed 2 of {len(items)} items" in card
    assert f"{len(items) - 1} of {len(items) - 1} tasks have fresh answers" in card
