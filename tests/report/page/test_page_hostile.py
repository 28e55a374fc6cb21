"""What models and corpora say is text: nothing of it runs, is fetched, hides or breaks the layout."""

import re

import pytest
from builders.runs import answered, failed, graded, manifest, trigger, written
from drivers.browser import visit
from playwright.sync_api import expect

from dspy_proact.calls import LoggedCall, StageKey
from dspy_proact.kept import CallLog
from dspy_proact.runs import CorpusRecord

ATTACKS = {
    "script": "<script>alert(1)</script>",
    "closed block": '</script><script>alert(2)</script><script type="application/octet-stream">',
    "handler": '<img src=x onerror="alert(3)"><svg onload=alert(4)>',
    "quotes": "\"'><b onmouseover=alert(5)>",
    "comment": "<!-- --!> <![CDATA[ ]]> <style>*{display:none}</style>",
    "template": "{{ 7*7 }}{% raw %} ${7*7}",
    "address": "[click](javascript:alert(6)) ![x](https://evil.example/x.png) <https://evil.example> <a href='//e.g'>",
    "fetched": '<link rel=stylesheet href="https://evil.example/a.css"><iframe src="https://evil.example">',
}
HIDDEN = {"override": "\u202egnp.exe", "null": "a\x00b", "escape": "\x1b[31m", "tag": "\U000e0041"}
EVERYTHING, HIDING = " ".join(ATTACKS.values()), "".join(HIDDEN.values())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, paged):
    """Two runs whose every text attacks."""
    folder = tmp_path_factory.mktemp("hostile")
    cases = [
        trigger(f"{attack}{number}", user=attack, criterion=attack, domain=attack, scenario=attack, curated=attack)
        for number, attack in enumerate([*ATTACKS.values(), *HIDDEN.values()])
    ]
    for number, name in enumerate("ab"):
        who = f"{EVERYTHING}{number}"
        of = manifest(
            who,
            model=who,
            system_prompt=EVERYTHING,
            corpus=CorpusRecord(name=f"{EVERYTHING}{HIDING}", revision=EVERYTHING, rows=1, cases=1, ignored_fields={}),
        )
        events = [
            event
            for case in cases[1:]
            for attack in [case.view.rubric.pass_criteria]
            for event in (
                answered(case, f"{attack}\n\nIt says *so* here. {attack}"),
                graded(
                    case,
                    judge=who,
                    reasoning=attack,
                    evidence=[attack, "It says so here"],
                    response=f"{attack}\n\nIt says *so* here. {attack}",
                ),
            )
        ]
        written(folder / name, of, cases, [failed(cases[0], EVERYTHING), *events])
        with CallLog(folder / name / "calls.jsonl", of.identity.digest(), lambda _: False) as log:
            for case in cases:
                key = StageKey(case=case.key, epoch=1, stage="verdict", judge=who)
                parts = [{"type": "thinking", "text": case.view.rubric.pass_criteria}]
                reply = {"message": {"parts": parts}, "finish_reason": EVERYTHING}
                log.add(LoggedCall(role=who, key=key, number=1, request=case.key, response=reply, attempts=()))
    return paged(folder / "a", folder / "b")


def test_no_character_of_a_name_hides_or_turns_the_line(hostile):
    shown = re.sub(' data-at="[^"]*"', "", hostile.read_text(encoding="utf-8"))
    assert not set("\u202e\x00\x1b\U000e0041") & set(shown)


def test_nothing_fires_and_nothing_is_asked_for_while_everything_is_read(browser, hostile):
    with visit(browser, hostile) as page:
        total = int(re.match(r"\d+", page.inner_text("#passing"))[0])
        assert total == len(ATTACKS) + len(HIDDEN)
        for _ in range(total):
            assert page.locator("#case :is(script, img, iframe, a, svg, style, link, b)").count() == 0
            assert page.locator("#case .side summary").all_text_contents() == ["raw replies (1)"] * 2
            for turn in page.locator(".turn").all():
                turn.click()
            page.keyboard.press("j")
        page.mouse.move(600, 500)
        assert page.locator("script").count() == 2
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        policy = page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "unsafe" not in policy
        assert page.locator("[style]:not(#rows, #rows li)").count() == 0


def test_an_attack_is_shown_as_the_text_that_it_is_and_what_hides_or_turns_the_line_by_its_code(browser, hostile):
    with visit(browser, hostile) as page:
        assert EVERYTHING.split()[0] in page.inner_text("#method")
        assert "49" not in page.inner_text("h1")
        for number, text in enumerate(ATTACKS.values()):
            page.fill("[name=text]", f"{text}{number}")
            expect(page.locator("#passing"), text).to_contain_text("1 of")
            expect(page.locator("#case"), text).to_contain_text(text)
            assert page.text_content("#case").count(text) >= 3
        page.keyboard.press("Escape")  # leaves the search, so that j is a key again
        page.evaluate(
            "key => location.hash = `case=${encodeURIComponent(key)}`", f"{HIDDEN['override']}{len(ATTACKS)}__t2"
        )
        for number, code in enumerate(("U+202E", "U+0000", "U+001B", "U+E0041")):
            if number:
                page.keyboard.press("j")
            expect(page.locator("#case .message:last-child")).to_contain_text(code)
            assert code in page.inner_text("#rows a[aria-current]")


def test_a_line_of_a_megabyte_is_clipped_until_it_is_asked_for_and_stays_in_its_place(browser, paged, tmp_path):
    case, line = trigger(user="A\U0001f600" * 500_000), "x" * 1_000_000
    events = [answered(case, line), graded(case, reasoning=line, evidence=[line], response=line)]
    written(tmp_path / "run", manifest("j" * 100_000, model="m" * 100_000), [case], events)
    with visit(browser, paged(tmp_path / "run"), viewport={"width": 390, "height": 844}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert len(page.inner_text("#case")) < 200_000
        page.evaluate("document.querySelector('#case .message .more').click()")
        blocks = page.locator("#case .message .block").all_text_contents()
        assert "".join(blocks) == "A\U0001f600" * 500_000
        assert max(map(len, blocks)) <= 5000
        styles = "[...document.querySelectorAll('.block')].map((block) => getComputedStyle(block).contentVisibility)"
        assert set(page.evaluate(styles)) == {"auto"}  # laid out only where it is seen
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_fragment_is_only_ever_looked_up_and_the_policy_lets_no_script_in(browser, hostile):
    script = "document.body.append(Object.assign(document.createElement('script'), {text: 'alert(1)'}))"
    fragment = "#case=<img src=x onerror=alert(1)>&stratum=<b>&label=__proto__&text=<svg>"
    with visit(browser, hostile, fragment) as page:
        assert page.input_value("[name=stratum]") == ""
        assert page.locator("#case img").count() == 0
    with pytest.raises(AssertionError, match="Content Security Policy"), visit(browser, hostile) as page:
        page.evaluate(script)
