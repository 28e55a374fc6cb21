"""eval/false_claims.py: three of its seeds, and that it can fail."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dspy_proact.benchmarks.proactbench import synthetic_items, synthetic_ratings
from dspy_proact.compile import labelled

PROGRAM = Path(__file__).parents[2] / "eval" / "false_claims.py"


@pytest.fixture
def program():
    spec = importlib.util.spec_from_file_location(PROGRAM.stem, PROGRAM)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[PROGRAM.stem] = loaded  # its dataclasses look it up
    spec.loader.exec_module(loaded)
    yield loaded
    del sys.modules[PROGRAM.stem]


def test_three_seeds_claim_what_is_there_and_nothing_else(tmp_path):
    command = [sys.executable, PROGRAM, "--quick"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    heads, _, *rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in done.stdout.splitlines()]
    assert heads == ["what", "seeds", "found", "band", ""]
    assert [row[0].partition(":")[0] for row in rows] == [
        "two raters",
        "true gain, 150 fresh items",
        "a rule to learn",
        "labels permuted",
        "always PARTIAL",
    ]
    assert {row[1] for row in rows} == {"3"}
    assert {row[4] for row in rows} == {"within"}


class InThisProcess:
    """What the program needs of a pool, without processes."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def map(self, job, seeds, chunksize):
        return [job(seed) for seed in seeds]


@pytest.mark.parametrize(
    ("shown", "after", "out"),
    [
        ((True, False, False), "truth", []),
        ((False, False, False), "truth", ["a rule to learn"]),
        ((True, True, False), "truth", ["labels permuted"]),
        ((True, False, True), "truth", ["always PARTIAL"]),
        ((True, False, False), "before", ["true gain"]),
    ],
)
def test_a_figure_that_is_out_of_its_band_ends_in_failure(program, monkeypatch, capsys, shown, after, out):
    items = synthetic_items(0)
    before = [sum(each.step.strength >= cut for cut in (0.45, 0.75)) for each in items]
    truth = [["FAIL", "PARTIAL", "PASS"].index(each.step.grade) for each in items]
    levels = {"before": before, "truth": truth}[after]
    new = labelled(synthetic_ratings(0, items))
    monkeypatch.setattr(program, "studied", lambda seed, trials: program.Study(shown, 0.65, new, before, levels))
    monkeypatch.setattr(
        program.multiprocessing, "get_context", lambda _: SimpleNamespace(Pool=lambda _: InThisProcess())
    )
    monkeypatch.setattr(sys, "argv", ["false_claims.py"])
    with pytest.raises(SystemExit) as end:
        program.main()
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line.endswith("| OUT |")] == [
        line for line in printed if any(line.startswith(f"| {name}") for name in out)
    ]
    assert sum(line.endswith("| OUT |") for line in printed) == len(out)
    assert end.value.code == int(bool(out))
