"""`agree --plan`: how many people are to rate how much, from a pilot or from what is assumed and said."""

import csv
import json
from io import StringIO

import pytest
from proact_run import PHASES, run_of, trigger
from test_cli_corrected import filled, said

GRADES = ("PASS", "PARTIAL", "FAIL", "FAIL")


@pytest.fixture
def run(tmp_path):
    """180 triggers in eleven scenarios, sixty a phase."""
    cases = [
        trigger(f"d{number}", phase, turn=turn, scenario=f"S{number % 11}")
        for turn, phase in enumerate(PHASES, start=1)
        for number in range(60)
    ]
    return run_of(tmp_path / "run", [(case, GRADES[n % 4]) for n, case in enumerate(cases)]).path


@pytest.fixture
def planned(proact):
    def told(*arguments):
        status, out, err = proact("agree", "--plan", *arguments, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)

    return told


def test_without_a_run_the_corpus_and_the_published_study_are_assumed_and_said(proact, planned):
    told = planned(10)
    assert (told["assumed"], told["triggers"], told["half_width"]) == (True, 624, 0.1)
    assert told["ratings_vary_as_in"] == "the published study, 275 ratings by 18 people"
    # Leniency of the published raters: standard deviation .10 by a mixed model.
    assert told["sd_between_raters"] == pytest.approx(0.10, abs=0.03)
    best = told["plan"]
    assert best in told["plans"]
    assert best["half_width"]["value"] <= 0.1
    assert best["half_width"]["low"] == pytest.approx(0.7 * best["half_width"]["value"])
    assert best["half_width"]["high"] == pytest.approx(1.3 * best["half_width"]["value"])
    status, out, err = proact("agree", "--plan", 10)
    assert (status, err) == (0, "")
    assert said(out).startswith(told["headline"])
    assert "assumed: ratings vary as in the published study, 275 ratings by 18 people" in said(out)
    assert "raters" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_narrower_interval_takes_more(planned):
    wide, narrow = (planned(width)["plan"] for width in (14, 9))
    assert narrow["ratings"] > wide["ratings"]


def test_what_is_out_of_reach_is_said_to_be(planned):
    told = planned(2)
    assert (told["plan"], told["plans"], told["plan_reason"]) == (None, [], "out of reach")
    assert told["least_half_width"] > 0.02
    assert "± 2.0 points over all phases are out of reach" in told["headline"]


def test_a_run_is_planned_with_its_own_grades_and_its_draw_comes_next(proact, run, planned):
    told = planned(12, "--run", run)
    assert (told["triggers"], told["about"], told["assumed"]) == (180, str(run), True)
    _, _, err = proact("agree", "--plan", 12, "--run", run)
    assert f"Next: dspy-proact agree --run {run} --draw {told['plan']['triggers']}" in err


def test_ratings_of_the_run_are_a_pilot(proact, run, planned, tmp_path):
    rows = list(csv.DictReader(StringIO(proact("agree", "--run", run, "--draw", 60)[1])))
    file = filled(tmp_path / "pilot.csv", rows)
    told = planned(12, "--run", run, "--ratings", file)
    assert (told["assumed"], told["ratings_vary_as_in"]) == (False, str(file))
    assert told["sd_between_ratings"] != planned(12, "--run", run)["sd_between_ratings"]
    out = said(proact("agree", "--plan", 12, "--run", run, "--ratings", file)[1])
    assert f"ratings vary as in {file}".replace(" ", "") in out.replace(" ", "")
    assert "assumed" not in out


@pytest.mark.parametrize(
    ("drawn", "given", "why"),
    [
        (59, {}, "59 triggers with two ratings or more, and a pilot has 60"),
        (80, {"times": 1}, "0 triggers with two ratings"),
        (80, {"raters": 3}, "no pilot, for 3 raters are too few to generalise to others"),
        (30, {}, "no pilot, for 10 of 60 triggers rated in EMERGENT (at least 12 needed)"),
        (60, {"grade": lambda number: "PASS"}, "no pilot, for all ratings are equal"),
    ],
)
def test_ratings_that_are_too_few_or_alike_are_no_pilot(proact, run, tmp_path, drawn, given, why):
    rows = list(csv.DictReader(StringIO(proact("agree", "--run", run, "--draw", drawn)[1])))
    file = filled(tmp_path / "pilot.csv", rows, **given)
    status, out, err = proact("agree", "--plan", 12, "--run", run, "--ratings", file)
    assert (status, out) == (2, "")
    assert why in said(err)


def test_ratings_that_were_chosen_otherwise_are_no_pilot(proact, run, tmp_path):
    rows = list(csv.DictReader(StringIO(proact("agree", "--template", "--run", run)[1])))[:80]
    file = filled(tmp_path / "pilot.csv", rows)
    status, _, err = proact("agree", "--plan", 12, "--run", run, "--ratings", file)
    assert status == 2
    assert "no pilot, for nothing shows that the rated triggers were drawn" in said(err)


def test_a_run_of_one_scenario_cannot_be_planned(proact, tmp_path):
    run = run_of(tmp_path / "one", [(trigger(f"d{n}"), "PASS") for n in range(20)]).path
    status, _, err = proact("agree", "--plan", 12, "--run", run)
    assert status == 2
    assert "scored triggers of two scenarios are needed for a plan" in err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--plan", "12", "--ratings", "sample"], "--plan: name the run that these ratings are of, with --run"),
        (["--plan", "0"], "0"),
        (["--plan", "50"], "50"),
        (["--plan", "12", "--template"], "--plan and --template are two things"),
        (["--plan", "12", "--judge", "embedded"], "--judge: --plan prints a plan and nothing else"),
        (["--plan", "12", "--items", "items.jsonl"], "--items: --plan prints a plan and nothing else"),
        (["--plan", "12", "--consensus", "soft"], "--consensus: --plan prints a plan and nothing else"),
        (["--plan", "12", "--min-ratings", "2"], "--min-ratings: --plan prints a plan and nothing else"),
        (["--plan", "12", "--exclude", "published"], "--exclude: --plan prints a plan and nothing else"),
        (["--plan", "12", "--explain"], "--explain: --plan prints a plan and nothing else"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_a_sentence(proact, arguments, why):
    status, out, err = proact("agree", *arguments)
    assert (status, out) == (2, "")
    assert why in said(err)
