"""The file of a study is read wherever ratings are: what counts of it, what is left out, and what is refused."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from itertools import cycle
from pathlib import Path

import pytest
from builders.benchmarks import write_mine
from builders.runs import PHASES, run_of, trigger
from builders.studies import sheet_of, sheet_with, study_of, submission
from drivers.terminal import unwrapped

from dspy_proact import Evaluation, RunFolder, summarize
from dspy_proact.evaluation import registry
from dspy_proact.label.store import Store

CASES = [
    trigger(f"d{number}", phase, turn=turn, scenario=f"S{number % 5}")
    for turn, phase in enumerate(PHASES, start=1)
    for number in range(4)
]
GRADES = ("PASS", "PARTIAL", "FAIL")


def judged(path, text="Label the boxes.", model="openai/m"):
    """A run of twelve triggers by a model, whose grades take turns."""
    return run_of(path, zip(CASES, cycle(GRADES), strict=False), text=text, model=model).path


@pytest.fixture
def run(proact):
    judged(Path("run"))
    return Path("run")


def by_turns(rater, item, number):
    """Ann grades as the judge does; Bob gives the worst."""
    return GRADES[number % 3] if rater == "Ann" else "FAIL"


def agreed(proact, *arguments):
    status, out, err = proact("agree", *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def test_agree_reads_a_study_without_a_step_as_it_reads_the_sheet_filled_in(proact, run):
    study_of(Path("study.db"), run, grade=by_turns)
    document = agreed(proact, "--ratings", "study.db")
    assert (document["ratings"]["ratings"], document["ratings"]["raters"], document["pooled"]["items"]) == (24, 2, 12)
    assert agreed(proact, "--ratings", "study.db", "--run", run) == document
    graded = [
        {**row, "annotator": rater, "grade": by_turns(rater, None, number), "confidence": 4}
        for rater in ("Ann", "Bob")
        for number, row in enumerate(sheet_of(proact, run))
    ]
    sheet_with(Path("sheet.csv"), graded)
    by_sheet = agreed(proact, "--ratings", "sheet.csv", "--run", run)
    assert by_sheet["ratings"]["sha256"] == document["ratings"]["sha256"]
    assert {**by_sheet, "ratings": None} == {**document, "ratings": None}


def test_a_rating_counts_once_and_practice_what_was_undone_and_the_owners_grades_do_not(proact, run):
    study_of(Path("study.db"), run, grade=by_turns)
    before = agreed(proact, "--ratings", "study.db")
    store = Store.open(Path("study.db"))
    ((item,), *_) = store.units()
    store.give(1, submission(item, "FAIL", 1, repeated=True))
    store.practise(1, "p1", "FAIL", correct=False)
    store.adjudicate(submission(item, "FAIL", reason="It is none."))
    assert agreed(proact, "--ratings", "study.db") == before
    store.undo(1, "u1")  # the second one, and then the twelfth
    store.undo(1, "u2")
    store.close()
    assert agreed(proact, "--ratings", "study.db")["ratings"]["ratings"] == 23


def test_ratings_of_a_text_that_has_changed_are_left_out_and_said(proact, refused, run):
    study_of(Path("study.db"), run, grade=by_turns)
    log = Path("run/events.jsonl")
    changed = log.read_text("utf-8").replace("Label the boxes.", "Label no boxes.")
    log.write_text("\n".join([*changed.splitlines()[:2], *log.read_text("utf-8").splitlines()[2:]]) + "\n", "utf-8")
    status, out, err = proact("agree", "--ratings", "study.db", "--json")
    assert (status, json.loads(out)["ratings"]["ratings"]) == (0, 22)
    assert "study.db: left out 2 ratings of texts that have changed since." in err
    log.write_text(changed, "utf-8")
    assert "has no rating of run: all its ratings are of texts that have changed since" in unwrapped(
        refused("agree", "--ratings", "study.db")
    )


def test_reports_and_comparisons_read_it_too(proact, done):
    for name in ("run", "other"):
        judged(Path(name), f"Label the boxes of the {name}.", model=name)
    draw = sheet_of(proact, "run", "--draw", 12)[0]["draw"]

    def better(rater, item, number):
        return by_turns(rater, item, number) if number < 12 else "PASS"

    study_of(Path("study.db"), Path("run"), Path("other"), grade=better, draw=draw)
    out, err = done("report", "run", "--ratings", "study.db", "--json")
    micro = json.loads(out)["corrected"]["overall"]["micro"]
    assert (micro["rated"], micro["ratings"], micro["raters"]) == (12, 24, 2)
    # Ann's are a third PASS, PARTIAL and FAIL each, Bob's all FAIL: (.5 + 0) / 2.
    assert micro["mean_of_the_rated"] == pytest.approx(0.25)
    ratings = ("--ratings", "study.db", "--ratings", "study.db")
    out, err = done("compare", "run", "other", *ratings, "--json")
    assert "corrected" in json.loads(out)
    status, _, err = proact("agree", "--ratings", "study.db")
    assert (status, "study.db: rates several runs; name one with --run: run, other" in unwrapped(err)) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("agree", "--ratings", "no.db"), "no.db: there is no such file; `label serve` makes one"),
        (("agree", "--ratings", "text.db"), "text.db: is no file of `label serve`: file is not a database"),
        (("agree", "--ratings", "study.db", "--items", "i.jsonl"), "--items: study.db rates responses of runs"),
        (("agree", "--ratings", "gone.db"), "its run was in run, where there is none now; name where it is with --run"),
        (("report", "else", "--ratings", "study.db"), "rates no response of else; its ratings are of run"),
        (("agree", "--ratings", "empty.db", "--run", "else"), "has no rating of else: nobody has rated it yet"),
        (("agree", "--pairs", "study.db"), "its raters graded single responses; read it with --ratings study.db"),
    ],
)
def test_what_holds_no_such_ratings_is_refused_with_a_reason(refused, run, arguments, why):
    Path("text.db").write_text("item,annotator,grade\n", "utf-8")
    study_of(Path("study.db"), run)
    judged(Path("else"), model="else")
    study_of(Path("empty.db"), Path("else"), grade=lambda *_: None)
    study_of(Path("gone.db"), run)
    if "gone.db" in arguments:
        shutil.rmtree(run)
    assert why in unwrapped(refused(*arguments))


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("UPDATE log SET grade = 'GOOD' WHERE number = 1", 23),
        ("UPDATE log SET confidence = 9 WHERE number = 1", 23),
        ("UPDATE log SET spans = '[[0, 9999]]' WHERE number = 1", 23),
        ("UPDATE items SET \"case\" = 'other' WHERE rank = 0", 22),
        ("UPDATE items SET mark = '' WHERE rank = 0", 22),
        ("UPDATE log SET spans = '[1]' WHERE number = 1", None),
        ("UPDATE log SET spans = '[' WHERE number = 1", None),
        ("UPDATE study SET settings = '{}'", None),
        ("UPDATE study SET settings = '['", None),
        ("DROP TABLE log", None),
    ],
)
def test_a_study_that_somebody_changed_is_no_more_than_its_ratings(proact, run, statement, left):
    study_of(Path("study.db"), run, grade=by_turns)
    with closing(sqlite3.connect("study.db")) as changed:
        changed.execute(statement)
        changed.commit()
    status, out, err = proact("agree", "--ratings", "study.db", "--json")
    assert status == (2 if left is None else 0), err
    assert "study.db: is damaged: " in err if left is None else json.loads(out)["ratings"]["ratings"] == left


def test_choices_between_two_runs_are_read_as_a_study_of_pairs(proact, done, monkeypatch):
    """Ann prefers the second in all twelve, Bob ties in six and prefers the first in six: 12 of 18."""
    monkeypatch.setattr(Store, "swapped", lambda *_: False)
    for name in ("before", "after"):
        judged(Path(name), f"Label the boxes {name} Friday.", model=name)

    def choice(rater, item, number):
        assert item.levels == ("first", "tie", "second")
        return "second" if rater == "Ann" else ("first", "tie")[number % 2]

    study_of(Path("pairs.db"), Path("before"), Path("after"), grade=choice, pairs=True)
    out, err = done("agree", "--pairs", "pairs.db", "--json")
    document = json.loads(out)
    assert (document["a"], document["b"], document["choices"], document["items"]) == ("before", "after", 24, 12)
    assert [document["all"][name] for name in ("a", "b", "ties")] == [6, 12, 6]
    assert document["right"] == {"chosen": 12, "of": 18}, "the second, which stood on the right"
    assert {one["name"]: one["b"] for one in document["strata"]} == {"CRITICAL": 4, "EMERGENT": 4, "RECOVERY": 4}
    status, _, err = proact("agree", "--ratings", "pairs.db", "--run", "before")
    assert status == 2
    assert "its raters chose between two responses; read it with --pairs pairs.db" in unwrapped(err)


@pytest.mark.parametrize("benchmark", ["proactbench", "probe", "proactiveagent"])
def test_a_judge_is_compiled_on_a_study(done, request, benchmark):
    """Its items are those that were rated: on a dry run, since a compile takes seconds."""
    request.getfixturevalue(benchmark)
    Evaluation("sample", benchmark=benchmark).run(Path("run"))
    study_of(Path("study.db"), Path("run"), raters=["Ann"])
    tuned = ("optimize", "judge", "--benchmark", benchmark, "--ratings", "study.db", "--folds", 3)
    out, err = done(*tuned, "--optimizer", "search", "--trials", 1, "--dry-run")
    rated = len({outcome.key for outcome in summarize(RunFolder(Path("run"))).outcomes})
    assert int(re.search(r"(\d+) items", unwrapped(out + err))[1]) >= rated, "parts of one response may be asked apart"


def test_labels_of_a_benchmark_of_ones_own_go_to_agree(proact, tmp_path, monkeypatch):
    """Ann finds all clear, Bob all vague: the judge says one or the other of each, so one of two agrees."""
    monkeypatch.setattr(registry, "_OWN", {})
    registry._of_file.cache_clear()
    write_mine(tmp_path)
    assert proact("eval", "--benchmark", "mine.py", "--out", "run")[0] == 0
    study_of(Path("study.db"), Path("run"), grade=lambda rater, *_: "CLEAR" if rater == "Ann" else "VAGUE")
    document = agreed(proact, "--benchmark", "mine.py", "--ratings", "study.db", "--consensus", "soft")["pooled"]
    assert (document["judged"], document["exact"]["value"]) == (8, 0.5)
