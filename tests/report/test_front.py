"""What a notebook shows of runs, summaries, comparisons and studies: short, like the terminal, and harmless."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from attack import ATTACK, VISIBLE, harmless
from proact_run import run_of, summary_of, trigger
from rich.console import Console

from dspy_proact.benchmarks.proactbench.corpus import load_ratings
from dspy_proact.benchmarks.proactbench.report import Study, print_study, study
from dspy_proact.report import MEASURES_NOTHING, Comparison, Summary, compare, print_comparison, print_summary
from dspy_proact.runs import RunFolder

TRIGGERS = [trigger("d1"), trigger("d2", scenario="TRAVEL_08"), trigger("d3", scenario="TRAVEL_09")]


def summary(folder: Path, *grades: str | None, **of: object) -> Summary:
    return summary_of(folder, zip(TRIGGERS, grades, strict=True), **of)


def pair(folder: Path, **of: object) -> Comparison:
    """The second passes one trigger that the first does not."""
    runs = ((folder / "a", ("PASS", "FAIL", "FAIL")), (folder / "b", ("PASS", "PASS", "FAIL")))
    return compare(*(summary(path, *grades, **of) for path, grades in runs))


def raters() -> Study:
    return study(load_ratings("sample"))


def printed(shown: object) -> str:
    console = Console(width=1000, record=True, file=StringIO())
    printing = {Summary: print_summary, Comparison: print_comparison, Study: print_study}[type(shown)]
    printing(shown, console)
    return console.export_text()


@pytest.mark.parametrize("made", [lambda f: summary(f, "PASS", "FAIL", None), pair, lambda _: raters()])
def test_a_notebook_shows_the_lines_and_the_table_that_the_terminal_shows_first(tmp_path, made):
    shown = made(tmp_path)
    lines = [line.strip() for line in harmless(shown._repr_html_()).splitlines() if line.strip()]
    on_terminal = printed(shown)
    assert len(lines) > 8
    assert [line for line in lines if line not in on_terminal] == []


def test_of_the_table_every_row_is_there(tmp_path):
    told = summary(tmp_path, "PASS", "FAIL", None)._repr_html_()
    assert told.count("<tr>") == 1 + 3 + 2  # the headings, the phases, micro and macro
    assert "<tr><th>EMERGENT</th><td>2/3</td><td>1</td><td>0</td><td>1</td>" in told


def test_a_stand_in_is_called_one(tmp_path):
    assert MEASURES_NOTHING in summary(tmp_path / "a", "PASS", "PASS", "PASS", embedded=True)._repr_html_()
    assert "embedded stand-in" in RunFolder(tmp_path / "a")._repr_html_()
    assert "embedded stand-in" not in run_of(tmp_path / "b", [(TRIGGERS[0], "PASS")])._repr_html_()


def test_their_reprs_are_a_line(tmp_path):
    assert repr(summary(tmp_path / "s", "PASS", "FAIL", None)).startswith(
        "Summary(openai/m judged by openai/j, 2/3 scored, score 50.0 ["
    )
    compared = repr(pair(tmp_path))
    assert compared.startswith(f"Comparison(openai/m ({tmp_path}/a), openai/m ({tmp_path}/b): 3 pairs, b - a +33.3")
    assert repr(raters()) == "Study(sample: 441 ratings, 147 items, 3 raters)"
    assert repr(RunFolder("runs/a")) == "RunFolder('runs/a')"


def test_a_run_shows_what_it_is(tmp_path):
    told = harmless(run_of(tmp_path, [(TRIGGERS[0], "PASS")])._repr_html_())
    for said in (str(tmp_path), "proactbench, 1 triggers of c.jsonl", "openai/m", "openai/j"):
        assert said in told


def test_a_folder_without_a_run_says_so(tmp_path):
    assert "cannot be read" in harmless(RunFolder(tmp_path / "none")._repr_html_())


def test_an_attack_in_the_name_of_a_model_and_a_judge_is_shown_as_text(tmp_path):
    evil = summary(tmp_path / "a", "PASS", "FAIL", None, model=ATTACK)
    for shown in (RunFolder(tmp_path / "a"), evil, compare(evil, summary(tmp_path / "b", "FAIL", "FAIL", "PASS"))):
        assert VISIBLE in harmless(shown._repr_html_())
    judged = summary_of(tmp_path / "c", [(TRIGGERS[0], "PASS")], ATTACK)
    for shown in (RunFolder(tmp_path / "c"), judged):
        assert VISIBLE in harmless(shown._repr_html_())
    assert "\u202e" not in repr(evil) + repr(judged)


def test_an_attack_in_a_study_is_shown_as_text():
    found = raters()
    evil = replace(found, ratings=replace(found.ratings, name=ATTACK))
    assert VISIBLE in harmless(evil._repr_html_())
    assert "\u202e" not in repr(evil)
