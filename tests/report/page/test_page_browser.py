"""A page in a browser: filters, keys, links, the history, and how it looks on screens and paper."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import visit
from playwright.sync_api import expect
from proact_run import answered, failed, graded, manifest, trigger, written

from dspy_proact.evidence import locate_quotes
from dspy_proact.runs import RunFolder

FOUND = "#found"


def key(page):
    return page.get_attribute("#case", "data-key")


def count(page):
    """How many of all pass the filters."""
    found = re.match(r"([\d,]+) of ([\d,]+) ", page.inner_text(FOUND))
    return tuple(int(number.replace(",", "")) for number in found.groups())


def settled(page, wanted):
    expect(page.locator(FOUND)).to_have_text(re.compile(f"^{wanted} of "))


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


PHASES = ("EMERGENT", "CRITICAL", "RECOVERY", "RECOVERY")


def test_a_case_is_a_chat_a_rubric_and_both_responses_with_their_reasons(browser, mixed):
    with visit(browser, mixed, "#case=d0__t2") as page:
        told = page.text_content("#case")
        assert page.locator("#case .said").count() == 3
        assert "Question 0?" in told
        assert "Plans." in told
        sides = page.locator("#case .side")
        assert [sides.nth(at).locator("h4").inner_text() for at in (0, 1)] == ["A openai/m", "B openai/other"]
        assert "because" in sides.nth(0).inner_text()
        assert "A zebra." in sides.nth(1).inner_text()
        assert sides.nth(0).locator("mark:visible").all_inner_texts() == ["Label the boxes today"]


def test_a_case_begins_with_the_responses_and_what_was_unfolded_below_stays_so(browser, mixed):
    with visit(browser, mixed, "#case=d0__t2") as page:
        assert page.locator("#case > h3 + .sides").count() == 1
        folded = page.locator("#case > .sides ~ details")
        assert [each.inner_text() for each in folded.all()] == [
            "conversation (3) … Question 0?",
            "rubric (3)",
            "details",
        ]
        folded.first.locator("summary").click()
        page.keyboard.press("j")
        expect(page.locator("#case")).to_have_attribute("data-key", "d1__t2")
        assert page.locator("#case .said:visible").count() == 3
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
}


def test_each_filter_leaves_what_it_names_and_filters_combine(browser, mixed):
    with visit(browser, mixed) as page:
        for filters, passing in PASSING.items():
            page.evaluate("filters => location.hash = filters", filters)
            page.wait_for_timeout(100)
            settled(page, len(passing))
            links = page.locator("#rows a")
            keys = [re.search(r"case=([^&]+)", link.get_attribute("href")).group(1) for link in links.all()]
            assert (keys, key(page)) == (passing, passing[0]), filters


def test_what_is_chosen_in_the_form_is_in_the_address_and_comes_back_from_it(browser, mixed):
    with visit(browser, mixed) as page:
        page.select_option("[name=stratum]", "RECOVERY")
        page.check("[name=unscored]")
        settled(page, 1)
        page.fill("[name=text]", "question")
        expect(page).to_have_url(re.compile("text=question"))
        fragment = page.evaluate("location.hash")
    with visit(browser, mixed, fragment) as page:
        assert count(page) == (1, 4)
        assert page.input_value("[name=stratum]") == "RECOVERY"
        assert page.is_checked("[name=unscored]")
        assert page.input_value("[name=text]") == "question"


def test_nothing_that_passes_is_said(browser, mixed):
    with visit(browser, mixed, "#text=no+such+words") as page:
        assert count(page) == (0, 4)
        assert "No trigger matches these filters." in page.inner_text("#case")


def test_a_link_to_a_trigger_opens_it_and_one_to_none_says_so(browser, mixed):
    with visit(browser, mixed, "#case=d2__t2") as page:
        assert key(page) == "d2__t2"
        assert page.evaluate("document.getElementById('cases').getBoundingClientRect().top") < 450
    with visit(browser, mixed, "#case=d9__t2") as page:
        assert "There is no trigger of this name here." in page.inner_text("#case")


def test_the_link_to_a_trigger_is_copied(browser, mixed):
    with visit(browser, mixed, "#label=PARTIAL", permissions=["clipboard-read", "clipboard-write"]) as page:
        page.click("#case .share")
        expect(page.locator("#case .share")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == f"{mixed.as_uri()}#label=PARTIAL&case=d3__t2"


def test_keys_walk_through_the_list_open_the_filter_and_the_help(browser, mixed):
    with visit(browser, mixed) as page:
        walk = {"j": "d1__t2", "ArrowRight": "d2__t2", "k": "d1__t2", "ArrowLeft": "d0__t2", "ArrowUp": "d0__t2"}
        for pressed, wanted in walk.items():
            page.keyboard.press(pressed)
            expect(page.locator("#case")).to_have_attribute("data-key", wanted)
        page.keyboard.press("/")
        page.keyboard.type("jk?")
        assert page.input_value("[name=text]") == "jk?"
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement === document.body")
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator("#help").is_visible()


def test_several_epochs_are_rows_of_their_own_with_links_of_their_own(browser, paged, tmp_path):
    case = trigger()
    events = [
        each for n in (1, 2) for each in (answered(case, epoch=n), graded(case, ("PASS", "FAIL")[n - 1], epoch=n))
    ]
    written(tmp_path / "run", manifest(epochs=2), [case], events)
    with visit(browser, paged(tmp_path / "run"), "#case=d1__t2&epoch=2") as page:
        assert count(page) == (2, 2)
        assert "epoch 2" in page.inner_text("#case h3")
        assert page.locator("#case .given .badge").first.inner_text() == "FAIL"
        page.check("[name=disagree]")
        settled(page, 2)


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
    status, _, told = proact("report", "results.jsonl", runs[1], "--html", "page.html")
    assert (status, "The page is in page.html" in told) == (0, True)
    with visit(browser, tmp_path / "page.html") as page:
        assert page.inner_text(FOUND) == "49 of 49 triggers, 15 of 15 control turns"
        assert "asked with other wording" not in page.inner_text("#case")


# What everybody can use.


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_axe_finds_no_violation(browser, two, width, scheme):
    with visit(browser, two, "#disagree=1", viewport={"width": width, "height": 844}, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_a_phone_is_not_scrolled_sideways_and_nothing_is_wider_than_it(browser, two):
    with visit(browser, two, viewport={"width": 360, "height": 740}, is_mobile=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert page.evaluate("visualViewport.scale") == 1
        page.keyboard.press("j")
        assert page.locator("#case").bounding_box()["width"] <= 360


def test_dark_is_dark_and_light_is_light(browser, one):
    grounds = {}
    for scheme in ("light", "dark"):
        with visit(browser, one, color_scheme=scheme) as page:
            told = page.evaluate("getComputedStyle(document.body).backgroundColor")
            grounds[scheme] = sum(map(int, re.findall(r"\d+", told)[:3]))
    # Of three channels, each up to 255.
    assert grounds["light"] > 600
    assert grounds["dark"] < 150


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


def test_every_chart_has_a_title_a_description_and_a_table_beside_it(browser, two):
    with visit(browser, two) as page:
        charts = page.locator("svg[role=img]")
        assert charts.count() == 2
        for chart in charts.all():
            assert chart.locator("> title").text_content()
            assert chart.locator("> desc").text_content()
        assert "RECOVERY" in page.locator(".plot desc").text_content()
        assert "RECOVERY" in page.inner_text("#glance table")
        assert "unwanted offers" in page.inner_text("#glance table")


def test_a_reader_is_told_what_is_measured_and_what_a_trigger_is(browser, one):
    with visit(browser, one) as page:
        told = page.inner_text(".about")
        assert "takes up what a user disclosed" in told
        assert "A trigger is a turn" in told


def test_a_stand_in_is_named_across_the_page_and_a_real_model_is_not_called_one(browser, one, mixed):
    with visit(browser, one) as page:
        assert "Embedded stand-in" in page.inner_text(".banner")
        assert page.locator(".plot .stand-in").count() == 1
    with visit(browser, mixed) as page:
        assert page.locator(".banner, .stand-in").count() == 0


def test_without_its_script_the_numbers_are_there(browser, two):
    shown = browser.new_context(java_script_enabled=False)
    page = shown.new_page()
    page.goto(two.as_uri())
    assert page.locator("#glance table").first.is_visible()
    assert not page.locator("#browser").is_visible()
    shown.close()


def test_a_run_that_is_not_complete_says_so(browser, paged, tmp_path):
    cases = [trigger("d1"), trigger("d2")]
    written(tmp_path / "run", manifest(), cases, [answered(cases[0]), graded(cases[0]), answered(cases[1])])
    assert RunFolder(tmp_path / "run").exists
    with visit(browser, paged(tmp_path / "run")) as page:
        assert "The run is not complete: 1 pending; it reached 1 of 1 scenarios." in page.inner_text("#glance")


PHONE = {"width": 390, "height": 844}
FOCUSED = "document.activeElement"
LONG = "loom " * 5_000


@pytest.fixture(scope="module")
def walked(tmp_path_factory, paged):
    """A run of forty triggers; the fourth's response is longer than what is shown at once."""
    cases = [trigger(f"d{number}", ("EMERGENT", "RECOVERY")[number % 2]) for number in range(40)]
    texts = [LONG if number == 3 else "Label the boxes today." for number in range(40)]
    events = [
        event
        for case, text in zip(cases, texts, strict=True)
        for event in (answered(case, text), graded(case, response=text, evidence=[text[:22]]))
    ]
    folder = tmp_path_factory.mktemp("walked") / "run"
    written(folder, manifest(), cases, events)
    return paged(folder)


