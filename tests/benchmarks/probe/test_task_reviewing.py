"""What people's reviews make of tasks of PROBE: their files, read back as every other reader reads them."""

import json
import shutil
from pathlib import Path

import probe_files
import pytest

from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.reviewing import reviewing
from dspy_proact.benchmarks.probe.task import DATA, ProbeView
from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.reviewing import Review

KEY = "bottleneck_001_01_tamsin_okell"
SURVEY = "calendar_93220acf"


@pytest.fixture
def corpus(tmp_path):
    """The six tasks of the sample."""
    for path in Path(str(DATA / "sample")).glob("*.json"):
        shutil.copy(path, tmp_path)
    return tmp_path


def review(item, edits=None, **changes):
    verdict = "accept" if edits is None else "edit"
    return Review(reviewer="ann", item=item.key, mark=item.mark, verdict=verdict, edits=edits or {}, **changes)


def item_of(corpus, key=KEY):
    return next(item for item in reviewing().items(corpus) if item.key == key)


def applied(corpus, *reviews):
    """The files after these reviews, and the tasks that a fresh folder of them has."""
    texts = reviewing().apply(corpus, reviews)
    folder = corpus / "after"
    return texts, load_tasks(probe_files.in_folder(folder, texts), sanitize=False, strict=True)


def view_of(tasks, key=KEY):
    return next(case.view_as(ProbeView) for case in tasks.cases if case.key == key)


def test_a_task_shows_what_is_held_up_then_the_evidence_then_the_parameters(corpus):
    item = item_of(corpus)
    kinds = [field.name.partition(".")[0] for field in item.fields]
    # The sample's first task has six facets, two events of evidence, and four parameters.
    assert kinds == ["bottleneck"] * 7 + ["evidence"] * 4 + ["parameters"] * 4
    assert [(section.title, len(section.items)) for section in item.sections][1:] == [
        ("whom the person works with", 8),
        ("actions, of which one resolves it", 12),
        ("other items, which are no evidence", 15),
    ]


def test_nothing_reviewed_leaves_every_file_as_it_is(corpus):
    texts = reviewing().apply(corpus, [])
    assert len(texts) == 12
    assert all((corpus / name).read_text(encoding="utf-8") == text for name, text in texts.items())


def test_both_files_of_a_rejected_task_are_left_out(corpus):
    item = item_of(corpus)
    texts, tasks = applied(
        corpus, review(item, reason="Two actions resolve it.").model_copy(update={"verdict": "reject"})
    )
    assert len(texts) == 10
    assert KEY not in {case.key for case in tasks.cases}


def test_an_edit_reaches_the_checklist_and_the_file_says_what_was_edited(corpus):
    edits = {
        "bottleneck.description": "The charter cannot sail.",
        "bottleneck.who_blocked": "Pia",
        f"evidence.{SURVEY}.title": "Ramp survey, slip <2>",
        "parameters.contact": "Moyle",
    }
    texts, tasks = applied(corpus, review(item_of(corpus), edits))
    output, view = json.loads(texts[f"{KEY}_output.json"]), view_of(tasks)
    assert output["edited"] == [*edits]
    searched = output["checklist"]["required_steps"][1]["success_criteria"]
    assert {searched["target_problem"], searched["problem_description"]} == {"The charter cannot sail."}
    assert (view.gold.description, view.gold.facets.who_blocked) == ("The charter cannot sail.", "Pia")
    assert view.gold.parameters["contact"] == "Moyle"
    assert next(one.title for one in view.items if one.id == SURVEY) == "Ramp survey, slip <2>"
    assert texts[f"{KEY}_input.json"].splitlines()[1].startswith(" "), "indented as it was"
    assert tasks.corpus.ignored_fields == {}
    assert sum((corpus / name).read_text() != text for name, text in texts.items()) == 2


def test_evidence_that_another_task_of_the_person_holds_too_is_edited_there_as_well(corpus):
    source = json.loads((corpus / f"{KEY}_input.json").read_text())
    survey = next(raw for raw in source["data_points"] if raw["id"] == SURVEY)
    sibling = corpus / "bottleneck_001_02_tamsin_okell_input.json"
    other = json.loads(sibling.read_text())
    sibling.write_text(json.dumps(other | {"data_points": [*other["data_points"], survey]}))
    texts, _ = applied(corpus, review(item_of(corpus), {f"evidence.{SURVEY}.title": "A survey"}))
    held = json.loads(texts[sibling.name])["data_points"]
    assert next(raw["payload"]["title"] for raw in held if raw["id"] == SURVEY) == "A survey"


