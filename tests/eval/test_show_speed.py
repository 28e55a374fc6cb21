"""eval/show_speed.py: the failures that it lists are those of a run as large as was asked."""

import re

from script import ROOT, run


def test_the_failures_of_a_copied_run_are_listed(tmp_path):
    done = run(ROOT / "eval" / "show_speed.py", "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    # The sample has 49 triggers, of which the stand-in fails 32: three copies of it are the first with a hundred.
    assert "96 of 147 triggers, 30 of them above; --limit 96 lists all." in done.stdout
    assert re.search(r"^147 triggers, \d+ MB: [\d.]+ s, [\d.]+ s of the processor, \d+ MB", done.stdout, re.MULTILINE)
