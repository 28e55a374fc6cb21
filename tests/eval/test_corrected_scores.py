"""eval/corrected_scores.py and eval/corrected_differences.py: their quick parts, and that they can fail."""

import pytest
from script import ROOT, ended, loaded, table_rows

PROGRAM = ROOT / "eval" / "corrected_scores.py"
DIFFERENCES = ROOT / "eval" / "corrected_differences.py"


@pytest.fixture
def program():
    with loaded(PROGRAM) as program:
        yield program


def test_corrected_scores_cover_and_plans_hold_in_a_small_part(program, tmp_path):
    done = ended(program.main, PROGRAM, "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    heads, _, *cells = table_rows(done.stdout)
    assert (len(cells), len(heads)) == (6, 13)
    # The judge's own interval holds the truth in few data sets, which is why its score is corrected.
    assert all(float(cell[heads.index("judge's own")]) < 50 for cell in cells)
    assert "0 out of band" in done.stdout
    # The root of .95 x .05 / 40, and of .5 x .5 / 40.
    assert "standard error of a share 3.4 at 95 and 7.9 at 50" in done.stdout


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


def test_corrected_differences_cover_in_a_small_part(tmp_path):
    with loaded(DIFFERENCES) as program:
        done = ended(program.main, DIFFERENCES, "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    heads, _, *cells = table_rows(done.stdout)
    assert (len(cells), len(heads)) == (4, 10)
    assert all(float(cell[heads.index("judge's own")]) < 60 for cell in cells)
    assert {cell[heads.index("given")] for cell in cells} == {"100"}


def test_a_cell_in_which_no_difference_can_be_said_has_no_coverage():
    # Three raters are too few to stand for others.
    with loaded(DIFFERENCES) as program:
        said = program.row(program.Cell("good", 0.5, 33, 3, 0.0, data_sets=3, seed=(1, 1))).split(" | ")
        heads = program.HEADS.split(" | ")
    told = dict(zip(heads, said, strict=True))
    assert [told[name] for name in ("given", "covered", "marked", "width")] == ["0", "-", "100", "-"]


def test_a_difference_by_the_judge_alone_ends_in_failure(monkeypatch, tmp_path):
    with loaded(DIFFERENCES) as program:

        def naive(a, b):
            return program.stats.paired_difference(a.scores, b.scores, a.groups).difference

        monkeypatch.setattr(program.stats, "corrected_difference", naive)
        done = ended(program.main, DIFFERENCES, "--quick", folder=tmp_path)
    assert done.returncode == 1
    assert "OUT" in done.stdout
