"""eval/human_study.py prints the published human study, reproduced, with our numbers beside it."""

import re

import pytest
from script import ROOT, run

PROGRAM = ROOT / "eval" / "human_study.py"
PHASES = ["EMERGENT", "CRITICAL", "RECOVERY"]
NUMBER = re.compile(r"-?\d\.\d+")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The cells of each table's rows, without heading and rule."""
    done = run(PROGRAM, folder=tmp_path_factory.mktemp("eval"))
    assert done.returncode == 0, done.stderr
    blocks = [block.splitlines() for block in done.stdout.strip().split("\n\n")]
    assert all(len({line.count("|") for line in block}) == 1 for block in blocks)
    return [[[cell.strip() for cell in line.strip("|").split("|")] for line in block[2:]] for block in blocks]


def test_the_published_values_are_met_and_the_intervals_nearly(tables):
    reproduced = tables[0]
    assert [row[:3] for row in reproduced] == [
        [phase, *counts] for phase, counts in zip(PHASES, (["20", "83"], ["19", "83"], ["20", "109"]), strict=True)
    ]
    for row in reproduced:
        for published, here in (row[3:5], row[5:7]):
            (value, *ends), (ours, *bounds) = NUMBER.findall(published), NUMBER.findall(here)
            assert value == ours
            assert [float(end) for end in bounds] == pytest.approx([float(end) for end in ends], abs=0.02)


def test_our_numbers_are_of_each_phase_and_pooled(tables):
    for table in tables[1:]:
        assert [row[0] for row in table] == [*PHASES, "pooled"]
        assert all(len(NUMBER.findall(cell)) == 3 for row in table for cell in row[-4:])
    assert [row[1] for row in tables[2]] == ["17", "14", "19", "50"]
