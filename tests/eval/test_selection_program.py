"""eval/selection.py: in its quick form nothing is out of band, and it can fail."""

import pytest
from drivers.script import ROOT

PROGRAM = ROOT / "eval" / "selection.py"


@pytest.mark.nightly
def test_what_the_race_chooses_gains_and_claims_nothing_that_is_not_there(quick):
    assert "0 out of band" in quick


def test_a_gain_too_small_and_too_many_calls_are_out_of_band(program):
    entries = program.Entries((19,), least=0.085, calls=520)
    assert program.OUT not in program.gain_row("19", entries, [(0.09, 0.11, 516)] * 9)
    assert program.gain_row("19", entries, [(0.08, 0.11, 530)] * 9).count(program.OUT) == 2


def test_nineteen_candidates_take_516_answers_of_960(program):
    gain, best, calls = program.gained(0, program.ENTRIES["19"])
    assert gain <= best
    assert calls == 20 * 12 + 11 * 12 + 6 * 24
