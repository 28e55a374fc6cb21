"""The page of `label export --html` in a browser, from disk, and what `label import` takes of what it saves."""

import json
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from builders.attack import ATTACK
from builders.runs import run_of, trigger
from drivers.browser import ARGUMENTS, executable, visit
from drivers.labelling import collected, item
from drivers.terminal import unwrapped
from playwright.sync_api import Error, expect

from dspy_proact import RunFolder, summarize
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.label.offline import offline_page
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design, Study, StudyRun, items_of, pairs_of, run_key

TEXT = "Label the boxes \U0001f4e6 today. Then call Ann."
CASES = [trigger(f"d{number}", scenario=f"S{number}") for number in range(3)]


@pytest.fixture
def profile(browser):
    """Opens a browser on a folder that keeps what its pages keep."""

    @contextmanager
    def opened(folder):
        context = browser.browser_type.launch_persistent_context(folder, executable_path=executable(), args=ARGUMENTS)
        yield context.new_page()
        with suppress(Error):
            context.close()

    return opened


def judged(path, text=TEXT, model="openai/m"):
    return run_of(Path(path), [(case, "PASS") for case in CASES], text=text, model=model).path


@pytest.fixture
def study(proact):
    """A study of three responses, to be rated by two, without a repeat."""
    summary = summarize(RunFolder(judged("run")))
    items = items_of(benchmark_named("proactbench"), [summary])
    of = (StudyRun(run_key(summary), "run"),)
    store = Store.create(Path("study.db"), Study("proactbench", of, Design(raters=2, repeated=0)), items)
    store.close()
    return Path("study.db")


def exported(proact, study, rater="Ann"):
    status, out, err = proact("label", "export", study, "--html", "--rater", rater)
    assert status == 0, err
    return Path(out.strip()).resolve()


def rate(page, counted, *keys):
    expect(page.locator("#count")).to_have_text(counted)
    for key in keys:
        page.keyboard.press(key)


def saved(page, button="#save"):
    with page.expect_download() as download:
        page.click(button)
    return Path(download.value.path()).read_text("utf-8")


def ratings_of(study):
    with closing(Store.open(study)) as store:
        return [(r.rater, r.case, r.grade, r.confidence, r.reason, r.spans) for r in store.ratings()]


def test_a_slate_is_rated_from_disk_kept_across_a_reload_and_imported_once(proact, study, browser):
    file = exported(proact, study)
    assert "openai/" not in file.read_text("utf-8"), "no page names who answered or judged"
    with visit(browser, file) as page:
        page.click("#go")
        rate(page, "0 of 3", "1", "4", "m", "End", "Shift+ArrowLeft", " ", "Escape", "r")
        page.keyboard.type("It says </script> to \u201cAnn\u201d.")
        rate(page, "0 of 3", "Escape", "Enter")
        rate(page, "1 of 3", "2", "3", "r")
        page.keyboard.type("Half a thought")
        page.reload()
        page.wait_for_selector("html[data-ready]", state="attached")
        expect(page.locator("#count")).to_have_text("1 of 3")
        expect(page.locator("textarea")).to_have_value("Half a thought")
        page.keyboard.press("Enter")
        rate(page, "2 of 3", "s")
        page.keyboard.type("I know this text.")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        page.click("#undo-last")
        rate(page, "2 of 3", "3", "5", "Enter")
        Path("ann.json").write_text(saved(page, "#save-all"), "utf-8")
    keys = [case.key for case in CASES]
    with closing(Store.open(study)) as store:
        assert [slot.state for slot in store.slate(1)] == ["open"] * 3
    for message in ("3 ratings added.", "0 ratings added; 3 were there, 0 of them with another grade, which stays."):
        assert message in unwrapped(proact("label", "import", study, "ann.json")[2])
        end = len(TEXT) - 1
        assert ratings_of(study) == [
            ("Ann", keys[0], "PASS", 4, "It says </script> to \u201cAnn\u201d.", ((end - len("call Ann"), end),)),
            ("Ann", keys[1], "PARTIAL", 3, "Half a thought", ()),
            ("Ann", keys[2], "FAIL", 5, "I know this text.", ()),
        ]
    status, out, err = proact("agree", "--ratings", study, "--json")
    assert (status, json.loads(out)["marked_words"][0]["both"]) == (0, 1), err


