"""The benchmark of docs/own-benchmark.md goes through every verb, from the command line and in Python."""

import csv
import json
import re
from pathlib import Path

import pytest
from builders.benchmarks import TEXT, write_mine
from builders.studies import rows_of, sheet_with
from drivers.child import Child, code
from drivers.labelling import joined, serving

from dspy_proact import Case, RunFolder, Scored, stats, summarize
from dspy_proact.compile.measured import Examined, measured_of
from dspy_proact.evaluation import registry
from dspy_proact.evaluation.registry import benchmark_named, reporting_of
from dspy_proact.evaluation.tuning import CardRows
from dspy_proact.label.serving import open_study
from dspy_proact.label.study import Design
from dspy_proact.report import Reporting

NAMED = ["--benchmark", "mine.py"]
OURS = sorted(path.parent.name for path in registry.FOLDER.glob("*/benchmark.py"))
"""The benchmarks of the package."""


@pytest.fixture
def run(proact, tmp_path, monkeypatch):
    """A run of the stand-in on it: three of eight messages ask a question, and are answered well."""
    monkeypatch.setattr(registry, "_OWN", {})
    registry._of_file.cache_clear()
    write_mine(tmp_path)
    status, out, err = proact("eval", *NAMED, "--out", "run")
    assert (status, "embedded scored 37.5" in " ".join(out.split())) == (0, True), err
    return Path("run")


@pytest.fixture
def forgotten(run, monkeypatch):
    """The run, where this process has not seen the file."""
    monkeypatch.setattr(registry, "_OWN", {})
    return run


def test_it_is_one_file_of_at_most_110_lines():
    assert len(TEXT.splitlines()) <= 110


READS_ANSWERS = """

from dspy_proact import Responses, ResultsFormat


def answers_in(path, corpus, settings):
    return [Responses.of_rows(path, name, "sample", benchmark=CLASS()) for name in path.stem.split("-")]


CLASS.results = ResultsFormat(read=answers_in)
"""


def test_files_of_answers_are_read_as_it_reads_them_and_those_of_several_models_refused(run, proact):
    name = re.search(r"class (\w+)\(Benchmark", TEXT)[1]
    Path("mine.py").write_text(Path("mine.py").read_text("utf-8") + READS_ANSWERS.replace("CLASS", name), "utf-8")
    row = '{"key": "late", "text": "We call you tomorrow."}\n'
    for file in ("acme.jsonl", "acme-nova.jsonl"):
        Path(file).write_text(row, encoding="utf-8")
    registry._of_file.cache_clear()
    document = json.loads(proact("report", *NAMED, "acme.jsonl", "--json")[1])
    assert (document["run"]["model"], document["messages"]["pending"]) == ("acme", 1)  # no verdict is in the file
    assert "We call you tomorrow." in proact("show", *NAMED, "acme.jsonl")[1]
    status, _, err = proact("report", *NAMED, "acme-nova.jsonl")
    assert (status, "acme-nova.jsonl: holds answers of 2 models; `rejudge` makes a run of each" in err) == (2, True)


def test_its_runs_are_reported_shown_compared_and_exported_without_the_file(forgotten, proact):
    document = json.loads(proact("report", "run", "--json")[1])
    assert (document["messages"]["scored"], document["topics"]["ORDER"]["clear"]) == (8, 2)
    assert document["overall"]["measures"]["words"]["value"] == (3 * 11 + 5 * 5) / 8
    assert "8 messages" in proact("show", "run")[1]
    shown = proact("show", "run", "--case", "late")[1]
    assert all(text in shown for text in ("Where is it?", "call you tomorrow at nine", "Does it name a time?"))
    assert proact("report", "run", "--html", "run.html")[0] == 0
    assert "8 messages" in Path("run.html").read_text("utf-8")
    assert proact("compare", "run", "run")[0] == 0
    assert proact("export", "run", "--format", "csv", "--out", "run.csv")[0] == 0
    rows = csv.DictReader(Path("run.csv").read_text("utf-8-sig").splitlines())
    assert {(row["grade"], row["words"]) for row in rows} == {("CLEAR", "11.0"), ("VAGUE", "5.0")}


