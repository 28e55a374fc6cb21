"""The page of what an assistant overlooked, in a browser: on any screen, for anybody, and whatever a log holds."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from builders.logged_chats import LISBON, LogScript, aftermath, findings, need, written_log
from drivers.browser import visit

from dspy_proact import Generation

ATTACK = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)></textarea></style><style>*{display:none}</style>"
    "<!-- --><svg onload=alert(3)>\"'><b onmouseover=alert(4)> {{ 7*7 }} [x](javascript:alert(5)) \u202e &amp;"
)
UNFOLD = "document.querySelectorAll('details').forEach(each => { each.open = true; })"
WIDTH = "document.documentElement.scrollWidth"


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """Of the bundled logs."""
    folder = tmp_path_factory.mktemp("logs") / "out"
    Generation(logs="sample").run(folder)
    return folder / "overlooked.html"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Every text that people and models write is an attack."""
    folder = tmp_path_factory.mktemp("hostile")
    later = f"{ATTACK} Why did nobody renew it {'w' * 300}."
    private = [{"text": "onerror=alert", "kind": "NAME"}]
    script = LogScript(
        reading=lambda _: {"private": private, "language": ATTACK, "orders": ["Nothing"]},
        findings=lambda shown: findings(
            *([need(need=ATTACK, act=f"does {ATTACK}")] if len(shown["conversation"]) == 1 else [])
        ),
        aftermath=lambda _: {**aftermath("confirmed", "Why did nobody renew it", 2), "reason": ATTACK},
    )
    chat = (f"{ATTACK} {LISBON}. Which novels are in?", ATTACK, later, ATTACK)
    script.made(folder / "out", written_log(folder / "log.jsonl", chat))
    return folder / "out" / "overlooked.html"


def test_the_surest_are_first_and_each_has_quote_response_act_and_what_came_after(browser, usual):
    with visit(browser, usual) as page:
        assert page.inner_text(".banner").startswith("Embedded stand-in.")
        headings = page.locator("main h2").all_inner_texts()
        assert headings[1:] == ["Overlooked", "Taken up", "What was left out", "What was taken out", "How it was made"]
        badges = page.locator("#overlooked .need .badge:nth-child(2)").all_inner_texts()
        assert badges == sorted(badges, key=["confirmed", "open"].index)
        assert set(badges) == {"confirmed", "open"}
        first = page.locator("#overlooked .need").first
        assert first.locator("mark").all_inner_texts() == ["I'm in Porto from 10 to 26 March"]
        assert "Stoner is on the shelf" in first.locator(".message.other").inner_text()
        assert "Later, at turn 3, the user wrote:" in first.inner_text()
        assert "settles the loans that end during the journey" in first.inner_text()


@pytest.mark.parametrize("made", ["usual", "hostile"])
@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_wider_than_the_screen(browser, made, width, request):
    with visit(browser, request.getfixturevalue(made), viewport={"width": width, "height": 844}) as page:
        page.evaluate(UNFOLD)
        assert page.evaluate(WIDTH) == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_by_everybody(browser, usual, scheme):
    with visit(browser, usual, color_scheme=scheme) as page:
        page.evaluate(UNFOLD)
        assert Axe().run(page).response["violations"] == []


def test_a_hostile_log_is_text_and_nothing_of_it_runs_or_hides(browser, hostile):
    source = hostile.read_text(encoding="utf-8")
    assert source.count("</style>") == 1
    assert "<script" not in source
    assert "\u202e" not in source
    with visit(browser, hostile) as page:
        page.evaluate(UNFOLD)
        assert (
            page.locator(":is(main, header) :is(script, img, style, iframe, link, [onload], [onmouseover])").count()
            == 0
        )
        assert page.locator("main a:not([href^='#'])").count() == 0
        for selector in (".need h3", ".need .message", ".need .message.other", ".need .terms", "#left"):
            assert "<script>alert(1)</script>" in page.locator(selector).first.inner_text(), selector
