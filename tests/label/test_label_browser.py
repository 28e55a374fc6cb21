"""The rater's pages in a browser: from a run to its labels by keyboard alone, and what everybody can use."""

import os
import signal
from contextlib import suppress
from dataclasses import replace

import pytest
from builders.attack import ATTACK
from drivers.browser import press, ready, tab, usable
from drivers.child import Child, command_line
from drivers.labelling import collected, item, joined, label_serve, practice, rating, serving
from playwright.sync_api import expect
from support.visitor import Visitor, key

from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.label.store import Store
from dspy_proact.label.study import PREFERENCE, practice_of

LEVELS = ("PASS", "PARTIAL", "FAIL")
OWN = {"accept_downloads": False}
"""Asked of a tab that is closed, whose clock is moved, or that goes on with cookies: it has a context of its own."""


def did(folder, *words):
    done = Child(command_line, *words, folder=folder).ended()
    assert done.returncode == 0, done.stderr
    return done.stdout


def join_and_practise(page, name, grades):
    """As far as the first real item; `grades` are the right ones, with why they are."""
    expect(page.get_by_label("Pseudonym")).to_be_focused()
    page.keyboard.type(name)
    press(page, "Enter")
    expect(page.locator("#go")).to_be_focused()
    press(page, "Enter")
    for number, (grade, why) in enumerate(grades):
        ready(page, f"{number} of 3")
        press(page, str(LEVELS.index(grade) + 1), "Enter")
        expect(page.locator("#explained")).to_contain_text(why)
        press(page, "Enter")


def rate_by_browser(browser, base, entry):
    """Ten items by Ann, who closes the tab in the middle, goes on elsewhere and undoes one."""
    with tab(browser, base, f"/#{entry}", **OWN) as page:
        join_and_practise(page, "Ann", [(p.grade, p.why) for p in practice_of(benchmark_named("proactbench"), 0)[:3]])
        for number in range(5):
            ready(page, f"{number} of 10")
            press(page, "1", "4")
            if number == 0:
                press(page, "m", "ArrowRight", " ", "ArrowRight", " ", "Escape", "r")
                page.keyboard.type("It sees what was said.")
                press(page, "Escape")
            press(page, "Enter")
        ready(page, "5 of 10")
        press(page, "2", "r")
        page.keyboard.type("Half of a thought")
        kept = {"cookies": page.context.cookies()}
        page.close()
        again = page.context.new_page()
        again.goto(base)
        ready(again, "5 of 10")
        assert (again.input_value("textarea"), again.is_checked("input[value=PARTIAL]")) == ("Half of a thought", True)
    with tab(browser, base, storage_state=kept) as page:
        ready(page, "5 of 10")
        press(page, "u")
        ready(page, "4 of 10")
        assert (page.is_checked("input[value=PASS]"), page.is_checked("input[name=confidence][value='4']")) == (1, 1)
        press(page, "g", "3", "Enter")
        for number in range(5, 10):
            ready(page, f"{number} of 10")
            press(page, str(number % 3 + 1), "5", "Enter")
        expect(page.locator("h1")).to_have_text("Thank you, Ann")


def rate_over_http(base, entry):
    """All of them by Bob, who passes everything."""
    bob = Visitor(int(base.rpartition(":")[2]))
    bob.post("/join", {"token": entry, "name": "Bob"})
    while "article" in (shown := bob.get("/rate")).text:
        practised = "data-practice" in shown.text
        assert bob.post("/practice" if practised else "/rate", rating(shown, grade="PASS")).status == 200
    return bob.cookie.partition("=")[2]


def adjudicate(page, reason):
    """The owner's own grade of the item with most disagreement."""
    first = page.locator("article.disputed").first
    first.get_by_text("Grade it yourself").click()
    first.locator("select").select_option("FAIL")
    first.locator("textarea").fill(reason)
    press(page, "Tab", "Enter")
    expect(first).to_contain_text(f"Your grade: FAIL. {reason}")


