"""Writers of a corpus with a planted fault: each is found and leads somewhere; clean ones are accused of nothing."""

from drivers.script import ROOT, ended
from drivers.terminal import table_rows

PROGRAM = ROOT / "eval" / "planted_writers.py"


def test_each_fault_is_found_and_leads_somewhere(quick):
    table, _, clean = quick.partition("\n\n")
    rows = {row[0]: row[2:] for row in table_rows(table)[2:]}
    # Of one dialogue, in each answer: three messages, another plan and three more, and so in three attempts.
    always = "18 planted: 12 asked again, 3 mended by the stage before, 3 attempts failed, 1 dialogues dropped"
    assert rows["two anchors in a turn"] == ["a rule in code", "2 planted: 2 asked again", always]
    assert rows["anchors joined"] == ["an honest auditor", "7 planted: 7 asked again", always]
    assert rows["rubric after the reply"][1].endswith("planted: 1 attempts failed")
    assert "0 accused" in clean


def test_a_fault_that_nothing_finds_ends_the_program_otherwise(program, tmp_path, monkeypatch):
    """The auditor of this one is not honest."""
    blind = [fault for fault in program.FAULTS if fault.kind == "anchors joined"]
    monkeypatch.setattr(program, "FAULTS", [program.Fault(**{**vars(fault), "honest": None}) for fault in blind])
    monkeypatch.setattr(program, "DIALOGUES", 1)
    done = ended(program.main, PROGRAM, "--only", "anchors joined", folder=tmp_path)
    assert done.returncode == 1
    assert "1 dialogues HAVE IT" in done.stdout


def test_all_kinds_are_planted(program):
    kinds = {fault.kind for fault in (*program.FAULTS, program.LATE)}
    rules = {fault.kind for fault in (*program.FAULTS, program.LATE) if fault.finder == "rule"}
    assert len(kinds) == 22
    assert len(rules) >= 10
