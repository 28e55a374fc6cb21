"""How a page looks: nothing is clipped or covered, and its pictures have its colours."""

import re
from itertools import pairwise

import pytest
from builders.runs import JUDGE, answered, failed, graded, manifest, trigger, written
from drivers.browser import visit

from dspy_proact.benchmarks.proactbench.types import ControlView, Turn
from dspy_proact.runs import CONTROL, Case

MARKS = "\u0301" * 500
DARK = {"color_scheme": "dark"}
CLIPPED = """[...document.querySelectorAll('#rows a, #rows .line')]
    .filter(each => each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1).length"""
OUTSIDE = """[...document.querySelectorAll('#rows li')].filter(row => [...row.querySelectorAll('.line > *, .excerpt')]
    .some(part => part.getBoundingClientRect().bottom > row.getBoundingClientRect().bottom)).length"""
COLOUR = "each => getComputedStyle(each).{}"
UNFOLD = "document.querySelectorAll('details').forEach(each => { each.open = true; })"
WIDER = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute('aria-label'))"
LUMINANCE = (
    "each => (getComputedStyle(each).FIELD.match(/[0-9]+/g) || []).slice(0, 3).reduce((a, b) => a + Number(b), 0)"
)


def light(locator, field):
    """Of a colour, the sum of three channels, each up to 255."""
    return locator.evaluate(LUMINANCE.replace("FIELD", field))


def grade(case, run, epoch):
    """Alike and verified for some triggers, and not for the others, whose rows are higher."""
    if case.key >= "d5":
        return graded(case, epoch=epoch)
    return graded(case, ("PARTIAL", "FAIL")[run % 2], epoch=epoch, evidence=["not in it at all"])


@pytest.fixture(scope="module")
def four(tmp_path_factory, paged):
    """Four runs of twenty triggers in two epochs, some with all that a row of the list can say."""
    folder = tmp_path_factory.mktemp("four")
    cases = [trigger(f"d{number}", "EMERGENT") for number in range(20)]
    for run in range(4):
        events = [
            event
            for case in cases
            for epoch in (1, 2)
            for event in (answered(case, epoch=epoch), grade(case, run, epoch))
        ]
        written(folder / str(run), manifest(model=f"openai/m{run}", epochs=2), cases, events)
    return paged(*(folder / str(run) for run in range(4)))


def test_rows_show_all_grades_and_flags_and_stand_one_below_the_other_wherever_the_list_is_scrolled(browser, four):
    with visit(browser, four) as page:
        assert page.locator("#rows li").first.locator(".badge, .flag").count() == 5
        for width in (1280, 900, 360, 320):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(100)
            assert page.evaluate(f"{CLIPPED} + {OUTSIDE}") == 0, width
        page.set_viewport_size({"width": 1280, "height": 900})
        # The list has its new height only after the next frame: it is scrolled until its end is there.
        last = "#rows a[href='#case=d19__t2&epoch=2']"
        page.wait_for_function(
            "last => { document.getElementById('list').scrollTop = 1e6; return document.querySelector(last) }", arg=last
        )
        boxes = page.evaluate("[...document.querySelectorAll('#rows li')].map(e => [e.offsetTop, e.offsetHeight])")
        assert len({high for _, high in boxes}) == 2
        assert all(top + high == below for (top, high), (below, _) in pairwise(boxes))


def test_a_heap_of_marks_stays_in_its_text(browser, paged, tmp_path):
    case = trigger(user=f"o{MARKS}", criterion=f"o{MARKS}", domain=f"o{MARKS}")
    text = f"o{MARKS} **so**"
    events = [answered(case, text), graded(case, reasoning=text, evidence=[text], response=text)]
    written(tmp_path / "run", manifest(model=f"m{MARKS}"), [case], events)
    with visit(browser, paged(tmp_path / "run")) as page:
        message = page.evaluate("document.body.textContent.replace(document.getElementById('data').textContent, '')")
        assert "\u0301" * 8 in message
        assert "\u0301" * 9 not in message
        assert "U+0301" in page.inner_text("#rows a")
        assert {item.evaluate("e => getComputedStyle(e).overflowY") for item in page.locator("#case .text").all()} == {
            "clip"
        }


