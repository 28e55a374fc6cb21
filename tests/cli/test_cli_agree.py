"""`dspy-proact agree`: how good a judge is by people's ratings."""

import json
import re

import pytest
from builders.dialogues import jsonl
from builders.studies import sheet_of, sheet_with
from drivers.script import ROOT
from fakes.server import Answer, error, verdict

from dspy_proact import Evaluation, RunFolder, load_corpus, summarize
from dspy_proact.cli.options.labels import FILES
from dspy_proact.kept import log


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of the embedded model on the sample: 49 cases."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    return Evaluation(load_corpus("sample"), model="embedded", judge="embedded").run(folder).path


@pytest.fixture
def sheet(proact, run):
    """The rows of a sheet of the run."""
    return sheet_of(proact, run)


def filled(path, sheet, *raters):
    """A file of ratings: each rater's function of the row's number, or None for a row that is left empty."""
    grades = [(name, grade(n), row) for name, grade in raters for n, row in enumerate(sheet)]
    return sheet_with(path, [{**row, "annotator": name, "grade": grade} for name, grade, row in grades])


def kind(number):
    return ("PASS", "PARTIAL", "FAIL", "FAIL")[number % 4]


def test_what_is_compared_can_be_chosen(proact):
    status, out, _ = proact("agree", "--exclude", "published", "--min-ratings", 3, "--json")
    document = json.loads(out)
    assert (status, document["pooled"]["ratings"], document["pooled"]["items"]) == (0, 258, 45)
    assert (document["min_ratings"], document["ratings"]["excluded"]) == (3, ["A08"])
    document = json.loads(proact("agree", "--consensus", "soft", "--json")[1])
    assert (document["consensus"], sum(map(sum, document["pooled"]["confusion"]))) == ("soft", pytest.approx(59))
    status, out, err = proact("agree", "--ratings", "sample")
    assert "language-model agents" in " ".join(out.split())
    assert "A judge can grade the items" in err
    # None would be compared with one.
    assert "A judge" not in proact("agree", "--ratings", "sample", "--min-ratings", 4)[2]


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
    assert all("strongest step" in disagreement["judge"]["reasons"][0] for disagreement in document["disagreements"])
    assert "embedded stand-in" in proact("agree", "--run", run, "--ratings", file)[1]


def test_a_copy_of_the_sheet_from_each_rater_is_read_together(proact, refused, run, sheet, tmp_path, monkeypatch):
    both = filled(tmp_path / "both.csv", sheet, ("ann", kind), ("jos\u00e9", kind))
    ann = filled(tmp_path / "ann.csv", sheet, ("ann", kind))
    jose = filled(tmp_path / "jose.csv", sheet, ("jose\u0301", kind))
    together = json.loads(proact("agree", "--run", run, "--ratings", both, "--json")[1])
    read = json.loads(proact("agree", "--run", run, "--ratings", ann, "--ratings", jose, "--json")[1])
    assert read["pooled"] == together["pooled"]
    assert [rater["rater"] for rater in read["raters"]] == ["ann", "jos\u00e9"]
    twice = refused("agree", "--run", run, "--ratings", both, "--ratings", jose)
    assert "already; keep one of the two" in " ".join(twice.split())
    assert "is named twice" in refused("agree", "--ratings", "published", "--ratings", "published")
    monkeypatch.setattr(log, "_LONGEST", both.stat().st_size)  # more than either has, and less than both with a header
    large = refused("agree", "--run", run, "--ratings", ann, "--ratings", jose)
    assert re.search(r"jose\.csv: cannot be read: with the files before it larger than", " ".join(large.split()))


# A judge that grades the items now


RESPONSE = "Label the boxes today."
GRADES = {"a": "PASS", "b": "FAIL", "c": "PARTIAL", "d": "PASS"}
"""The judge's, by item."""


def item(key, **changed):
    rubric = {"phase": "RECOVERY", "pass_criteria": "Plans.", "partial_criteria": "Hints.", "fail_criteria": "None."}
    lines = [{"user": f"I move to house {key}.", "assistant": "Good luck."}, {"user": "Thanks, all done."}]
    ratings = {
        "item": key,
        "scenario": f"scenario {key}",
        "rubric": rubric,
        "conversation": lines,
        "response": RESPONSE,
    }
    return {**ratings, **changed}


