"""eval/leaderboard.py prints the published leaderboard, lenient and strict."""

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "eval" / "leaderboard.py"


def test_the_table_has_both_ranks_and_scores_of_every_published_model(proactbench, tmp_path):
    done = subprocess.run([sys.executable, PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    heading, rule, *rows = done.stdout.splitlines()
    assert len(rows) == 16
    assert {line.count("|") for line in (heading, rule, *rows)} == {9}
    # (250 + 94 / 2) / 521 and / 624; 21, 47 and 35 triggers were dropped
    assert rows[4] == "| 5 | 2–10 | 9 | qwen/qwen3.5-9b | 521/624 | 0.5701 | 0.4760 | 21, 47, 35 |"