def opened(page, wanted):
    expect(page.locator("#case")).to_have_attribute("data-key", f"{wanted}__t2")


def top(page, selector):
    """Pixels from the window's top to that of an element."""
    return page.evaluate("each => document.querySelector(each).getBoundingClientRect().top", selector)


# The focus.


def test_the_focus_goes_down_the_list_with_its_keys(browser, walked):
    with visit(browser, walked) as page:
        page.locator("#rows a").first.focus()
        for number in range(1, 12):
            page.keyboard.press("ArrowDown")
            opened(page, f"d{number}")
        page.keyboard.press("j")
        opened(page, "d12")
        assert page.evaluate(f"{FOCUSED}.getAttribute('href')") == "#case=d12__t2"
        assert page.locator("#rows a[aria-current]").count() == 1


def test_the_focus_stays_on_an_entry_that_is_opened(browser, walked):
    with visit(browser, walked) as page:
        page.locator("#rows a").nth(2).focus()
        page.keyboard.press("Enter")
        opened(page, "d2")
        assert page.evaluate(f"{FOCUSED}.getAttribute('aria-current')") == "true"


def test_the_focus_stays_on_next_and_moves_to_previous_at_the_end(browser, walked):
    with visit(browser, walked, "#case=d37__t2") as page:
        page.locator(".step").last.focus()
        for number, wanted in ((38, "Next →"), (39, "← Previous"), (38, "← Previous")):
            page.keyboard.press("Enter")
            opened(page, f"d{number}")
            assert page.evaluate(f"{FOCUSED}.textContent") == wanted