def rating(key, annotator, grade, reason=""):
    return {"item": key, "annotator": annotator, "grade": grade, "confidence": 3, "reason": reason}


RATINGS = [
    rating("a", "ann", "PASS"),
    rating("b", "ann", "PASS", "It plans."),
    rating("b", "bob", "PASS"),
    rating("c", "ann", "PASS", "It plans\x1b[31m, too."),
    rating("c", "bob", "PARTIAL"),
]
"""Of a, b and c; nobody rated d."""


@pytest.fixture
def own(tmp_path, server):
    """Four items, ratings of three of them, and a judge with a grade for each, as arguments of the command."""
    (tmp_path / "items.jsonl").write_text(jsonl(*map(item, GRADES)), encoding="utf-8")
    (tmp_path / "mine.jsonl").write_text(jsonl(*RATINGS), encoding="utf-8")

    def graded(sent):
        (key,) = [key for key in GRADES if f"house {key}." in sent.text]
        return Answer(verdict(GRADES[key], [RESPONSE], f"because of {key}"))

    server.script = graded
    judge = ["--judge", "hosted_vllm/j", "--judge-api-base", server.judge]
    return ["agree", "--ratings", "mine.jsonl", "--items", "items.jsonl", *judge]


def test_a_dry_run_prices_the_rated_items_and_makes_no_call(proact, server, own, tmp_path):
    status, out, _ = proact(*own, "--judge-price", "1,1", "--max-calls", 2, "--dry-run")
    assert (status, server.sent) == (0, [])
    assert "3 calls" in out
    assert "price unknown" not in out
    assert "--max-calls 2 may stop it after 67%: it could take 3" in out
    assert not (tmp_path / "runs").exists()
    plan = json.loads(proact(*own, "--dry-run", "--json")[1])
    names = [
        "model",
        "name",
        "assistant",
        "judge",
        "roles",
        "seconds",
        "assumption",
        "calls",
        "sent",
        "response_format",
    ]
    assert list(plan) == names
    assert (plan["judge"]["calls"], plan["calls"], len(plan["seconds"])) == (3, 3, 2)


def test_the_judge_grades_what_was_rated_and_where_it_parts_from_people_is_listed_farthest_first(proact, server, own):
    status, out, err = proact(*own, "--explain")
    assert (status, len(server.sent), server.of("assistant")) == (0, 3, [])
    assert "mine.jsonl: 5 ratings of 3 items by 2 raters" in out
    assert "judge: hosted_vllm/j" in out
    assert max(map(len, out.splitlines())) <= 80
    beginning = out.index("Where the judge and people disagree, largest difference first: 2 of 3 items")
    listed = out[beginning:].splitlines()[1:]
    assert listed == [
        "b (RECOVERY): judge FAIL, people PASS 2",
        "  judge: because of b",
        "  ann, PASS: It plans.",
        "c (RECOVERY): judge PARTIAL, people PASS 1, PARTIAL 1",
        "  judge: because of c",
        "  ann, PASS: It plans\\x1b[31m, too.",
    ]
    assert "The run is in runs/proactbench--unnamed_models--hosted_vllm_j--" in err


def test_json_has_the_judge_and_every_item_on_which_it_parts_with_all_reasons(proact, own):
    status, out, _ = proact(*own, "--json")
    document = json.loads(out)
    assert (status, document["judge"], document["pooled"]["judged"]) == (0, "hosted_vllm/j", 3)
    assert [(disagreement["item"], disagreement["difference"]) for disagreement in document["disagreements"]] == [
        ("b", -1),
        ("c", -0.25),
    ]
    first = document["disagreements"][0]
    assert first["judge"] == {"grade": "FAIL", "reasons": ["because of b"]}
    assert first["people"] == [
        {"rater": "ann", "grade": "PASS", "confidence": 3, "reason": "It plans."},
        {"rater": "bob", "grade": "PASS", "confidence": 3, "reason": ""},
    ]
    assert (first["phase"], first["scenario"], first["turn"]) == ("RECOVERY", "scenario b", 2)


def test_a_judge_that_is_down_ends_it_with_five_and_prints_no_numbers(proact, server, own):
    server.script = lambda sent: error(500)
    assert proact(*own, "--retries", 0)[:2] == (5, "")


