"""Leaks and faults that are planted in PROBE's tasks: each is found, and clean ones are accused of nothing."""

from dataclasses import replace

from drivers.script import ROOT, ended
from drivers.terminal import table_rows

from dspy_proact.audit.check import AuditCheck

PROGRAM = ROOT / "eval" / "planted_writers_probe.py"


def test_each_leak_and_each_fault_is_found(quick):
    leaks, clean, faults, writers = quick.split("\n\n")
    rows = {row[0]: row[1:] for row in table_rows(leaks)[2:]}
    assert rows["order"][:2] == ["Evidence stands before all other items", "metadata: order"]
    assert rows["order"][2].startswith("found 99")
    assert rows["order"][2].endswith("also all metadata, first items")
    assert clean == "Clean corpora: 0 of 1 accused."
    # Of two people, in each answer: three answers, of each of two rounds, in three attempts.
    always = "36 planted: 36 refused, 6 mended by the stage before, 6 attempts failed, 2 people missing"
    assert [row[:1] + row[2:] for row in table_rows(faults)[2:]] == [
        ["two resolving actions", "a rule in code", "2 planted: 2 refused", always],
        ["a facet that cannot be met", "an honest auditor", "2 planted: 2 refused", always],
    ]
    assert "0 accused by a rule" in writers


def test_a_leak_that_nothing_finds_ends_the_program_otherwise(program, tmp_path, monkeypatch):
    unseen = AuditCheck(name=program.LEAKS["order"][1], state="passed", sentence="Nothing to tell by.", tested=1)
    monkeypatch.setattr(program, "checks_of", lambda corpus, seed: [unseen])
    for name in ("clean", "faults", "clean_writers"):
        monkeypatch.setattr(program, name, lambda *_: True)
    done = ended(program.main, PROGRAM, "--quick", folder=tmp_path)
    assert done.returncode == 1
    assert "| not found " in done.stdout


def test_a_fault_that_nothing_finds_ends_the_program_otherwise(program, tmp_path, monkeypatch):
    """The stand-in's auditor is asked what resolves a bottleneck, and takes one action for the other."""
    (fault,) = (fault for fault in program.TASK_FAULTS if fault.form.startswith("another one does the same"))

    def blind(_, answer):
        answer["audit"]["resolving"] = answer["audit"]["resolving"][:1]

    monkeypatch.setattr(program, "TASK_FAULTS", [replace(fault, audit=blind)])
    done = ended(program.main, PROGRAM, "--only", "another one does the same", folder=tmp_path)
    assert done.returncode == 1
    assert "people HAVE IT" in done.stdout


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


def test_all_faults_of_writers_are_planted(program):
    kinds = {fault.kind for fault in program.TASK_FAULTS}
    wanted = {"parameters not in the documents", "two resolving actions", "insufficient evidence"}
    assert wanted | {"a facet that cannot be met"} <= kinds
    assert sum(fault.finder == "rule" for fault in program.TASK_FAULTS) >= 12