def test_a_text_that_is_shown_whole_has_the_focus(browser, walked):
    with visit(browser, walked, "#case=d3__t2") as page:
        page.locator(".more").focus()
        page.keyboard.press("Enter")
        assert page.evaluate(f"{FOCUSED}.textContent.length") == len(LONG)


def test_an_entry_keeps_the_focus_while_the_list_is_scrolled(browser, walked):
    with visit(browser, walked) as page:
        page.locator("#rows a").first.focus()
        page.evaluate("document.getElementById('list').scrollTop = 1e6")
        page.locator("#rows a[href='#case=d39__t2']").wait_for()
        assert page.evaluate(f"{FOCUSED}.getAttribute('href')") == "#case=d0__t2"


def test_escape_leaves_the_search_with_its_words_and_the_case_that_is_open(browser, walked):
    with visit(browser, walked, "#text=boxes&case=d4__t2") as page:
        settled(page, 40)
        page.keyboard.press("/")
        page.keyboard.press("Escape")
        assert page.evaluate(f"{FOCUSED} === document.body")
        page.wait_for_timeout(400)
        assert page.input_value("[name=text]") == "boxes"
        opened(page, "d4")


# What is seen.


def test_a_shared_link_brings_the_case_into_a_phones_window(browser, walked):
    with visit(browser, walked, "#case=d20__t2", viewport=PHONE) as page:
        assert 0 <= top(page, "#case") < 200
        assert page.locator("#rows a[aria-current]").get_attribute("href") == "#case=d20__t2"


def test_a_shared_search_brings_the_list_into_the_window(browser, walked):
    with visit(browser, walked, "#text=loom", viewport=PHONE) as page:
        settled(page, 1)
        assert 0 <= top(page, "#cases") < 200


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 900}])
def test_the_next_case_comes_into_the_window_from_the_top_of_the_page(browser, walked, viewport):
    with visit(browser, walked, viewport=viewport) as page:
        assert page.evaluate("scrollY") == 0
        page.keyboard.press("j")
        opened(page, "d1")
        page.wait_for_function("scrollY > 0")
        assert 0 <= top(page, "#case") < 450


# Addresses.


def test_the_way_back_shows_what_its_address_showed(browser, walked):
    with visit(browser, walked) as page:
        page.locator("#rows a").nth(4).click()
        opened(page, "d4")
        page.go_back()
        opened(page, "d0")
        assert page.locator("#rows a[aria-current]").get_attribute("href") == "#case=d0__t2"
        page.go_forward()
        opened(page, "d4")


def test_a_link_to_a_part_keeps_the_filters_and_their_address(browser, walked):
    with visit(browser, walked, "#stratum=RECOVERY&case=d5__t2") as page:
        page.click("nav a[href='#method']")
        expect(page).to_have_url(re.compile("#stratum=RECOVERY&case=d5__t2$"))
        assert 0 <= top(page, "#method") < 600
        assert page.input_value("[name=stratum]") == "RECOVERY"
        settled(page, 20)
        opened(page, "d5")


def test_a_part_can_be_come_back_to_where_nothing_was_chosen(browser, walked):
    with visit(browser, walked) as page:
        page.click("nav a[href='#cases']")
        page.locator("#rows a").nth(2).click()
        opened(page, "d2")
        page.go_back()
        expect(page).to_have_url(re.compile("#cases$"))
        opened(page, "d0")


def test_only_1_switches_a_filter_on(browser, walked):
    with visit(browser, walked, "#unverified=0&unscored=no&disagree=") as page:
        settled(page, 40)
        assert page.locator("#filters :checked:not(option)").count() == 0


def test_no_key_is_left_where_nothing_passes(browser, walked):
    with visit(browser, walked) as page:
        opened(page, "d0")
        page.check("[name=unscored]")
        settled(page, 0)
        assert page.get_attribute("#case", "data-key") is None
