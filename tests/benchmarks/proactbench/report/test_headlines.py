"""The sentence of a study and of the leaderboard: what was shown, that nothing was, that nothing could have been."""

from dataclasses import replace

import pytest

from dspy_proact.benchmarks.proactbench.corpus.bundled import published_ratings
from dspy_proact.benchmarks.proactbench.corpus.ratings import RatedItem, Ratings, RatingsSource
from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.benchmarks.proactbench.report.study import Choices, study
from dspy_proact.benchmarks.proactbench.report.study_text import study_headline
from dspy_proact.benchmarks.proactbench.types import Grade, Phase, Rating
from dspy_proact.report import MEASURES_NOTHING, Outcome, Summary, leaderboard, leaderboard_headline
from dspy_proact.stats import Estimate

LETTERS = {"F": Grade.FAIL, "P": Grade.PARTIAL, "+": Grade.PASS}
BETTER = [("+", "++F"), ("F", "FF+"), ("P", "PP+"), ("+", "++P")] * 8
"""The judge's letter, and those of raters with whom it agrees more than they do."""
WORSE = [("F", "+++"), ("+", "FFP"), ("F", "PPP"), ("+", "FFF")] * 8
OPEN = [("+", "++"), ("F", "F+"), ("+", "FP"), ("F", "FF")] * 3


def of(rows, scenarios=20, name="own"):
    """Ratings of items, a blank where the judge gave no grade."""
    items, ratings = [], []
    for place, (judge, grades) in enumerate(rows):
        scenario = f"s{place % scenarios}"
        key = f"item {place}"
        items.append(RatedItem(key=key, phase=Phase.EMERGENT, scenario=scenario, judge=LETTERS.get(judge)))
        ratings += [
            Rating(item=key, annotator=f"rater {number}", grade=LETTERS[letter], confidence=3)
            for number, letter in enumerate(grades)
        ]
    return Ratings(name, tuple(items), tuple(ratings), RatingsSource(origin="own", files={}))


@pytest.mark.parametrize(("rows", "side"), [(BETTER, "better"), (WORSE, "less well")])
def test_a_judge_that_agrees_more_or_less_than_a_person_is_said_to(rows, side):
    said = study_headline(study(of(rows)))
    begin = "On the 32 items with two ratings or more the judge agrees with one of these 3 raters"
    assert said.startswith(f"{begin} {side} than another of them does (kappa within phases ")


def test_on_the_published_items_the_judge_agrees_better_within_phases():
    said = study_headline(study(published_ratings()))
    assert said == (
        "On the 50 items with two ratings or more GPT-5.4 agrees with a person better than another person does (kappa "
        "within phases 0.44 and 0.17, difference +0.27, 95 % +0.12 to +0.43, allowing for a different sample of "
        "raters; by phase, the interval excludes 0 in RECOVERY only)."
    )


def test_a_difference_that_95_percent_show_and_98_do_not_is_not_claimed():
    """Of 40 items: +0.35, 95 % +0.04 to +0.66, and from -0.02 at 98 %."""
    said = study_headline(study(of([*BETTER, *BETTER[:4], *WORSE[:4]])))
    assert "it cannot be told whether the judge agrees with one of these 3 raters better or less well" in said
    assert "difference +0.35, 95 % +0.04 to +0.66" in said
    assert said.endswith("; by the 98 % interval, -0.02 to +0.72, which decides).")


def test_of_fewer_than_30_items_no_difference_is_claimed():
    said = study_headline(study(of(BETTER[:28])))
    assert "it cannot be told whether the judge agrees with one of these 3 raters better or less well" in said
    assert said.endswith("; 28 items would be too few for a claim).")


def test_three_raters_speak_of_no_others():
    assert "for these 3 raters only" in study_headline(study(of(BETTER)))


def test_in_few_scenarios_no_difference_is_claimed():
    said = study_headline(study(of(BETTER, scenarios=9)))
    assert "it cannot be told whether the judge agrees with one of these 3 raters better or less well" in said
    assert said.endswith("; 9 scenarios would be too few for a claim).")


def test_without_a_judge_people_are_told_alone():
    said = study_headline(study(of([(" ", grades) for _, grades in OPEN])))
    assert said.startswith(
        "On the 12 items with two ratings or more one of these 2 raters agrees with another of them at kappa 0."
    )
    assert said.endswith("; no judge is compared, for the judge's grades of these items are not known.")


