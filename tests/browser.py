"""A real browser for tests: Debian's Chromium, headless, from which nothing can be fetched."""

import os
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

expect.set_options(timeout=60_000)  # and not the five seconds that are usual, which a busy machine may take
ROUTES = "**/*"


WINDOW = {"width": 1280, "height": 900}


@contextmanager
def chromium() -> Generator[Browser]:
    """The browser, with one tab; the test is skipped where there is none, and fails where CI is set."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        told = "needs Chromium: apt-get install chromium"
        assert not os.environ.get("CI"), told
        pytest.skip(told)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        _guarded(browser.new_context()).new_page()
        yield browser
        browser.close()


def _guarded(context: BrowserContext) -> BrowserContext:
    context.route(ROUTES, lambda route: route.continue_() if route.request.url.startswith("file:") else route.abort())
    return context


@contextmanager
def visit(
    browser: Browser,
    path: Path,
    fragment: str = "",
    *,
    viewport: ViewportSize = WINDOW,
    color_scheme: Literal["light", "dark"] = "light",
    **context: object,
) -> Generator[Page]:
    """A page from disk, drawn and ready, in the browser's tab, or in a context of its own where more is asked of one.

    A tab of its own costs a process, and twice the time. When the page is left, it has asked for nothing but its own
    file, run nothing that threw and written nothing to the console; a dialog that a script opened is an error too.
    """
    wrong: list[str] = []
    asked: list[str] = []
    tab = _guarded(browser.new_context(**context)).new_page() if context else browser.contexts[0].pages[0]
    tab.set_viewport_size(viewport)
    tab.emulate_media(media="screen", color_scheme=color_scheme)
    listeners = {
        "console": lambda message: wrong.append(message.text),
        "pageerror": lambda error: wrong.append(str(error)),
        "dialog": lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()),
        "request": lambda request: asked.append(request.url),
    }
    for event, heard in listeners.items():
        tab.on(event, heard)
    try:
        tab.goto(f"{path.as_uri()}{fragment}")
        tab.wait_for_selector("html[data-ready]", state="attached")
        yield tab
    finally:
        for event, heard in listeners.items():
            tab.remove_listener(event, heard)
        if context:
            tab.context.close()
        else:
            tab.goto("about:blank")
    own = path.as_uri()
    assert not wrong, f"the page complained: {wrong}"
    others = [each for each in asked if each.partition("#")[0] != own]
    assert not others, f"the page asked for {others}"


@contextmanager
def tab(
    browser: Browser, base: str, path: str = "/", cookies: Sequence[Any] = (), complaints: int = 0, **context: object
) -> Generator[Page]:
    """A page of a local server in a context of its own, where a rater may come back with their cookies.

    When it is left, it has asked for nothing but this server, and nothing that it ran threw or was refused, but for the
    `complaints` of the browser about answers that a test asks for.
    """
    wrong: list[str] = []
    shown = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | context)
    shown.add_cookies([*cookies])
    page = shown.new_page()
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: None if request.url.startswith(base) else wrong.append(request.url))
    page.goto(f"{base}{path}")
    yield page
    shown.close()
    others = [each for each in wrong if not each.startswith("Failed to load resource")]
    assert (len(wrong), others) == (complaints, []), f"the page complained: {wrong}"
