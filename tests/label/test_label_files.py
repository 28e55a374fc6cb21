"""`label export` and `label import`: what goes out comes in again, once, and what is at fault does not."""

import csv
import json
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest
from builders.runs import PHASES, answered, graded, manifest, trigger, written
from builders.studies import rows_of, study_of, submission
from drivers.terminal import unwrapped

from dspy_proact.evaluation.evaluation import Evaluation
from dspy_proact.label.store import Store

TEXT = "=Label the boxes,\nplease."
CASES = [trigger(f"{number:032x}__S{number}__s1", phase, scenario=f"S{number}") for number, phase in enumerate(PHASES)]
KEYS = [case.key for case in CASES]


@pytest.fixture
def run(proact):
    """Three triggers, whose responses a spreadsheet would take for a formula."""
    events = []
    for case in CASES:
        events += [answered(case, TEXT), graded(case, evidence=("Label the boxes",), response=TEXT)]
    return Path(written(Path("run"), manifest(), CASES, events).path)


def rated(rater, item, number):
    """Of all fields something, and a skip."""
    if (rater, number) == ("Bob", 2):
        return submission(item.key, "", reason="Not in my language.")
    grade = ("PASS", "PARTIAL", "FAIL")[number]
    return submission(item.key, grade, 5, reason="=Because, \u201cit\u201d says so.", spans=((1, 6),), seconds=12.5)


@pytest.fixture
def study(run):
    return study_of(Path("study.db"), run, grade=rated)


@pytest.fixture
def empty(run):
    """A study of the same run in which nobody has rated anything."""
    return study_of(Path("empty.db"), run, raters=())


def ratings_of(path):
    with closing(Store.open(Path(path))) as store:
        return [(r.rater, r.case, r.part, r.grade, r.confidence, r.reason, r.seconds) for r in store.ratings()]


def imported(proact, *files):
    status, _, err = proact("label", "import", "empty.db", *files)
    assert status == 0, err
    return unwrapped(err)


def test_a_sheet_goes_out_and_comes_in_once(proact, study, empty):
    status, out, err = proact("label", "export", study)
    assert (status, out) == (0, "labels/study.csv\n"), err
    rows = rows_of(Path("labels/study.csv"))
    assert [(row["annotator"], row["item"], row["grade"], row["confidence"]) for row in rows] == [
        *(
            (name, key, grade, "5")
            for key, grade in zip(KEYS[:2], ("PASS", "PARTIAL"), strict=True)
            for name in ("Ann", "Bob")
        ),
        ("Ann", KEYS[2], "FAIL", "5"),
    ]
    assert (rows[0]["reason"][0], rows[0]["response"][:2]) == ("'", "'="), "a spreadsheet runs none of it"
    command = err.partition("Next: dspy-proact ")[2].split()
    assert proact(*command)[0] == 0
    assert "labels/study.csv: 5 ratings added." in imported(proact, "labels/study.csv")
    assert ratings_of(empty) == ratings_of(study)
    assert "0 ratings added; 5 were there, 0 of them with another grade" in imported(proact, "labels/study.csv")
    assert ratings_of(empty) == ratings_of(study)
    assert proact("label", "export", study)[0] == 0, "the same file is written again"
    assert "what is written is CSV" in proact("label", "export", study, "--out", "study.jsonl")[2]
    Path("labels/study.csv").write_text("other", "utf-8")
    assert "exists with other contents" in proact("label", "export", study)[2]


