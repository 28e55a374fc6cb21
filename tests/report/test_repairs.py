"""What was repaired is counted by stage and rule."""

from dspy_proact.generation.attempt import Mend
from dspy_proact.generation.maker import Dropped
from dspy_proact.report.made import repair_rows


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
