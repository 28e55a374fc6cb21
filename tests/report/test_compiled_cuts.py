"""A compiled judge in a run: its verdicts count by their mean level among the cuts. Each number is worked by hand."""

from pathlib import Path
from typing import Any

import pytest
from toy import LABELS, answered, case, cases, failed, graded, judged_by, manifest, written

from dspy_proact.report import GivenVerdict, Outcome, Summary, agree_within, summarize
from dspy_proact.runs import Manifest

SPHINX, ORACLE = "sphinx", "oracle"
LETTERS = {"S": "SOLVED", "C": "CLOSE", "L": "LOST"}
"""Levels 2, 1 and 0; as verdicts they score 1, .4 and 0."""


def cut(votes: int, **cuts: dict[str, tuple[float, float]]) -> Manifest:
    """Of judges with these cuts, by judge and stratum; none for a judge that is not compiled."""
    of = manifest(**judged_by(*cuts), judge_epochs=votes)
    judges = tuple(judge.model_copy(update={"cuts": cuts[judge.model]}) for judge in of.identity.judges)
    return of.model_copy(update={"identity": of.identity.model_copy(update={"judges": judges})})


def summarized(path: Path, of: Manifest, asked: Any, **letters: str) -> Summary:
    """Every case answered, and graded by each judge as its letters say: `-` is not there, `x` failed."""
    events = [answered(each.key) for each in asked]
    for each in asked:
        for judge, given in letters.items():
            for again, letter in enumerate(given, start=1):
                key = {"judge": judge, "judge_epoch": again}
                if letter == "x":
                    events.append(failed(each.key, "verdict", "content", "unreadable", **key))
                elif letter != "-":
                    events.append(graded(each.key, LETTERS[letter], **key))
    return summarize(written(path, of, asked, events))


def of_one(path: Path, of: Manifest, **letters: str) -> Outcome:
    """What becomes of a response with these verdicts; its stratum is RHYME."""
    (outcome,) = summarized(path, of, cases("a"), **letters).outcomes
    return outcome


@pytest.mark.parametrize(
    ("cuts", "given", "label", "score"),
    [
        # The plain cuts round the mean level: 2, 1, 0; (2 + 2 + 1) / 3 = 1.67; (2 + 1 + 1) / 3 = 1.33.
        ((0.5, 1.5), "SSS", "SOLVED", 1.0),
        ((0.5, 1.5), "CCC", "CLOSE", 0.5),
        ((0.5, 1.5), "LLL", "LOST", 0.0),
        ((0.5, 1.5), "SSC", "SOLVED", 1.0),
        ((0.5, 1.5), "SCC", "CLOSE", 0.5),
        # (2 + 0 + 0) / 3 = .67 is CLOSE, though nobody said so.
        ((0.5, 1.5), "SLL", "CLOSE", 0.5),
        # A cut belongs to the upper label: (2 + 1) / 2 = 1.5.
        ((0.5, 1.5), "SCx", "SOLVED", 1.0),
        # Strict cuts, and lenient ones.
        ((1.0, 1.8), "SSC", "CLOSE", 0.5),
        ((1.1, 1.8), "CCC", "LOST", 0.0),
        ((0.2, 0.9), "LLC", "CLOSE", 0.5),
        ((0.2, 0.9), "CCL", "CLOSE", 0.5),
        ((0.2, 0.6), "CCL", "SOLVED", 1.0),
        # The mean is over what could be read: 2 of 1 verdict, 0 of 2.
        ((0.5, 1.5), "xSx", "SOLVED", 1.0),
        ((0.5, 1.5), "LxL", "LOST", 0.0),
    ],
)
def test_the_label_is_where_the_mean_level_lies_and_the_score_is_the_labels(
    tmp_path: Path, cuts: tuple[float, float], given: str, label: str, score: float
):
    outcome = of_one(tmp_path, cut(3, sphinx={"RHYME": cuts}), sphinx=given)
    assert (outcome.state, outcome.label, outcome.score) == ("scored", label, pytest.approx(score))
    assert len(outcome.verdicts) == sum(letter != "x" for letter in given)