def test_a_sheet_may_be_jsonl(proact, empty):
    """Whose lines may hold, in what a rater reads, the name by which an offline page is known."""
    lines = [{"item": key, "annotator": "Ann", "grade": "PASS", "case": {"format": "poem"}} for key in KEYS[:2]]
    Path("sheet.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    assert "sheet.jsonl: 2 ratings added." in imported(proact, "sheet.jsonl")
    assert [(rater, grade) for rater, _, _, grade, *_ in ratings_of(empty)] == [("Ann", "PASS")] * 2


def test_what_a_rater_has_rated_in_the_study_stays(proact, study):
    sheet = f"item,annotator,grade\n{KEYS[0]},Ann,fail\n{KEYS[2]},Bob,Fail\n{KEYS[0]}, Cy  Twombly ,pass\n"
    Path("sheet.csv").write_text(sheet, "utf-8")
    before = ratings_of(study)
    status, _, err = proact("label", "import", study, "sheet.csv")
    assert (status, "1 rating added; 2 were there, 2 of them with another grade, which stays." in unwrapped(err)) == (
        0,
        True,
    )
    assert ratings_of(study) == [*before, ("Cy Twombly", KEYS[0], "", "PASS", 3, "", 0.0)]
    with closing(Store.open(study)) as store:
        (slot,) = store.slate(3)
        assert (slot.state, [rater.name for rater in store.raters()]) == ("rated", ["Ann", "Bob", "Cy Twombly"])


def test_the_official_layout_holds_what_was_rated(proact, done, study, refused):
    """Both raters agree with each other on both that they share; Ann's three are a grade each."""
    done("label", "export", study, "--official", "official")
    first, *_ = json.loads(Path("official/sample_items.json").read_text("utf-8"))
    assert first["dialogue_history"][-1] == {"role": "user", "content": first["user_message"]}
    assert (first["item_id"], first["judge_score"], first["trigger_type"]) == (KEYS[0], "Pass", "EMERGENT")
    texts = [Path(f"official/results/{name}.jsonl").read_text("utf-8") for name in ("A01", "A02")]
    lines = [[json.loads(one) for one in text.splitlines()] for text in texts]
    assert [len(one) for one in lines] == [3, 2]
    assert lines[1][1]["score"] == "Partial"
    assert {one["time_spent_seconds"] for one in lines[0]} == {12.5}
    by_folder, by_study = (
        json.loads(proact("agree", "--ratings", one, "--json")[1]) for one in ("official", "study.db")
    )
    assert all(by_folder[part] == by_study[part] for part in ("phases", "pooled", "within"))
    assert "exists; name another folder" in refused("label", "export", study, "--official", "official")


def test_label_studio_and_argilla_are_read_as_they_export(proact, empty):
    def region(name, kind, value):
        return {"from_name": name, "to_name": "response", "type": kind, "value": value, "id": "x", "origin": "manual"}

    def annotation(user, *regions, **more):
        made = {"id": 1, "completed_by": user, "result": list(regions), "ground_truth": False, "lead_time": 4.5}
        return made | {"was_cancelled": False, "created_at": "2026-01-01T10:00:00Z"} | more

    task = {
        "id": 7,
        "data": {"item": KEYS[0], "response": TEXT},
        "annotations": [
            annotation(
                {"id": 12, "email": "ann@example.com"},
                region("grade", "choices", {"choices": ["Partial"]}),
                region("confidence", "rating", {"rating": 4}),
                region("reason", "textarea", {"text": ["It hints."]}),
                region("words", "labels", {"start": 0, "end": 5, "text": "=Labe", "labels": ["decisive"]}),
            ),
            annotation(13, region("grade", "choices", {"choices": ["FAIL"]})),
            annotation(14, region("grade", "choices", {"choices": ["FAIL", "PASS"]}), was_cancelled=True),
            annotation(
                15,
                region("grade", "choices", {"choices": ["PASS"]}),
                region("reason", "textarea", {"text": ["First.", " Then. "]}),
                {"type": "relation", "from_id": "a", "to_id": "b", "direction": "right"},
            ),
            annotation(
                16, region("grade", "choices", {"choices": ["PASS"]}), region("reason", "textarea", {"text": []})
            ),
        ],
        "predictions": [],
    }
    bare = {"id": 6, "data": {"item": KEYS[2]}}
    Path("studio.json").write_text(json.dumps([bare, task]), "utf-8")
    record = {
        "id": KEYS[1],
        "fields": {"response": TEXT},
        "metadata": {},
        "suggestions": {"grade": {"value": "PASS", "score": 0.9, "agent": "a model"}},
        "responses": {
            "grade": [
                {"value": "PASS", "user_id": "u-1", "status": "submitted"},
                {"value": "FAIL", "user_id": "u-2"},
                {"value": "FAIL", "user_id": "u-3", "status": "draft"},
                {"value": "FAIL", "user_id": "u-4", "status": "discarded"},
                {"value": None, "user_id": "u-5"},
            ],
            "confidence": [{"value": 2, "user_id": "u-2"}, {"value": 2, "user_id": "u-3"}],
            "other": [{"value": ["a", "b"], "user_id": "u-2"}],
        },
        "vectors": {},
        "_server_id": "s",
    }
    Path("argilla.json").write_text(json.dumps([record]), "utf-8")
    for added in ("{} ratings added", "0 ratings added; {} were there, 0 of them with another grade, which stays"):
        message, left_out = imported(proact, "studio.json", "argilla.json"), "not counted by the labelling tool"
        assert f"studio.json: {added.format(4)}; {left_out}: cancelled (1)." in message
        assert f"argilla.json: {added.format(2)}; {left_out}: discarded (1), draft (1)." in message
    assert ratings_of(empty) == [
        ("label-studio 12", KEYS[0], "", "PARTIAL", 4, "It hints.", 4.5),
        ("label-studio 13", KEYS[0], "", "FAIL", 3, "", 4.5),
        ("label-studio 15", KEYS[0], "", "PASS", 3, "First.\nThen.", 4.5),
        ("label-studio 16", KEYS[0], "", "PASS", 3, "", 4.5),
        ("argilla u-1", KEYS[1], "", "PASS", 3, "", 0.0),
        ("argilla u-2", KEYS[1], "", "FAIL", 2, "", 0.0),
    ]


def tasks(**changes):
    made = {"id": 1, "completed_by": 1, "result": [{"from_name": "grade", "value": {"choices": ["PASS"]}}]} | changes
    return json.dumps([{"data": {"item": KEYS[0]}, "annotations": [made]}])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"item,annotator,grade\n{KEYS[0]},Ann,\n", "file: the grade is empty on every line; fill it in"),
        ("item,annotator,grade\nother,Ann,PASS\n", "file, line 2, field 'item': 'other' is no item of the study"),
        (f"item,annotator,grade\n{KEYS[0]},Ann,GOOD\n", "line 2, field 'grade': is none of the grades of this item"),
        (f"item,annotator,grade\n{KEYS[0]},{'x' * 61},PASS\n", "field 'annotator': a pseudonym has 1 to 60 characters"),
        (f"item,annotator,grade,part\n{KEYS[0]},Ann,PASS,tone\n", "with the part 'tone' is no item of the study"),
        (f"item,annotator,grade,reason\n{KEYS[0]},Ann,PASS,{'x' * 4001}\n", "field 'reason': has more than 4,000"),
        (f"item,annotator,grade,response\n{KEYS[0]},Ann,PASS,Other.\n", "field 'response': not the response of this"),
        (f"item,annotator,grade\n{KEYS[0]},Ann,PASS\n{KEYS[0]},Ann,FAIL\n", "line 3, field 'item': 'Ann' grades"),
        (f"item,annotator,grade\n{KEYS[0]},Ann,PASS\n{KEYS[0]},ANN,FAIL\n", "line 3, field 'item': 'ANN' grades"),
        (f"item,annotator,grade\n{KEYS[1]},Ann,PASS\nother,Ann,PASS\n", "line 3"),
        ("[", "file, line 1: not JSON"),
        ("[]", "neither tasks of Label Studio (data, annotations) nor records of Argilla (id, fields, responses)"),
        (tasks(completed_by="ann@example.com"), "field '[0].annotations[0].completed_by"),
        (tasks(result=[{"from_name": "grade", "value": {"choices": ["PASS", "FAIL"]}}]), "result[0].value'"),
        (tasks(was_cancelled=True), "file: there is no grade in it that counts; left out: cancelled (1)"),
        (tasks(result=[{"from_name": "quality", "value": {"choices": ["PASS"]}}]), "there is no grade in it"),
        (
            tasks(result=[{"from_name": "grade", "value": {"choices": ["GOOD"]}}]),
            "'[0].annotations[0].grade': is none of",
        ),
    ],
)
def test_a_damaged_file_is_refused_with_a_reason_and_nothing_of_it_is_kept(refused, empty, text, why):
    Path("file").write_text(text, "utf-8")
    assert why in unwrapped(refused("label", "import", "empty.db", "file"))
    assert ratings_of(empty) == []


