"""Words that raters marked beside those that a judge quotes, by numbers worked by hand."""

import json
from pathlib import Path

import pytest
from builders.runs import JUDGE, answered, graded, manifest, trigger, written
from builders.studies import study_of, submission
from drivers.terminal import unwrapped

from dspy_proact import RunFolder, summarize
from dspy_proact.report.marked_words import marked_words, overlap

TEXT = "Label the boxes today. Then call Ann."
QUOTE = "Label the boxes today"
"""Its first 21 characters."""
CASES = [trigger(f"d{number}", scenario=f"S{number}") for number in range(3)]


@pytest.fixture
def run(proact):
    """Three responses in three scenarios; the judge quotes the first sentence of two, and nothing of the third."""
    events = []
    for case, quotes in zip(CASES, ((QUOTE,), (QUOTE,), ()), strict=True):
        events += [answered(case, TEXT), graded(case, "PASS", evidence=quotes, response=TEXT)]
    return Path(written(Path("run"), manifest(), CASES, events).path)


def test_the_overlap_is_the_share_of_characters_in_both():
    assert overlap([(0, 21)], [(0, 21)]) == 1
    assert overlap([(0, 10)], [(10, 20)]) == 0
    # 0 to 10 and 20 to 30; of these 5 to 10 and 20 to 25 are in both, and 5 to 30 less the gap: 10 of 30.
    assert overlap([(0, 10), (20, 30)], [(5, 25)]) == pytest.approx(10 / 30)
    assert overlap([(0, 10), (5, 15)], [(0, 15)]) == 1, "passages that overlap count once"


def test_a_response_counts_once_and_those_without_both_do_not(run):
    """Of the first Ann marks 21 of 21 characters and Bob 9 of them: (1 + 9/21) / 2. Of the second Ann 21 of 37."""
    marked = {
        CASES[0].key: {"Ann": [(0, 21)], "Bob": [(0, 9)]},
        CASES[1].key: {"Ann": [(0, 37)]},
        CASES[2].key: {"Ann": [(0, 5)]},
    }
    (result,) = marked_words(summarize(RunFolder(run)), marked)
    assert (result.judge, result.marked, result.both, result.shared) == (JUDGE, 3, 2, 1)
    assert result.overlap.value == pytest.approx(((1 + 9 / 21) / 2 + 21 / 37) / 2)
    assert result.overlap.low < result.overlap.value < result.overlap.high
    assert (result.people.value, result.people.low) == (pytest.approx(9 / 21), None)
    assert "scenario" in result.people.reason
    assert marked_words(summarize(RunFolder(run)), {}) == ()


def test_agree_tells_it_of_a_study(proact, done, run):
    def half(rater, item, number):
        spans = ((0, 21),) if number < 2 else ()
        return submission(item.key, "PASS", 5, spans=spans)

    study_of(Path("study.db"), run, raters=["Ann"], grade=half)
    out = done("agree", "--ratings", "study.db", "--json")[0]
    (result,) = json.loads(out)["marked_words"]
    assert (result["judge"], result["marked"], result["both"], result["overlap"]["value"]) == (JUDGE, 2, 2, 1)
    assert (result["people"]["value"], result["people"]["reason"]) == (
        None,
        "no response of which two raters marked words",
    )
    out = unwrapped(proact("agree", "--ratings", "study.db", "--explain")[1])
    assert "words marked by raters and by" in out
    assert "Raters marked words of 2 responses." in out
    out = unwrapped(proact("agree", "--ratings", "study.db")[1])
    assert "and the words that raters marked: --explain" in out
