"""eval/corrected_scores.py: its quick part, and that it can fail."""

import pytest
from script import ROOT, ended, loaded

PROGRAM = ROOT / "eval" / "corrected_scores.py"


@pytest.fixture
def program():
    with loaded(PROGRAM) as program:
        yield program


def test_corrected_scores_cover_and_plans_hold_in_a_small_part(program, tmp_path):
    done = ended(program.main, PROGRAM, "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if line[:1] == "|"
    ]
    heads, _, *cells = rows[:8]
    assert (len(cells), len(heads)) == (6, 13)
    # The judge's own interval holds the truth in few data sets, which is why its score is corrected.
    assert all(float(cell[heads.index("judge's own")]) < 50 for cell in cells)
    heads, _, *pairs = rows[8:]
    assert (len(pairs), len(heads)) == (4, 10)
    assert all(float(cell[heads.index("judge's own")]) < 60 for cell in pairs)
    assert "0 out of band" in done.stdout


def test_a_share_out_of_its_band_is_no_fault_where_intervals_are_marked(program):
    assert program.judged(0.95, program.COVERAGE, 0.0) == "95.0"
    assert program.judged(0.90, program.COVERAGE, 0.0) == "90.0 OUT"
    assert program.judged(0.985, program.COVERAGE, 0.0) == "98.5 OUT"
    assert program.judged(0.90, program.COVERAGE, 0.0, marked=1.0) == "90.0 marked"
    assert program.judged(0.90, program.COVERAGE, 0.0, marked=0.5) == "90.0 OUT"


def test_a_score_that_is_not_corrected_ends_in_failure(program, monkeypatch, tmp_path):
    """The judge's own stands for it, and does not cover."""
    honest = program.stats.corrected_mean

    def naive(cases):
        found = honest(cases)
        return type(found)(**{**vars(found), "corrected": found.judge})

    monkeypatch.setattr(program.stats, "corrected_mean", naive)
    done = ended(program.main, PROGRAM, "--quick", folder=tmp_path)
    assert done.returncode == 1
    assert "OUT" in done.stdout


def test_a_difference_by_the_judge_alone_is_out(program, monkeypatch):
    def naive(a, b):
        return program.stats.paired_difference(a.score, b.score, a.groups).difference

    monkeypatch.setattr(program.stats, "corrected_difference", naive)
    cell = program.Cell("good", "0.33", 50, 18, 0.0, 60, 0.1, (1, 1))
    assert "OUT" in program.pair(cell)
