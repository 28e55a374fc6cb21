"""eval/false_claims.py: one of its seeds, and that it can fail."""

import dspy
import pytest
from builders.judges import graded as labelled
from drivers.script import ROOT, ended, loaded
from support.synthetic_study import synthetic_items, synthetic_ratings

PROGRAM = ROOT / "eval" / "false_claims.py"


@pytest.fixture
def program(monkeypatch):
    monkeypatch.setattr(dspy, "cache", dspy.cache)  # the program sets one of its own
    with loaded(PROGRAM) as program:
        yield program


@pytest.mark.nightly
def test_a_seed_claims_what_is_there_and_nothing_else(quick):
    heads, _, *rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in quick.splitlines()]
    assert heads == ["what", "seeds", "found", "95 %", "band", ""]
    assert [row[0].partition(":")[0] for row in rows] == [
        "two raters",
        "true gain, 50 fresh items",
        "a rule to learn",
        "labels permuted",
        "always PARTIAL",
    ]
    assert {row[1] for row in rows} == {"1"}
    assert {row[5] for row in rows} == {"within"}


@pytest.fixture(scope="module")
def graded():
    """A study as it is labelled, with the levels that are given before a compile, and the true ones."""
    items = synthetic_items(0)
    before = [sum(item.step.strength >= cut for cut in (0.45, 0.75)) for item in items]
    truth = [["FAIL", "PARTIAL", "PASS"].index(item.step.grade) for item in items]
    return labelled(synthetic_ratings(0, items)), {"before": before, "truth": truth}


@pytest.mark.parametrize(
    ("shown", "after", "calls", "out"),
    [
        ((True, False, False), "truth", 1000, []),
        (
            *((False, True, True), "truth", 4000),
            ["a rule to learn", "labels permuted", "always PARTIAL", "calls, of those before"],
        ),
        ((True, False, False), "before", 1000, ["true gain"]),
    ],
)
def test_a_figure_that_is_out_of_its_band_ends_in_failure(
    program, graded, monkeypatch, tmp_path, shown, after, calls, out
):
    new, levels = graded
    study = program.Study(shown, 0.65, calls, new, levels["before"], levels[after])
    monkeypatch.setattr(program, "studied", lambda seed, trials, count: study)
    done = ended(program.main, PROGRAM, folder=tmp_path)
    printed = done.stdout.splitlines()
    assert [line for line in printed if line.endswith("| OUT |")] == [
        line for line in printed if any(line.startswith(f"| {name}") for name in out)
    ]
    assert sum(line.endswith("| OUT |") for line in printed) == len(out)
    assert done.returncode == int(bool(out))
    if not out:  # a count of seeds has its interval; of 100: 1.96^2 / 103.8416 = 3.7 %
        assert "| a rule to learn: improvement shown | 100 | 100 | 96.3 % to 100.0 % |" in done.stdout
        assert "| labels permuted: improvement shown | 100 | 0 | 0.0 % to 3.7 % |" in done.stdout
        assert "| two raters: quadratic kappa | 100 | 0.65 |  |" in done.stdout
