"""A real browser for tests: Debian's Chromium, headless, from which nothing can be fetched."""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROUTES = "**/*"


@contextmanager
def chromium() -> Generator[Browser]:
    """The browser; the test is skipped where there is none, and fails where CI is set."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        told = "needs Chromium: apt-get install chromium"
        assert not os.environ.get("CI"), told
        pytest.skip(told)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def visit(browser: Browser, path: Path, fragment: str = "", **context: object) -> Generator[Page]:
    """A page from disk, drawn and ready, in a context of its own.

    When it is left, it has asked for nothing but its own file, run nothing that threw and written nothing to the
    console; a dialog that a script opened is an error too.
    """
    wrong: list[str] = []
    asked: list[str] = []
    shown = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | context)
    tab = shown.new_page()
    tab.on("console", lambda message: wrong.append(message.text))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
    tab.on("request", lambda request: asked.append(request.url))
    shown.route(ROUTES, lambda route: route.continue_() if route.request.url.startswith("file:") else route.abort())
    tab.goto(f"{path.as_uri()}{fragment}")
    tab.wait_for_selector("html[data-ready]", state="attached")
    yield tab
    own = path.as_uri()
    shown.close()
    assert not wrong, f"the page complained: {wrong}"
    others = [each for each in asked if each.partition("#")[0] != own]
    assert not others, f"the page asked for {others}"
