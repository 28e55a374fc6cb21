"""The programs of eval/ that measure time and memory run, in their quick form; no time is asserted."""

import re

from script import ROOT, run


def test_throughput_tells_a_run_beside_httpx(tmp_path):
    done = run(ROOT / "eval" / "throughput.py", "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    number = r"\d+\.\d\d"
    shape = rf"98 calls a round, 2 rounds: {number} ms a call in a run, {number} in httpx; median ratio {number}\n"
    assert re.fullmatch(shape, done.stdout)


def test_footprint_tells_the_memory_of_a_whole_run(tmp_path):
    done = run(ROOT / "eval" / "footprint.py", "--triggers", "60", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    triggers, verdicts = map(int, re.findall(r"(\d+) triggers, (\d+) verdicts: at most [\d,]+ MiB\n", done.stdout)[0])
    assert 60 <= triggers == verdicts < 70
