"""`dspy-proact agree`: the published study, ratings of a run, the sheet for raters, and what is refused."""

import csv
import json
from io import StringIO

import pytest
from results_rows import result_row
from rows import jsonl, row

from dspy_proact.benchmarks.proactbench import Evaluation
from dspy_proact.corpus import load_corpus, read_jsonl, read_results
from dspy_proact.report import summarize
from dspy_proact.report.proactbench import summarize_results
from dspy_proact.runs import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of the embedded model on the sample: 49 cases."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    return Evaluation(load_corpus("sample"), model="embedded", judge="embedded").run(folder).path


@pytest.fixture
def sheet(proact, run):
    """The template as rows."""
    status, out, err = proact("agree", "--template", "--run", run)
    assert status == 0
    told = "Fill in annotator and grade in FILE, a copy for each rater."
    assert err == f"{told} Next: dspy-proact agree --run {run} --ratings FILE\n"
    return list(csv.DictReader(StringIO(out)))


def filled(path, sheet, *raters):
    """A file of ratings: each rater's function of the row's number, or None for a row that is left empty."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(sheet[0]))
        writer.writeheader()
        for name, grade in raters:
            writer.writerows({**row, "annotator": name, "grade": grade(n)} for n, row in enumerate(sheet))
    return path


def kind(number):
    return ("PASS", "PARTIAL", "FAIL", "FAIL")[number % 4]


def test_the_published_study_is_the_default(proact):
    status, out, err = proact("agree", "--json")
    document = json.loads(out)
    assert (status, err) == (0, "")
    phases = document["phases"]
    assert [round(phases[phase]["alpha_ordinal"]["value"], 3) for phase in phases] == [0.170, 0.158, 0.278]
    assert [round(phases[phase]["kappa"]["value"], 3) for phase in phases] == [0.545, 0.269, 0.552]
    assert list(phases) == list(document["published"]) == ["EMERGENT", "CRITICAL", "RECOVERY"]


def test_the_terminal_is_80_columns_wide_and_says_what_to_type_next(proact):
    status, out, err = proact("agree")
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "published: 275 ratings of 59 items by 18 raters" in out
    assert err == "A sheet for raters of your own: --template with --run RUN.\nNext: dspy-proact agree --json\n"


def test_exclusion_and_least_ratings_are_the_published_ones(proact):
    status, out, _ = proact("agree", "--exclude", "published", "--min-ratings", 3, "--json")
    document = json.loads(out)
    assert (status, document["pooled"]["ratings"], document["pooled"]["items"]) == (0, 258, 45)
    assert (document["min_ratings"], document["ratings"]["excluded"]) == (3, ["A08"])


def test_soft_labels_are_the_alternative(proact):
    document = json.loads(proact("agree", "--consensus", "soft", "--json")[1])
    assert document["consensus"] == "soft"
    assert sum(map(sum, document["pooled"]["confusion"])) == pytest.approx(59)


def test_the_sample_has_no_judge_and_no_people(proact):
    status, out, _ = proact("agree", "--ratings", "sample", "--json")
    pooled = json.loads(out)["pooled"]
    assert (status, pooled["kappa"]["value"]) == (0, None)
    assert pooled["human_reference"]["value"] > 0
    assert "language-model agents" in " ".join(proact("agree", "--ratings", "sample")[1].split())


def test_a_sheet_of_a_run_is_filled_in_and_read_back(proact, run, sheet, tmp_path):
    # A rater who repeats the judge, and one who does not.
    judge = [outcome.label for outcome in summarize(RunFolder(run)).outcomes]
    file = filled(tmp_path / "ratings.csv", sheet, ("ann", judge.__getitem__), ("bob", kind))
    status, out, _ = proact("agree", "--run", run, "--ratings", file, "--json")
    document = json.loads(out)
    assert (status, document["embedded"]) == (0, True)
    assert (document["pooled"]["items"], document["pooled"]["judged"], document["pooled"]["ratings"]) == (49, 49, 98)
    ann, bob = document["raters"]
    assert (ann["rater"], ann["against_judge"]["value"]) == ("ann", 1)
    assert bob["against_judge"]["value"] < 1
    assert not any("published items" in note for note in document["notes"])
    assert "embedded stand-in" in proact("agree", "--run", run, "--ratings", file)[1]


def test_the_sheet_sways_nobody_and_is_of_every_response(sheet):
    assert len(sheet) == 49
    assert set(sheet[0]) & {"judge", "phase", "model"} == set()
    assert all(line["response"] and not line["grade"] for line in sheet)


def test_lines_left_empty_and_phases_without_a_rating_are_told(proact, run, sheet, tmp_path):
    file = filled(tmp_path / "ratings.csv", sheet[:5], ("ann", lambda n: "PASS" if n < 2 else ""))
    status, out, _ = proact("agree", "--run", run, "--ratings", file)
    said = " ".join(out.split())
    assert status == 0
    assert "lines without a grade, left out: 3" in said
    assert "phases without a rating: " in said
    assert "nan" not in said.split()


def test_the_judge_of_a_results_file_is_compared_too(proact, tmp_path):
    (tmp_path / "results.jsonl").write_text(jsonl(result_row()), encoding="utf-8")
    keys = [outcome.key for outcome in summarize_results(read_results(tmp_path / "results.jsonl")).outcomes]
    (tmp_path / "ratings.csv").write_text("item,annotator,grade\n" + "".join(f"{key},ann,PASS\n" for key in keys))
    status, out, _ = proact("agree", "--run", "results.jsonl", "--ratings", "ratings.csv", "--json")
    assert (status, json.loads(out)["pooled"]["ratings"]) == (0, len(keys))
    status, out, err = proact("agree", "--run", "results.jsonl", "--template")
    assert (status, out) == (2, "")
    assert "does not hold the conversations" in err


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        pytest.param(
            "nowhere,ann,PASS\n", "line 2, field 'item': 'nowhere' is none of the 49 items", id="unknown item"
        ),
        pytest.param("{0},ann,GREAT\n", "a grade is PASS, PARTIAL or FAIL, not 'GREAT'", id="grade out of range"),
        pytest.param("{0},ann,PASS\n{0},ann,FAIL\n", "on line 2 already; keep one of the two", id="rated twice"),
        pytest.param("{0},ann,\n", "there is no rating in it: the grade is empty on 1 lines", id="no rating"),
    ],
)
def test_bad_ratings_are_refused_with_their_line_and_the_mend(proact, run, sheet, tmp_path, lines, told):
    (tmp_path / "ratings.csv").write_text("item,annotator,grade\n" + lines.format(sheet[0]["item"]), encoding="utf-8")
    status, out, err = proact("agree", "--run", run, "--ratings", "ratings.csv", "--json")
    assert (status, out) == (2, "")
    assert told in err
    assert "ratings.csv" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--ratings", "nothing.csv"], "nothing.csv"),
        (["--run", "RUN"], "--run: name the ratings of it with --ratings FILE"),
        (["--items", "items.jsonl"], "--items: name the ratings of it with --ratings FILE"),
        (["--template"], "either with --run or with --items"),
        (["--template", "--run", "RUN", "--items", "items.jsonl"], "either with --run or with --items"),
        (["--ratings", "sample", "--exclude", "published"], "raters are excluded by their agreement with a judge"),
        (["--min-ratings", "0"], "--min-ratings"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(proact, run, arguments, told):
    status, out, err = proact("agree", *(run if each == "RUN" else each for each in arguments))
    assert (status, out) == (2, "")
    assert told in err


def test_an_unscored_case_has_no_line_in_the_sheet_and_is_not_lost(proact, tmp_path):
    (tmp_path / "corpus.jsonl").write_text(jsonl(row()), encoding="utf-8")
    run = Evaluation(read_jsonl(tmp_path / "corpus.jsonl")).run(tmp_path / "run").path
    with (run / "events.jsonl").open(encoding="utf-8") as file:
        kept = [line for line in file if json.loads(line)["key"]["stage"] == "response"]
    # Two of three responses are there, and no verdict, as when the run was ended early.
    (run / "events.jsonl").write_text("".join(kept[:2]), encoding="utf-8")
    rows = list(csv.DictReader(StringIO(proact("agree", "--template", "--run", run)[1])))
    assert len(rows) == 2
    file = filled(tmp_path / "ratings.csv", rows, ("ann", kind), ("bob", kind))
    status, out, _ = proact("agree", "--run", run, "--ratings", file, "--json")
    document = json.loads(out)
    assert (status, document["ratings"]["items"], document["pooled"]["judged"]) == (0, 3, 0)
    assert document["pooled"]["kappa"]["reason"] == "the judge's grades of these items are not known"
    assert "items without a rating: 1 of 3" in document["notes"]
