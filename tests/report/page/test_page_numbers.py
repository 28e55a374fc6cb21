"""Numbers of a page are those of its documents, with why some are missing, for any benchmark."""

import json
import math
import re

import pytest
from builders.runs import PHASES, answered, failed, graded, manifest, trigger, written
from drivers.browser import visit

NUMBERS = "document => [...document.querySelectorAll('data')].map(e => [e.dataset.at, e.value, e.textContent])"
BARS = """() => [...document.querySelectorAll('.plot [data-at]')].map(bar => [bar.dataset.at,
    bar.querySelector('rect') && Number(bar.querySelector('rect').getAttribute('height')) / 240,
    [...bar.querySelectorAll('.halo')].flatMap(e => ['y1', 'y2'].map(end => 1 - (e.getAttribute(end) - 26) / 240))])"""
BARE = r"""() => [...document.querySelectorAll('td, dd')].filter(e => !e.closest('#browser')).filter(e => {
    const rest = e.cloneNode(true); rest.querySelectorAll('data, bdi').forEach(n => n.remove());
    return /\d/.test(rest.textContent); }).map(e => e.textContent)"""


@pytest.fixture
def documents(done, runs):
    """What the commands print as JSON, in the form that a page's pointers point into."""

    def printed(*command):
        out = done(*command, "--json")[0]
        return json.loads(out)

    broken_down = ["--by", "life_domain", "--by", "turn"]
    return {
        "runs": [printed("report", run, *broken_down) for run in runs],
        "comparisons": [printed("compare", *runs)],
        "ranking": printed("leaderboard", *runs),
    }


def at(document, pointer):
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        document = document[int(key) if isinstance(document, list) else key]
    return document


def means(text, value):
    """Whether a text says a number, rounded: as it is, or a share in points of a hundred."""
    if text == "<.001":
        return value < 0.001
    number = float(text.replace(",", ""))
    digits = len(text.partition(".")[2])
    return any(math.isclose(number, scale * value, abs_tol=0.5 * 10**-digits + 1e-9) for scale in (1, 100))


def test_every_number_and_every_bar_is_that_of_the_json(browser, one, two, documents):
    with visit(browser, two) as page:
        shown, bars = page.evaluate(f"({NUMBERS})(document)"), page.evaluate(BARS)
        assert page.evaluate(BARE) == []
        title, below = page.inner_text("h1"), page.locator("ul.below li").all_text_contents()
    assert len(shown) > 400
    for pointer, value, text in shown:
        assert float(value) == at(documents, pointer), pointer
        assert means(text, at(documents, pointer)), (pointer, text)
    numbers = {pointer for pointer, _, _ in shown}
    of_a_run = [f"phases/{phase}/{name}" for phase in PHASES for name in ("total", "pass", "weighted/low")]
    of_a_run += ["controls/unwanted_offers/value", "usage/judge/prompt_tokens", "evidence/verified"]
    assert numbers >= {f"/runs/{run}/{name}" for run in (0, 1) for name in of_a_run}
    tested = ("weighted/value", "weighted/p", "p_holm/weighted")
    assert numbers >= {f"/comparisons/0/phases/RECOVERY/{name}" for name in tested}

    assert len(bars) == 8  # three phases and micro, of two runs
    for pointer, height, ends in bars:
        estimate = at(documents, pointer)
        assert height == pytest.approx(estimate["value"], abs=0.001)
        assert sorted(ends) == pytest.approx([estimate["low"], estimate["high"]], abs=0.001)

    # By the letters of the page: A and B are what the command line calls a and b.
    lettered = documents["comparisons"][0]["headline"].replace("b (embedded", "B (embedded")
    assert title == lettered.replace("a (embedded", "A (embedded")

    assert below == [line.replace(" b ", " B ") for line in documents["comparisons"][0]["claim"]["caveats"]]

    with visit(browser, one) as page:
        run, first = documents["runs"][0], page.locator(".plot [data-at]").first
        assert page.inner_text("h1") == run["headline"]
        assert page.locator("ul.below li").all_text_contents() == run["claim"]["caveats"]
        assert first.get_attribute("data-at") == "/runs/0/overall/micro/weighted"
        assert f"scored {first.text_content().strip()} of 100" in run["headline"]
        paper = page.inner_text(".paper")
    assert f"{run['triggers']['total']} triggers in {run['scenarios']} scenarios" in paper
    assert run["run"]["created"] in paper
    assert re.search(r"without a system prompt.*stand-in.*nothing about any real model", paper, re.DOTALL)


CASES = [
    trigger(f"d{number}", phase, turn=turn, scenario=f"S{number}", domain=("travel", *["home"] * 3)[number])
    for turn, phase in enumerate(PHASES, start=1)
    for number in range(4)
]
"""A trigger a phase in each of four scenarios, one of which is another domain."""


@pytest.fixture(scope="module")
def half(tmp_path_factory, paged):
    """A passes every second trigger; b passes one more in EMERGENT, and does not answer one in RECOVERY."""
    made = tmp_path_factory.mktemp("half")
    grades = ["PASS", "FAIL", "FAIL", "PASS"] * 3
    a = [event for case, grade in zip(CASES, grades, strict=True) for event in (answered(case), graded(case, grade))]
    b = [*a[:3], graded(CASES[1], "PASS"), *a[4:-2], failed(CASES[-1], "empty")]
    written(made / "a", manifest(), CASES, a)
    written(made / "b", manifest(model="openai/other"), CASES, b)
    return paged(made / "a", made / "b")


def test_strict_differences_stand_beside_lenient_ones_and_reasons_below_their_rows(browser, half):
    with visit(browser, half) as page:
        captions = page.locator("#differences caption").all_text_contents()
        assert len(page.evaluate(BARS)) == 8  # one a score, though b has one unscored
        strict = [f"/runs/{run}/phases/RECOVERY/strict_weighted/value" for run in range(2)]
        assert [page.locator(f"[data-at='{item}']").count() for item in strict] == [0, 1]
        assert page.locator("[data-at='/runs/1/phases/RECOVERY/unscored']").count() == 1
        assert captions[:4] == ["Score", "Score, strict", "Pass rate", "Pass rate, strict"]
        results = {
            kind: page.get_attribute(f"[data-at='/comparisons/0/phases/RECOVERY/{kind}weighted/value']", "value")
            for kind in ("", "strict/")
        }
        # Of three that both have scored b scores as a does; of four it passes one fewer.
        assert results == {"": "0.0", "strict/": "-0.25"}
        assert "tried and unscored: 0 and 1." in page.inner_text("#differences article")
        notes = page.locator("#differences p.note").all_text_contents()
        assert "EMERGENT, CRITICAL, macro: cannot be significant with 4 scenarios." in notes
        assert "EMERGENT, macro: fewer than 5 scenarios." in notes
        assert "travel: one scenario." in notes
        assert "travel: one scenario." in page.locator("#more p.note").all_text_contents()
