"""The program of eval/ on the effect that a made corpus publishes: what it prints, and that it can fail."""

import numpy as np
from drivers.script import ROOT
from drivers.terminal import table_rows

PROGRAM = ROOT / "eval" / "generated_effect.py"


def test_a_small_part_is_within_its_bands(quick):
    kinds, effects, nulls = (
        [dict(zip(heads, row, strict=True)) for row in rows]
        for heads, rows in split(table_rows(quick), ("kind", "triggers", "triggers"))
    )
    assert [(row["kind"], round(float(row["kept"]))) for row in kinds] == [("good", 78), ("leaky", 20), ("inert", 11)]
    assert [(row["triggers"], row["refused"]) for row in effects if row["triggers"] != "20"] == [
        ("11", "100"),
        ("60", "0"),
    ]
    # The answers that chose the triggers hold the truth in hardly any corpus.
    assert all(float(row["by those that chose"]) < 10 for row in effects if row["triggers"] != "11")
    assert all(float(row["effect shown"].split()[0]) <= 10 for row in nulls)


def split(rows, starts):
    """The tables of an output, each as its heads and its rows, by how their heads start."""
    tables = []
    for row in rows:
        if len(tables) < len(starts) and row[0] == starts[len(tables)]:
            tables.append((row, []))
        elif not set(row[0]) <= set("- "):
            tables[-1][1].append(row)
    return tables


def test_a_rule_that_keeps_by_one_pair_is_out(program, monkeypatch):
    monkeypatch.setattr(program, "IS_KEPT", np.array([[passes > leaks for leaks in range(4)] for passes in range(4)]))
    assert "OUT" in program.kept_row("leaky", 1)


def test_an_effect_of_the_answers_that_chose_is_out(program, monkeypatch):
    cell = program.Cell(60, 0.0, 0.0, program.MIXED, 40, (1, 1))
    assert "OUT" not in program.row(cell)
    honest = program.Cell.corpus
    monkeypatch.setattr(
        program.Cell, "corpus", lambda cell, rng: [(who, chosen, chosen) for who, chosen, _ in honest(cell, rng)]
    )
    assert "OUT" in program.row(cell)
    assert "OUT" in program.row(program.Cell(60, 0.0, 0.0, program.NOTHING, 40, (1, 1)))