@pytest.mark.parametrize(
    ("edits", "problem"),
    [
        ({"parameters.vessel": "Gannet"}, "vessel is Gannet, which must be stated"),
        # The survey says `Thursday 22 May`, which is that day in another form.
        ({"parameters.new_date": "2025-05-23"}, "new date is 2025-05-23, which must be stated"),
        ({f"evidence.{SURVEY}.description": "The surveyor comes."}, "which must be stated in what supports it"),
        ({"parameters.action": "order_fuel"}, "There is no field"),
        ({f"evidence.{SURVEY}.start_time": "now"}, "There is no field"),
        ({"bottleneck.description": ""}, "is empty"),
    ],
)
def test_an_edit_after_which_a_right_parameter_is_stated_nowhere_is_refused(corpus, edits, problem):
    item = item_of(corpus)
    assert problem in (item.misfit(review(item, edits)) or "")
    with pytest.raises(CorpusError, match="is no such"):
        reviewing().apply(corpus, [review(item, edits)])


def test_the_passage_that_a_file_names_for_a_parameter_stays(tmp_path):
    supported = {"part": {"item": "email_1", "quote": "The seal is here"}}
    steps = probe_files.steps()
    steps[-1]["success_criteria"]["supported_by"] = supported
    outputs = probe_files.right(checklist={"checklist_id": "c", "description": "d", "required_steps": steps})
    probe_files.in_folder(tmp_path, probe_files.files(outputs=outputs))
    (item,) = reviewing().items(tmp_path)
    lost = review(item, {"evidence.email_1.body": "The seal has come."})
    assert item.misfit(lost) == (
        "Text must still have the words “The seal is here”: the right value of part quotes them."
    )
    assert item.misfit(review(item, {"evidence.email_1.body": "Bo, the seal is here."})) is None
    moved = {"parameters.part": "pump", "evidence.email_1.body": "The seal is here. The pump."}
    assert item.misfit(review(item, moved)) == (
        "part is pump, which must be stated in what supports it: “The seal is here”."
    ), "the passage states the value, wherever else it stands"


def test_what_was_planned_and_tested_of_a_task_goes_with_its_text_and_the_distractors_with_their_person(corpus):
    tasks = [item.key for item in reviewing().items(corpus)]
    people = ["p-fennholm-01", "somebody else"]
    rows = {
        "audits.jsonl": [*({"task": key, "plan": []} for key in tasks), {"task": None, "stage": "lost"}],
        "distractors.jsonl": [{"item": f"item {n}", "person": person} for n, person in enumerate(people)],
    }
    for name, lines in rows.items():
        (corpus / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    first, second, third, *_ = reviewing().items(corpus)
    assert first.group == second.group == people[0]
    reject = {"verdict": "reject", "reason": "No."}
    texts = reviewing().apply(
        corpus,
        [
            review(first).model_copy(update=reject),
            review(third, {"bottleneck.description": "It waits."}),
        ],
    )
    left = [json.loads(line)["task"] for line in texts["audits.jsonl"].splitlines()]
    assert left == [tasks[1], *tasks[3:], None]
    assert len(texts["distractors.jsonl"].splitlines()) == 2, "the person has another task"
    texts = reviewing().apply(corpus, [review(one).model_copy(update=reject) for one in (first, second)])
    assert [json.loads(line)["person"] for line in texts["distractors.jsonl"].splitlines()] == people[1:]


def test_numbers_and_lists_stay_what_they_are(tmp_path):
    outputs = probe_files.right(
        checklist={
            "checklist_id": "c",
            "description": "d",
            "required_steps": probe_files.steps(correct_parameters={"part": ["seal"], "count": 2}),
        }
    )
    probe_files.in_folder(tmp_path, probe_files.files(outputs=outputs))
    (item,) = reviewing().items(tmp_path)
    assert item.misfit(review(item, {"parameters.count": "two"}))
    _, tasks = applied(tmp_path, review(item, {"parameters.count": "3", "parameters.part": '["seal", "ring"]'}))
    assert view_of(tasks, probe_files.KEY).gold.parameters == {"part": ["seal", "ring"], "count": 3}


def test_the_official_zips_become_files(tmp_path):
    probe_files.in_zips(tmp_path, probe_files.files())
    texts = reviewing().apply(tmp_path, [review(reviewing().items(tmp_path)[0])])
    assert {*texts} == {f"{probe_files.KEY}_input.json", f"{probe_files.KEY}_output.json"}
