"""A review in a browser: from a corpus to its reviews by keyboard alone, and pages that everybody can use."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from builders.attack import ATTACK
from drivers.browser import press, ready, tab, usable
from drivers.child import Child, command_line
from drivers.labelling import joined, label_serve, serving
from drivers.reviewing import review, review_item, reviewed
from playwright.sync_api import expect

from dspy_proact.label.reviews import reviews_of


def join(page, name):
    expect(page.get_by_label("Pseudonym")).to_be_focused()
    page.keyboard.type(name)
    press(page, "Enter")
    expect(page.locator("#go")).to_be_focused()


def test_a_corpus_is_reviewed_by_keyboard_alone(browser, tmp_path):
    """`label serve --review` of the sample's dialogues: one is accepted, one edited, one undone and rejected."""
    from dspy_proact.benchmarks.proactbench.corpus.dialogues import sample_path

    shutil.copy(sample_path(), tmp_path / "mine.jsonl")
    os.mkfifo(tmp_path / "said")
    options = ("--review", "--draw", 3, "--raters", 1, "--port", 0)
    server = Child(label_serve, tmp_path / "said", "mine.jsonl", *options, folder=tmp_path)
    with (tmp_path / "said").open() as output:
        (base, entry), (_, owner) = (next(output).split()[-1].split("/#") for _ in range(2))
        with tab(browser, base, f"/#{entry}") as page:
            join(page, "Ann")
            press(page, "Enter")
            ready(page, "0 of 3")
            press(page, "1", "1", "3", "Enter")
            ready(page, "1 of 3")
            press(page, "e")
            page.keyboard.type("Well. ")
            press(page, "Escape")
            expect(page.locator(".changes")).to_have_text("1 changed.")
            expect(page.get_by_role("radio", name="Edit")).to_be_checked()
            page.reload()  # what is begun stays in the browser
            ready(page, "1 of 3")
            expect(page.locator(".changes")).to_have_text("1 changed.")
            press(page, "2", "2", "Enter")
            ready(page, "2 of 3")
            press(page, "3", "1", "1", "Enter")
            expect(page.locator(".problem")).to_have_text("Say why it cannot be used.")
            page.keyboard.type("Two answers fit.")
            press(page, "Control+Enter")
            expect(page.locator("h1")).to_have_text("Thank you, Ann")
            page.get_by_role("button", name="Undo the last").click()
            ready(page, "2 of 3")
            expect(page.get_by_label("Why?").first).to_have_value("Two answers fit.")
            press(page, "Enter")
            expect(page.locator("h1")).to_have_text("Thank you, Ann")
        with tab(browser, base, f"/#{owner}") as page:
            expect(page.locator("h1")).to_have_text("3 of 3 items reviewed, none to decide")
        server.send_signal(signal.SIGINT)
    ended = server.ended()
    assert (ended.returncode, "Stopped; every review is kept." in ended.stderr) == (0, True), ended.stderr
    reviews = reviews_of(tmp_path / "mine.reviews.db")
    assert [one.verdict for one in reviews] == ["accept", "edit", "reject"]
    assert [(one.happens, one.reads_like_test) for one in reviews] == [
        ("yes", "no"),
        ("perhaps", "perhaps"),
        ("yes", "yes"),
    ]
    ((name, text),) = reviews[1].edits.items()
    assert (name, "Well. " in text, reviews[2].reason) == ("turns.1.user", True, "Two answers fit.")
    exported = Child(command_line, "label", "export", "mine.reviews.db", "--out", "-", folder=tmp_path).ended()
    assert [json.loads(line)["verdict"] for line in exported.stdout.splitlines()] == ["accept", "edit", "reject"]
    assert Path(tmp_path / "mine.jsonl").read_bytes() == sample_path().read_bytes(), "the corpus stays as it is"


def edited(page):
    """Change a text, restore it, change another one against what has to stay, and hear of it."""
    page.get_by_role("button", name="Edit").first.click()
    page.keyboard.type("More. ")
    page.get_by_role("button", name="Restore").click()
    expect(page.locator(".changes")).to_have_text("")
    expect(page.locator("input[value=edit]")).not_to_be_checked()
    page.get_by_role("button", name="Edit").nth(1).click()
    expect(page.locator(".keeps q").first).to_have_text("the moon")
    page.get_by_label("Hint").fill("It is the sun.")
    for name in ("happens", "reads_like_test"):
        page.locator(f".{name} label").first.click()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".problem")).to_contain_text("must still have the words “the moon”")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_the_pages_of_a_review(browser, tmp_path, scheme):
    """axe-core finds no violation on any page, and no page is wider than a phone, whatever a corpus holds."""
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": scheme}
    text = ATTACK.replace("\0", "") + "x" * 300
    made = reviewed(tmp_path / "study.db", review_item(0), review_item(1, text), ratings=3, raters=3)
    with serving(made) as served:
        with tab(browser, served.base, f"/#{served.entry}", 1, **phone) as page:
            join(page, "Ann")
            usable(page)
            press(page, "Enter")
            ready(page, "0 of 2")
            usable(page)
            edited(page)
            usable(page)
            press(page, "s")
            usable(page)
        people = [joined(served, name) for name in ("Bob", "Cem")]
        for person, verdict in zip(people, ("edit", "reject"), strict=True):
            while "data-item" in (shown := person.get("/rate")).text:
                edits = {"riddle": f"New {text}"} if verdict == "edit" else {}
                assert person.post("/rate", review(shown, verdict, edits=edits, reason=text)).status == 200
        with tab(browser, served.base, f"/#{served.owner}", **phone) as page:
            page.wait_for_selector("main.owner")
            page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
            usable(page)
            form = page.locator(".disputed form").first
            form.locator("select").select_option(label="accept with the edits of Bob")
            form.locator("textarea").fill("Bob is right.")
            form.locator("button").click()
            expect(page.get_by_text("Decided: edit.")).to_be_visible()
        (decision,) = served.store.decisions()
        assert decision.edits == {"riddle": f"New {text}"}