def test_parts_of_a_grading_go_out_and_come_in_by_their_names(proact, probe):
    Evaluation("sample", benchmark="probe").run(Path("run"))
    study_of(Path("study.db"), Path("run"), raters=["Ann"])
    study_of(Path("empty.db"), Path("run"), raters=())
    assert proact("label", "export", "study.db", "--out", "sheet.csv")[0] == 0
    assert {"item", "part", "annotator", "grade", "confidence"} <= rows_of(Path("sheet.csv"))[0].keys()
    imported(proact, "sheet.csv")
    assert ratings_of("empty.db") == ratings_of("study.db")


def test_choices_between_two_responses_go_out_as_pairs_are_read(proact, done, run):
    events = []
    for case in CASES:
        events += [answered(case, f"{TEXT} Now."), graded(case, evidence=("Label the boxes",), response=f"{TEXT} Now.")]
    written(Path("other"), manifest(model="other"), CASES, events)
    study_of(Path("pairs.db"), run, Path("other"), pairs=True, grade=lambda *of: ("first", "tie", "second")[of[2]])
    out = done("label", "export", "pairs.db", "--out", "-")[0]
    rows = list(csv.DictReader(StringIO(out)))
    assert [(row["a"], row["b"], row["chosen"]) for row in rows[:3]] == [("run", "other", c) for c in ("a", "tie", "b")]
    Path("pairs.csv").write_text(out, "utf-8")
    by_study, by_sheet = (
        json.loads(proact("agree", "--pairs", f"pairs.{kind}", "--json")[1]) for kind in ("db", "csv")
    )
    assert by_study["right"]["of"] == 6 - 2, "which stood on the right is known of a study alone"
    assert by_study | {"name": "pairs.csv", "right": by_sheet["right"]} == by_sheet
    assert "--official: has no effect on choices" in proact("label", "export", "pairs.db", "--official", "x")[2]
