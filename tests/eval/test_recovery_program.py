"""eval/recovery.py sets the bare model, three prompts and a compiled program side by side."""

import re
from xml.etree import ElementTree

import pytest
from drivers.script import ROOT, run

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


def cells(printed):
    heading, rule, *rows = [line for line in printed.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in (heading, rule, *rows)} == {12}
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_every_program_has_a_line_with_its_shares_and_what_they_are_of(ended):
    rows = cells(ended[1])
    assert [row[0] for row in rows] == NAMES
    for row in rows:
        assert all(SHARE.match(row[location]) for location in (2, 3, 6, 7, 9)), row
        assert int(row[1]) > 0
        assert row[8] == "12"
        assert int(row[10]) > 0


def test_it_says_that_nothing_was_measured_and_what_is_no_test(ended):
    assert "Embedded stand-in: shows how this works, measures no real model." in ended[1]
    assert "Compiled: learned on this corpus" in ended[1]


def test_the_picture_has_every_program_and_the_same_warnings(ended):
    text = (ended[0] / "recovery.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert all(f" {name}" in text for name in NAMES)
    assert "embedded stand-in" in text


def test_the_same_command_again_does_nothing_anew(ended):
    folder, printed = ended
    before = {path: path.read_bytes() for path in folder.rglob("events.jsonl")}
    assert program(folder, "--limit", "12").stdout == printed
    assert before == {path: path.read_bytes() for path in folder.rglob("events.jsonl")}
    assert len(before) == len(NAMES)
