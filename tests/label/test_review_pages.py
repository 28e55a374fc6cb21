"""A review of a corpus over HTTP: a reviewer's way through it, what is refused, and what the owner decides."""

import json
import os
import re
import signal
from urllib.parse import urlencode

import pytest
from builders.attack import ATTACK
from drivers.child import Child
from drivers.labelling import joined, serving
from drivers.reviewing import review, review_again, review_item, reviewed
from support.visitor import Visitor, key

from dspy_proact.errors import UsageError
from dspy_proact.label.reviews import ReviewStore, reviews_of
from dspy_proact.label.store import Store

CHANGED = {"riddle": "What is round and far?"}


@pytest.fixture
def served(tmp_path):
    """Three items, each for two of two reviewers."""
    with serving(reviewed(tmp_path / "study.db", *map(review_item, range(3)))) as running:
        yield running


def standing(served):
    return [one for _, one in served.store.numbered()]


def test_a_reviewer_goes_from_item_to_item_and_each_review_is_kept(served):
    ann = joined(served, "Ann")
    verdicts = [("accept", {}, ""), ("edit", CHANGED, " Clearer. "), ("reject", {}, "Two answers fit.")]
    for number, (verdict, edits, reason) in enumerate(verdicts):
        page = ann.get("/rate")
        assert f"{number} of 3" in page.text
        form = review(page, verdict, edits=edits, reason=reason, happens="perhaps")
        assert ann.post("/rate", form).json == {"to": "/rate"}
    assert "You reviewed all 3" in ann.get("/rate").text
    kept = standing(served)
    assert [(one.verdict, one.edits, one.reason) for one in kept] == [
        ("accept", {}, ""),
        ("edit", CHANGED, "Clearer."),
        ("reject", {}, "Two answers fit."),
    ]
    assert {(one.reviewer, one.happens, one.reads_like_test, one.seconds) for one in kept} == {
        ("Ann", "perhaps", "no", 2.5)
    }
    assert reviews_of(served.store.path) == tuple(kept)


def test_the_words_that_have_to_stay_are_marked_where_they_stand(served):
    page = joined(served, "Ann").get("/rate").text
    assert re.findall(r"<mark>(.*?)</mark>", page) == ["the moon"]
    assert "These words have to stay: <q>the moon</q>" in page


def test_what_is_undone_comes_back_with_its_edits(served):
    ann = joined(served, "Ann")
    page = ann.get("/rate")
    ann.post("/rate", review(page, "edit", edits=CHANGED, reason="Clearer."))
    draft = ann.post("/undo", {}).json["draft"]
    assert (draft["item"], draft["grade"], draft["edits"], draft["reason"]) == (
        page.field("item"),
        "edit",
        CHANGED,
        "Clearer.",
    )
    assert (draft["happens"], draft["reads_like_test"], standing(served)) == ("yes", "no", [])
    assert ann.get("/rate").field("item") == page.field("item")


def test_a_skip_has_a_reason_is_no_review_and_leaves_the_item_to_others(served):
    ann = joined(served, "Ann")
    skip = review(page := ann.get("/rate"), "", happens="", reads_like_test="")
    assert ann.post("/rate", skip | {"reason": ""}).json == {"problem": "A skip has a reason."}
    assert ann.post("/rate", skip | {"reason": "I wrote it."}).status == 200
    assert (standing(served), page.field("item") != ann.get("/rate").field("item")) == ([], True)


def test_neither_of_two_reviewers_sees_what_the_other_says(served):
    ann, bob = joined(served, "Ann"), joined(served, "Bob")
    ann.post(
        "/rate", review(page := ann.get("/rate"), "edit", edits={"riddle": "A secret wording"}, reason="secret why")
    )
    seen = []
    while "data-item" in (other := bob.get("/rate")).text:
        seen.append(other)
        bob.post("/rate", review(other))
    assert page.field("item") in [one.field("item") for one in seen]
    for one in (*seen, bob.get("/briefing"), bob.get("/rate")):
        assert "secret" not in one.text.lower()
        assert "Ann" not in one.text
    assert bob.get("/owner").status == 403


@pytest.mark.parametrize("items", [10, 11])
def test_a_share_of_the_items_has_two_reviewers_and_the_others_one(tmp_path, items):
    made = reviewed(tmp_path / "study.db", *map(review_item, range(items)), raters=3, shared=0.2)
    with serving(made) as served:
        for name in ("Ann", "Bob", "Cem"):
            person = joined(served, name)
            while "data-item" in (page := person.get("/rate")).text:
                assert person.post("/rate", review(page)).status == 200
        counts = [len([one for one in standing(served) if one.item == f"riddle {n}"]) for n in range(items)]
    # A fifth, rounded up: 2 of 10, and 3 of 11.
    assert sorted(counts) == [1] * (items - (2 if items == 10 else 3)) + [2] * (2 if items == 10 else 3)