def test_its_answers_are_graded_again_by_the_file_alone(forgotten, proact):
    status, _, err = proact("rejudge", "run", "--out", "again")
    assert (status, "which is not installed; name its file with --benchmark" in " ".join(err.split())) == (2, True), err
    assert proact("rejudge", "run", *NAMED, "--set", "longest=5", "--out", "again")[0] == 0
    document = json.loads(proact("compare", "run", "again", "--json")[1])
    assert document["overall"]["micro"]["weighted"]["value"] == pytest.approx(
        -0.5 * 3 / 8
    )  # good replies have 11 words


@pytest.mark.parametrize(("words", "broken"), [(7, False), (20, False), (21, False), (22, True)])
def test_the_guard_of_its_words_rejects_longer_replies_and_no_shorter_ones(run, words, broken):
    """Its margin is 5 % of the 20 words that replies had, not .05 of a word."""
    declared = benchmark_named("mine.py")
    case = Case("late", "ann", "ORDER", declared.answer_type(reply="Soon."))
    (row,) = [row for row in measured_of(declared, CardRows(), [case], ("ORDER",)) if row.name == "words"]
    before, after = (
        {"late": Examined(case.view, Scored(1.0, "CLEAR", case.view, parts={"words": count}))} for count in (20, words)
    )
    assert row.is_broken([case], before, after, row.margin) is broken


def test_its_runs_stand_among_its_published_rows(run, proact):
    status, out, _ = proact("leaderboard", "run", *NAMED)
    assert (status, "our people" in out, "our old bot" in out) == (0, True, True)
    proact("rejudge", "run", *NAMED, "--set", "longest=5", "--out", "again")
    assert "replies may have 5 words" in " ".join(proact("leaderboard", "again", *NAMED)[1].split())


def test_its_judge_agrees_with_its_human_grades(run, proact):
    status, out, _ = proact("agree", *NAMED, "--judge", "embedded", "--json")
    document = json.loads(out)
    assert (status, document["judge"]) == (0, "embedded")
    assert 0 < document["pooled"]["judged"] == document["pooled"]["items"]
    assert document["pooled"]["human_reference"]["value"] is not None
    assert document["ratings"]["name"] == "your ratings"
    text = proact("agree", *NAMED)[1]
    assert ("your ratings: 32 ratings of 16 items by 2 raters" in text, "published" in text) == (True, False)


def test_raters_fill_in_a_sheet_of_a_run_and_the_judge_is_compared_with_them(run, proact, done):
    """Ann grades all eight as the judge does, Bob one otherwise, whose tie goes to the middle level: 7 of 8."""
    assert proact("label", "sheet", "run", *NAMED, "--out", "sheet.csv")[0] == 0
    rows = rows_of(Path("sheet.csv"))
    assert (len(rows), rows[0]["item"], rows[0]["grades"]) == (8, "late", "CLEAR | LONG | VAGUE")
    assert "Where is it?" in rows[0]["case"]
    filled = [
        {**row, "annotator": "ann", "grade": "CLEAR" if "tomorrow" in row["response"] else "VAGUE"} for row in rows
    ]
    filled.append({**filled[0], "annotator": "bob", "grade": "LONG", "reason": "x" * 200_000})
    sheet_with(Path("filled.csv"), filled)
    out, err = done("agree", *NAMED, "--run", "run", "--ratings", "filled.csv", "--json")
    document = json.loads(out)
    assert (document["pooled"]["judged"], document["pooled"]["exact"]["value"], document["raters"][0]["rater"]) == (
        8,
        7 / 8,
        "ann",
    )
    tuned = ("optimize", "judge", *NAMED, "--run", "run", "--ratings", "filled.csv", "--folds", 2)
    status, out, err = proact(*tuned, "--optimizer", "search", "--trials", 2, "--out", "tuned", "--json")
    assert (status, json.loads(out)["items"]) == (0, 8), err


RATED = """
from dataclasses import replace

from dspy_proact import CaseSet, Part, People
from mine import NextStep


class Rated(NextStep):
    name = "rated"
    criteria = {"CLEAR": "It says who does what next.", "VAGUE": "It does not."}
    people = People(parts=[Part("", ("VAGUE", "LONG", "CLEAR"), criteria=criteria)], briefing="You are the customer.")

    def read(self, corpus, settings, revision=None):
        cases = super().read(corpus, settings).cases
        known = [replace(case, meta={"right_answer": f"Call about {case.key}."}) for case in cases]
        return CaseSet.of("messages", known)
"""