def test_each_stratum_has_its_own_cuts_and_one_without_goes_by_the_commonest_label(tmp_path: Path):
    asked = [case("r1", stratum="RHYME"), case("n1", stratum="NUMBER")]
    lenient = summarized(tmp_path / "a", cut(3, sphinx={"RHYME": (0.2, 0.6)}), asked, sphinx="CCL")
    # RHYME: (1 + 1 + 0) / 3 = .67 is SOLVED. NUMBER: CLOSE by majority, mean score (.4 + .4 + 0) / 3.
    assert [(each.label, each.score) for each in lenient.outcomes] == [
        ("SOLVED", 1.0),
        ("CLOSE", pytest.approx(0.8 / 3)),
    ]
    both = cut(3, sphinx={"RHYME": (0.2, 0.6), "NUMBER": (0.9, 1.9)})
    strict = summarized(tmp_path / "b", both, asked, sphinx="CCL")
    assert [each.label for each in strict.outcomes] == ["SOLVED", "LOST"]


def test_what_could_not_be_read_at_all_is_unscored(tmp_path: Path):
    outcome = of_one(tmp_path, cut(2, sphinx={"RHYME": (0.5, 1.5)}), sphinx="xx")
    assert (outcome.state, outcome.label) == ("unscored", None)


@pytest.mark.parametrize(
    ("sphinx", "oracle", "label", "score"),
    [
        # Each compiled judge has one say: sphinx 1.67 -> SOLVED, oracle .67 -> CLOSE; a tie goes to the worse.
        ("SSC", "SLL", "CLOSE", 0.75),
        ("SSS", "LLL", "LOST", 0.5),
        ("SSS", "CSS", "SOLVED", 1.0),
        ("xxx", "CCC", "CLOSE", 0.5),
    ],
)
def test_of_a_jury_of_compiled_judges_each_has_one_say(
    tmp_path: Path, sphinx: str, oracle: str, label: str, score: float
):
    of = cut(3, sphinx={"RHYME": (0.5, 1.5)}, oracle={"RHYME": (0.5, 1.5)})
    outcome = of_one(tmp_path, of, sphinx=sphinx, oracle=oracle)
    assert (outcome.label, outcome.score) == (label, pytest.approx(score))


def test_cuts_are_of_the_judge_that_was_compiled(tmp_path: Path):
    of = cut(1, sphinx={"RHYME": (0.2, 0.6)}, oracle={"RHYME": (1.1, 1.9)})
    outcome = of_one(tmp_path, of, sphinx="C", oracle="C")
    # Sphinx: level 1 is SOLVED; oracle: level 1 is LOST.
    assert (outcome.label, outcome.score) == ("LOST", 0.5)


def test_without_cuts_nothing_changes():
    given = [
        GivenVerdict(SPHINX, again, label, score, None, {})
        for again, (label, score) in enumerate([("SOLVED", 1.0), ("LOST", 0.0), ("LOST", 0.0)], start=1)
    ]
    outcome = Outcome(stratum="RHYME", group="g", state="pending")
    assert outcome.graded(given, LABELS, {}) == outcome.graded(given, LABELS)
    assert outcome.graded(given, LABELS).label == "LOST"
    assert outcome.graded(given, LABELS, {SPHINX: (0.5, 1.5)}).label == "CLOSE"


def test_cuts_are_part_of_what_makes_a_run_another():
    plain, strict = cut(3, sphinx={}), cut(3, sphinx={"RHYME": (1.0, 1.8)})
    assert plain.identity.digest() != strict.identity.digest()
    assert Manifest.model_validate_json(strict.model_dump_json()) == strict


def test_a_run_of_before_there_were_cuts_is_read(tmp_path: Path):
    raw = cut(1, sphinx={}).model_dump(mode="json")
    for judge in raw["identity"]["judges"]:
        del judge["cuts"]
    assert Manifest.model_validate(raw).identity.judges[0].cuts == {}


def test_two_judges_are_compared_by_the_labels_that_the_cuts_give(tmp_path: Path):
    of = cut(3, sphinx={"RHYME": (0.5, 1.8)}, oracle={})
    summary = summarized(tmp_path, of, cases("a"), sphinx="SSC", oracle="CCC")
    # Sphinx: 1.67 is CLOSE by its cuts, as the oracle says.
    agreement = agree_within(summary, SPHINX, ORACLE)
    assert agreement.table["CLOSE"]["CLOSE"] == 1
