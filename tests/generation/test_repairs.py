"""What was repaired is counted by stage and rule."""

from dspy_proact.generation.attempt import Mend
from dspy_proact.generation.maker import Dropped, Made
from dspy_proact.generation.provenance import Repairs


def test_one_rule_at_several_parts_of_an_item_is_one_row_whatever_its_numbers_and_quotes():
    reasons = ("Item 1 has no passage for 'due'.", "Item 2 has no passage for 'holder'.")
    dropped = [
        Dropped(slot=1, attempt=number, stage=f"evidence {number}", reasons=reasons[number - 1 : number], authors=())
        for number in (1, 2)
    ]
    mended = Dropped(
        slot=2, attempt=1, stage="plan", reasons=(), authors=(), mends=(Mend(stage="x 3", reasons=("y",)),)
    )
    repairs = Repairs.of(Made([], [*dropped, mended], 2))
    (((stage, rule), count),) = repairs.abandoned.items()
    assert (stage, count) == ("evidence", 2)
    assert "passage for …" in rule
    assert dict(repairs.mended) == {("x", "y"): 1}
