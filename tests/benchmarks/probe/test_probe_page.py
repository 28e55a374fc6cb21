"""The page of PROBE's runs: its own leaderboard, its measures side by side, and its answers as they are read."""

import pytest
from browser import chromium, visit

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.report import summarize
from dspy_proact.report.page import page
from dspy_proact.runs import RunFolder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two agents of the stand-in on the sample."""
    folder, tasks = tmp_path_factory.mktemp("runs"), load_tasks("sample")
    for agent in ("single", "react"):
        Evaluation(tasks, settings=ProbeSettings(agent=agent), benchmark="probe").run(folder / agent)
    return [folder / "single", folder / "react"]


@pytest.fixture(scope="module")
def browser(runs):
    with chromium() as running:
        yield running


def paged(folder, *runs):
    path = folder / "page.html"
    path.write_text(page([summarize(RunFolder(run)) for run in runs]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def one(tmp_path_factory, runs):
    return paged(tmp_path_factory.mktemp("one"), runs[0])


@pytest.fixture(scope="module")
def two(tmp_path_factory, runs):
    return paged(tmp_path_factory.mktemp("two"), *runs)


def test_published_rows_stand_above_runs_with_what_was_done_otherwise(browser, two):
    with visit(browser, two) as page:
        task = page.locator("[data-at='/ranking/rows/0/scores/task/value']")
        assert (task.get_attribute("value"), task.inner_text()) == ("0.4", "40.0")
        assert page.locator("#ranking tbody").nth(3).locator("tr.own").count() == 2
        assert "the agent is 'react' of ours" in page.locator("#ranking tr.own").nth(1).inner_text()
        assert "14.90 % is no mean of 7 scores" in page.inner_text("#ranking")


def test_measures_stand_side_by_side(browser, two):
    with visit(browser, two) as page:
        at = "/comparisons/0/overall/measures/f1"
        first, second = (float(page.get_attribute(f"[data-at='{at}/{run}/value']", "value")) for run in "ab")
        difference = page.get_attribute(f"[data-at='{at}/difference/value']", "value")
        assert float(difference) == pytest.approx(second - first)


def test_an_answer_is_read_part_by_part_and_items_are_folded(browser, one):
    with visit(browser, one) as page:
        answer = page.inner_text("#case .response")
        assert "evidence: item_" in answer
        assert "{" not in answer
        folded = page.locator("#case details.part", has_text="documents (")
        assert folded.get_attribute("open") is None
        assert "Tamsin Okell is held up" in page.locator("#rows li").first.inner_text()
        assert "quote the response" not in page.inner_text("#glance")
