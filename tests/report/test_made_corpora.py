"""What is reported alike of any corpus that was made."""

from types import SimpleNamespace

from dspy_proact.generation.attempt import Mend
from dspy_proact.generation.maker import Dropped
from dspy_proact.report.made import Repair, commonest_reasons, repair_rows, shortfall, writers


def test_rules_are_sorted_by_what_they_cost_dropped_attempts_first():
    def attempt(*authors, mends=(), stage="", reasons=()):
        mended = [SimpleNamespace(stage=name, reasons=why) for name, why in mends]
        answers = [SimpleNamespace(stage=name, broken=why) for name, why in authors]
        return SimpleNamespace(authors=answers, mends=mended, stage=stage, reasons=reasons)

    kept = [
        *[attempt(("plan", ["long"]))] * 5,
        attempt(("plan", ["short", "short"]), mends=[("plan", ["short"])] * 2),
        attempt(("plan", [])),
    ]
    rows = repair_rows(kept, [attempt(stage="text", reasons=["x"])])
    assert rows == [Repair("text", "x", 0, 0, 1), Repair("plan", "short", 1, 2, 0), Repair("plan", "long", 5, 0, 0)]
    assert shortfall("2 items", 3, rows) == "2 items could not be made: 3 attempts failed, most of them at: text."
    assert shortfall("1 item", 0, []) == "1 item could not be made: 0 attempts failed."


def test_reasons_that_differ_in_numbers_alone_are_counted_as_the_first_of_them():
    reasons = ["Turn 2 is long.", "No quote.", "Turn 5 is long.", "Turn 7 is long."]
    assert commonest_reasons(reasons) == [("Turn 2 is long.", 3), ("No quote.", 1)]
    assert commonest_reasons([]) == []


def test_writers_stand_by_role_and_model_with_the_answers_that_were_not_accepted():
    answers = [("planner", "one", ()), ("planner", "one", ("long",)), ("judge", "two", ())]
    authors = [SimpleNamespace(role=role, model=model, broken=broken) for role, model, broken in answers]
    shown = writers(SimpleNamespace(attempt=2, authors=authors))
    assert shown == "Attempt 2\nplanner: one, 2 answers, 1 not accepted\njudge: two, 1 answer"


def test_one_rule_at_several_parts_of_an_item_is_one_row_whatever_its_numbers_and_quotes():
    reasons = ("Item 1 has no passage for 'due'.", "Item 2 has no passage for 'holder'.")
    dropped = [
        Dropped(slot=1, attempt=number, stage=f"evidence {number}", reasons=reasons[number - 1 : number], authors=())
        for number in (1, 2)
    ]
    mended = Dropped(
        slot=2, attempt=1, stage="plan", reasons=(), authors=(), mends=(Mend(stage="x 3", reasons=("y",)),)
    )
    rows = repair_rows([], [*dropped, mended])
    (evidence,) = [row for row in rows if row.stage == "evidence"]
    assert (evidence.dropped, "passage for …" in evidence.rule) == (2, True)
    assert [(row.stage, row.rule, row.mended) for row in rows if row.mended] == [("x", "y", 1)]