def test_two_raters_of_one_browser_keep_apart_and_a_share_may_be_saved(proact, study, browser):
    file = exported(proact, study)
    with visit(browser, file) as page:
        page.click("#go")
        rate(page, "0 of 3", "1", "4", "Enter")
        rate(page, "1 of 3", "2")
        first = json.loads(saved(page))
    assert [len(first["ratings"]), first["ratings"][0]["grade"]] == [1, "PASS"]
    with closing(Store.open(study)) as store:
        _, other = offline_page(store, _items(study), "Bob", benchmark_named("proactbench"))
    file.write_text(other, "utf-8")
    with visit(browser, file) as page:
        page.click("#go")
        expect(page.locator("#count")).to_have_text("0 of 3")
        assert page.locator("input:checked").count() == 0


def test_two_tabs_of_one_page_lose_no_rating(proact, study, browser):
    file = exported(proact, study)
    with visit(browser, file) as page:
        page.click("#go")
        other = page.context.new_page()
        other.goto(file.as_uri())
        other.click("#go")
        rate(page, "0 of 3", "1", "4", "Enter")
        rate(page, "1 of 3", "2", "4", "Enter")
        rate(other, "0 of 3", "3", "5", "Enter")
        rate(other, "2 of 3", "3", "5", "Enter")
        expect(other.get_by_role("heading", name="Thank you")).to_be_visible()
        other.close()
        assert [rated["grade"] for rated in json.loads(saved(page))["ratings"]] == ["PASS", "PARTIAL", "FAIL"]


def test_a_rating_outlives_a_browser_that_crashes(proact, study, profile, tmp_path):
    file = exported(proact, study)
    with profile(tmp_path / "profile") as page:
        page.goto(file.as_uri())
        page.click("#go")
        rate(page, "0 of 3", "1", "4", "Enter")
        rate(page, "1 of 3")
        with pytest.raises(Error, match="closed"):
            page.context.new_cdp_session(page).send("Browser.crash")
    with profile(tmp_path / "profile") as page:
        page.goto(file.as_uri())
        expect(page.locator("#count")).to_have_text("1 of 3")


def _items(study):
    return items_of(benchmark_named("proactbench"), [summarize(RunFolder(Path("run")))])


def test_choices_come_back_as_they_were_meant_whichever_stood_first(proact, browser):
    runs = [summarize(RunFolder(judged(name, f"The {name} text.", model=name))) for name in ("one", "other")]
    items = pairs_of(benchmark_named("proactbench"), *runs)
    of = tuple(StudyRun(run_key(one), one.path) for one in runs)
    store = Store.create(
        Path("study.db"), Study("proactbench", of, Design(ratings=1, raters=1, repeated=0, kind="pairs")), items
    )
    store.close()
    with visit(browser, exported(proact, Path("study.db"))) as page:
        page.click("#go")
        for number in range(3):
            rate(page, f"{number} of 3")  # the one before it is gone
            first = page.locator(".response").first.inner_text()
            rate(page, f"{number} of 3", "1" if "other" in first else "3", "5", "Enter")
        Path("ann.json").write_text(saved(page, "#save-all"), "utf-8")
    assert proact("label", "import", "study.db", "ann.json")[0] == 0
    document = json.loads(proact("agree", "--pairs", "study.db", "--json")[1])
    assert [document["all"][name] for name in ("a", "b", "ties")] == [0, 3, 0], "the other text in all three"


def test_everybody_can_use_the_page_and_texts_of_others_are_text_in_it(tmp_path, browser):
    """axe-core finds no violation on any of its steps, nor is it wider than a phone; the pseudonym attacks as well."""
    collection = collected(tmp_path / "study.db", [item(1, ATTACK)], ratings=1, raters=1)
    with closing(collection.store) as store:
        _, text = offline_page(store, collection.items, "<script>alert(1)</script>", collection.declared)
    (tmp_path / "page.html").write_text(text, "utf-8")
    with visit(browser, tmp_path / "page.html", viewport={"width": 390, "height": 844}) as page:

        def begin():
            page.click("#go")
            expect(page.locator(".response")).to_contain_text("<script")

        for step in (lambda: None, begin, lambda: rate(page, "0 of 1", "1", "4", "Enter")):
            step()
            document = Axe().run(page)
            assert document.violations_count == 0, document.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert page.locator("#here script, #here img").count() == 0
        expect(page.locator("#save-all")).to_be_focused()


