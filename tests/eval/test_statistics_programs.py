"""The programs of eval/ on statistics: what they print, and that they can fail; most are run whole at night."""

from dataclasses import replace
from itertools import compress

import numpy as np
import pytest
from drivers.script import ROOT, ended, loaded, run
from drivers.terminal import table_rows
from support.compiles import improvement_shown

from dspy_proact.stats import Estimate

COVERAGE = ROOT / "eval" / "interval_coverage.py"
CLAIMS = ROOT / "eval" / "compile_claims.py"
RATERS = ROOT / "eval" / "rater_coverage.py"
CORRELATION = ROOT / "eval" / "benchmark_correlation.py"
SCORES = ROOT / "eval" / "corrected_scores.py"
DIFFERENCES = ROOT / "eval" / "corrected_differences.py"


@pytest.fixture
def scores():
    with loaded(SCORES) as program:
        yield program


@pytest.fixture
def coverage():
    with loaded(COVERAGE) as program:
        yield program


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "rows", "naive", "most"),
    [
        # Two tables of heads, a rule, and a row with 25 and with 8 scenarios; of promises one row.
        ("interval_coverage", 11, None, 0),
        ("compile_claims", 8, None, 0),
        ("rater_coverage", 5, None, 0),
        # Why a score is corrected: the judge's own interval holds the truth in few data sets.
        ("corrected_scores", 8, "judge's own", 50),
        ("corrected_differences", 6, "judge's own", 60),
        ("pair_coverage", None, "binomial", 75),
        ("rank_coverage", 5, None, 0),
        # Two tables: three watchers and one jury.
        ("measure_coverage", 8, None, 0),
        # Four tables of heads, a rule and three rows.
        ("item_analysis", 20, None, 0),
    ],
)
def test_intervals_and_claims_are_within_their_bands_in_a_small_part(tmp_path, name, rows, naive, most):
    done = run(ROOT / "eval" / f"{name}.py", "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    heads, _, *cells = table_rows(done.stdout)
    assert rows in (None, len(cells) + 2)
    assert naive is None or min(float(cell[heads.index(naive)]) for cell in cells) < most


def test_a_cell_that_is_out_of_its_band_is_said_to_be(coverage):
    cell = coverage.Cell(25, 0.5, 0.05, data_sets=2000, slack=0.0, seed=(1, 1))
    assert cell.judged(0.95, coverage.COVERAGE) == "95.0 within"
    assert cell.judged(0.929, coverage.COVERAGE) == "92.9 OUT"
    assert cell.judged(0.981, coverage.COVERAGE) == "98.1 OUT"
    few = coverage.Cell(8, 0.5, 0.05, data_sets=2000, slack=0.0, seed=(1, 1))
    assert few.judged(0.99, coverage.COVERAGE) == "99.0 within"
    promise = coverage.Promise("25 equal", 0.5, data_sets=100, slack=0.0, seed=(1, 1))
    assert promise.judged([True] * 8 + [False] * 2, coverage.POWER) == "80.0"
    assert promise.judged([True] * 40 + [False] * 60, coverage.POWER) == "40.0 OUT"
    assert promise.judged([True, *[None] * 99], coverage.POWER) == "-"


def test_an_interval_that_is_too_narrow_ends_in_failure(coverage, monkeypatch, tmp_path):
    """Triggers taken for scenarios: the intervals of a grid of 25 scenarios no longer cover."""
    honest = coverage.stats.cluster_mean
    monkeypatch.setattr(coverage.stats, "cluster_mean", lambda scores, clusters: honest(scores, range(len(scores))))
    monkeypatch.setattr(coverage, "pair_row", lambda cell: "")
    done = ended(coverage.main, COVERAGE, "--quick", folder=tmp_path)
    assert done.returncode == 1
    assert "OUT" in done.stdout


def test_ranges_of_ranks_that_ignore_what_runs_show_are_out(monkeypatch):
    """At a design effect of 5 that is taken for 2, models that are all equal are told apart in most tables."""
    with loaded(ROOT / "eval" / "rank_coverage.py") as program:
        cell = program.Cell("all equal", 5.0, 3, tables=40, seed=(1, 1))
        assert "OUT" not in program.row(cell)
        honest = program.Counted.of_cases
        bare = staticmethod(lambda scores, groups: replace(honest(scores, groups), design_effect=None, interval=None))
        monkeypatch.setattr(program.Counted, "of_cases", bare)
        assert "OUT" in program.row(cell)


def test_items_that_are_flagged_by_a_correlation_alone_are_out(monkeypatch):
    """Were every negative correlation a flag, half of the items of models that are alike would have one."""
    with loaded(ROOT / "eval" / "item_analysis.py") as program:
        cell = program.Cell("unrelated", 8, 60, banks=1, seed=(1, 1))
        assert all("OUT" not in row for row in program.rows(cell))
        honest = program.item_figures

        def eager(data):
            below = [(item.rest.value or 0) < 0 for item in honest(data)]
            return tuple(
                replace(item, flags=("negative",) if low else ()) for item, low in zip(honest(data), below, strict=True)
            )

        monkeypatch.setattr(program, "item_figures", eager)
        assert "OUT" in program.rows(cell)[1]


def test_a_claim_that_rests_on_the_read_alone_ends_in_failure(monkeypatch):
    """Of 200 labels a fifth unread where the judge errs: as if they had not been asked."""
    with loaded(CLAIMS) as program:

        def of_the_read(before, after, panel, *rest, order):
            kept = ~np.isnan(after)
            rest = [list(compress(keys, kept)) for keys in rest]
            return improvement_shown(before[kept], after[kept], panel.where(kept), *rest, order=order)

        monkeypatch.setattr(program, "improvement_shown", of_the_read)
        cell = program.false_cell("well", "200 in 25", (None, 0.0), 0.2)
        assert program.shown((0, cell), 40) > 0.15


def test_phases_correlate_as_published(tmp_path):
    done = run(CORRELATION, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    heads, _, *result = table_rows(done.stdout)
    assert heads == ["pair", "models", "Spearman [95 %]", "p", "Pearson [95 %], assumes normal", "p"]
    assert [row[:3] for row in result] == [
        ["EMERGENT - CRITICAL", "16", "0.86 [0.58, 0.96]"],
        ["EMERGENT - RECOVERY", "16", "0.62 [0.12, 0.86]"],
        ["CRITICAL - RECOVERY", "16", "0.63 [0.15, 0.87]"],
    ]
    # With 14 degrees of freedom t = 6.3, 3.0 and 3.1: p of .00002, .011 and .008, and never below 1 in 10,000.
    assert [float(row[3]) for row in result] == pytest.approx([0.0001, 0.011, 0.009], abs=0.005)


def test_another_benchmark_is_joined_by_model(tmp_path):
    text = (
        "model,MMLU,Arena\ngpt-4o,70,1200\nunheard-of,99,1\nkimi-k2.6,80,\ngpt-5.5,90,1400\no4-mini-2025-04-16,85,1\n"
    )
    (tmp_path / "scores.csv").write_text("\ufeff" + text, encoding="utf-8")
    done = run(CORRELATION, "--scores", "scores.csv", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    results = {row[0]: row[1:] for row in table_rows(done.stdout)}
    # 3 phases and 2 benchmarks: 10 pairs.
    assert len(results) == 2 + 10
    assert results["EMERGENT - MMLU"][0] == "4"
    assert "(fewer than 5 pairs)" in results["EMERGENT - MMLU"][1]
    # Joined with each other, the blank cell left out: 70, 90, 85 and 1200, 1400, 1: ranks 1 3 2 and 2 3 1, rho .5.
    assert results["MMLU - Arena"][:2] == ["3", "0.50 (fewer than 5 pairs)"]
    assert "Not published models, left out: unheard-of" in done.stdout
    blank = next(line for line in done.stdout.splitlines() if line.startswith("Without a score in Arena: "))
    # 16 published, 3 of them with a score.
    assert len(blank.split(", ")) == 13
    assert "kimi-k2.6" in blank


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line must be 'model'"),
        ("model,RECOVERY\ngpt-4o,1\n", "another name than a phase"),
        ("model,MMLU\ngpt-4o,\x1b[31m\n", "could not convert"),
        (None, "No such file"),
    ],
)
def test_scores_that_cannot_be_read_are_refused_with_a_sentence(tmp_path, text, message):
    if text is not None:
        (tmp_path / "scores.csv").write_text(text, encoding="utf-8")
    done = run(CORRELATION, "--scores", "scores.csv", folder=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr


def test_an_interval_that_holds_too_rarely_or_too_often_is_out():
    with loaded(RATERS) as program:
        assert program.judged([True] * 940 + [False] * 60) == "94.0"
        # Two standard errors of 1,000 are 1.6 points at 93 %, and .9 at 98.
        assert program.judged([True] * 988 + [False] * 12) == "98.8"
        assert program.judged([True] * 910 + [False] * 90) == "91.0 OUT"
        assert program.judged([True] * 990 + [False] * 10) == "99.0 OUT"
        assert program.judged([True, None, None]) == "-"


@pytest.mark.parametrize(
    ("low", "reason", "counted"),
    [
        (0.2, None, True),
        (0.4, None, False),
        (0.2, "fewer than 8 raters", True),
        (0.2, "fewer than 8 raters; fewer than 5 groups", None),
        (0.2, "for these 3 raters only", None),
        (None, "one group", None),
    ],
)
def test_intervals_of_six_raters_are_counted_though_they_are_marked(low, reason, counted):
    with loaded(RATERS) as program:
        result = Estimate(0.5, low, 0.8 if low else None, reason)
        assert program.holds(result, truth=0.3) is counted


@pytest.mark.nightly
def test_a_score_that_is_not_corrected_ends_in_failure(scores, monkeypatch, tmp_path):
    """The judge's own stands for it, and does not cover."""
    honest = scores.stats.corrected_mean

    def naive(cases):
        result = honest(cases)
        return type(result)(**{**vars(result), "corrected": result.judge})

    monkeypatch.setattr(scores.stats, "corrected_mean", naive)
    done = ended(scores.main, SCORES, "--quick", folder=tmp_path)
    assert done.returncode == 1
    assert "OUT" in done.stdout


def test_a_cell_in_which_no_difference_can_be_said_has_no_coverage():
    # Three raters are too few to stand for others.
    with loaded(DIFFERENCES) as program:
        text = program.row(program.Cell("good", 0.5, 33, 3, 0.0, data_sets=3, seed=(1, 1))).split(" | ")
        heads = program.HEADS.split(" | ")
    values = dict(zip(heads, text, strict=True))
    assert [values[name] for name in ("given", "covered", "marked", "width")] == ["0", "-", "100", "-"]


@pytest.mark.nightly
def test_intervals_near_an_end_that_are_not_marked_are_out_where_they_hold_too_rarely():
    with loaded(ROOT / "eval" / "measure_coverage.py") as program:
        # Of 90 of 100 without a mark 75 hold, 83.3 %: below 93 by more than two standard errors of 90, 5.4.
        results = [(True, True)] * 75 + [(True, False)] * 15 + [(False, True)] * 10
        assert program.judged(results, 100, may_be_wide=False) == "83.3 OUT"
        assert program.judged([(True, True)] * 100, 100, may_be_wide=False).startswith("100.0")
        assert program.judged([(False, True)] * 60 + [(True, True)] * 40, 100, may_be_wide=False) == "marked 100"
        assert program.judged([(True, True)] * 40, 100, may_be_wide=False) == "-"
        # 1 - precision is false alarm, so that both cover alike.
        truth = program.Watcher(12, (0.9, 0.9)).truth
        assert truth["precision"] + truth["false_alarm"] == 1


def test_an_interval_over_items_alone_ends_in_failure(monkeypatch, tmp_path):
    """As if raters were all that there are: of raters who differ it holds half of the time."""
    with loaded(ROOT / "eval" / "pair_coverage.py") as program:
        honest = program.stats.cluster_mean
        monkeypatch.setattr(program.stats, "preferred_share", lambda chosen, items, raters: honest(chosen, items))
        done = ended(program.main, ROOT / "eval" / "pair_coverage.py", "--quick", folder=tmp_path)
    assert done.returncode == 1
    assert "OUT" in done.stdout


def test_neither_a_judge_that_reads_nothing_nor_a_difference_around_0_is_claimed(tmp_path):
    done = run(ROOT / "eval" / "claims.py", "--quick", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [row for row in table_rows(done.stdout) if row[0] != "---"]
    judges, claims, drops = rows[1:3], rows[4:7], rows[8:]
    assert [(judge, better) for judge, _, _, better, _ in judges] == [("constant", "0.0"), ("like a person", "0.0")]
    # Pooled over phases it looks better than a person: the trap that the headline avoids.
    assert all(float(pooled) > float(person) + 0.1 for _, person, pooled, *_ in judges)
    assert [(row[3], row[5]) for row in claims] == [("10", "0")] * 3
    assert all(float(alike) < 10 for _, _, alike, *_ in claims)
    assert [row[:3] for row in drops] == [["10", "0.28", "0.0"]]
