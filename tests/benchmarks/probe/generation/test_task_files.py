"""The files of made tasks: read as official ones are, and without a word of plans, reasons and reviews in an input."""

import json

import pytest
from builders.made_people import kept_proof, made_person, made_task

from dspy_proact.benchmarks.probe.agents.programs import Single
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.generation.brief import bundled_brief
from dspy_proact.benchmarks.probe.generation.files import corpus_of, files_of
from dspy_proact.benchmarks.probe.generation.made import LostTask
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import Action, ParameterType, ProbeView
from dspy_proact.generation.attempt import Authorship
from dspy_proact.generation.maker import Kept, Made, Proof

SECRET = " zq7secret"


def author(role: str, model: str) -> Authorship:
    counts = {"calls": 1, "prompt_tokens": 1, "completion_tokens": 1, "usd": 0.0}
    return Authorship(role=role, model=model, stage="x", turn=0, sample=1, repeat=1, prompt="", **counts)


def files(*people, level: Proof = "none"):
    authors = (author("planner", "one"), author("writer", "two"))
    kept = [Kept(slot, 1, person, authors) for slot, person in enumerate(people, start=1)]
    made = Made(kept, [], len(kept), identity="ab")
    return files_of(corpus_of(bundled_brief(), made, level, {}, lambda person: f"{person.persona}-x"))


@pytest.fixture
def folder(tmp_path):
    def write(*people, **options):
        for name, text in files(*people, **options).items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_a_made_folder_is_read_as_a_corpus_with_nothing_unknown(folder):
    people = made_person(1), made_person(2)
    raw = load_tasks(str(folder(*people)), strict=True, sanitize=False)
    assert [case.key for case in raw.cases] == [
        f"bottleneck_00{slot}_0{task}_eva_lund_{slot}" for slot in (1, 2) for task in (1, 2)
    ]
    assert raw.corpus.ignored_fields == {}
    assert [case.group for case in raw.cases] == ["p1-x", "p1-x", "p2-x", "p2-x"]
    tasks = [(person, task) for person in people for task in person.tasks]
    for case, (owner, task) in zip(raw.cases, tasks, strict=True):
        view, wanted = case.view_as(ProbeView), owner.view(task, owner.items_of(task))
        assert view.world == wanted.world
        assert view.actions == wanted.actions
        assert [item.model_copy(update={"stamps": None}) for item in view.items] == list(wanted.items)
        assert view.gold.model_copy(update={"supported_by": {}}) == wanted.gold
    types = raw.cases[0].view_as(ProbeView).actions[0].types
    assert types["due"] == ParameterType(kind="date", description="By when")


def test_agents_see_the_types_of_parameters_and_nothing_of_them_where_a_file_has_none(folder):
    program = Single(ProbeSettings())
    (case, *_) = load_tasks(str(folder(made_person(1)))).cases
    shown_types = '"types":{"holder":{"kind":"text","description":"Who has it"}'
    assert shown_types in program.messages(case.view_as(ProbeView).task.inputs)[-1]["content"].replace(
        ": ", ":"
    ).replace(", ", ",")
    (official, *_) = load_tasks("sample").cases
    assert '"types"' not in program.messages(official.view_as(ProbeView).task.inputs)[-1]["content"]
    assert "types" not in Action.model_json_schema()["properties"], "by which compiled programs are accepted"


def test_an_input_holds_nothing_of_plans_reasons_reviews_and_gold():
    person = made_person(1, made_task(1, secret=SECRET), made_task(2, secret=SECRET), secret=SECRET)
    texts = files(person.model_copy(update={"actions": made_person(1).actions}))
    inputs = {name: text for name, text in texts.items() if name.endswith("_input.json")}
    assert len(inputs) == 2
    for text in inputs.values():
        # The key of the persona, which the builder gives the secret, names the person.
        assert text.replace(f"p1{SECRET}-x", "").count(SECRET) == 0
        assert not [word for word in ("solves_bottleneck", "resolves", "why_not", "strategy", "facets") if word in text]


