"""What a notebook shows of runs, summaries, comparisons and studies: short, like the terminal, and harmless."""

import re
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from builders.attack import ATTACK, VISIBLE, harmless
from builders.runs import answered, failed, graded, manifest, run_of, summary_of, trigger, written
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from dspy_proact import Estimate, RunFolder, load_ratings, print_study
from dspy_proact.errors import UsageError
from dspy_proact.report import Comparison, Summary, compare, print_comparison, print_summary, summarize
from dspy_proact.report.export import columns, rows
from dspy_proact.report.page import ScatterPoint, scatter_svg
from dspy_proact.report.study import RatingStudy, study
from dspy_proact.stand_in import DEMONSTRATION

TRIGGERS = [trigger("d1"), trigger("d2", scenario="TRAVEL_08"), trigger("d3", scenario="TRAVEL_09")]


def summary(folder: Path, *grades: str | None, **of: object) -> Summary:
    return summary_of(folder, zip(TRIGGERS, grades, strict=True), **of)


def pair(folder: Path, **of: object) -> Comparison:
    """The second passes one trigger that the first does not."""
    runs = ((folder / "a", ("PASS", "FAIL", "FAIL")), (folder / "b", ("PASS", "PASS", "FAIL")))
    return compare(*(summary(path, *grades, **of) for path, grades in runs))


def raters() -> RatingStudy:
    return study(load_ratings("sample"))


def printed(shown: object) -> str:
    console = Console(width=1000, record=True, file=StringIO())
    printing = {Summary: print_summary, Comparison: print_comparison, RatingStudy: print_study}[type(shown)]
    printing(shown, console)
    return console.export_text()


@pytest.mark.parametrize("made", [lambda f: summary(f, "PASS", "FAIL", None), pair, lambda _: raters()])
def test_a_notebook_shows_the_lines_and_the_table_that_the_terminal_shows_first(tmp_path, made):
    shown = made(tmp_path)
    lines = [line.strip() for line in harmless(shown._repr_html_()).splitlines() if line.strip()]
    on_terminal = printed(shown)
    assert len(lines) > 8
    assert [line for line in lines if line not in on_terminal] == []


def test_a_stand_in_is_called_one(tmp_path):
    assert DEMONSTRATION in summary(tmp_path / "a", "PASS", "PASS", "PASS", embedded=True)._repr_html_()
    assert "embedded stand-in" in RunFolder(tmp_path / "a")._repr_html_()
    assert "embedded stand-in" not in run_of(tmp_path / "b", [(TRIGGERS[0], "PASS")])._repr_html_()


def test_their_reprs_are_a_line(tmp_path):
    assert repr(summary(tmp_path / "s", "PASS", "FAIL", None)).startswith(
        "Summary(openai/m judged by openai/j, 2/3 scored, score 50.0 ["
    )
    compared = repr(pair(tmp_path))
    assert compared.startswith(f"Comparison(openai/m ({tmp_path}/a), openai/m ({tmp_path}/b): 3 pairs, b - a +33.3")
    assert repr(raters()) == "RatingStudy(sample: 441 ratings, 147 items, 3 raters)"
    assert repr(RunFolder("runs/a")) == "RunFolder('runs/a')"


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
    result = raters()
    evil = replace(result, ratings=replace(result.ratings, name=ATTACK))
    assert VISIBLE in harmless(evil._repr_html_())
    assert "\u202e" not in repr(evil)


BACKENDS = pytest.mark.parametrize("backend", ["pandas", "polars"])


def run(folder: Path) -> Summary:
    """Two triggers by two judges: one with both verdicts, one without a response."""
    first, second = trigger("d1"), trigger("d2", scenario="TRAVEL_08")
    events = [answered(first, ATTACK), graded(first, "PASS", judge="a"), graded(first, "FAIL", judge="b")]
    return summarize(written(folder, manifest("a", "b"), [first, second], [*events, failed(second, "empty")]))


def records(frame, backend: str) -> list[dict]:
    if backend == "polars":
        return frame.to_dicts()
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


@BACKENDS
def test_it_has_the_rows_of_the_export(tmp_path, backend):
    summary = run(tmp_path)
    frame = summary.to_dataframe(backend)
    assert records(frame, backend) == list(rows(summary))
    assert list(frame.columns) == [column.name for column in columns(summary)]
    # A row for each of two judges, and one for the case that has no verdict.
    assert [(row["key"], row["judge"], row["grade"]) for row in records(frame, backend)] == [
        ("d1__t2", "a", "PASS"),
        ("d1__t2", "b", "FAIL"),
        ("d2__t2", None, None),
    ]


@pytest.mark.parametrize(
    ("backend", "kinds"),
    [
        ("pandas", {"key": "string", "judge_epoch": "Int64", "score": "float64", "verified": "boolean"}),
        ("polars", {"key": "String", "judge_epoch": "Int64", "score": "Float64", "verified": "Boolean"}),
    ],
)
@pytest.mark.parametrize("cases", [0, 1])
def test_its_columns_have_their_kinds_also_where_there_is_nothing(tmp_path, backend, kinds, cases):
    summary = run(tmp_path) if cases else summarize(written(tmp_path, manifest("a", "b")))
    frame = summary.to_dataframe(backend)
    assert len(frame) == (3 if cases else 0)
    assert {name: str(frame[name].dtype) for name in kinds} == kinds


def test_pandas_is_the_backend_where_none_is_named(tmp_path):
    assert type(run(tmp_path).to_dataframe()).__module__.startswith("pandas")