def test_raters_and_readers_see_criteria_briefing_what_is_measured_and_what_a_case_declares(run, proact, monkeypatch):
    Path("rated.py").write_text(RATED, "utf-8")
    assert proact("eval", "--benchmark", "rated.py", "--out", "rated")[0] == 0
    declared, design = benchmark_named("rated.py"), Design(count=2, ratings=1, raters=2, repeated=0)
    collection = open_study(Path("study.db"), declared, [summarize(RunFolder("rated"))], design)
    about, briefing = "Whether a reply to a customer names the next step.", "You are the customer."
    with serving(collection) as served:
        ann = joined(served, "Ann")
        before, page = ann.get("/briefing").text, ann.get("/rate").text
    assert proact("label", "export", "study.db", "--benchmark", "rated.py", "--html", "--rater", "Bob")[0] == 0
    offline = Path("labels/study--2.html").read_text("utf-8")
    for text in (before, offline):
        assert all(words in text for words in (about, briefing, "It says who does what next.", "the criteria beside"))
    for text in (page, offline):
        assert re.search(
            r"right answer</dt><dd>.*Call about (late|missing|double|refund|vat|wrong|broken|address)", text
        )
        assert "It says who does what next." in text
    assert proact("label", "sheet", "rated", "--benchmark", "rated.py", "--out", "sheet.csv")[0] == 0
    row = rows_of(Path("sheet.csv"))[0]
    assert row["grades"] == "CLEAR: It says who does what next. | LONG | VAGUE: It does not."
    assert row["case"].endswith(f"right answer: Call about {row['item']}.")
    monkeypatch.setattr(registry, "_OWN", {})
    assert "Call about late." in proact("show", "rated", "--case", "late")[1]
    assert proact("report", "rated", "--html", "page.html")[0] == 0
    assert f"<b>What it measures:</b> {about}" in Path("page.html").read_text("utf-8"), "a run keeps what is measured"


@pytest.mark.parametrize("name", OURS)
def test_what_a_case_of_the_package_declares_shows_no_rater_its_right_answer(name):
    assert reporting_of(name).details({"curated_response": "Call Ann.", "turn": 2}) == ()


def test_a_benchmark_names_the_keys_that_raters_see():
    meta = {"right_answer": "Call Ann.", "source": "tickets of May"}
    (section,) = Reporting(meta=frozenset({"source"})).details(meta)
    assert section.items == (("source", "tickets of May"),)


def test_without_criteria_no_page_sends_raters_to_them(run):
    collection = open_study(Path("study.db"), benchmark_named("mine.py"), [summarize(RunFolder("run"))], Design())
    with serving(collection) as served:
        before = joined(served, "Ann").get("/briefing").text
    assert "Grade by the question beside the response" in before


def test_what_a_drawn_sheet_says_to_type_next_names_the_file_without_which_no_score_is_corrected(
    run, proact, monkeypatch
):
    _, _, err = proact("label", "sheet", "run", *NAMED, "--draw", 8, "--out", "few.csv")
    assert "A corrected score takes at least 12 rated messages per topic; this run has fewer." in err
    monkeypatch.setattr(stats, "FEWEST_RATED", 2)
    _, _, err = proact("label", "sheet", "run", *NAMED, "--draw", 8, "--out", "sheet.csv")
    (command,) = [line.partition("Next: dspy-proact ")[2] for line in err.splitlines() if "Next: " in line]
    assert command == "report --benchmark mine.py run --ratings sheet.csv"
    rows = rows_of(Path("sheet.csv"))
    grades = [{"item": row["item"], "annotator": "ann", "grade": "CLEAR"} for row in rows]
    Path("sheet.csv").write_text("".join(f"{json.dumps(grade)}\n" for grade in grades), "utf-8")
    monkeypatch.setattr(registry, "_OWN", {})
    assert "mean score" in proact(*command.split())[1]
    assert "no published study says how ratings of next-step vary" in proact("label", "plan", "run", *NAMED)[2]


