"""`dspy-proact label`, and what people would have given: sheets, plans, `report --ratings` and `compare --ratings`."""

import json
from collections import Counter
from pathlib import Path

import pytest
from builders.dialogues import jsonl
from builders.results import result_row
from builders.runs import JUDGE, PHASES, answered, graded, manifest, run_of, trigger, written
from builders.studies import GRADES, filled, rows_of, sheet_of
from drivers.terminal import unwrapped

from dspy_proact import Evaluation, RunFolder, read_results, summarize, summarize_results
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.cli.options.labels import FILES
from dspy_proact.stats import detectable_gain

CASES = [
    trigger(f"d{number}", phase, turn=turn, scenario=f"S{number % 10}")
    for turn, phase in enumerate(PHASES, start=1)
    for number in range(20)
]
"""Twenty triggers a phase in ten scenarios."""


def judged(path, shift=0, text="Label the boxes."):
    """A run on them whose grades take turns, all responses alike."""
    return run_of(path, zip(CASES, [*GRADES * 16][shift:], strict=False), text=text).path


@pytest.fixture
def run(tmp_path):
    return judged(tmp_path / "run")


@pytest.fixture
def sheet(proact, run):
    """48 of the 60, as rows: sixteen a phase."""
    return sheet_of(proact, run, "--draw", 48)


@pytest.fixture
def corrected(proact, run):
    """The part of the report that ratings add."""

    def corrected(file):
        status, out, err = proact("report", run, "--ratings", file, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)["corrected"]

    return corrected


def reasons(document):
    """By phase and over all, why there is no corrected score."""
    rows = {**document["phases"], **document["overall"]}
    assert all(row["corrected"]["value"] is None for row in rows.values())
    return [row["corrected"]["reason"] for row in rows.values()]


def test_what_people_would_have_given_stands_beside_the_judge_and_the_mean_of_the_rated(
    proact, run, sheet, corrected, tmp_path
):
    file = filled(tmp_path / "ratings.csv", sheet)
    document = corrected(file)
    complete, recovery = document["overall"]["micro"], document["phases"]["RECOVERY"]
    assert (complete["scored"], complete["rated"], complete["scenarios"]) == (60, 48, 10)
    assert (complete["ratings"], complete["raters"]) == (96, 8)
    assert (recovery["scored"], recovery["rated"]) == (20, 16)
    # A quarter PASS, a quarter PARTIAL.
    assert complete["judge"]["value"] == pytest.approx(0.375)
    # PASS, PARTIAL and FAIL in turn, pairs of .75, .25 and .5.
    assert complete["mean_of_the_rated"] == pytest.approx(0.5)
    assert complete["corrected"]["low"] < complete["corrected"]["value"] < complete["corrected"]["high"]
    assert complete["corrected"]["reason"] == "fewer than 50 rated"
    assert recovery["corrected"]["reason"] == "fewer than 50 rated"
    out = unwrapped(proact("report", run, "--ratings", file)[1])
    assert " ".join([document["headline"], *document["claim"]["caveats"]]) in out
    assert document["headline"].count("95 %") == 1
    assert [document["claim"][name] for name in ("value", "low", "high", "count")] == [
        *(complete["corrected"][name] for name in ("value", "low", "high")),
        60,
    ]
    assert document["claim"]["caveats"][-1] == "Estimated from 96 ratings of 48 triggers by 8 raters."
    # The rest of the report is what it is without ratings.
    plain, complete = (json.loads(proact("report", run, *more, "--json")[1]) for more in ([], ["--ratings", file]))
    assert complete == plain | {"corrected": document}


def test_ratings_of_all_of_a_widened_draw_or_in_files_of_one_folder_are_taken(proact, run, sheet, corrected, tmp_path):
    (tmp_path / "folder").mkdir()
    for number in range(4):
        filled(tmp_path / "folder" / f"{number}.csv", sheet[number::4])
    widened = [*sheet, *sheet_of(proact, run, "--draw", 54)[48:]]
    for file, rated in (
        (filled(tmp_path / "all.csv", sheet_of(proact, run)), 60),
        (filled(tmp_path / "widened.csv", widened), 54),
        (filled(tmp_path / "begun.csv", sheet[:40]), 40),
        (tmp_path / "folder", 48),
    ):
        complete = corrected(file)["overall"]["micro"]
        assert (complete["rated"], complete["corrected"]["low"] is not None) == (rated, True)


NOT_DRAWN = "nothing shows that the rated triggers were drawn by the judge's grades"