def file_of(db, **changes):
    """What the page saves, with something changed in it or in its only rating."""
    with closing(Store.open(db)) as store:
        rated = {"item": store.units()[0][0], "repeated": "0", "grade": "PASS", "confidence": "4", "reason": ""}
        rated |= {"spans": [[0, 5]], "seconds": 1.5, "time": 1.7e9, "key": "0" * 32}
        other = rated | {"item": store.units()[1][0]}
        document = {"format": "dspy-proact offline ratings 1", "study": store.id, "rater": "Ann", "number": 1}
        document["ratings"] = [rated]
    for name, value in changes.items():
        (document if name in document else rated)[name] = value
    several = {"twice": [rated, rated], "one key": [rated, other], "none": []}.get(str(changes.get("ratings")))
    return json.dumps(document if several is None else document | {"ratings": several})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"format": "2"}, "ann.json, field 'format'"),
        ({"study": "0" * 16}, "ann.json, field 'study': ratings of another study than study.db"),
        ({"rater": "Cy"}, "field 'rater': 'Cy' is no rater of study.db"),
        ({"rater": "Bob"}, "field 'rater': 'Bob' is another rater than the page was made for, number 1 of study.db"),
        ({"ratings": {}}, "field 'ratings'"),
        ({"ratings": "twice"}, "field 'ratings[1].item'"),
        ({"ratings": "one key"}, "field 'ratings[1].key': is the key of another rating too, so that one of the two"),
        ({"time": 0}, "field 'ratings[0].time': 1970-01-01 is before 2020; null stands for now"),
        ({"time": 9e10}, "field 'ratings[0].time': 4821-12-26 is in the future; null stands for now"),
        ({"seconds": 0}, "field 'ratings[0].seconds': is 0, and a rating takes time"),
        ({"item": "other"}, "field 'ratings[0].item': 'other' is not this rater's to rate, or its text has changed"),
        ({"grade": "GOOD"}, "field 'ratings[0].grade': is none of the grades of this item"),
        ({"grade": ""}, "field 'ratings[0].confidence'"),
        ({"grade": "", "confidence": ""}, "field 'ratings[0].reason'"),
        ({"spans": [[0, 3], [2, 5]]}, "field 'ratings[0].spans': overlap"),
        ({"spans": [[0, 1, 2]]}, "field 'ratings[0].spans[0]'"),
        ({"more": 1}, "field 'ratings[0].more'"),
    ],
)
def test_a_damaged_file_is_refused_with_a_reason_and_nothing_of_it_is_kept(proact, refused, study, changes, why):
    exported(proact, study)
    exported(proact, study, "Bob")
    Path("ann.json").write_text(file_of(study, **changes), "utf-8")
    assert why in unwrapped(refused("label", "import", study, "ann.json"))
    Path("ann.json").write_text(file_of(study)[:-9], "utf-8")
    assert "ann.json, line 1: not JSON" in refused("label", "import", study, "ann.json")
    assert ratings_of(study) == []
    Path("ann.json").write_text(file_of(study), "utf-8")
    assert proact("label", "import", study, "ann.json")[0] == 0


def test_no_rating_is_lost_without_a_word(proact, refused, study):
    """One whose key an earlier file had, one that was undone since, and a file without any."""
    exported(proact, study)

    def imported(**changes):
        Path("ann.json").write_text(file_of(study, **changes), "utf-8")
        return unwrapped(proact("label", "import", study, "ann.json")[2])

    assert "ann.json: 0 ratings added; the file has none." in imported(ratings="none")
    assert "ann.json: 1 rating added." in imported(time=None)
    with closing(Store.open(study)) as store:
        other = store.units()[1][0]
    Path("ann.json").write_text(file_of(study, item=other), "utf-8")
    assert "'ratings[0].key': is the key of another rating too" in unwrapped(
        refused("label", "import", study, "ann.json")
    )
    with closing(Store.open(study)) as store:
        store.undo(1, "u1")
    assert "ann.json: 0 ratings added; 1 that the rater has undone stay undone." in imported()


def test_a_page_is_for_one_rater_who_has_something_to_rate(proact, refused, study):
    page = ("label", "export", study, "--html")
    assert "--html and --rater NAME come together" in refused(*page)
    assert "what is written is HTML" in refused(*page, "--rater", "Ann", "--out", "ann.csv")
    assert "--run: has no effect with --html" in refused(*page, "--rater", "Ann", "--run", "run")
    exported(proact, study, "Ann")
    exported(proact, study, "Bob")
    assert "there is nothing left to rate for Cy" in refused(*page, "--rater", "Cy")