@BACKENDS
def test_a_backend_that_is_not_installed_is_named_with_a_command_that_installs_it(tmp_path, monkeypatch, backend):
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(UsageError, match=rf"{backend} is not installed: pip install {backend}$"):
        run(tmp_path).to_dataframe(backend)


def test_another_backend_is_refused(tmp_path):
    with pytest.raises(UsageError, match="choose among pandas, polars"):
        run(tmp_path).to_dataframe("os")


SVG = "{http://www.w3.org/2000/svg}"
NASTY = "</text><script>alert('x')</script>&\"\u202e\x1b[31m\ud800\ufffe"


def sure(value):
    return Estimate(value, reason="one of a kind")


def point(name="a", x=0.5, y=0.5, **more):
    return ScatterPoint(name, sure(x), sure(y), **more)


def drawn(*points, title="t", x="across", y="up", note=""):
    return ElementTree.fromstring(scatter_svg(points, title=title, x=x, y=y, note=note))


def texts(root):
    return [element.text for element in root.findall(f"{SVG}text")]


def centres(root):
    circles = root.findall(f"{SVG}circle")
    return [(float(circle.get("cx")), float(circle.get("cy"))) for circle in circles]


def test_zero_and_one_lie_in_the_corners_and_a_half_in_the_middle():
    root = drawn(point(x=0, y=0), point(x=1, y=1), point(x=0.5, y=0.5))
    # What stands later is drawn first. The plot goes from 76 to 716 and from 64 down to 484.
    assert centres(root) == [(396, 274), (716, 64), (76, 484)]


def test_bars_go_from_bound_to_bound_and_are_missing_without_bounds():
    low_high = ScatterPoint("a", Estimate(0.5, 0.25, 0.75), Estimate(0.5, 0.1, 0.9))
    bars = [path.get("d") for path in drawn(low_high).findall(f"{SVG}path") if path.get("stroke-opacity")]
    # 76 + 640 * .25 and .75; 484 - 420 * .1 and .9
    assert len(bars) == 1
    assert bars[0].startswith("M236.0 274.0H556.0")
    assert "M396.0 442.0V106.0" in bars[0]
    assert not [path for path in drawn(point()).findall(f"{SVG}path") if path.get("stroke-opacity")]


def test_a_tooltip_has_the_values_and_those_of_what_lies_beneath():
    one = ScatterPoint("one", Estimate(0.5, 0.25, 0.75), sure(0.5))
    tips = [circle.find(f"{SVG}title").text for circle in drawn(one, point("two")).findall(f"{SVG}circle")]
    assert tips == ["one: across 50.0 [25.0–75.0] %, up 50.0 %\ntwo: across 50.0 %, up 50.0 %"] * 2


def test_a_point_without_a_value_is_named_below_with_its_reason():
    root = drawn(point("here"), ScatterPoint("gone", Estimate(None, reason="no control turns"), sure(0.5)))
    assert len(centres(root)) == 1
    assert texts(root)[-1] == "Not drawn: gone (across: no control turns)"
    assert "1 of 2 points are drawn" in root.find(f"{SVG}desc").text


def test_the_picture_grows_with_what_stands_below():
    root = drawn(point(), note="word " * 100)
    height = float(root.get("height"))
    assert root.get("viewBox") == f"0 0 760 {height:g}"
    assert all(float(text.get("y", 0)) < height - 5 for text in root.findall(f"{SVG}text"))


def test_in_a_page_nothing_is_drawn_but_in_the_colours_of_the_page():
    text = scatter_svg([point(), point(x=0.2, marked=True)], title="t", x="x", y="y", note="so", in_page=True)
    names = ("ink", "quiet", "line", "paper")
    assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', text)) == {"none", *(f"var(--{name})" for name in names)}


def test_nothing_in_a_name_becomes_markup_or_is_hidden():
    nasty = point(NASTY), ScatterPoint(NASTY, Estimate(None, reason=NASTY), sure(0.5))
    root = drawn(*nasty, title=NASTY, x=NASTY, y=NASTY, note=NASTY)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "desc", "rect", "text", "path", "circle")
    }
    message = "".join(root.itertext())
    assert "<script>" in root.find(f"{SVG}title").text
    assert not [char for char in "\u202e\x1b\ud800\ufffe" if char in message]


def test_nothing_is_fetched_and_nothing_runs():
    text = scatter_svg([point()], title="t", x="x", y="y")
    assert text.replace('xmlns="http://www.w3.org/2000/svg"', "").count("://") == 0
    assert not [word for word in ("<script", "href", "url(", "<style", "@import", "<image") if word in text]


def test_a_long_name_keeps_both_ends_and_the_tooltip_keeps_it_whole():
    name = f"openrouter/{'x' * 60}-2507"
    root = drawn(point(name))
    shown = next(text for text in texts(root) if text.startswith("1 openrouter/"))
    assert len(shown) <= 42
    assert shown.endswith("-2507")
    assert root.find(f"{SVG}circle/{SVG}title").text.startswith(name)


@pytest.mark.parametrize("wrong", [1.01, -0.01])
def test_what_is_no_share_is_refused(wrong):
    with pytest.raises(ValueError, match="share"):
        point(x=wrong)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.text(max_size=30), st.floats(0, 1), st.floats(0, 1)), max_size=8))
def test_any_names_make_the_same_readable_picture_twice(rows):
    points = [point(name, x, y) for name, x, y in rows]
    text = scatter_svg(points, title="t", x="x", y="y")
    assert text == scatter_svg(points, title="t", x="x", y="y")
    assert len(ElementTree.fromstring(text).findall(f"{SVG}circle")) == len(points)
