"""Where the focus and the window go while a page is read with keys and links, and what its addresses show again."""

import re

import pytest
from builders.runs import answered, graded, manifest, trigger, written
from drivers.browser import visit
from playwright.sync_api import expect

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


def settled(page, wanted):
    expect(page.locator("#passing")).to_have_text(re.compile(f"^{wanted} of "))


def top(page, selector):
    """Pixels from the window's top to that of an element."""
    return page.evaluate("each => document.querySelector(each).getBoundingClientRect().top", selector)


def test_keys_walk_through_the_list_open_the_filter_and_the_help(browser, walked):
    with visit(browser, walked) as page:
        for pressed, wanted in {"j": 1, "ArrowRight": 2, "k": 1, "ArrowLeft": 0, "ArrowUp": 0}.items():
            page.keyboard.press(pressed)
            opened(page, f"d{wanted}")
        page.keyboard.press("/")
        page.keyboard.type("jk?")
        assert page.input_value("[name=text]") == "jk?"
        page.keyboard.press("Escape")
        assert page.evaluate(f"{FOCUSED} === document.body")
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator("#help").is_visible()


def test_the_focus_goes_down_the_list_and_stays_on_what_is_opened_and_while_the_list_is_scrolled(browser, walked):
    with visit(browser, walked) as page:
        page.locator("#rows a").first.focus()
        for number in range(1, 12):
            page.keyboard.press("ArrowDown")
            opened(page, f"d{number}")
        page.keyboard.press("j")
        opened(page, "d12")
        assert page.evaluate(f"{FOCUSED}.getAttribute('href')") == "#case=d12__t2"
        assert page.locator("#rows a[aria-current]").count() == 1
        page.locator("#rows a[href='#case=d14__t2']").focus()
        page.keyboard.press("Enter")
        opened(page, "d14")
        assert page.evaluate(f"{FOCUSED}.getAttribute('aria-current')") == "true"
        page.evaluate("document.getElementById('list').scrollTop = 1e6")
        page.locator("#rows a[href='#case=d39__t2']").wait_for()
        assert page.evaluate(f"{FOCUSED}.getAttribute('href')") == "#case=d14__t2"


def test_the_focus_stays_on_next_moves_to_previous_at_the_end_and_goes_to_a_text_that_is_shown_whole(browser, walked):
    with visit(browser, walked, "#case=d37__t2") as page:
        page.locator(".step").last.focus()
        for number, wanted in ((38, "Next →"), (39, "← Previous"), (38, "← Previous")):
            page.keyboard.press("Enter")
            opened(page, f"d{number}")
            assert page.evaluate(f"{FOCUSED}.textContent") == wanted
        page.evaluate("location.hash = 'case=d3__t2'")
        opened(page, "d3")
        page.locator(".more").focus()
        page.keyboard.press("Enter")
        assert page.evaluate(f"{FOCUSED}.textContent.length") == len(LONG)


def test_escape_leaves_the_search_with_its_words_and_the_case_that_is_open(browser, walked):
    with visit(browser, walked, "#text=boxes&case=d4__t2") as page:
        settled(page, 40)
        page.keyboard.press("/")
        page.keyboard.press("Escape")
        assert page.evaluate(f"{FOCUSED} === document.body")
        page.wait_for_timeout(400)
        assert page.input_value("[name=text]") == "boxes"
        opened(page, "d4")


def test_a_shared_link_brings_the_case_or_the_list_into_a_phones_window(browser, walked):
    with visit(browser, walked, "#case=d20__t2", viewport=PHONE) as page:
        assert 0 <= top(page, "#case") < 200
        assert page.locator("#rows a[aria-current]").get_attribute("href") == "#case=d20__t2"
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


def test_the_way_back_shows_what_its_address_showed(browser, walked):
    with visit(browser, walked) as page:
        page.click("nav a[href='#cases']")
        page.locator("#rows a").nth(2).click()
        opened(page, "d2")
        page.locator("#rows a").nth(4).click()
        opened(page, "d4")
        page.go_back()
        opened(page, "d2")
        assert page.locator("#rows a[aria-current]").get_attribute("href") == "#case=d2__t2"
        page.go_forward()
        opened(page, "d4")
        page.go_back()
        opened(page, "d2")
        page.go_back()  # to a part of the page, where nothing was chosen
        expect(page).to_have_url(re.compile("#cases$"))
        opened(page, "d0")


def test_a_link_to_a_part_keeps_the_filters_and_their_address(browser, walked):
    with visit(browser, walked, "#stratum=RECOVERY&case=d5__t2") as page:
        page.click("nav a[href='#method']")
        expect(page).to_have_url(re.compile("#stratum=RECOVERY&case=d5__t2$"))
        assert 0 <= top(page, "#method") < 600
        assert page.input_value("[name=stratum]") == "RECOVERY"
        settled(page, 20)
        opened(page, "d5")