@pytest.mark.parametrize(
    ("verdict", "changed", "problem"),
    [
        ("best", {}, "There is no such verdict"),
        ("accept", {"happens": ""}, "Could this happen? has no answer"),
        ("accept", {"happens": "5"}, "not what the page sends"),
        ("accept", {"reads_like_test": ""}, "Does it read like a test? has no answer"),
        ("reject", {"reason": " "}, "A rejection has a reason"),
        ("accept", {"edits": CHANGED}, "not"),
        ("edit", {}, "Nothing was changed"),
        ("edit", {"edits": {"riddle": "What is round?"}}, "Nothing was changed"),
        ("edit", {"edits": {"title": "New"}}, "There is no field"),
        ("edit", {"edits": {"riddle": "x" * 4001}}, "4,001 characters"),
        ("edit", {"edits": {"riddle": "\0"}}, "no text"),
        ("edit", {"edits": {"hint": "It is the sun."}}, "must still have the words “the moon”"),
        ("edit", {"edits": {"points": "many"}}, "value of JSON"),
        ("edit", {"edits": {"riddle": 3}}, "not what the page sends"),
        ("edit", {"edits": ["riddle"]}, "not what the page sends"),
        ("accept", {"seconds": "nan"}, "not what the page sends"),
        ("accept", {"seconds": -1}, "no"),
        ("accept", {"reason": "x" * 4001}, "4,000 characters"),
        ("accept", {"repeated": "1"}, "not yours"),
        ("accept", {"item": "f" * 16}, "not yours"),
        ("accept", {"key": "k"}, "no key"),
        ("accept", {"more": "1"}, "not what the page sends"),
    ],
)
def test_what_the_page_would_not_send_is_refused(served, verdict, changed, problem):
    ann = joined(served, "Ann")
    answer = ann.post("/rate", review(ann.get("/rate"), verdict, **changed))
    assert (answer.status, problem in answer.json["problem"]) == (409, True), answer.json
    assert standing(served) == []


@pytest.mark.parametrize("edits", ["[" * 9000, "{", '{"riddle": "a"', "null", '"riddle"'])
def test_edits_that_are_no_json_are_refused(served, edits):
    ann = joined(served, "Ann")
    form = review(ann.get("/rate"), "edit") | {"edits": edits}
    assert ann.post("/rate", form).status == 409
    assert standing(served) == []


def test_a_write_without_the_value_of_its_page_or_from_elsewhere_is_refused(served):
    ann = joined(served, "Ann")
    form = review(ann.get("/rate"))
    assert ann.post("/rate", form | {"csrf": "0" * 64}).status == 403
    assert ann.post("/rate", form, Origin="http://evil.example").status == 403
    assert ann.post("/owner/adjudicate", form).status == 403, "a reviewer decides nothing"
    assert standing(served) == []


def test_an_item_of_another_reviewer_cannot_be_reviewed_and_a_key_counts_once(tmp_path):
    made = reviewed(tmp_path / "study.db", *map(review_item, range(4)), ratings=1)
    with serving(made) as served:
        ann, bob = joined(served, "Ann"), joined(served, "Bob")
        mine, theirs = ann.get("/rate"), bob.get("/rate")
        assert ann.post("/rate", review(mine) | {"item": theirs.field("item")}).status == 409
        form = review(mine) | {"key": key()}
        assert [ann.post("/rate", form).status for _ in range(2)] == [200, 200]
        other = review(mine, "edit", edits=CHANGED) | {"key": form["key"]}
        assert ann.post("/rate", other).status == 200, "the same key again is the same write"
        assert [(one.verdict, one.edits) for one in standing(served)] == [("accept", {})]
        assert ann.post("/rate", review(mine)).status == 409, "it is reviewed already"


def test_what_a_corpus_or_a_reviewer_holds_is_shown_as_text(tmp_path):
    text = ATTACK.replace("\0", "")
    with serving(reviewed(tmp_path / "study.db", review_item(0, text), review_item(1))) as served:
        ann, bob = joined(served, "Ann"), joined(served, "Bob")
        for person, verdict in ((ann, "edit"), (bob, "reject")):
            while "data-item" in (page := person.get("/rate")).text:
                assert "<script>alert" not in page.text
                assert "<img" not in page.text
                edits = {"riddle": f"New {text}"} if verdict == "edit" else {}
                assert person.post("/rate", review(page, verdict, edits=edits, reason=text)).status == 200
        owner = Visitor(served.port)
        owner.post("/enter", {"token": served.owner})
        shown = owner.get("/owner").text
        assert "<script>alert" not in shown
        assert "<img" not in shown
        assert standing(served)[0].edits == {"riddle": f"New {text}"}, "kept as it is"