def test_without_an_item_with_two_ratings_nothing_can_be_said():
    told = "Nothing can be said of a judge beside a person, for no item has the ratings of two."
    assert study_headline(study(of([("+", "+"), ("F", "P")]))) == told


def test_where_all_grade_alike_nothing_can_be_said():
    said = study_headline(study(of([("+", "++")] * 12)))
    assert said.endswith(" one of these 2 raters, for their difference has no interval: all gradings equal.")


def test_the_samples_raters_are_no_people():
    said = study_headline(study(of(BETTER, name="sample")))
    assert "agrees with one of these 3 raters better than another of them does" in said
    assert said.endswith("; these raters are language-model agents, not people.")


def test_what_raises_the_agreement_is_said_in_the_same_sentence():
    assert study_headline(study(of(BETTER), learned_on=3)).endswith(
        "; the judge was compiled on 3 of the rated items, so that this is no test of it."
    )
    assert study_headline(study(published_ratings(), Choices(exclude=True))).endswith(
        "; raters who disagree with the judge were left out, which raises its agreement."
    )


def test_a_study_of_the_stand_in_measures_nothing():
    assert study_headline(study(of(BETTER), embedded=True)).startswith(f"{MEASURES_NOTHING}On the 32 items ")


# The leaderboard


def run(**changes):
    """A results file of one trigger, which is not ranked."""
    labels, strata = tuple(Grade), tuple(Phase)
    of = {"path": "mine.jsonl", "benchmark": "proactbench", "model": "mine", "judges": ("j",), "embedded": False}
    outcomes = (Outcome("EMERGENT", "s", "scored", "PASS", 1.0, key="k"),)
    return Summary(**(of | {"strata": strata, "labels": labels, "nouns": NOUNS, "outcomes": outcomes} | changes))


def test_the_first_is_named_with_those_that_are_not_told_from_it():
    assert leaderboard_headline(leaderboard()) == (
        "gpt-5.5 ranks first of 16 (score 69.8 %); the difference from qwen3.5-397b-a17b and claude-opus-4-7 could "
        "not be told from chance."
    )


def test_a_first_that_is_better_than_all_others_is_said_to_be():
    board = leaderboard()
    alone = replace(board.entries[0], rank_range=(1, 1))
    said = leaderboard_headline(replace(board, entries=(alone, *board.entries[1:])))
    assert said == "gpt-5.5 ranks first of 16 (score 69.8 %), better than each of the others by more than chance."


def test_a_ranked_run_has_its_open_ranks():
    board = leaderboard([run()])
    ranked = replace(board.entries[-1], differences=(), rank=3, strict_rank=4, rank_range=(1, 9))
    said = leaderboard_headline(replace(board, entries=(*board.entries[:-1], ranked)))
    assert said == ("mine ranks 3 of 17 (score 100.0 %, 1 of 1 scored; strict rank 4), and ranks 1 to 9 are open.")


def test_a_ranked_run_has_the_interval_of_its_score():
    board = leaderboard([run()])
    entry = board.entries[-1]
    scores = {**entry.scores, "score": Estimate(0.5, 0.25, 0.75)}
    ranked = replace(entry, scores=scores, differences=(), rank=3, strict_rank=4, rank_range=(3, 3))
    said = leaderboard_headline(replace(board, entries=(*board.entries[:-1], ranked)))
    assert said == (
        "mine ranks 3 of 17 (score 50.0 %, 95 % 25.0 to 75.0, 1 of 1 scored; strict rank 4), and no other rank is open."
    )


def test_runs_that_were_measured_otherwise_are_not_ranked_and_have_their_marks():
    said = leaderboard_headline(leaderboard([run(), run(path="again.jsonl")]))
    assert (
        said == "mine [1] (score 100.0 %) and mine [2] (score 100.0 %) are not ranked among the 16 published rows, not "
        "being measured as they were."
    )


def test_the_stand_in_on_the_leaderboard_measures_nothing():
    said = leaderboard_headline(leaderboard([run(embedded=True)]))
    assert said.startswith(f"{MEASURES_NOTHING}mine (score 100.0 %) is not ranked among the 16 published rows, ")
