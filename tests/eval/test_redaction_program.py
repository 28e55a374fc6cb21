"""eval/redaction.py: in its quick form nothing is out of band, and it can fail."""

from drivers.script import ROOT

PROGRAM = ROOT / "eval" / "redaction.py"


def test_the_rules_take_out_what_is_personal_and_leave_the_rest(quick):
    assert "0 out of band" in quick


def test_what_is_left_and_what_is_taken_wrongly_are_counted(program):
    planted = [
        program.Planted("NAME", 1, 0, 4),
        program.Planted("=price", 1, 9, 17),
        program.Planted("EMAIL", 1, 18, 26),
    ]
    counts = program.outcomes(["Lee paid 1200 EUR a@x.test", "Yes."], planted)
    assert (counts["NAME", "planted"], counts["NAME", "right"]) == (1, 0)  # in prose
    assert counts["=price", "right"] == counts["EMAIL", "right"] == 1
    assert (counts["EMAIL", "taken out"], counts["EMAIL", "personal"]) == (1, 1)
    wrong = program.outcomes(["Dear Anna, it works.", "Yes."], [])
    assert (wrong["NAME", "taken out"], wrong["NAME", "personal"]) == (1, 0)


def test_a_share_below_its_band_is_out(program):
    counts = program.Counts({("NAME", "planted"): 100, ("NAME", "right"): 50, ("=price", "planted"): 100})
    tables = program.rows("English", counts)
    assert [program.Banded("", tables).out, len(tables)] == [2, 2]
