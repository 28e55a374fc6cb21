"""The page of a leaderboard: every model by phase with its range of ranks, and one's own runs among them."""

import json
from dataclasses import replace

import pytest
from drivers.browser import visit

from dspy_proact import PublishedRow, RunFolder, leaderboard, summarize
from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
from dspy_proact.report.page import leaderboard_page

NUMBERS = "document => [...document.querySelectorAll('data')].map(e => [e.dataset.at, e.value])"
WIDTHS = "all => all.map(e => Number(e.getAttribute('width').slice(0, -1)))"


@pytest.fixture(scope="module")
def written(tmp_path_factory, runs):
    """The page of the published models with a run of the stand-in, which is not ranked."""
    path = tmp_path_factory.mktemp("leaderboard") / "page.html"
    path.write_text(leaderboard_page(leaderboard([summarize(RunFolder(runs[0]))])), encoding="utf-8")
    return path


def test_every_model_has_its_range_and_a_bar_for_each_phase_by_the_numbers_of_the_json(browser, written, runs, proact):
    document = json.loads(proact("leaderboard", runs[0], "--json")[1])
    with visit(browser, written) as page:
        assert page.inner_text("h1") == document["headline"]
        assert page.locator("script").count() == 0
        rows = page.locator(".models tbody tr")
        assert rows.count() == len(document["rows"]) == 17
        for number in (0, 1, 16):
            of = document["rows"][number]
            shares = [100 * of["scores"][phase]["value"] for phase in ("EMERGENT", "CRITICAL", "RECOVERY")]
            assert rows.nth(number).locator("rect").evaluate_all(WIDTHS) == pytest.approx(shares, abs=0.06)
        assert rows.nth(1).locator("td").nth(1).inner_text() == "1–8"
        assert (rows.nth(0).locator("line").count(), rows.nth(16).locator("line").count()) == (0, 3)
        assert "own" in rows.nth(16).get_attribute("class")
        for pointer, value in page.evaluate(f"({NUMBERS})(document)"):
            item = {"ranking": document}
            for part in pointer.split("/")[1:]:
                item = item[int(part) if isinstance(item, list) else part]
            assert float(value) == item, pointer


def test_answer_and_figure_are_on_the_first_screen_of_a_desktop_and_of_a_phone(browser, written):
    with visit(browser, written) as page:
        for width, height in ((1280, 800), (390, 844)):
            page.set_viewport_size({"width": width, "height": height})
            box = page.locator(".models").bounding_box()
            assert box["y"] + box["height"] <= height, (width, height)
            assert box["x"] + box["width"] <= width


def test_names_of_published_rows_are_no_markup(monkeypatch):
    rows = (PublishedRow("<b>x</b>", {"score": 0.5}),)
    monkeypatch.setattr(ProactBench, "published", replace(ProactBench.published, rows=lambda: rows))
    text = leaderboard_page(leaderboard())
    assert "<b>x" not in text
    assert "&lt;b&gt;x" in text