def test_what_the_judge_says_that_is_no_level_of_a_part_is_as_if_it_was_not_said(proact, done, tmp_path, monkeypatch):
    """The judge counts 11 words in three replies and 5 in the others, and people may say 11 or 12."""
    monkeypatch.setattr(registry, "_OWN", {})
    registry._of_file.cache_clear()
    parts = "parts=[__import__('dspy_proact').Part('words', ('12', '11'))]"
    write_mine(tmp_path, "People(human_grades)", f"People(human_grades, {parts})")
    assert proact("eval", *NAMED, "--out", "run")[0] == 0
    rows = [{"item": key, "annotator": "ann", "part": "words", "grade": "11"} for key in ("late", "broken", "refund")]
    Path("sheet.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    out = done("agree", *NAMED, "--run", "run", "--ratings", "sheet.jsonl", "--json")[0]
    document = json.loads(out)
    assert (document["pooled"]["items"], document["pooled"]["judged"], document["pooled"]["exact"]["value"]) == (
        3,
        2,
        1.0,
    )


UNSEEN = """from dataclasses import replace

        of = CaseSet.of("messages", cases)
        return replace(of, corpus=of.corpus.model_copy(update={"private": True}))

    async def answer(self, case, ask):
        if case.key == "late":
            raise ContentError("empty", "nothing")
        return Reply(reply=HELPFUL)
"""


def test_of_a_run_that_keeps_no_inputs_what_was_answered_alone_can_be_rated(proact, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_OWN", {})
    registry._of_file.cache_clear()
    path = write_mine(tmp_path, 'return CaseSet.of("messages", cases)\n', UNSEEN)
    path.write_text(path.read_text("utf-8").replace("CaseSet, ", "CaseSet, ContentError, ", 1), "utf-8")
    assert proact("eval", *NAMED, "--out", "run")[0] == 3
    status, _, err = proact("label", "sheet", "run", *NAMED)
    assert (status, "run: holds no inputs, which a rater must read; make it with eval --keep-inputs" in err) == (
        2,
        True,
    )
    Path("sheet.csv").write_text("item,annotator,grade\nbroken,ann,CLEAR\n", "utf-8")
    document = json.loads(proact("agree", *NAMED, "--run", "run", "--ratings", "sheet.csv", "--json")[1])
    assert (document["ratings"]["items"], document["pooled"]["exact"]["value"]) == (7, 1.0)
    Path("sheet.csv").write_text("item,annotator,grade\nlate,ann,CLEAR\n", "utf-8")
    assert "'late' is none of the 7 items" in proact("agree", *NAMED, "--run", "run", "--ratings", "sheet.csv")[2]


WITH_A_PACKAGE = """
import sys
from drivers.child import command_line
_, folder, *command = sys.argv
sys.path.insert(0, folder)
command_line(*command)
"""


@pytest.fixture
def installed(tmp_path):
    """Run a command where another package is installed that registers the benchmark at a place."""
    write_mine(tmp_path)
    of_package = tmp_path / "next_step-1.0.dist-info"
    of_package.mkdir()
    (of_package / "METADATA").write_text("Metadata-Version: 2.1\nName: next-step\nVersion: 1.0\n", "utf-8")

    def call(location, *command):
        (of_package / "entry_points.txt").write_text(f"[dspy_proact.benchmarks]\nnext-step = {location}\n", "utf-8")
        return Child(code, WITH_A_PACKAGE, tmp_path, *command, folder=tmp_path).ended()

    return call


def test_an_installed_package_registers_it(installed):
    listed = json.loads(installed("mine:NextStep", "benchmarks", "--json").stdout)["benchmarks"]
    assert [item["name"] for item in listed] == [*OURS, "next-step"]
    assert installed("mine", "eval", "--benchmark", "next-step", "--out", "run").returncode == 0
    assert installed("mine", "rejudge", "run", "--out", "again").returncode == 0


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("ours", "the benchmark 'next-step' of ours cannot be imported: No module named 'ours'"),
        ("mine:judges", "mine:judges: is no benchmark"),
    ],
)
def test_one_that_cannot_be_used_is_said_and_leaves_the_others(installed, location, message):
    done = installed(location, "eval", "--benchmark", "next-step")
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert installed(location, "eval", "--benchmark", OURS[0], "--limit", "1", "--out", "run").returncode == 0
    listed = installed(location, "benchmarks")
    assert (listed.returncode, message in listed.stderr) == (0, True)
