"""Leaks of PROBE's tasks that are planted in their files: each is found, and a clean corpus is accused of nothing."""

import pytest
from drivers.script import ROOT, ended, loaded
from drivers.terminal import table_rows

PROGRAM = ROOT / "eval" / "planted_writers_probe.py"


@pytest.fixture
def program():
    with loaded(PROGRAM) as program:
        yield program


def test_each_leak_is_found_by_the_check_of_its_name(program, tmp_path):
    done = ended(program.main, PROGRAM, "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    table, _, clean = done.stdout.partition("\n\n")
    rows = {row[0]: row[1:] for row in table_rows(table)[2:]}
    assert rows["order"][:2] == ["Evidence stands before all other items", "metadata: order"]
    assert rows["order"][2].startswith("found 99")
    assert rows["order"][2].endswith("also all metadata, first items")
    assert rows["place of the action"][2].startswith("found 9")
    assert "Clean corpora: 0 of 1 accused." in clean


def test_a_leak_that_nothing_finds_ends_the_program_otherwise(program, tmp_path, monkeypatch):
    harmless = {name: (lambda _: None, finder) for name, (_, finder) in program.LEAKS.items()}
    monkeypatch.setattr("support.leaky_tasks.LEAKS", harmless)
    done = ended(program.main, PROGRAM, "--quick", folder=tmp_path)
    assert done.returncode == 1
    assert "| not found 4" in done.stdout or "| not found 5" in done.stdout


def test_all_leaks_of_files_are_planted(program):
    assert {finder for _, finder in program.LEAKS.values()} == {
        "metadata: ids",
        "metadata: order",
        "metadata: times",
        "metadata: lengths",
        "metadata: types",
        "fields of evidence",
        "actions alone",
    }