def test_a_text_is_edited_with_its_own_characters(tmp_path):
    """What is not seen, such as a joiner within an emoji, would else come back spelled out."""
    text = "\n\nA family: \U0001f469\u200d\U0001f469\u200d\U0001f467 & <b>"
    with serving(reviewed(tmp_path / "study.db", review_item(0, text))) as served:
        page = joined(served, "Ann").get("/rate").text
    (area,) = re.findall(r'<textarea data-field="riddle"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert area.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == text


def test_the_owner_decides_where_two_differ_and_the_last_decision_counts(served):
    ann, bob, owner = joined(served, "Ann"), joined(served, "Bob"), Visitor(served.port)
    for person, verdict in ((ann, "edit"), (bob, "reject")):
        while "data-item" in (page := person.get("/rate")).text:
            person.post("/rate", review(page, verdict, edits=CHANGED if verdict == "edit" else {}))
    owner.post("/enter", {"token": served.owner})
    page = owner.get("/owner").text
    assert "3 of 3 items reviewed, 3 to decide" in page
    csrf, decisions = re.findall(r'name="csrf" value="(\w+)"', page)[0], re.findall(r'<option value="(edit \d+)"', page)
    item = re.findall(r'name="item" value="(\w+)"', page)[0]
    assert len(decisions) == 3
    form = {"csrf": csrf, "item": item, "reason": "Ann is right."}
    for grade, reason in (("edit 999", "x"), (decisions[1], "x"), ("edit x", "x"), ("maybe", "x"), ("accept", "")):
        refused = owner.post("/owner/adjudicate", form | {"grade": grade, "reason": reason})
        assert refused.status == 409, "of another item, of none, or without a reason"
    assert owner.post("/owner/adjudicate", form | {"grade": "reject"}).status == 303
    assert owner.post("/owner/adjudicate", form | {"grade": decisions[0]}).status == 303
    assert "3 of 3 items reviewed, 2 to decide" in owner.get("/owner").text
    (decision,) = [one for one in reviews_of(served.store.path) if one.decision]
    assert (decision.reviewer, decision.verdict, decision.edits) == ("owner", "edit", CHANGED)
    assert len(standing(served)) == 6, "the reviews stay as they are"


def test_the_owner_reads_what_was_rejected_or_edited_alike_and_by_whom_and_why(served):
    ann, bob, owner = joined(served, "Ann"), joined(served, "Bob"), Visitor(served.port)
    verdicts = {"Riddle number 0": "accept", "Riddle number 1": "reject", "Riddle number 2": "edit"}
    for person in (ann, bob):
        while "data-item" in (page := person.get("/rate")).text:
            (verdict,) = (verdict for title, verdict in verdicts.items() if title in page.text)
            person.post("/rate", review(page, verdict, edits=CHANGED if verdict == "edit" else {}))
    owner.post("/enter", {"token": served.owner})
    page = owner.get("/owner").text
    assert "3 of 3 items reviewed, none to decide" in page
    _, changed = page.split("Rejected or edited without dispute")
    assert [title in changed for title in verdicts] == [False, True, True]
    assert "<strong>reject</strong> Ann: No." in changed
    assert f"<ins>{CHANGED['riddle']}</ins>" in changed


def test_no_review_is_lost_or_doubled_when_the_server_is_killed_right_after_each_click(tmp_path):
    """Every other click is killed with its answer on the way, and is sent once more."""
    clicks = 6
    made = reviewed(tmp_path / "study.db", *map(review_item, range(clicks)), ratings=1, raters=1)
    made.store.add_rater("Ann", token := key())
    made.store.close()
    os.mkfifo(tmp_path / "ready")
    cookie, form = "", {}
    for click in range(clicks):
        child = Child(review_again, tmp_path / "study.db", clicks, tmp_path / "ready")
        try:
            ann = Visitor(int((tmp_path / "ready").read_text().rpartition(":")[2]), cookie=cookie)
            if not cookie:
                ann.post("/enter", {"token": token})
                cookie = ann.cookie
            ann.get("/briefing")
            if click % 2:
                assert ann.post("/rate", form).status == 200
            page = ann.get("/rate")
            assert f"{click} of {clicks}" in page.text
            form = review(page, "edit", edits={"riddle": f"Number {click}?"}) | {"key": key(), "csrf": ann.csrf}
            if click % 2:
                assert ann.post("/rate", form).status == 200
            else:
                ann.send("POST", "/rate", urlencode(form))
        finally:
            child.kill()
            assert child.wait() == -signal.SIGKILL
    reviews = reviews_of(tmp_path / "study.db")
    assert sorted(one.item for one in reviews) == [f"riddle {n}" for n in range(clicks)]
    assert [one.edits["riddle"] for one in reviews] == [f"Number {n}?" for n in range(clicks)]


def test_files_of_reviews_and_of_ratings_are_not_taken_for_each_other(tmp_path, served):
    with pytest.raises(UsageError, match="holds reviews of a corpus, which cannot be used here"):
        Store.open(served.store.path)
    from drivers.labelling import collected, item

    collected(tmp_path / "ratings.db", [item(0)]).store.close()
    with pytest.raises(UsageError, match="holds ratings of responses"):
        ReviewStore.open(tmp_path / "ratings.db")


def test_a_damaged_review_is_said(served):
    ann = joined(served, "Ann")
    ann.post("/rate", review(ann.get("/rate"), "edit", edits=CHANGED))
    served.store._db.execute("UPDATE reviews SET edits = ?", (json.dumps({"riddle": 3}),))
    with pytest.raises(UsageError, match="is damaged"):
        reviews_of(served.store.path)