def without_draw(rows):
    return [{name: cell for name, cell in row.items() if name != "draw"} for row in rows]


def test_ratings_of_a_part_that_nobody_knows_how_it_was_chosen_are_refused(sheet, corrected, tmp_path):
    document = corrected(filled(tmp_path / "ratings.csv", without_draw(sheet)))
    assert reasons(document) == [NOT_DRAWN] * 4
    assert (
        document["headline"]
        == f"The mean score that people would give to 60 triggers cannot be estimated: {NOT_DRAWN}."
    )
    # Beside the refusal stand what the judge gave and the mean of the rated.
    assert document["overall"]["micro"]["mean_of_the_rated"] == pytest.approx(0.5)


def test_a_draw_by_other_grades_or_with_several_seeds_is_refused(proact, sheet, corrected, tmp_path):
    other = sheet_of(proact, judged(tmp_path / "other", shift=1), "--draw", 48)
    seeds = [*sheet[:24], *({**row, "draw": row["draw"].replace("-0-", "-1-")} for row in sheet[24:])]
    for rows, why in (
        (other, "the rated triggers were drawn by other grades than this run has"),
        (seeds, "the rated triggers are of several draws with seeds of their own"),
    ):
        assert reasons(corrected(filled(tmp_path / "ratings.csv", rows))) == [why] * 4


def test_what_was_rated_besides_the_draw_is_refused(proact, run, sheet, corrected, tmp_path):
    rows = sheet_of(proact, run)
    drawn = {row["item"] for row in sheet}
    besides = [{**row, "draw": ""} for row in rows if row["item"] not in drawn]
    result = corrected(filled(tmp_path / "ratings.csv", [*sheet, *besides[:1]]))
    emergent = result["phases"]["EMERGENT"]["corrected"]
    assert (emergent["value"], emergent["reason"]) == (None, "rated triggers that were not drawn: 1")
    assert result["phases"]["RECOVERY"]["corrected"]["value"] is not None


