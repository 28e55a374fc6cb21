"""The picture of points: standalone, the same each time, and without anything that a name could smuggle in."""

import re
from dataclasses import fields
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.report import ScatterColours, ScatterPoint, scatter_svg
from dspy_proact.stats import Estimate

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
    return [(float(each.get("cx")), float(each.get("cy"))) for each in circles]


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


def test_a_marked_point_is_filled():
    fills = [circle.get("fill") for circle in drawn(point(marked=True), point()).findall(f"{SVG}circle")]
    assert fills[0] == "#ffffff" != fills[1]


def test_nothing_is_drawn_but_in_the_colours_that_are_given():
    names = [field.name for field in fields(ScatterColours)]
    colours = ScatterColours(**{name: f"var(--{name})" for name in names})
    text = scatter_svg([point(), point(x=0.2, marked=True)], title="t", x="x", y="y", note="so", colours=colours)
    assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', text)) == {"none", *(f"var(--{name})" for name in names)}


def test_no_points_are_a_picture_too():
    assert centres(drawn()) == []


def test_nothing_in_a_name_becomes_markup_or_is_hidden():
    nasty = point(NASTY), ScatterPoint(NASTY, Estimate(None, reason=NASTY), sure(0.5))
    root = drawn(*nasty, title=NASTY, x=NASTY, y=NASTY, note=NASTY)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "desc", "rect", "text", "path", "circle"),
    }
    told = "".join(root.itertext())
    assert "<script>" in root.find(f"{SVG}title").text
    assert not [char for char in "\u202e\x1b\ud800\ufffe" if char in told]


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
