"""What reviews show of a corpus, with numbers worked by hand."""

import pytest

from dspy_proact.evaluation.review_summary import review_summary
from dspy_proact.evaluation.reviewing import Review, ReviewField, ReviewItem

ITEMS = [ReviewItem(f"i{n}", f"Item {n}", (), (ReviewField("text", "Text", "A."),), group=f"g{n}") for n in range(10)]


def review(number, verdict, by="ann", **changed):
    item = ITEMS[number]
    edits = {"text": changed.pop("text", "B.")} if verdict == "edit" else {}
    answers = {"happens": "yes", "reads_like_test": "no", "reason": "No."}
    return Review(reviewer=by, item=item.key, mark=item.mark, verdict=verdict, edits=edits, **answers | changed)


def test_shares_are_of_what_is_settled_and_agreement_of_what_two_people_reviewed():
    reviews = [
        *(review(n, "accept") for n in range(4)),
        *(review(n, "accept", "bob") for n in range(3)),
        review(3, "reject", "bob"),
        review(4, "reject"),
        review(4, "reject", "bob", happens="no"),
        review(5, "edit", text="B."),
        review(5, "edit", "bob", text="C."),
        review(6, "edit"),
        review(7, "reject"),
    ]
    summary = review_summary(ITEMS, reviews, "mine")
    # Unresolved: the fourth, by its verdicts, and the sixth, by its texts. Nobody read the last two.
    assert summary.counts == {"accepted": 3, "edited": 1, "rejected": 2, "unresolved": 2, "not reviewed": 2}
    assert (summary.items, summary.reviewers) == (10, 2)
    assert (summary.rejected.value, summary.edited.value) == (pytest.approx(2 / 6), pytest.approx(1 / 6))
    assert summary.rejected.low < 2 / 6 < summary.rejected.high
    # Six items of two: five with the same verdict, two edits among them. Of 12 verdicts 7 accept, 3 reject, 2 edit, so
    # that two disagree by chance in 1 - (49 + 9 + 4) / 144 = 82 / 144, and kappa is 1 - (1 / 6) / (82 / 144).
    verdicts = summary.verdicts
    assert (verdicts.items, verdicts.same) == (6, 5)
    assert verdicts.kappa.value == pytest.approx(1 - 24 / 82)
    assert summary.realism["happens"] == {"yes": 13, "no": 1}
    assert (summary.realism_agreement["happens"].items, summary.realism_agreement["happens"].same) == (6, 5)
    # All said that it reads like no test: nothing varies, and there is no agreement beyond chance.
    assert (
        summary.realism_agreement["reads_like_test"].kappa.value,
        summary.realism_agreement["reads_like_test"].same,
    ) == (
        None,
        6,
    )


def test_a_decision_settles_an_item_and_is_no_review():
    reviews = [review(0, "accept"), review(0, "reject", "bob")]
    decision = review(0, "reject", "owner", decision=True, happens=None, reads_like_test=None)
    before, after = (review_summary(ITEMS, some, "mine") for some in (reviews, [*reviews, decision]))
    assert (before.counts["unresolved"], after.counts["unresolved"], after.counts["rejected"]) == (1, 0, 1)
    assert (after.reviewers, after.verdicts) == (2, before.verdicts)


def test_without_reviews_nothing_is_estimated():
    summary = review_summary(ITEMS, [], "mine")
    assert (summary.rejected.value, summary.verdicts.kappa.value, summary.counts["not reviewed"]) == (None, None, 10)
    assert summary.verdicts.kappa.reason == "no item with two reviews"
