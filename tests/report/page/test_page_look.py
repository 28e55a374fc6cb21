"""How a page looks: nothing is clipped or covered, and its pictures have its colours."""

import re
from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import visit
from proact_run import JUDGE, answered, failed, graded, manifest, trigger, written

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


@pytest.mark.parametrize("width", [360, 900, 1280])
def test_a_row_of_the_list_shows_all_grades_and_flags(browser, four, width):
    with visit(browser, four, viewport={"width": width, "height": 900}) as page:
        assert page.locator("#rows li").first.locator(".badge, .flag").count() == 5
        assert page.evaluate(f"{CLIPPED} + {OUTSIDE}") == 0
        page.set_viewport_size({"width": 320, "height": 900})
        page.wait_for_timeout(100)
        assert page.evaluate(f"{CLIPPED} + {OUTSIDE}") == 0


def test_rows_stand_one_below_the_other_wherever_the_list_is_scrolled(browser, four):
    with visit(browser, four) as page:
        page.evaluate("document.getElementById('list').scrollTop = 1e6")
        page.locator("#rows a[href='#case=d19__t2&epoch=2']").wait_for()
        boxes = page.evaluate("[...document.querySelectorAll('#rows li')].map(e => [e.offsetTop, e.offsetHeight])")
        assert len({high for _, high in boxes}) == 2
        assert all(top + high == below for (top, high), (below, _) in pairwise(boxes))


def test_a_heap_of_marks_stays_in_its_text(browser, paged, tmp_path):
    case = trigger(user=f"o{MARKS}", criterion=f"o{MARKS}", domain=f"o{MARKS}")
    text = f"o{MARKS} **so**"
    events = [answered(case, text), graded(case, reasoning=text, evidence=[text], response=text)]
    written(tmp_path / "run", manifest(model=f"m{MARKS}"), [case], events)
    with visit(browser, paged(tmp_path / "run")) as page:
        told = page.evaluate("document.body.textContent.replace(document.getElementById('data').textContent, '')")
        assert "\u0301" * 8 in told
        assert "\u0301" * 9 not in told
        assert "U+0301" in page.inner_text("#rows a")
        assert {each.evaluate("e => getComputedStyle(e).overflowY") for each in page.locator("#case .text").all()} == {
            "clip"
        }


def test_the_scatter_is_dark_on_a_dark_page_and_its_words_are_light(browser, two):
    with visit(browser, two, **DARK) as page:
        assert light(page.locator(".scatter svg > rect"), "fill") < 150
        assert light(page.locator(".scatter svg text").last, "fill") > 450
        assert light(page.locator(".scatter svg circle").first, "stroke") > 300
    with visit(browser, two) as page:
        assert light(page.locator(".scatter svg > rect"), "fill") == 3 * 255
        assert light(page.locator(".scatter svg text").last, "fill") < 300


def test_a_run_has_one_colour_in_every_figure_list_and_reading(browser, two):
    with visit(browser, two, "#disagree=1") as page:
        for run in range(2):
            seen = {
                *(page.locator(f".bar.run-{run} rect").nth(at).evaluate(COLOUR.format("fill")) for at in range(4)),
                *(each.evaluate(COLOUR.format("backgroundColor")) for each in page.locator(f".swatch.run-{run}").all()),
                page.locator(".scatter circle").nth(1 - run).evaluate(COLOUR.format("fill")),
                page.locator(f"#case .response.run-{run}").evaluate(COLOUR.format("borderLeftColor")),
            }
            assert len(seen) == 1, run
            # The legend, the table, the difference, the leaderboard, the method, the list and the reading.
            assert page.locator(f".swatch.run-{run}").count() > 6


@pytest.mark.parametrize("made", ["one", "two"])
def test_no_table_is_wider_than_a_desktop_and_a_phone_shows_the_scores(browser, made, request):
    path = request.getfixturevalue(made)
    with visit(browser, path) as page:
        page.evaluate(UNFOLD)
        assert page.locator(".scroll").evaluate_all(WIDER) == []
    with visit(browser, path, viewport={"width": 390, "height": 844}) as page:
        score = page.locator("#glance td").first.bounding_box()
        assert score["x"] + score["width"] < 300


def test_a_table_that_is_wider_than_a_phone_has_a_shadow_and_keeps_its_first_column(browser, two):
    with visit(browser, two, viewport={"width": 390, "height": 844}) as page:
        table = page.locator("#glance .scroll")
        assert "linear-gradient" in table.evaluate(COLOUR.format("backgroundImage"))
        name = table.locator("tbody th").first
        before = name.bounding_box()["x"]
        table.evaluate("each => { each.scrollLeft = 1e6; }")
        assert table.evaluate("each => each.scrollLeft") > 0
        assert name.bounding_box()["x"] == before


def test_a_scatter_in_which_no_run_has_a_place_is_not_drawn(browser, paged, tmp_path):
    case, of = trigger("d1", "RECOVERY"), trigger("d2", turn=4)
    view = ControlView(conversation=(Turn(user="Thanks.", assistant=None),), turn=4)
    control = Case(key=of.key, group=of.group, stratum=CONTROL, view=view, meta=of.meta)
    events = [answered(case), graded(case), answered(control), failed(control, "unreadable", judge=JUDGE)]
    asked = manifest(control_labels=("HELD_BACK", "UNWANTED"), controls="ff")
    for name in ("a", "b"):
        written(tmp_path / name, asked, [case, control], events)
    with visit(browser, paged(tmp_path / "a", tmp_path / "b")) as page:
        assert "unwanted offers" in page.inner_text("#glance thead")
        assert page.locator(".scatter").count() == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_what_names_the_stand_in_stands_above_the_bars_and_their_numbers(browser, two, width):
    with visit(browser, two, viewport={"width": width, "height": 844}) as page:
        stamp = page.locator(".plot .stand-in").bounding_box()
        plot = page.locator(".plot").bounding_box()
        parts = page.locator(".plot rect, .plot .value:visible, .plot line").all()
        assert stamp["y"] + stamp["height"] <= min(part.bounding_box()["y"] for part in parts)
        assert stamp["x"] >= plot["x"]
        assert stamp["x"] + stamp["width"] <= plot["x"] + plot["width"]


@pytest.mark.parametrize(
    ("judge", "heading"), [("openai/j", "so is the way of judging"), ("openai/other", "only the judging differs")]
)
def test_the_judging_is_said_to_differ_only_where_it_does(browser, paged, tmp_path, judge, heading):
    case = trigger()
    for name, by in (("a", "openai/j"), ("b", judge), ("c", judge)):
        written(tmp_path / name, manifest(by), [case], [answered(case), graded(case, judge=by)])
    with visit(browser, paged(*(tmp_path / name for name in "abc"))) as page:
        assert re.search(f"The responses are the same, .*{heading}", page.inner_text("#differences"))
        page.evaluate(UNFOLD)
        assert Axe().run(page).violations_count == 0
