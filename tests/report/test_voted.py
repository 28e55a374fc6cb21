"""A judge beside people who voted: worked by hand, beside judges that know nothing, and one person."""

import math

import pytest

from dspy_proact.evaluation.people import Part
from dspy_proact.report.voted import ONE_PERSON, voted_notes, voted_rows

PART = Part("", ("NO", "YES"))
VOTES = {"a": "YYN", "b": "NNN", "c": "YNN", "d": "YN", "e": "YYY"}
RATINGS = {key: ["YES" if vote == "Y" else "NO" for vote in votes] for key, votes in VOTES.items()}
GROUPS = dict(zip(VOTES, "11223", strict=True))


def rows(text, likely=None, ratings=RATINGS):
    result = voted_rows("judge", PART, 3, grades=ratings, levels=text, likely=likely or {}, groups=GROUPS)
    return {row.name: row for row in result}


def test_shares_kappa_and_scores_of_probabilities_are_those_worked_by_hand():
    """Majorities: a yes, b no, c no, d a tie, e yes. The judge says yes to a, c and d.

    Of four with a majority it has a and b: yes 1 of 2, no 1 of 2, kappa 0. Squared distances: a (.8 - 2/3)^2, b .1^2,
    c (.6 - 1/3)^2, d 0, e (.3 - 1)^2.
    """
    values = {key: "YES" if key in "acd" else "NO" for key in VOTES}
    likely = {"a": 0.8, "b": 0.1, "c": 0.6, "d": 0.5, "e": 0.3}
    judge = rows(values, likely)["judge"]
    assert (judge.answers, judge.share.value, judge.balanced_accuracy.value, judge.kappa.value) == (4, 0.5, 0.5, 0)
    squares = [(0.8 - 2 / 3) ** 2, 0.1**2, (0.6 - 1 / 3) ** 2, 0, 0.7**2]
    assert judge.brier.value == pytest.approx(sum(squares) / 5)
    shares = {"a": 2 / 3, "b": 0, "c": 1 / 3, "d": 1 / 2, "e": 1}
    losses = [-(s * math.log(likely[k]) + (1 - s) * math.log(1 - likely[k])) for k, s in shares.items()]
    assert judge.log_loss.value == pytest.approx(sum(losses) / 5)


def test_constant_judges_have_no_kappa_and_are_held_to_what_they_are_sure_of():
    result = rows(dict.fromkeys(VOTES, "YES"))
    accept, reject = result["always YES"], result["always NO"]
    for row in (accept, reject):
        assert (row.share.value, row.balanced_accuracy.value, row.kappa.value) == (0.5, 0.5, 0)
    assert accept.brier.value == pytest.approx((1 / 9 + 1 + 4 / 9 + 1 / 4 + 0) / 5)
    assert result["judge"].brier.value == accept.brier.value  # without a probability the level counts
    surest = -math.log(0.99)
    sure = -math.log(0.01)
    shares = [2 / 3, 0, 1 / 3, 1 / 2, 1]
    assert accept.log_loss.value == pytest.approx(sum(s * surest + (1 - s) * sure for s in shares) / 5)


def test_one_person_is_set_against_the_others_where_they_agree():
    """Eight votes on four answers.

    Of a, c: the odd one against the other two, 0 of 1 each; of b, e: 3 of 3 each; d has two votes only.
    """
    person = rows(dict.fromkeys(VOTES, "YES"))[ONE_PERSON]
    assert (person.answers, person.votes, person.share.value) == (4, 8, 6 / 8)
    # True no, said no 3; true yes, said yes 3; a: true yes said no; c: true no said yes. kappa (.75 - .5) / .5.
    assert person.kappa.value == pytest.approx(0.5)
    # Vote against the share of the others, over 12 votes: a and c: 2 x .25 + 1 each; b and e: 0.
    assert person.brier.value == pytest.approx(3 / 12)


def test_there_is_nothing_to_say_of_single_votes_and_of_more_than_two_levels():
    assert voted_rows("judge", PART, 3, grades={"a": ["YES"]}, levels={"a": "NO"}, likely={}, groups=GROUPS) == ()
    three = Part("", ("BAD", "FAIR", "GOOD"))
    assert (
        voted_rows("judge", three, 3, grades={"a": ["GOOD"] * 3}, levels={"a": "BAD"}, likely={}, groups=GROUPS) == ()
    )


def test_ties_alone_have_a_brier_and_no_kappa():
    result = rows({"d": "YES"}, {"d": 0.9})["judge"]
    assert (result.answers, result.kappa.value, result.kappa.reason) == (0, None, "no answer with a majority")
    assert result.brier.value == pytest.approx(0.16)


def test_every_row_says_of_whom_it_speaks_and_what_is_wrong_is_said_in_text_too():
    result = rows({key: "YES" if key in "acd" else "NO" for key in VOTES}, {"a": 0.8})
    assert all("for these 3 raters only" in row.share.reason for row in result.values())
    notes = list(voted_notes(list(result.values())))
    assert "balanced, kappa of always YES, always NO: no variance between groups" in notes
    assert "fewer than 5 groups" in " ".join(notes)
    reasons = {
        part
        for row in result.values()
        for name in ("share", "kappa", "brier")
        for part in getattr(row, name).reason.split("; ")
    }
    assert all(any(note.endswith(f": {reason}") for note in notes) for reason in reasons)