def test_ratings_that_come_later_are_graded_beside_those_that_were(proact, server, own, tmp_path):
    proact(*own)
    (tmp_path / "mine.jsonl").write_text(jsonl(*RATINGS, rating("d", "bob", "FAIL")), encoding="utf-8")
    status, out, _ = proact(*own, "--json")
    assert (status, len(server.sent), json.loads(out)["pooled"]["judged"]) == (0, 4, 4)
    assert len(list((tmp_path / "runs").iterdir())) == 1
    # Other items make another run.
    changed = [item(key, response=f"{RESPONSE} Soon.") for key in GRADES]
    (tmp_path / "items.jsonl").write_text(jsonl(*changed), encoding="utf-8")
    assert proact(*own)[0] == 0
    assert (len(server.sent), len(list((tmp_path / "runs").iterdir()))) == (8, 2)


def test_an_item_without_a_readable_verdict_is_left_out_and_said(proact, server, own):
    answered = server.script
    server.script = lambda sent: Answer("prose") if "house b." in sent.text else answered(sent)
    status, out, _ = proact(*own, "--json")
    document = json.loads(out)
    assert (status, document["pooled"]["judged"]) == (3, 2)
    assert any("items without a grade of the judge" in note and note.endswith(": 1") for note in document["notes"])
    server.script = answered
    assert proact(*own, "--retry-unscored", "--json")[0] == 0


def test_the_judge_s_grades_of_the_file_give_way_to_those_that_it_gives_now(proact, own, tmp_path):
    (tmp_path / "items.jsonl").write_text(jsonl(*(item(key, judge="FAIL") for key in GRADES)), encoding="utf-8")
    known = json.loads(proact(*own[:5], "--json")[1])
    assert (known["judge"], [disagreement["judge"]["grade"] for disagreement in known["disagreements"]]) == (
        None,
        ["FAIL"] * 3,
    )
    assert [disagreement["item"] for disagreement in json.loads(proact(*own, "--json")[1])["disagreements"]] == [
        "b",
        "c",
    ]


def test_a_compiled_judge_is_told_to_have_been_compiled_on_these_conversations(proact):
    program = ROOT / "optimize" / "programs" / "judge-embedded.json"
    judge = ["--judge", "embedded", "--judge-program", program]
    status, out, _ = proact("agree", "--ratings", "sample", *judge, "--json")
    document = json.loads(out)
    assert (status, document["embedded"], document["pooled"]["judged"]) == (0, True, 147)
    assert any("was compiled on the dialogues of 147 of these items" in note for note in document["notes"])


def test_the_run_of_items_is_reported_compared_and_exported_as_a_table(proact, refused, own, tmp_path):
    proact(*own, "--out", "graded")
    assert "judged by hosted_vllm/j" in proact("report", "graded")[1]
    assert proact("compare", "graded", "graded")[0] == 0
    assert proact("export", "graded", "--format", "csv")[0] == 0
    err = refused("export", "graded", "--format", "official")
    assert "graded: holds items of raters, which are no dialogues; an export as CSV has them" in err


# The form of the files


def pasted(text, form):
    """The example of a form as it stands in a help, without the indentation."""
    lines = text.splitlines()
    begin = lines.index(f"{form.name}:")
    count = len(form.example.splitlines())
    start = lines.index(f"  {form.example.splitlines()[0]}", begin)
    return "".join(f"{line.removeprefix('  ')}\n" for line in lines[start : start + count])


def test_help_describes_both_files_with_a_whole_example_that_works_when_pasted(proact, done, tmp_path):
    text = proact("agree", "--help-all")[1]
    for name, form in zip(("ratings.csv", "items.jsonl"), FILES, strict=True):
        (tmp_path / name).write_text(pasted(text, form), encoding="utf-8")
    ratings = ["--ratings", "ratings.csv", "--items", "items.jsonl"]
    out, err = done("agree", *ratings)
    assert "ratings.csv: 3 ratings of 2 items by 2 raters" in out
    assert "Next: dspy-proact agree --ratings ratings.csv --items items.jsonl --judge MODEL --dry-run" in err
    assert proact("agree", *ratings, "--judge", "embedded")[0] == 0
