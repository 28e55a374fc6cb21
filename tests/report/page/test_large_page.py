"""Ten thousand triggers with 40 MB of text: the size of their page, and how it opens and filters."""

import random
import re

import pytest
from builders.runs import answered, graded, manifest, written
from drivers.browser import visit
from playwright.sync_api import expect

from dspy_proact import Case, JudgeView, Rubric, Turn, load_corpus

pytestmark = pytest.mark.nightly
DIALOGUES, TURNS = 2_500, 8
PHASES = ("EMERGENT", "CRITICAL", "RECOVERY", "RECOVERY")
LONG_TASKS = """() => { window.longest = 0; new PerformanceObserver(list => { for (const task of list.getEntries())
    window.longest = Math.max(window.longest, task.duration); }).observe({type: 'longtask', buffered: true}); }"""


def writer():
    """Draws sentences of the sample's own words, as often as they stand there."""
    dialogues = load_corpus("sample").dialogues
    text = " ".join(
        part for dialogue in dialogues for turn in dialogue.turns for part in (turn.user, turn.assistant or "")
    )
    words = re.findall(r"\w+", text)
    draw = random.Random(5)
    return lambda count: " ".join(draw.choices(words, k=count))


def cases_and_events():
    say = writer()
    for number in range(DIALOGUES):
        turns = [Turn(user=say(30), assistant=say(90)) for _ in range(TURNS)]
        for trigger, at in enumerate((2, 4, 6, 8)):
            rubric = Rubric(phase=PHASES[trigger], pass_criteria=say(40), partial_criteria=say(20), fail_criteria="No.")
            conversation = (*turns[: at - 1], Turn(user=turns[at - 1].user, assistant=None))
            view = JudgeView(conversation=conversation, turn=at, rubric=rubric)
            case = Case(f"d{number}__t{at}", f"s{number % 50}", PHASES[trigger], view, {"turn": at})
            quote, needle = say(8), f" needle{number}x{at} " if number % 500 == 0 else " "
            response = f"**Plan**\n\n1. {say(40)}{needle}\n2. {quote}\n"
            verdict = graded(case, ("PASS", "FAIL")[number % 2], reasoning=say(40), evidence=[quote], response=response)
            yield case, (answered(case, response), verdict)


@pytest.fixture(scope="module")
def large(tmp_path_factory, paged):
    """The page, and how many bytes it shows."""
    folder = tmp_path_factory.mktemp("large") / "run"
    made = list(cases_and_events())
    written(folder, manifest(), [case for case, _ in made], (event for _, events in made for event in events))
    return paged(folder), sum((folder / name).stat().st_size for name in ("cases.jsonl", "events.jsonl"))


@pytest.mark.timeout(400)
def test_the_file_is_at_most_a_third_of_its_data(large):
    page, data = large
    assert data > 40_000_000
    assert page.stat().st_size < data / 3


def longest_task(browser, path):
    """Milliseconds of the longest task while the page is opened, scrolled and filtered."""
    with visit(browser, path) as page:
        page.evaluate(LONG_TASKS)
        result = page.locator("#passing")
        expect(result).to_have_text("10,000 of 10,000 triggers")
        assert page.locator("#rows li").count() < 60
        page.evaluate("document.getElementById('list').scrollTop = 1e9")
        expect(page.locator("#rows a").last).to_have_attribute("href", "#case=d2499__t8")
        page.select_option("[name=label]", "FAIL")
        expect(result).to_have_text("5,000 of 10,000 triggers")
        page.select_option("[name=label]", "")
        page.fill("[name=text]", "NEEDLE1000X4")
        expect(result).to_have_text("1 of 10,000 triggers", timeout=60_000)
        expect(page.locator("#case mark:visible")).not_to_have_count(0)
        page.fill("[name=text]", "nowhere")
        expect(result).to_have_text("0 of 10,000 triggers", timeout=60_000)
        return page.evaluate("window.longest")


@pytest.mark.timeout(400)
def test_it_opens_scrolls_and_filters_without_a_task_of_a_second(browser, large):
    # What else the machine does at this moment makes a task longer, and none shorter: one of three tries is enough.
    assert any(longest_task(browser, large[0]) < 1000 for _ in range(3))