def test_from_a_run_to_labels_by_keyboard_alone(browser, tmp_path, proactbench):
    """`eval`, `label serve`, a rater who comes back, another, the owner, and a command that reads the labels."""
    did(tmp_path, "eval", "--out", tmp_path / "run")
    os.mkfifo(tmp_path / "said")
    options = ("--draw", 10, "--each", 2, "--raters", 2, "--repeated", 0, "--port", 0, "--db", "study.db")
    server = Child(label_serve, tmp_path / "said", "run", *options, folder=tmp_path)
    with (tmp_path / "said").open() as output:
        (base, entry), (_, owner) = (next(output).split()[-1].split("/#") for _ in range(2))
        rate_by_browser(browser, base, entry)
        bob = rate_over_http(base, entry)
        with tab(browser, base, f"/#{owner}") as page:
            expect(page.locator("h1")).to_have_text("10 of 10 items have their 2 ratings")
            # Ann gave PASS to six, as Bob to all.
            assert page.get_by_role("row", name="Ann and Bob").locator(".number").all_inner_texts() == ["10", "60"]
            assert page.get_by_role("row", name="Bob").first.locator(".number").first.inner_text() == "10"
            adjudicate(page, "<script>alert(1)</script>")
            usable(page)
        server.send_signal(signal.SIGINT)
    ended = server.ended()
    assert (ended.returncode, "Stopped; every rating is kept." in ended.stderr) == (0, True), ended.stderr
    assert not [token for token in (entry, owner, bob) if token in ended.stderr]
    store = Store.open(tmp_path / "study.db")
    ann = [rating for rating in store.ratings() if rating.rater == "Ann"]
    assert [one.grade for one in ann] == ["PASS"] * 4 + ["FAIL"] + [LEVELS[number % 3] for number in range(5, 10)]
    assert (len(ann[0].spans), ann[0].reason, ann[0].confidence) == (1, "It sees what was said.", 4)
    assert store._db.row("SELECT count(*) FROM log WHERE undone IS NOT NULL")[0] == 1
    assert ([*store.practice(1).values()], len(store.ratings())) == ([True] * 3, 20)
    assert [one.grade for one in store.adjudications().values()] == ["FAIL"]
    store.close()
    assert did(tmp_path, "report", "run", "--ratings", "study.db", "--json")


def test_time_stands_still_while_nobody_reads(browser, tmp_path):
    with serving(collected(tmp_path / "study.db", [item(0)], ratings=1, raters=1)) as served:
        with tab(browser, served.base, f"/#{served.entry}", **OWN) as page:
            page.get_by_label("Pseudonym").fill("Ann")
            press(page, "Enter")
            page.clock.install()
            page.click("#go")
            ready(page, "0 of 1")
            for keys, seconds in (("1", 20), ("4", 600), ("2", 5)):
                press(page, keys)
                page.clock.run_for(1000 * seconds)
            press(page, "Enter")
            expect(page.locator("h1")).to_have_text("Thank you, Ann")
        assert 25 <= served.store.ratings()[0].seconds < 40


def chose_a_name(page):
    page.get_by_label("Pseudonym").fill("Ann")


def read_the_briefing(page):
    press(page, "Enter")
    expect(page.locator("#go")).to_be_focused()
    page.click("#link")
    expect(page.locator("#own-link")).to_contain_text("http")


def practised_one(page):
    page.click("#go")
    ready(page, "0 of 3")
    press(page, "2", "Enter")
    expect(page.locator("#explained a")).to_be_focused()


def filled_in_all(page):
    page.goto(page.url.replace("briefing", "rate"))
    page.wait_for_selector("html[data-ready]", state="attached")
    press(page, "1", "4", "m", " ", "ArrowRight", " ")
    assert page.locator(".choice:has(:checked)").count() == 1


