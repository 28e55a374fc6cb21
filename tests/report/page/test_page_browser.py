"""A page in a browser: a case to be read, filters and links, and what everybody can use."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from builders.runs import answered, failed, graded, manifest, trigger, written
from drivers.browser import visit
from playwright.sync_api import expect

from dspy_proact.evidence import locate_quotes

RESULT = "#passing"
PHASES = ("EMERGENT", "CRITICAL", "RECOVERY", "RECOVERY")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory, paged):
    """Two runs of four triggers: unscored, unverified, and graded otherwise."""
    cases = [trigger(f"d{number}", phase, user=f"Question {number}?") for number, phase in enumerate(PHASES)]
    made = tmp_path_factory.mktemp("mixed")
    a = [
        *(answered(cases[0]), graded(cases[0], "PASS")),
        *(answered(cases[1]), graded(cases[1], "FAIL", evidence=())),
        failed(cases[2], "empty"),
        *(answered(cases[3]), graded(cases[3], "PARTIAL", evidence=["nowhere to be found at all"])),
    ]
    b = [event for case in cases for event in (answered(case), graded(case, "PASS", reasoning="A zebra."))]
    written(made / "a", manifest(), cases, a)
    written(made / "b", manifest(model="openai/other"), cases, b)
    return paged(made / "a", made / "b")


def test_a_case_begins_with_both_responses_and_what_was_unfolded_below_stays_so(browser, mixed):
    with visit(browser, mixed, "#case=d0__t2") as page:
        assert page.locator("#case > h3 + .sides").count() == 1
        sides = page.locator("#case .side")
        assert [sides.nth(at).locator("h4").inner_text() for at in (0, 1)] == ["A openai/m", "B openai/other"]
        assert "because" in sides.nth(0).inner_text()
        assert "A zebra." in sides.nth(1).inner_text()
        assert sides.nth(0).locator("mark:visible").all_inner_texts() == ["Label the boxes today"]
        folded = page.locator("#case > .sides ~ details")
        assert [item.inner_text() for item in folded.all()] == [
            "conversation (3) … Question 0?",
            "rubric (3)",
            "details",
        ]
        assert "Plans." in page.text_content("#case")
        folded.first.locator("summary").click()
        page.keyboard.press("j")
        expect(page.locator("#case")).to_have_attribute("data-key", "d1__t2")
        assert page.locator("#case .message:visible").count() == 3
        assert not page.locator("#case .part", has_text="rubric").locator("dl").is_visible()


PASSING = {
    "stratum=RECOVERY": ["d2__t2", "d3__t2"],
    "label=FAIL": ["d1__t2"],
    "label=unscored": ["d2__t2"],
    "unverified=1": ["d3__t2"],
    "unscored=1": ["d2__t2"],
    "disagree=1": ["d1__t2", "d3__t2"],
    "text=question+2": ["d2__t2"],
    "text=ZEBRA&stratum=CRITICAL": ["d1__t2"],
    "stratum=RECOVERY&disagree=1&label=PARTIAL": ["d3__t2"],
    "unverified=0&unscored=no&disagree=": ["d0__t2", "d1__t2", "d2__t2", "d3__t2"],  # only 1 switches a filter on
}
"""Filters of an address, and what passes them; the first of it is not that of the line before."""


def test_each_filter_leaves_what_it_names_and_filters_combine(browser, mixed):
    with visit(browser, mixed) as page:
        for filters, passing in PASSING.items():
            page.evaluate("filters => location.hash = filters", filters)
            expect(page.locator("#case"), filters).to_have_attribute("data-key", passing[0])
            assert page.inner_text(RESULT).startswith(f"{len(passing)} of 4 "), filters
            links = page.locator("#rows a")
            keys = [re.search(r"case=([^&]+)", link.get_attribute("href")).group(1) for link in links.all()]
            assert keys == passing, filters
        page.evaluate("location.hash = 'text=no+such+words'")
        expect(page.locator("#case")).to_contain_text("No trigger matches these filters.")
        assert page.inner_text(RESULT).startswith("0 of 4 ")
        assert page.get_attribute("#case", "data-key") is None
        page.evaluate("location.hash = 'case=d9__t2'")
        expect(page.locator("#case")).to_contain_text("There is no trigger of this name here.")


def test_what_is_chosen_in_the_form_is_in_the_address_comes_back_from_it_and_is_copied(browser, mixed):
    with visit(browser, mixed) as page:
        page.select_option("[name=stratum]", "RECOVERY")
        page.check("[name=unscored]")
        expect(page.locator(RESULT)).to_have_text(re.compile("^1 of "))
        page.fill("[name=text]", "question")
        expect(page).to_have_url(re.compile("text=question"))
        fragment = page.evaluate("location.hash")
    with visit(browser, mixed, fragment, permissions=["clipboard-read", "clipboard-write"]) as page:
        assert page.inner_text(RESULT).startswith("1 of 4 ")
        assert page.input_value("[name=stratum]") == "RECOVERY"
        assert page.is_checked("[name=unscored]")
        assert page.input_value("[name=text]") == "question"
        page.click("#case .share")
        expect(page.locator("#case .share")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == f"{mixed.as_uri()}{fragment}&case=d2__t2"


def test_several_epochs_are_rows_of_their_own_with_links_of_their_own(browser, paged, tmp_path):
    case, grades = trigger(), {1: "PASS", 2: "FAIL"}
    events = [item for n, grade in grades.items() for item in (answered(case, epoch=n), graded(case, grade, epoch=n))]
    written(tmp_path / "run", manifest(epochs=2), [case], events)
    with visit(browser, paged(tmp_path / "run"), "#case=d1__t2&epoch=2") as page:
        assert "epoch 2" in page.inner_text("#case h3")
        assert page.locator("#case .grades .badge").first.inner_text() == "FAIL"
        page.check("[name=disagree]")
        expect(page.locator(RESULT)).to_have_text(re.compile("^2 of 2 "))


MARKDOWN = (
    "Here is **my plan for the boxes**:\n\n1. Label them *today* \U0001f4e6\n2. Call [Ann](https://example.org/a)\n"
)


def test_markdown_is_rendered_with_the_quotes_marked_in_it_and_as_it_was_written(browser, paged, tmp_path):
    case = trigger()
    quotes = ["my plan for the boxes", "Label them today", "Call Ann"]
    assert all(quote.start is not None for quote in locate_quotes(quotes, MARKDOWN))
    events = [answered(case, MARKDOWN), graded(case, evidence=quotes, response=MARKDOWN)]
    written(tmp_path / "run", manifest(), [case], events)
    with visit(browser, paged(tmp_path / "run")) as page:
        rendered = page.locator(".rendered")
        assert rendered.locator("strong").inner_text() == "my plan for the boxes"
        assert rendered.locator("ol > li").count() == 2
        assert rendered.locator("a").count() == 0
        assert rendered.locator(".address").inner_text() == "https://example.org/a"
        marked = "".join(rendered.locator("mark").all_inner_texts())
        assert marked == "my plan for the boxesLabel them todayCall Ann"
        page.click(".turn")
        written_as = page.locator(".response .text:visible")
        assert written_as.inner_text().startswith("Here is **my plan")
        assert written_as.locator("mark").all_inner_texts() == [
            "my plan for the boxes",
            "Label them *today",
            "Call [Ann",
        ]


def test_a_part_of_a_run_and_a_results_file_have_pages_too(browser, proact, runs, tmp_path):
    assert proact("export", runs[0], "--format", "official", "--out", "results.jsonl")[0] == 0
    status, _, message = proact("report", "results.jsonl", runs[1], "--html", "page.html")
    assert (status, "The page is in page.html" in message) == (0, True)
    with visit(browser, tmp_path / "page.html") as page:
        assert page.inner_text(RESULT) == "49 of 49 triggers, 15 of 15 control turns"
        assert "rephrased" not in page.inner_text("#case")


def test_axe_finds_no_violation(browser, two):
    with visit(browser, two, "#disagree=1") as page:
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        for width, scheme in ((1280, "dark"), (390, "light")):
            page.set_viewport_size({"width": width, "height": 844})
            page.emulate_media(color_scheme=scheme)
            result = Axe().run(page)
            assert result.violations_count == 0, result.generate_report()


def test_a_phone_is_not_scrolled_sideways_and_nothing_is_wider_than_it(browser, two):
    with visit(browser, two, viewport={"width": 360, "height": 740}, is_mobile=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert page.evaluate("visualViewport.scale") == 1
        page.keyboard.press("j")
        assert page.locator("#case").bounding_box()["width"] <= 360


def test_paper_has_the_numbers_whole_and_not_the_browser(browser, two):
    with visit(browser, two, color_scheme="dark") as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert not page.locator("#cases").is_visible()
        assert page.locator("#glance table").first.is_visible()
        assert page.locator(".banner").is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.pdf(format="A4").startswith(b"%PDF")
        # What the paper is wide, 17 cm in CSS pixels, holds every table.
        page.set_viewport_size({"width": 642, "height": 900})
        wide = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
        assert page.evaluate(wide) == 0


def test_without_its_script_the_numbers_are_there_and_every_chart_has_words_and_a_table_beside_it(browser, two):
    shown = browser.new_context(java_script_enabled=False)
    page = shown.new_page()
    page.goto(two.as_uri())
    assert page.locator("#glance table").first.is_visible()
    assert not page.locator("#browser").is_visible()
    charts = page.locator("svg[role=img]")
    assert charts.count() == 2
    for chart in charts.all():
        assert chart.locator("> title").text_content()
        assert chart.locator("> desc").text_content()
    assert "RECOVERY" in page.locator(".plot desc").text_content()
    assert "RECOVERY" in page.inner_text("#glance table")
    assert "unwanted offers" in page.inner_text("#glance table")
    shown.close()


def test_a_page_says_what_is_measured_whether_a_stand_in_answered_and_what_is_missing(one, mixed, paged, tmp_path):
    text, real = (path.read_text(encoding="utf-8") for path in (one, mixed))
    assert re.search(r'class="about".*takes up what a user disclosed.*A trigger is a turn', text)
    banner, stamp = 'class="banner"', 'class="stand-in"'
    assert (text.count(banner), text.count(stamp), real.count(banner), real.count(stamp)) == (1, 1, 0, 0)
    assert "The run is not complete" not in text
    cases = [trigger("d1"), trigger("d2")]
    written(tmp_path / "run", manifest(), cases, [answered(cases[0]), graded(cases[0]), answered(cases[1])])
    message = re.sub("<[^>]+>", "", paged(tmp_path / "run").read_text(encoding="utf-8"))
    assert "The run is not complete: 1 pending; it reached 1 of 1 scenarios." in message
