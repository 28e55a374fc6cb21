"""The pages over HTTP: a rater's way from the link to the last item, and what is kept of it."""

import json
import re

import pytest
from drivers.labelling import collected, item, joined, practice, rating, serving
from support.visitor import Visitor, key

from dspy_proact.label.study import PREFERENCE, practice_passed


@pytest.fixture
def served(tmp_path):
    """Four items, each for two of two raters, without practice."""
    with serving(collected(tmp_path / "study.db", [item(number) for number in range(4)])) as running:
        yield running


def test_a_rater_goes_from_item_to_item_and_each_rating_is_kept(served):
    ann = joined(served, "Ann")
    for number in range(4):
        page = ann.get("/rate")
        assert f"{number} of 4" in page.text
        form = rating(page, grade="CLOSE", confidence=3, reason=" It hints. ", spans="[[0, 2], [6, 9]]", seconds=12.5)
        assert ann.post("/rate", form).json == {"to": "/rate"}
    assert "You rated all 4" in ann.get("/rate").text
    assert len({rating.item for rating in served.store.ratings()}) == 4
    first = served.store.ratings()[0]
    assert (first.rater, first.grade, first.confidence, first.reason) == ("Ann", "CLOSE", 3, "It hints.")
    assert (first.spans, first.seconds) == (((0, 2), (6, 9)), 12.5)


def test_joining_twice_by_one_click_is_one_rater_and_a_name_is_taken_once(served):
    ann, fields = Visitor(served.port), {"token": served.entry, "name": "Ann", "key": key()}
    assert [ann.post("/join", fields).status for _ in range(2)] == [200, 200]
    other = Visitor(served.port).post("/join", fields | {"key": key()})
    assert (other.status, "taken" in other.json["problem"]) == (409, True)
    assert [rater.name for rater in served.store.raters()] == ["Ann"]


def test_one_goes_on_elsewhere_by_a_link_of_ones_own(served):
    ann = joined(served, "Ann")
    ann.post("/rate", rating(ann.get("/rate")))
    link = ann.post("/link", {}).json["link"]
    assert link.startswith(f"{served.base}/#")
    elsewhere = Visitor(served.port)
    assert elsewhere.post("/enter", {"token": link.partition("#")[2]}).json == {"to": "/rate"}
    assert "1 of 4" in elsewhere.get("/rate").text


def test_what_is_undone_comes_back_with_what_was_said(served):
    ann = joined(served, "Ann")
    page = ann.get("/rate")
    ann.post("/rate", rating(page, grade="LOST", reason="No.", spans="[[0, 2]]"))
    answer = ann.post("/undo", {}).json
    draft = answer["draft"]
    assert (draft["item"], draft["grade"], draft["spans"]) == (page.field("item"), "LOST", [[0, 2]])
    assert {*draft} == {"item", "repeated", "grade", "confidence", "reason", "spans", "seconds"}, "nothing else of it"
    assert ann.get("/rate").field("item") == page.field("item")
    assert ann.post("/undo", {}).json == {"to": "/rate"}, "there is nothing more to undo"
    assert served.store.ratings() == ()


def test_a_skip_has_a_reason_and_the_rest_is_given_back(served):
    ann = joined(served, "Ann")
    page = ann.get("/rate")
    skipped = rating(page, grade="", confidence="")
    assert ann.post("/rate", skipped).status == 409
    assert ann.post("/rate", skipped | {"reason": "I know it."}).status == 200
    assert served.store._db.row("SELECT reason FROM log WHERE grade = '' AND undone IS NULL")["reason"] == "I know it."
    assert ann.post("/leave", {}).json == {"to": "/left"}
    assert "Thank you" in ann.get("/left").text
    assert {slot.state for slot in served.store.slate(1)} == {"skipped", "returned"}


@pytest.mark.parametrize(
    "changed",
    [
        {"grade": "BEST"},
        {"confidence": 0},
        {"confidence": 6},
        {"confidence": "x"},
        {"seconds": "nan"},
        {"seconds": -1},
        {"reason": "x" * 4001},
        {"spans": "[[0, 99]]"},
        {"spans": "[[2, 2]]"},
        {"spans": "[[-1, 2]]"},
        {"spans": "[[0, 3], [2, 4]]"},
        {"spans": "[" * 9000},
        {"spans": json.dumps([[0, 1]] * 101)},
        {"spans": "{}x"},
        {"item": "f" * 16},
        {"repeated": "1"},
        {"key": "k"},
    ],
)
def test_what_the_page_would_not_send_is_refused(served, changed):
    ann = joined(served, "Ann")
    assert ann.post("/rate", rating(ann.get("/rate"), **changed)).status == 409
    assert served.store.ratings() == ()


def practised(tmp_path, *grades):
    """A rater who gave these grades to practice items of which every one is SOLVED, and what each was answered."""
    items = practice(*["SOLVED"] * 6)
    with serving(collected(tmp_path / "study.db", [item(1)], *items, ratings=1, raters=1)) as served:
        ann = joined(served, "Ann")
        answers = [ann.post("/practice", rating(ann.get("/rate"), grade=grade)).json for grade in grades]
        return answers, ann.get("/rate").text, practice_passed([*served.store.practice(1).values()])


def test_practice_is_explained_and_passed_with_two_of_three(tmp_path):
    answers, page, passed = practised(tmp_path, "SOLVED", "LOST", "SOLVED")
    assert [one["correct"] for one in answers] == [True, False, True]
    assert answers[1] | {"correct": 0} == {
        "correct": 0,
        "grade": "SOLVED",
        "why": "Because of rule SOLVED.",
        "passed": None,
        "again": False,
    }
    assert (answers[2]["passed"], passed, "data-practice" in page) == (True, True, False)


def test_who_fails_the_practice_twice_is_told_so_and_marked_and_may_rate(tmp_path):
    answers, page, passed = practised(tmp_path, *["LOST"] * 6)
    assert [one["again"] for one in answers] == [False, False, True, False, False, False]
    assert [one["passed"] for one in answers] == [None] * 5 + [False]
    assert (passed, "data-practice" in page) == (False, False)


def test_pairs_are_shown_in_both_orders_and_kept_in_that_of_the_runs(tmp_path):
    pairs = [
        type(item(0))(**{**item(number, part=PREFERENCE).__dict__, "responses": ("One.", "Other.")})
        for number in range(16)
    ]
    with serving(collected(tmp_path / "study.db", pairs, ratings=1, raters=1)) as served:
        ann, first = joined(served, "Ann"), []
        for _ in pairs:
            page = ann.get("/rate")
            first.append(re.findall(r"One\.|Other\.", page.text)[0])
            assert ann.get("/rate").text == page.text, "the order stays"
            assert re.findall(r'class="name">(The \w+|E[^<]*)<', page.text) == [
                "The first",
                "Equally good",
                "The second",
            ]
            # Whoever prefers `One.` says so by its side.
            side = "first" if first[-1] == "One." else "second"
            assert ann.post("/rate", rating(page, grade=side)).status == 200
        assert {"One.", "Other."} == {*first}
        assert {rating.grade for rating in served.store.ratings()} == {"first"}


def test_a_rater_sees_nothing_of_who_made_or_graded_a_response(served):
    page = joined(served, "Ann").get("/rate").text
    assert "runs/one" not in page
    assert "case " not in page
    assert "r1" not in re.sub(r"\w{16}", "", page)
