"""`dspy-proact label`: sheets for people to fill in, and plans of how much they must rate."""

import csv
import json
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from proact_run import JUDGE, PHASES, run_of, trigger
from results_rows import result_row
from rows import jsonl
from sheets import GRADES, filled, rows_of, said

from dspy_proact.cli.options.labels import FILES
from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder


@pytest.fixture
def run(tmp_path):
    """Sixty triggers in ten scenarios, twenty a phase."""
    cases = [
        trigger(f"d{number}", phase, turn=turn, scenario=f"S{number % 10}")
        for turn, phase in enumerate(PHASES, start=1)
        for number in range(20)
    ]
    return run_of(tmp_path / "run", [(case, GRADES[n % 4]) for n, case in enumerate(cases)]).path


# Sheets


def test_a_sheet_is_a_file_that_says_who_reads_it_and_sways_nobody(proact, run):
    status, out, err = proact("label", "sheet", run)
    assert (status, out) == (0, "labels/run.csv\n")
    told = "Fill in annotator and grade in labels/run.csv, a copy for each rater."
    assert err == f"{told} Next: dspy-proact agree --run {run} --ratings labels/run.csv\n"
    rows = rows_of(Path("labels/run.csv"))
    assert len(rows) == 60
    assert all(line["response"] and not line["grade"] for line in rows)
    assert not set(rows[0]) & {"judge", "phase", "model"}
    assert JUDGE not in str(rows)
    assert proact("label", "sheet", run)[0] == 0  # nothing would be lost


def test_a_sheet_goes_to_standard_output_only_when_asked(proact, run):
    status, out, err = proact("label", "sheet", run, "--out", "-")
    assert (status, len(list(csv.DictReader(StringIO(out))))) == (0, 60)
    assert "--ratings FILE" in err
    assert not Path("labels").exists()


def test_a_sheet_of_items_holds_them_and_says_so_in_the_next_command(proact, tmp_path):
    (tmp_path / "items.jsonl").write_text(FILES[1].example, encoding="utf-8")
    _, out, err = proact("label", "sheet", "--items", "items.jsonl")
    assert [line["item"] for line in rows_of(Path(out.strip()))] == ["note", "thanks"]
    assert "Next: dspy-proact agree --items items.jsonl --ratings labels/items.csv" in err


def test_a_draw_is_balanced_its_beginning_is_a_draw_and_it_can_be_written_again(proact, run):
    status, out, err = proact("label", "sheet", run, "--draw", 48)
    sheet = rows_of(Path(out.strip()))
    (draw,) = {line["draw"] for line in sheet}
    assert (status, out, draw.startswith("48-0-")) == (0, f"labels/run--{draw}.csv\n", True)
    assert "Raters may split the rows. Next: dspy-proact report" in err
    kind = {each.key: (each.stratum, each.label) for each in summarize(RunFolder(run)).outcomes}
    # Five PASS, five PARTIAL and ten FAIL a phase; 48 of nine kinds: all of the six small ones, and six FAIL each.
    drawn = Counter(kind[line["item"]] for line in sheet)
    assert drawn == {(phase, grade): 6 if grade == "FAIL" else 5 for phase in PHASES for grade in GRADES}

    def items(*more):
        return [
            line["item"] for line in csv.DictReader(StringIO(proact("label", "sheet", run, *more, "--out", "-")[1]))
        ]

    keys = [line["item"] for line in sheet]
    assert items("--draw", 20) == keys[:20]
    assert items("--draw", draw) == keys


@pytest.mark.parametrize(("count", "few"), [(36, False), (35, True)])
def test_a_draw_with_too_few_of_a_phase_for_a_corrected_score_says_which_has_enough(proact, run, count, few):
    _, _, err = proact("label", "sheet", run, "--draw", count)
    assert ("A corrected score takes at least 12 rated triggers per phase; use --draw 36 or more." in err) is few
    assert ("Next: dspy-proact agree" in err, "Next: dspy-proact report" in err) == (few, not few)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "takes what is to be rated: either RUN or --items FILE"),
        (["RUN", "--items", "items.jsonl"], "either RUN or --items FILE"),
        (["results.jsonl"], "a results file has no conversations"),
        (["--items", "items.jsonl", "--draw", "5"], "--draw and --items are mutually exclusive"),
        (["RUN", "--draw", "61"], "61 cannot be drawn of 60 scored triggers"),
        (["RUN", "--draw", "some"], "'some' is neither a number of responses nor a draw"),
        (["RUN", "--draw", "0"], "'0' is neither a number"),
        (["RUN", "--draw", "5-0-00000000"], "--draw 5-0-00000000: was drawn from other cases or grades"),
        (["RUN", "--out", "filled.csv"], "filled.csv: exists, and may have been filled in; name another file"),
        (["RUN", "--out", "gone/x.csv"], "gone/x.csv: cannot be written: No such file or directory"),
        (["RUN", "--out", "run/x.csv"], "lies in the folder of a run or a compile"),
    ],
)
def test_what_cannot_be_a_sheet_is_refused(refused, run, tmp_path, arguments, why):
    (tmp_path / "items.jsonl").write_text(FILES[1].example, encoding="utf-8")
    (tmp_path / "results.jsonl").write_text(jsonl(result_row()), encoding="utf-8")
    (tmp_path / "filled.csv").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    assert why in said(refused("label", "sheet", *(run if each == "RUN" else each for each in arguments)))
    assert (sorted(tmp_path.rglob("*")), (tmp_path / "filled.csv").read_text()) == (before, "mine")