def test_items_of_an_input_have_one_form_whatever_they_are():
    (first, *_) = [json.loads(text) for name, text in files(made_person(1)).items() if name.endswith("_input.json")]
    for item in first["data_points"]:
        assert list(item) == ["id", "type", "payload", "metadata", "created_at", "updated_at", "tags"]
        assert item["created_at"] == item["updated_at"]
        assert (item["metadata"], item["tags"]) == ({}, [])
    by_kind = {
        item["type"]: {tuple(other["payload"]) for other in first["data_points"] if other["type"] == item["type"]}
        for item in first["data_points"]
    }
    assert all(len(forms) == 1 for forms in by_kind.values())


def test_siblings_have_the_other_items_in_one_order_and_evidence_anywhere_among_them():
    person = made_person(1, made_task(1), made_task(2), distractors=30)
    shared = [item.id for item in person.distractors]
    positions = list[float]()
    for task in person.tasks:
        ids = [item.id for item in person.items_of(task)]
        evidence = {item.id for item in task.evidence}
        assert [id_ for id_ in ids if id_ not in evidence] == shared
        positions += [ids.index(id_) / len(ids) for id_ in evidence]
    assert max(positions) - min(positions) > 0.3


def test_an_output_says_what_is_right_where_it_stands_and_who_wrote_it():
    texts = files(made_person(1))
    output = json.loads(texts["tasks/bottleneck_001_01_eva_lund_1_output.json"])
    task = made_person(1).tasks[0]
    evidence = [item.id for item in task.evidence]
    assert output["true_positive_ids"] == evidence
    assert output["bottleneck"]["facets"]["who_blocker"] == "Rolf Dahl"
    criteria = output["checklist"]["required_steps"][2]["success_criteria"]
    assert criteria["supported_by"]["due"] == {"item": evidence[1], "quote": "2026-03-20"}
    solved = [action["solves_bottleneck"] for action in output["world_model"]["available_actions"]]
    assert solved == [1, 2, None, None]
    assert output["metadata"]["model"] == "two"
    assert output["metadata"]["models"] == {"planner": "one", "writer": "two"}


def test_tasks_that_a_proof_did_not_keep_and_lost_ones_stand_in_the_audits_alone():
    kept, dropped = made_task(1, proof=kept_proof()), made_task(2, proof=kept_proof(kept=False, reason="Too easy."))
    lost = LostTask(number=3, stage="plan", reasons=("No item states due.",))
    texts = files(made_person(1, kept, dropped, lost=(lost,)), level="full")
    assert [name for name in texts if name.startswith("tasks/")] == [
        "tasks/bottleneck_001_01_eva_lund_1_input.json",
        "tasks/bottleneck_001_01_eva_lund_1_output.json",
    ]
    rows = [json.loads(line) for line in texts["audits.jsonl"].splitlines()]
    assert [row["task"] for row in rows] == ["bottleneck_001_01_eva_lund_1", None, None]
    assert rows[1]["proof"]["reason"] == "Too easy."
    assert rows[2]["reasons"] == ["No item states due."]
    others = [json.loads(line) for line in texts["distractors.jsonl"].splitlines()]
    assert {row["person"] for row in others} == {"p1-x"}
    assert all(row["why_not"] and row["strategy"] for row in others)


@pytest.mark.parametrize(
    ("name", "of_file"),
    [
        ("../../Ada <b>", "ada_b"),
        ("Ada " * 1_000, "ada_" * 14 + "ada"),
        ("\u202e李雷", "person"),
        ("CON\x1b[31m", "con_31m"),
    ],
)
def test_a_name_that_a_model_wrote_leaves_no_folder_and_fits_a_file_system(name, of_file):
    person = made_person(1)
    person = person.model_copy(update={"world": person.world.model_copy(update={"full_name": name})})
    names = {file for file in files(person) if file.startswith("tasks/")}
    assert f"tasks/bottleneck_001_01_{of_file}_input.json" in names
    assert max(map(len, names)) < 120