def opened_the_dialogs(page):
    page.wait_for_selector("html[data-ready]", state="attached")
    press(page, "Escape", "?")
    expect(page.locator("#key-list")).to_be_visible()


def went_astray(page):
    page.goto(page.url.replace("/rate", "/owner"))


GRADED = (chose_a_name, read_the_briefing, practised_one, filled_in_all, opened_the_dialogs, went_astray)
CHOSEN = (chose_a_name, read_the_briefing, filled_in_all, went_astray)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Two items by whom nobody should trust, after practice, and a rater of the same kind."""
    items = [item(number, text=f"{ATTACK} **{number}** and more words") for number in range(2)]
    folder = tmp_path_factory.mktemp("hostile")
    with serving(collected(folder / "study.db", items, *practice("SOLVED"), ratings=1, raters=1)) as served:
        yield served


def test_script_in_texts_and_pseudonyms_is_text(browser, hostile):
    """Nothing of it runs: a dialog, an image that fails or a word on the console would be seen."""
    with tab(browser, hostile.base, f"/#{hostile.entry}") as page:
        page.get_by_label("Pseudonym").fill("<img src=x onerror=alert(1)>")
        press(page, "Enter")
        expect(page.locator("h1")).to_have_text("Before you begin, <img src=x onerror=alert(1)>")
        page.click("#go")
        ready(page, "0 of 3")
        press(page, "1", "Enter")
        page.click("#explained a")
        ready(page, "0 of 2")
        response = page.locator("[data-marked]")
        expect(response).to_contain_text("<script>alert(1)</script><img src=x onerror=alert(1)>")
        assert response.locator("img, script").count() == 0
        response.locator(".w", has_text="alert").first.dblclick()
        with suppress(AssertionError):  # on a busy machine a double click was lost once
            expect(page.locator(".marked q")).to_have_text(["alert"], timeout=15_000)
        if not page.locator(".marked q").count():
            response.locator(".w", has_text="alert").first.dblclick()
        expect(page.locator(".marked q")).to_have_text(["alert"])  # the page marks after the event
        press(page, "1", "5", "r")
        page.keyboard.type("</textarea><script>alert(2)</script>")
        press(page, "Control+Enter")
        ready(page, "1 of 2")
        press(page, "u")
        ready(page, "0 of 2")
        assert page.input_value("textarea") == "</textarea><script>alert(2)</script>"
        assert page.locator(".marked q").all_inner_texts() == ["alert"]
        page.locator(".w.on").click()
        assert page.locator(".marked q").count() == 0
        page.click(".mark")
        for word in ("and", "words"):
            response.locator(".w", has_text=word).last.click()
        assert page.locator(".marked q").all_inner_texts() == ["and more words"]


def test_a_wrong_link_is_named_and_the_right_one_is_taken_in_the_same_tab(browser, tmp_path):
    made = collected(tmp_path / "study.db", [item(0)], ratings=1, raters=1)
    with serving(made) as served, tab(browser, served.base, "/#wrong", complaints=1) as page:
        expect(page.locator(".problem")).to_contain_text("This link is not whole, or not valid any more.")
        page.goto(f"{served.base}/#{served.entry}")
        page.get_by_label("Pseudonym").fill("Ann")
        press(page, "Enter")
        expect(page.locator("h1")).to_have_text("Before you begin, Ann")


def test_what_was_typed_stays_in_the_page_until_it_is_kept(browser, tmp_path):
    """On a full disk, and without a server: the page says why, and the same click counts once it is mended."""
    made = collected(tmp_path / "study.db", [item(number) for number in range(2)], ratings=1, raters=1)
    with serving(made) as served, tab(browser, served.base, f"/#{served.entry}", complaints=2) as page:
        page.get_by_label("Pseudonym").fill("Ann")
        press(page, "Enter")
        page.click("#go")
        ready(page, "0 of 2")
        press(page, "1", "5")
        page.fill("textarea", "x" * 4000)
        full = f"PRAGMA max_page_count = {served.store._db.row('PRAGMA page_count')[0]}"
        served.store._db.row(full)
        press(page, "Control+Enter")
        expect(page.locator(".problem")).to_contain_text("the disk is full")
        served.store._db.row("PRAGMA max_page_count = 100000")
        page.context.set_offline(True)
        press(page, "Control+Enter")
        expect(page.locator(".problem")).to_contain_text("The server does not answer.")
        page.context.set_offline(False)
        assert page.input_value("textarea") == "x" * 4000
        press(page, "Control+Enter")
        ready(page, "1 of 2")
        assert [(rating.grade, len(rating.reason)) for rating in served.store.ratings()] == [("SOLVED", 4000)]
        press(page, "1", "5", "s")
        page.keyboard.type("I cannot tell.")
        press(page, "Control+Enter", "Enter")  # a grade is chosen, and this dialog keeps a skip alone
        expect(page.locator("h1")).to_have_text("Thank you, Ann")
        assert [slot.state for slot in served.store.slate(1)] == ["rated", "skipped"]


def test_everybody_can_use_the_pages(browser, tmp_path):
    """axe-core finds no violation on any page, no page is wider than a phone, and focus is seen."""
    pair = replace(item(1, part=PREFERENCE), responses=("One.", "Other."))
    phone, desk = {"width": 390, "height": 844}, {"width": 1280, "height": 844}
    items, practised = [item(0), item(1)], practice("SOLVED")
    grades = collected(tmp_path / "grades.db", items, *practised, ratings=1, raters=1)
    with serving(grades) as served, tab(browser, served.base, f"/#{served.entry}", 1, viewport=phone) as page:
        for step in GRADED:
            step(page)
            usable(page)
            if step in {practised_one, filled_in_all}:  # what no other page has stands in other colours too
                page.emulate_media(color_scheme="dark")
                usable(page)
                page.emulate_media(color_scheme="light")
    pairs = collected(tmp_path / "pairs.db", [pair], ratings=1, raters=1)
    dark = {"viewport": desk, "color_scheme": "dark"}
    with serving(pairs) as served, tab(browser, served.base, f"/#{served.entry}", 1, **dark) as page:
        for step in CHOSEN:
            step(page)
            usable(page)


def test_the_owner_grades_beside_the_ratings_and_a_rater_sees_none_of_them(browser, tmp_path):
    bad = "<script>alert(1)</script>"
    collection = collected(tmp_path / "study.db", [item(number, bad) for number in range(2)])
    with serving(collection) as served:
        for grade, name in (("SOLVED", f"Ann {bad}"), ("LOST", "Bob")):
            rater = joined(served, name)
            for _ in collection.items:
                rater.post("/rate", rating(rater.get("/rate"), grade=grade, reason=bad))
            assert rater.get("/owner").status == 403
        judged = {"item": item(0).key, "grade": "LOST", "reason": "x", "key": key()}
        assert Visitor(served.port).post("/owner/adjudicate", judged).status == 403
        dark = {"viewport": {"width": 390, "height": 900}, "color_scheme": "dark"}
        with tab(browser, served.base, f"/#{served.owner}", **dark) as page:
            page.wait_for_selector("main.owner")
            assert page.locator("h1").inner_text() == "2 of 2 items have their 2 ratings"
            form = page.locator(".disputed", has_text="case 1").locator("form")
            for reason in ("Half named.", f"Half named, again. {bad}"):
                page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
                usable(page)
                form.locator("select").select_option("CLOSE")
                form.locator("textarea").fill(reason)
                form.locator("button").click()
                page.wait_for_selector(f"text={reason.partition(' <')[0]}")
        (graded,) = served.store.adjudications().values()
        assert (graded.grade, graded.reason, len(served.store.ratings())) == ("CLOSE", f"Half named, again. {bad}", 4)