def test_a_dark_page_and_its_scatter_are_dark_with_light_words_and_a_light_page_is_light(browser, two):
    with visit(browser, two, **DARK) as page:
        assert light(page.locator("body"), "backgroundColor") < 150
        assert light(page.locator(".scatter svg > rect"), "fill") < 150
        assert light(page.locator(".scatter svg text").last, "fill") > 450
        assert light(page.locator(".scatter svg circle").first, "stroke") > 300
    with visit(browser, two) as page:
        assert light(page.locator("body"), "backgroundColor") > 600
        assert light(page.locator(".scatter svg > rect"), "fill") == 3 * 255
        assert light(page.locator(".scatter svg text").last, "fill") < 300


def test_a_run_has_one_colour_in_every_figure_list_and_reading(browser, two):
    with visit(browser, two, "#disagree=1") as page:
        for run in range(2):
            seen = {
                *(page.locator(f".bar.run-{run} rect").nth(at).evaluate(COLOUR.format("fill")) for at in range(4)),
                *(item.evaluate(COLOUR.format("backgroundColor")) for item in page.locator(f".swatch.run-{run}").all()),
                page.locator(".scatter circle").nth(1 - run).evaluate(COLOUR.format("fill")),
                page.locator(f"#case .response.run-{run}").evaluate(COLOUR.format("borderLeftColor")),
            }
            assert len(seen) == 1, run
            # The legend, the table, the difference, the leaderboard, the method, the list and the reading.
            assert page.locator(f".swatch.run-{run}").count() > 6


@pytest.mark.parametrize("made", ["one", "two"])
def test_no_table_is_wider_than_a_desktop_and_a_phone_shows_the_scores_and_the_first_column(browser, made, request):
    with visit(browser, request.getfixturevalue(made)) as page:
        page.evaluate(UNFOLD)
        assert page.locator(".scroll").evaluate_all(WIDER) == []
        page.set_viewport_size({"width": 390, "height": 844})
        score = page.locator("#glance td").first.bounding_box()
        assert score["x"] + score["width"] < 300
        if made == "two":
            table = page.locator("#glance .scroll")
            assert "linear-gradient" in table.evaluate(COLOUR.format("backgroundImage"))
            name = table.locator("tbody th").first
            before = name.bounding_box()["x"]
            table.evaluate("each => { each.scrollLeft = 1e6; }")
            assert table.evaluate("each => each.scrollLeft") > 0
            assert name.bounding_box()["x"] == before


def test_a_scatter_in_which_no_run_has_a_place_is_not_drawn(paged, tmp_path):
    case, of = trigger("d1", "RECOVERY"), trigger("d2", turn=4)
    view = ControlView(conversation=(Turn(user="Thanks.", assistant=None),), turn=4)
    control = Case(key=of.key, group=of.group, stratum=CONTROL, view=view, meta=of.meta)
    events = [answered(case), graded(case), answered(control), failed(control, "unreadable", judge=JUDGE)]
    run_manifest = manifest(control_labels=("HELD_BACK", "UNWANTED"), controls="ff")
    for name in ("a", "b"):
        written(tmp_path / name, run_manifest, [case, control], events)
    text = paged(tmp_path / "a", tmp_path / "b").read_text(encoding="utf-8")
    assert '<th scope="col" class="number">unwanted offers</th>' in text
    assert 'class="scatter"' not in text


@pytest.mark.parametrize("width", [390, 1280])
def test_what_names_the_stand_in_stands_above_the_bars_and_their_numbers(browser, two, width):
    with visit(browser, two, viewport={"width": width, "height": 844}) as page:
        stamp, plot = (page.locator(text).bounding_box() for text in (".plot .stand-in", ".plot"))
        tops = "all => all.filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().y)"
        parts = page.locator(".plot rect, .plot .value, .plot line").evaluate_all(tops)
        assert stamp["y"] + stamp["height"] <= min(parts)
        assert stamp["x"] >= plot["x"]
        assert stamp["x"] + stamp["width"] <= plot["x"] + plot["width"]


def test_the_judging_is_said_to_differ_only_where_it_does(paged, tmp_path):
    case = trigger()
    for name, judge in (("a", "openai/j"), ("b", "openai/j"), ("c", "openai/other")):
        written(tmp_path / name, manifest(judge), [case], [answered(case), graded(case, judge=judge)])
    text = paged(*(tmp_path / name for name in "abc")).read_text(encoding="utf-8")
    assert re.findall("<h4>(The responses[^<]*)</h4>", text) == [
        "The responses are the same, and so is the way of judging",
        "The responses are the same, so only the judging differs",
    ]
