"""The page that lists runs: what it says of each, on a desktop and on a phone."""

from pathlib import Path

import pytest
from builders.runs import run_of, trigger
from drivers.browser import visit

from dspy_proact.report.page import runs_page
from dspy_proact.report.run_list import list_runs

pytestmark = pytest.mark.usefixtures("proactbench")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Writes the page of runs of a model in a folder of a long name."""
    monkeypatch.chdir(tmp_path)

    def write(*models, **of):
        for model in models:
            path = Path("runs", "a-long-name-without-a-blank-in-it-" * 3, model.replace("/", "-"))
            run_of(path, [(trigger(), "PASS")], model=model, embedded=model == "embedded", **of)
        runs = list_runs(Path("runs"))
        (tmp_path / "all.html").write_text(runs_page(runs, {run.path: "page.html" for run in runs}), encoding="utf-8")
        return tmp_path / "all.html"

    return write


@pytest.mark.parametrize("width", [320, 1280])
def test_all_of_a_run_is_seen_without_scrolling_sideways(browser, index, width):
    path = index("vllm/a-model-with-a-very-long-name-of-its-own", tags={"prompt": "short"}, note="A note.")
    with visit(browser, path, viewport={"width": width, "height": 800}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == width
        (row,) = page.locator("tbody tr").all()
        for text in ("a-model-with-a-very-long-name", "1 of 1", "proactbench", "2026-01-02", "prompt=short", "A note."):
            box = row.get_by_text(text).last.bounding_box()
            assert box["x"] + box["width"] <= width, text
        assert page.locator("a").get_attribute("href") == "page.html"


def test_stand_ins_are_told_from_models(browser, index):
    with visit(browser, index("embedded")) as page:
        assert "measures no real model" in page.inner_text(".banner")
    with visit(browser, index("openai/m")) as page:
        assert page.locator(".banner").count() == 0
        assert page.locator("tr:has(.flag)").all_inner_texts()[0].startswith("embedded")
