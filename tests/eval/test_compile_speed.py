"""eval/compile_speed.py: the same program comes out of a narrow and a wide compile, each as wide as was asked."""

from script import ROOT, run


def test_wide_compiles_end_as_narrow_ones(tmp_path):
    done = run(ROOT / "eval" / "compile_speed.py", "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    heads, _, *rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in done.stdout.splitlines()]
    assert heads == ["compile", "calls", "alone", "wide", "ratio", "at least", "in flight", "ideal", "same"]
    assert [row[0] for row in rows] == ["assistant search"]
    assert all(int(row[1].replace(",", "")) > 100 for row in rows)
    assert {row[8] for row in rows} == {"yes"}
