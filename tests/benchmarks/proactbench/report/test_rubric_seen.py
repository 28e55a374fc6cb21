"""The published study of pairs: its figures from the bundled choices, and ours beside them."""

import csv
import json
from importlib.resources import files

import pytest

from dspy_proact import load_pairs
from dspy_proact.report.pairs import pairs_headline


@pytest.fixture(scope="module")
def study():
    return load_pairs("proactbench")


def test_the_choices_are_the_published_ones(study, data):
    with (data / "pairwise_ratings.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            (
                row["annotator_id"],
                row["item_id"],
                row["chosen"].lower(),
                "b" if row["b_on_right"] == "1" else "a",
                int(row["confidence"]),
                float(row["time_spent_seconds"]),
                row["case_a_grade"],
            )
            for row in csv.DictReader(file)
        ]
    kept = [(c.rater, c.item, c.chosen, c.right, c.confidence, c.seconds, c.stratum) for c in study.choices]
    assert kept == rows
    held = files("dspy_proact.benchmarks.proactbench") / "data" / "published" / "pairwise_ratings.csv"
    assert held.read_text("utf-8").split("\n")[0] == "annotator,item,left,right,chosen,confidence,seconds,stratum"


def test_the_published_figures_come_out(study):
    """Table 1 of the study: counts, shares and exact binomial tests."""
    overall = study.overall
    assert (len(study.choices), study.items, len(study.raters)) == (146, 45, 8)
    assert (overall.b, overall.decided, overall.ties) == (115, 144, 2)
    strata = {row.name: (row.decided, round(row.share.value, 3)) for row in study.strata}
    assert strata == {"FAIL": (80, 0.825), "PARTIAL": (27, 0.852), "PASS": (37, 0.703)}
    for row in (overall, *study.strata):
        published, p = study.published.figures[row.name]
        assert row.share.value == pytest.approx(published.value, abs=5e-4)
        # Of all choices the study has 2.56e-13, where 2 sum C(144, k) / 2^144 from 115 on is 2.5545e-13.
        assert row.binomial.p == pytest.approx(p, rel=0.02)
    assert {row.name: (row.decided, round(row.share.value, 3)) for row in study.confidences} == {
        "3": (3, 0.333),
        "4": (60, 0.883),
        "5": (81, 0.753),
    }


def test_each_rater_is_as_published(study):
    values = {r.rater: (r.preferred.a, r.preferred.b, r.preferred.ties, round(r.seconds)) for r in study.raters}
    assert values == {
        "P01": (1, 19, 0, 129),
        "P02": (0, 20, 0, 53),
        "P03": (0, 19, 1, 142),
        "P04": (4, 16, 0, 58),
        "P05": (3, 16, 1, 110),
        "P06": (16, 4, 0, 20),
        "P07": (3, 3, 0, 254),
        "P08": (2, 18, 0, 158),
    }


def test_ours_holds_what_theirs_leaves_out(study):
    """Over items and raters: [.448, .951], where the binomial interval is [.724, .861] and theirs over items close."""
    ours, exact = study.overall.share, study.overall.binomial.share
    assert (round(ours.low, 3), round(ours.high, 3)) == (0.448, 0.951)
    assert (round(exact.low, 3), round(exact.high, 3)) == (0.724, 0.861)
    assert pairs_headline(study).lines == (
        "It is not shown which of A and B people prefer: B is chosen in 115 of 144 (79.9 %, 95 % 44.8 to 95.1).",
        "The interval: raters differ widely: may be too narrow.",
    )


def test_agree_shows_it(proact):
    status, out, err = proact("agree", "--pairs", "proactbench")
    words = " ".join(out.split())
    assert (status, err) == (0, "")
    for message in ("115/144", "Fault: the study's file", "--explain"):
        assert message in words
    document = json.loads(proact("agree", "--pairs", "proactbench", "--json")[1])
    assert (document["all"]["b"], document["published"]["figures"]["all"]["value"]) == (115, 0.799)
    assert len(document["published"]["faults"]) == 2


def test_pairs_stand_alone(refused, done, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("annotator,item,left,right,chosen\nann,1,x,y,left\nbob,1,y,x,tie\n", encoding="utf-8")
    out = done("agree", "--pairs", path)[0]
    assert "1 tie left out" in out
    assert "Published" not in out
    assert "--ratings: has no effect with --pairs" in refused("agree", "--pairs", path, "--ratings", "sample")
    assert "--judge: has no effect with --pairs" in refused("agree", "--pairs", path, "--judge", "embedded")
    assert "there is no such file" in refused("agree", "--pairs", "proactbenhc")