# Plans


@pytest.fixture
def wide(tmp_path):
    """180 triggers in eleven scenarios, sixty a phase."""
    cases = [
        trigger(f"d{number}", phase, turn=turn, scenario=f"S{number % 11}")
        for turn, phase in enumerate(PHASES, start=1)
        for number in range(60)
    ]
    return run_of(tmp_path / "wide", [(case, GRADES[n % 4]) for n, case in enumerate(cases)]).path


@pytest.fixture
def planned(proact):
    def document(*arguments):
        status, out, err = proact("label", "plan", *arguments, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)

    return document


def test_without_a_run_the_corpus_and_the_published_study_are_assumed_and_said(proact, planned):
    told = planned()
    assert (told["assumed"], told["triggers"], told["half_width"]) == (True, 624, 0.1)
    assert told["ratings_vary_as_in"] == "the published study, 275 ratings by 18 people"
    # Leniency of the published raters: standard deviation .10 by a mixed model.
    assert told["sd_between_raters"] == pytest.approx(0.10, abs=0.03)
    best = told["plan"]
    assert best in told["plans"]
    half = best["half_width"]
    assert half["value"] <= 0.1
    assert (half["low"], half["high"]) == pytest.approx((0.7 * half["value"], 1.3 * half["value"]))
    status, out, err = proact("label", "plan")
    assert (status, err) == (0, "")
    assert said(out).startswith(told["headline"])
    assert "assumed: ratings vary as in the published study, 275 ratings by 18 people" in said(out)
    assert max(map(len, out.splitlines())) <= 80


def test_a_run_is_planned_with_its_own_grades_and_its_draw_comes_next(proact, wide, planned):
    told = planned(wide, "--width", 12)
    assert (told["triggers"], told["about"], told["assumed"]) == (180, str(wide), True)
    _, _, err = proact("label", "plan", wide, "--width", 12)
    assert f"Next: dspy-proact label sheet {wide} --draw {told['plan']['triggers']}" in err


def drawn(proact, run, count):
    return rows_of(Path(proact("label", "sheet", run, "--draw", count)[1].strip()))


def test_ratings_of_the_run_are_a_pilot(proact, wide, planned, tmp_path):
    file = filled(tmp_path / "pilot.csv", drawn(proact, wide, 60))
    told = planned(wide, "--width", 12, "--ratings", file)
    assert (told["assumed"], told["ratings_vary_as_in"]) == (False, str(file))
    assert told["sd_between_ratings"] != planned(wide, "--width", 12)["sd_between_ratings"]
    assert "assumed" not in proact("label", "plan", wide, "--ratings", file)[1]


@pytest.mark.parametrize(
    ("count", "given", "why"),
    [
        (59, {}, "59 triggers with two ratings or more, and a pilot has 60"),
        (80, {"raters": 3}, "no pilot, for 3 raters are too few to generalise to others"),
        (30, {}, "no pilot, for 10 of 60 triggers rated in EMERGENT (at least 12 needed)"),
        (None, {}, "no pilot, for nothing shows that the rated triggers were drawn"),
    ],
)
def test_ratings_too_few_alike_or_chosen_otherwise_are_no_pilot(proact, refused, wide, tmp_path, count, given, why):
    rows = (
        drawn(proact, wide, count)
        if count
        else list(csv.DictReader(StringIO(proact("label", "sheet", wide, "--out", "-")[1])))[:80]
    )
    file = filled(tmp_path / "pilot.csv", rows, **given)
    assert why in said(refused("label", "plan", wide, "--width", 12, "--ratings", file))


def test_what_cannot_be_planned_is_refused(proact, refused, tmp_path):
    assert "--ratings: give the RUN that these ratings are of" in proact("label", "plan", "--ratings", "sample")[2]
    for width in ("0", "50", "nan"):
        assert "--width" in refused("label", "plan", "--width", width)
    one = run_of(tmp_path / "one", [(trigger(f"d{n}"), "PASS") for n in range(20)]).path
    assert "scored triggers of two scenarios are needed for a plan" in refused("label", "plan", one)
