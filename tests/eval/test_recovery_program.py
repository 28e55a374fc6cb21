"""eval/recovery.py sets the bare model, three prompts and a compiled program side by side."""

import re
from xml.etree import ElementTree

import pytest
from drivers.script import ROOT, run
from drivers.terminal import table_rows

PROGRAM = ROOT / "eval" / "recovery.py"
NAMES = ["bare", "closing", "joined-facts", "look-ahead", "compiled"]
SHARE = re.compile(r"\d+\.\d( \[\d+\.\d–\d+\.\d\])?$")


def program(folder, *arguments):
    return run(PROGRAM, "--out", "runs", "--svg", "recovery.svg", *arguments, folder=folder)


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The folder, and what was printed, of 12 triggers and as many control turns."""
    folder = tmp_path_factory.mktemp("recovery")
    done = program(folder, "--limit", "12")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_every_program_has_a_line_and_a_place_in_the_picture_with_what_was_not_measured(ended):
    folder, printed = ended
    _, _, *rows = table_rows(printed)
    assert [row[0] for row in rows] == NAMES
    for row in rows:
        assert all(SHARE.match(row[location]) for location in (2, 3, 6, 7, 9)), row
        assert int(row[1]) > 0
        assert row[8] == "12"
        assert int(row[10]) > 0
    assert "Embedded stand-in: shows how this works, measures no real model." in printed
    assert "Compiled: learned on this corpus" in printed
    picture = (folder / "recovery.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(picture)
    assert all(f" {name}" in picture for name in (*NAMES, "embedded stand-in"))


def test_the_same_command_again_does_nothing_anew(ended):
    folder, printed = ended
    before = {path: path.read_bytes() for path in folder.rglob("events.jsonl")}
    assert program(folder, "--limit", "12").stdout == printed
    assert before == {path: path.read_bytes() for path in folder.rglob("events.jsonl")}
    assert len(before) == len(NAMES)