def test_gaps_in_the_draw_are_refused(sheet, corrected, tmp_path):
    # In a round every phase has one.
    kept = [row for number, row in enumerate(sheet) if number // 3 % 5]
    message = reasons(corrected(filled(tmp_path / "ratings.csv", kept)))
    assert all(reason.endswith("drawn triggers of a phase have no rating") for reason in message)


def test_a_sheet_opens_with_its_letters_and_says_what_a_spreadsheet_will_cut(proact, tmp_path):
    """Of two runs of a longer and a shorter response; standard output is for programs and has no mark."""
    for length, text, warned in (
        (32_767, "\xfc" * 32_767, False),
        (32_768, "\U0001f4e6" * 16_384, True),  # a picture is two of Excel's characters
    ):
        run = run_of(tmp_path / f"run{length}", [(CASES[0], "PASS")], text=text).path
        status, _, err = proact("label", "sheet", run, "--out", f"{length}.csv")
        message = "1 line with a cell of more than 32,767 characters, which spreadsheets cut; `label serve` shows"
        assert (status, message in unwrapped(err)) == (0, warned), err
        assert Path(f"{length}.csv").read_bytes().startswith(b"\xef\xbb\xbfitem,annotator,grade")
    assert proact("label", "sheet", run, "--out", "-")[1].startswith("item,annotator,grade")


def test_ratings_of_other_responses_are_refused(refused, run, tmp_path, sheet):
    assert f"none of its 147 rated items is a trigger of {run}" in refused("report", run, "--ratings", "sample")
    other = judged(tmp_path / "other", text="Call Ann.")
    file = filled(tmp_path / "ratings.csv", sheet)
    assert "not the response of this item" in refused("report", other, "--ratings", file)


def test_what_has_no_grade_is_left_out_and_counted(proact, tmp_path):
    grades = [(case, GRADES[number % 4]) for number, case in enumerate(CASES)]
    events = [event for case, grade in grades for event in (answered(case), graded(case, grade))]
    run = written(tmp_path / "run", manifest(), CASES, events[:-1]).path
    rows = sheet_of(proact, run)
    file = filled(tmp_path / "ratings.csv", rows)
    document = json.loads(proact("report", run, "--ratings", file, "--json")[1])["corrected"]
    assert document["ratings"]["notes"] == ["rated triggers without a grade of the judge, left out: 1"]
    assert document["overall"]["micro"]["scored"] == 59


def test_a_results_file_takes_ratings_too(proact, tmp_path):
    names = [f"TRAVEL_{number:02d}" for number in range(15)]
    rows = [result_row(blueprint_id=f"BP_{name}_EVA", scenario_id=name) for name in names]
    (tmp_path / "results.jsonl").write_text(jsonl(*rows), encoding="utf-8")
    summary = summarize_results(read_results(tmp_path / "results.jsonl"))
    lines = [{"item": outcome.key, "annotator": "", "grade": ""} for outcome in summary.outcomes]
    filled(tmp_path / "ratings.csv", lines)
    document = json.loads(proact("report", "results.jsonl", "--ratings", "ratings.csv", "--json")[1])
    assert document["corrected"]["overall"]["micro"]["rated"] == 45
    assert "People would give" in unwrapped(proact("report", "results.jsonl", "--ratings", "ratings.csv")[1])


def test_what_one_rater_gave_is_not_said_of_people(proact, run, sheet, two, tmp_path):
    alone = filled(tmp_path / "alone.csv", sheet, raters=1, times=1)
    out = unwrapped(proact("report", run, "--ratings", alone)[1])
    assert "This rater would give 60 triggers a mean score of" in out
    assert "People" not in out
    _, other, _, _ = two
    b = filled(tmp_path / "b.csv", sheet_of(proact, other, "--draw", 48), 1, 1, grade=lambda number: "PASS")
    out = unwrapped(proact("compare", run, other, "--ratings", alone, "--ratings", b)[1])
    assert "Whether these raters would score b higher or lower than a is open over 60 triggers (+" in out
    assert "People" not in out


def test_a_score_that_follows_from_no_grade_is_not_corrected(proact, refused, tmp_path):
    path = Evaluation(load_tasks("sample"), benchmark="probe").run(tmp_path / "run").path
    rows = sheet_of(proact, path)
    sheet = filled(
        tmp_path / "probe.csv", [row for row in rows if row["part"] == "parameters"], grade=lambda _: "CORRECT"
    )
    assert "people grade parts of its answers (description, " in refused("report", path, "--ratings", sheet)


@pytest.fixture
def two(proact, run, sheet, tmp_path):
    """Two runs with different responses, and a file of ratings of each: people give more to b."""
    other = judged(tmp_path / "other", shift=2, text="Call Ann.")
    rows = sheet_of(proact, other, "--draw", 48)
    a = filled(tmp_path / "a.csv", sheet, grade=lambda number: ("FAIL", "FAIL", "FAIL", "PARTIAL")[number % 4])
    b = filled(tmp_path / "b.csv", rows, grade=lambda number: ("PASS", "PASS", "FAIL", "PASS")[number % 4])
    return run, other, a, b


def test_two_runs_with_ratings_of_their_own_are_compared_by_what_people_would_have_given(proact, done, two):
    run, other, a, b = two
    out, err = done("compare", run, other, "--ratings", a, "--ratings", b)
    assert "People would score b higher than a over 60 triggers (+" in unwrapped(out)
    assert f"Next: dspy-proact show {run} --beside {other} --disagree" in err
    document = json.loads(proact("compare", run, other, "--ratings", a, "--ratings", b, "--json")[1])["corrected"]
    complete = document["overall"]["micro"]
    assert (complete["pairs"], complete["a"]["rated"], complete["b"]["rated"]) == (60, 48, 48)
    expected = complete["b"]["corrected"]["value"] - complete["a"]["corrected"]["value"]
    assert complete["difference"]["value"] == pytest.approx(expected)
    assert 0 < complete["difference"]["low"] < complete["difference"]["value"]
    back = json.loads(proact("compare", other, run, "--ratings", b, "--ratings", a, "--json")[1])["corrected"]
    assert back["headline"].startswith("People would score b lower than a over 60 triggers (-")
    assert (document["claim"]["side"], back["claim"]["side"]) == ("higher", "lower")


def test_with_epochs_the_first_is_what_people_rated(tmp_path, proact):
    events = []
    for number, case in enumerate(CASES):
        for epoch in (1, 2):
            events += [answered(case, epoch=epoch), graded(case, GRADES[(number + epoch) % 4], epoch=epoch)]
    run = written(tmp_path / "run", manifest(epochs=2), CASES, events).path
    rows = sheet_of(proact, run)
    file = filled(tmp_path / "ratings.csv", rows)
    document = json.loads(proact("report", run, "--ratings", file, "--json")[1])["corrected"]
    assert document["overall"]["micro"]["scored"] == 60
    assert document["ratings"]["notes"] == [
        "ratings are of the responses of the first epoch, and so are the numbers beside them"
    ]


# Sheets


def test_a_sheet_is_a_file_that_says_who_reads_it_and_sways_nobody(proact, run):
    assert proact("label", "sheet", run)[:2] == (0, "labels/run.csv\n")
    rows = rows_of(Path("labels/run.csv"))
    assert len(rows) == 60
    assert all(line["response"] and not line["grade"] for line in rows)
    assert not set(rows[0]) & {"judge", "phase", "model"}
    assert JUDGE not in str(rows)
    assert proact("label", "sheet", run)[0] == 0  # nothing would be lost


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
    kind = {outcome.key: (outcome.stratum, outcome.label) for outcome in summarize(RunFolder(run)).outcomes}
    # Five PASS, five PARTIAL and ten FAIL a phase; 48 of nine kinds: all of the six small ones, and six FAIL each.
    drawn = Counter(kind[line["item"]] for line in sheet)
    assert drawn == {(phase, grade): 6 if grade == "FAIL" else 5 for phase in PHASES for grade in GRADES}

    def items(*more):
        return [line["item"] for line in sheet_of(proact, run, *more)]

    keys = [line["item"] for line in sheet]
    assert items("--draw", 20) == keys[:20]
    assert items("--draw", draw) == keys


def test_what_judges_dispute_comes_first_in_a_sheet_that_corrects_no_score(done, tmp_path):
    disputed = {case.key for case in CASES[::30]}
    events = [item for case in CASES for item in (answered(case), graded(case, "PASS"))]
    events += [graded(case, "FAIL" if case.key in disputed else "PASS", judge="second") for case in CASES]
    written(tmp_path / "jury", manifest(JUDGE, "second"), CASES, events)
    out, err = done("label", "sheet", "jury", "--disputed", "--draw", 5)
    rows = rows_of(Path(out.strip()))
    assert (out, len(rows)) == ("labels/jury--disputed.csv\n", 5)
    assert {row["item"] for row in rows[:2]} == disputed
    assert not any(row.get("draw") for row in rows)
    assert "Next: dspy-proact agree" in err


@pytest.mark.parametrize(("count", "few"), [(36, False), (35, True)])
def test_a_draw_with_too_few_of_a_phase_for_a_corrected_score_says_which_has_enough(proact, run, count, few):
    _, _, err = proact("label", "sheet", run, "--draw", count)
    assert ("A corrected score takes at least 12 rated triggers per phase; use --draw 36 or more." in err) is few
    assert ("Next: dspy-proact agree" in err, "Next: dspy-proact report" in err) == (few, not few)


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


def test_without_a_run_the_corpus_and_the_published_study_are_assumed(planned):
    message = planned()
    assert (message["assumed"], message["triggers"], message["half_width"]) == (True, 624, 0.1)
    assert message["ratings_vary_as_in"] == "the published study, 275 ratings by 18 people"
    # Leniency of the published raters: standard deviation .10 by a mixed model.
    assert message["sd_between_raters"] == pytest.approx(0.10, abs=0.03)
    best = message["plan"]
    assert best in message["plans"]
    half = best["half_width"]
    assert half["value"] <= 0.1
    assert (half["low"], half["high"]) == pytest.approx((0.7 * half["value"], 1.3 * half["value"]))
    # The 275 ratings of the study took 81,329 seconds.
    assert (message["seconds_a_rating"], message["seconds_assumed"]) == (pytest.approx(81_329 / 275), False)
    assert best["hours"] == pytest.approx(best["ratings"] * 81_329 / 275 / 3600)


def test_a_run_is_planned_with_its_own_grades_and_its_draw_comes_next(proact, wide, planned):
    message = planned(wide, "--width", 12)
    assert (message["triggers"], message["about"], message["assumed"]) == (180, str(wide), True)
    _, _, err = proact("label", "plan", wide, "--width", 12)
    best = message["plan"]
    design = f"--draw {best['triggers']} --each {best['ratings_each']} --raters {best['raters']}"
    assert f"Next: dspy-proact label serve {wide} {design}" in err


@pytest.mark.parametrize("width", [8, 10, 12, 15])
def test_a_plan_says_in_one_sentence_how_many_people_rate_for_how_long_and_plans_no_third_rating(planned, width):
    message = planned("--width", width)
    headline, best = message["headline"], message["plan"]
    assert len(headline.split()) <= 30
    assert f"take about {best['raters']} raters for up to " in headline
    assert (
        f"{best['triggers']} of 624 triggers, each rated {'once' if best['ratings_each'] == 1 else 'twice'}."
        in headline
    )
    assert {option["ratings_each"] for option in message["plans"]} <= {1, 2}
    assert message["claim"]["count"] == best["triggers"]


def test_a_plan_of_the_fewest_triggers_names_the_width_that_these_leave(planned):
    """12 of each of three phases, of which 8 raters leave less than a wanted ± 40."""
    message = planned("--width", 40)
    best, caveats = message["plan"], message["claim"]["caveats"]
    assert (best["triggers"], message["half_width"]) == (36, 0.4)
    assert message["headline"].startswith(
        f"On average, ± {100 * best['half_width']['value']:.1f} points over all phases"
    )
    assert "narrower than ± 40.0: a corrected score takes at least 36 rated triggers." in caveats


def test_a_width_is_out_of_reach_of_the_raters_who_are_planned_and_work_is_told_in_hours(planned):
    """860 ratings of 296 seconds are 71 hours, which are no three days of work."""
    begin = "± 5.0 points over all phases are out of reach of 48 raters, the most that are planned: "
    message = planned("--width", 5)
    assert message["headline"].startswith(begin)
    assert len(message["headline"].split()) <= 30
    assert " 71 hours in all" in planned("--width", 6.5)["headline"]


def test_no_score_is_planned_that_a_report_would_refuse(refused, tmp_path):
    """Two of three phases have 12 triggers; the third has 11."""
    triggers = [trigger(f"d{n}", PHASES[n % 3], scenario=f"S{n}") for n in range(35)]
    few = run_of(tmp_path / "few", [(case, GRADES[number % 4]) for number, case in enumerate(triggers)])
    why = "a corrected score takes 12 scored triggers in 5 scenarios of each phase; this run has fewer"
    assert why in unwrapped(refused("label", "plan", few.path, "--width", 20))


def test_a_plan_says_what_its_labels_can_show_of_a_tuned_judge(planned, proact, tmp_path):
    """Of 25 equal scenarios as many labels as are planned detect the gain that a dry run names for them."""
    message = planned("--width", 10)
    rated, raters = message["plan"]["triggers"], message["plan"]["raters"]
    low, high = detectable_gain([rated / 25] * 25, raters)
    shown = f"With {rated} items in 25 scenarios, 80 % power takes a true gain in kappa of {low:.2f} to {high:.2f}"
    assert any(shown in caveat for caveat in message["claim"]["caveats"])
    forty = run_of(
        tmp_path / "forty", [(trigger(f"d{n}", PHASES[n % 3], scenario=f"S{n}"), GRADES[n % 4]) for n in range(40)]
    )
    out = unwrapped(proact("label", "plan", forty.path, "--width", 20)[1])
    few = "36 items in 36 scenarios are too few to show that tuning helped"
    assert f"{few}: a claim takes 60 items in 10 scenarios." in out


def drawn(proact, run, count):
    return rows_of(Path(proact("label", "sheet", run, "--draw", count)[1].strip()))


def test_ratings_of_the_run_are_a_pilot(proact, wide, planned, tmp_path):
    file = filled(tmp_path / "pilot.csv", drawn(proact, wide, 60))
    message = planned(wide, "--width", 12, "--ratings", file)
    assert (message["assumed"], message["ratings_vary_as_in"]) == (False, str(file))
    assert message["sd_between_ratings"] != planned(wide, "--width", 12)["sd_between_ratings"]
    out = unwrapped(proact("label", "plan", wide, "--ratings", file)[1])
    assert "assumed: ratings vary" not in out
    assert "a rating takes 180 seconds on average, which is assumed: no times are recorded." in out


@pytest.mark.parametrize(
    ("count", "inputs", "why"),
    [
        (59, {}, "59 triggers with two ratings or more, and a pilot has 60"),
        (80, {"raters": 3}, "no pilot, for 3 raters are too few to generalise to others"),
        (30, {}, "no pilot, for 10 of 60 triggers rated in EMERGENT (at least 12 needed)"),
        (None, {}, "no pilot, for nothing shows that the rated triggers were drawn"),
    ],
)
def test_ratings_too_few_alike_or_chosen_otherwise_are_no_pilot(proact, refused, wide, tmp_path, count, inputs, why):
    rows = drawn(proact, wide, count) if count else sheet_of(proact, wide)[:80]
    file = filled(tmp_path / "pilot.csv", rows, **inputs)
    assert why in unwrapped(refused("label", "plan", wide, "--width", 12, "--ratings", file))
