"""What a review may say of an item, and what becomes of a corpus by the reviews of several people."""

import pytest

from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.evaluation.reporting import PageSection
from dspy_proact.evaluation.reviewing import KeptQuote, Review, ReviewField, ReviewItem, settle

FIELDS = (
    ReviewField("note", "Note", "The survey is on Thursday 22 May.", keeps=(KeptQuote("Thursday 22 May", "the day"),)),
    ReviewField("body", "Body", "Ask for the Sula.\nThanks."),
    ReviewField("vessel", "Vessel", "Sula", kind="line", stated_in=("body",)),
    ReviewField("seats", "Seats", "84", kind="value"),
    ReviewField("subject", "Subject", "A boat", kind="line"),
)
ITEM = ReviewItem("one", "A boat", (PageSection("the person", "terms", (("name", "Tamsin"),)),), FIELDS)
OTHER = ReviewItem("two", "A boat", (), FIELDS)


def review(verdict="accept", item=ITEM, by="ann", **fields):
    return Review(reviewer=by, item=item.key, mark=item.mark, verdict=verdict, **fields)


@pytest.mark.parametrize(
    ("edits", "problem"),
    [
        ({"note": "The survey moves."}, "Note must still have the words “Thursday 22 May”: the day quotes them."),
        ({"note": "On thursday, 22 May, is the survey."}, None),  # quotes are located by their words
        ({"body": "Ask for the boat."}, "Vessel is Sula, which must be stated in what supports it: Body."),
        ({"vessel": "Gannet"}, "Vessel is Gannet, which must be stated in what supports it: Body."),
        ({"vessel": "Gannet", "body": "Ask for the Gannet."}, None),
        ({"seats": "85"}, None),
        ({"seats": '"many"'}, "Seats is a value of JSON of the same type as 84."),
        ({"seats": "NaN"}, "Seats is a value of JSON of the same type as 84."),
        ({"seats": "9" * 400}, "Seats is a value of JSON of the same type as 84."),
        ({"seats": "[" * 900}, "Seats is a value of JSON of the same type as 84."),
        ({"subject": "A\nboat"}, "Subject is one line."),
        ({"subject": " "}, "Subject is empty; reject the item where it cannot be mended."),
        ({"subject": "A\0boat"}, "Subject holds characters that are no text."),
        ({"subject": "A \ud800 boat"}, "Subject holds characters that are no text."),
        ({"subject": "x" * 4001}, "Subject has 4,001 characters, and may have 4,000."),
        ({"subject": "<script>alert(1)</script>"}, None),  # a text is a text
        ({"grade": "PASS"}, "There is no field 'grade' in this item."),
        ({"subject": "A boat"}, "What was sent as changed is not."),
        ({}, "Nothing was changed; accept it, or reject it."),
    ],
)
def test_an_edit_that_the_corpus_cannot_hold_is_refused_in_a_sentence(edits, problem):
    assert ITEM.misfit(review("edit", edits=edits)) == problem


def test_a_rejection_has_a_reason_and_only_an_edit_changes_anything():
    assert ITEM.misfit(review("reject")) == "A rejection has a reason."
    assert ITEM.misfit(review("reject", reason="No.")) is None
    assert ITEM.misfit(review("accept", edits={"subject": "Boats"})) == "What was sent as changed is not."


def test_the_mark_of_an_item_changes_with_whatever_a_reviewer_reads():
    marks = {ITEM.mark, OTHER.mark, ReviewItem("one", "Boats", ITEM.sections, FIELDS).mark}
    followed = ReviewField("note", "Note", FIELDS[0].text, followed_by=(("assistant", "Yes."),))
    assert len(marks | {ReviewItem("one", "A boat", ITEM.sections, (followed, *FIELDS[1:])).mark}) == 4


def test_reviews_that_agree_settle_an_item_and_others_leave_it_to_the_owner():
    items = [ReviewItem(name, name, (), FIELDS) for name in ("a", "b", "c", "d", "e", "f", "g")]
    a, b, c, d, e, f, _ = items
    edit, other = {"subject": "Boats"}, {"subject": "Ships"}
    reviews = [
        review(item=a),
        review(item=a, by="bob"),
        review("edit", b, edits=edit),
        review("edit", b, "bob", edits=edit),
        review("edit", c, edits=edit),
        review("edit", c, "bob", edits=other),  # the same verdict and another text
        review(item=d),
        review("reject", d, "bob", reason="No."),
        review(item=e),
        review("reject", e, "bob", reason="No."),
        review("edit", e, "owner", edits=other, decision=True),
        review("reject", e, "owner", reason="After all.", decision=True),  # the last decision counts
        review("reject", f, reason="No."),
    ]
    settled = settle(items, reviews, "mine")
    assert (settled.accepted, settled.edited, settled.rejected) == (("a",), {"b": edit}, ("e", "f"))
    assert (settled.unresolved, settled.unreviewed) == (("c", "d"), ("g",))
    with pytest.raises(UsageError, match="decided differently on 'c' and 1 more; decide on the owner's page"):
        settled.require_resolved(len(items))


def test_a_corpus_of_which_everything_is_rejected_is_none():
    with pytest.raises(UsageError, match="rejected every item"):
        settle([ITEM], [review("reject", reason="No.")], "mine").require_resolved(1)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"item": "three"}, "'three', which is none of its items"),
        ({"mark": "0" * 16}, "'one' has another text than what ann reviewed; have it reviewed again"),
        ({"verdict": "edit", "edits": {"subject": ""}}, "by ann is no such: Subject is empty"),
    ],
)
def test_a_review_that_is_none_of_the_corpus_is_refused(changed, problem):
    with pytest.raises(CorpusError, match=problem):
        settle([ITEM, OTHER], [review().model_copy(update=changed)], "mine")
