"""A real browser for tests: Debian's Chromium, headless, from which nothing can be fetched."""

import base64
import os
import re
import shutil
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

expect.set_options(timeout=60_000)  # and not the five seconds that are usual, which a busy machine may take
Scheme = Literal["light", "dark"]
ARGUMENTS = ["--no-sandbox"]
WINDOW = {"width": 1280, "height": 900}
WITHIN = ("file:", "blob:", "http://127.0.0.1:")


def packed_cases(page: str) -> str:
    """The block of cases in a page of `report`, each line of which is deflated and in base64."""
    (block,) = re.findall(r'<script type="application/octet-stream" id="data">([^<]+)</script>', page)
    return "\n".join(zlib.decompress(base64.b64decode(line, validate=True)).decode() for line in block.split())


def executable() -> str:
    """The browser's path; the test is skipped where there is none, and fails where CI is set."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        message = "needs Chromium: apt-get install chromium"
        assert not os.environ.get("CI"), message
        pytest.skip(message)
    return path


@contextmanager
def chromium() -> Generator[Browser]:
    """The browser, without a tab."""
    path = executable()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def _watched(
    browser: Browser, own: str, viewport: ViewportSize, color_scheme: Scheme, complaints: int = 0, **context: object
) -> Generator[Page]:
    """The browser's first tab without a cookie, or one in a context of its own where more is asked.

    A context of its own costs a process, and twice the time. When the page is left, it has asked for nothing but what
    begins with `own`, run nothing that threw and written nothing to the console, but for the `complaints` of the
    browser about answers that a test asks for; a dialog that a script opened is an error too.
    """
    wrong: list[str] = []
    requests: list[str] = []
    if context or not browser.contexts:
        made = browser.new_context(**context)
        made.route("**/*", lambda route: route.continue_() if route.request.url.startswith(WITHIN) else route.abort())
        made.new_page()
    page = browser.contexts[-1 if context else 0].pages[0]
    page.set_viewport_size(viewport)
    page.emulate_media(media="screen", color_scheme=color_scheme)
    listeners = {
        "console": lambda message: wrong.append(message.text),
        "pageerror": lambda error: wrong.append(str(error)),
        "dialog": lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()),
        "request": lambda request: requests.append(request.url.partition("#")[0]),
    }
    for event, heard in listeners.items():
        page.on(event, heard)
    try:
        yield page
    finally:
        for event, heard in listeners.items():
            page.remove_listener(event, heard)
        if context:
            page.context.close()
        else:
            page.goto("about:blank")
            page.context.clear_cookies()
    others = [item for item in wrong if not item.startswith("Failed to load resource")]
    assert (len(wrong), others) == (complaints, []), f"the page complained: {wrong}"
    others = [item for item in requests if not item.startswith((own, "blob:null/"))]
    assert not others, f"the page asked for {others}"


@contextmanager
def visit(
    browser: Browser,
    path: Path,
    fragment: str = "",
    *,
    viewport: ViewportSize = WINDOW,
    color_scheme: Scheme = "light",
    **context: object,
) -> Generator[Page]:
    """A page from disk, drawn and ready."""
    with _watched(browser, path.as_uri(), viewport, color_scheme, **context) as page:
        page.goto(f"{path.as_uri()}{fragment}")
        page.wait_for_selector("html[data-ready]", state="attached")
        yield page


@contextmanager
def tab(
    browser: Browser,
    base: str,
    path: str = "/",
    complaints: int = 0,
    *,
    viewport: ViewportSize = WINDOW,
    color_scheme: Scheme = "light",
    **context: object,
) -> Generator[Page]:
    """A page of a local server."""
    with _watched(browser, base, viewport, color_scheme, complaints, **context) as page:
        page.goto(f"{base}{path}")
        yield page


def ready(page: Page, counted: str) -> None:
    """Await the page on which people rate or review that shows how far one is."""
    expect(page.locator(".count")).to_have_text(counted)
    page.wait_for_selector("html[data-ready]", state="attached")


def press(page: Page, *keys: str) -> None:
    """Press keys one after another."""
    for name in keys:
        page.keyboard.press(name)


def usable(page: Page) -> None:
    """Assert that axe-core finds no violation on a page, and that it is not wider than its window."""
    result = Axe().run(page)
    assert result.violations_count == 0, (page.url, result.generate_report())
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
