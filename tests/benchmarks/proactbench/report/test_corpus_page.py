"""The page of a made corpus: what stands on it, on any screen, and what a hostile corpus cannot do."""

import re
from dataclasses import replace

import pytest
from builders.made import FACTS, made_corpus, made_dialogue
from drivers.browser import visit

from dspy_proact.benchmarks.proactbench.report.corpus_page import corpus_page, new_words, style_of

ATTACK = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)></textarea></style><style>*{display:none}</style>"
    "<!-- --><svg onload=alert(3)>\"'><b onmouseover=alert(4)> {{ 7*7 }} [x](javascript:alert(5)) \u202e\x00 &amp;"
)
UNFOLD = "document.querySelectorAll('details').forEach(each => { each.open = true; })"
WIDTH = "document.documentElement.scrollWidth"


@pytest.fixture(scope="module")
def paged(tmp_path_factory):
    def write(corpus):
        path = tmp_path_factory.mktemp("corpus") / "corpus.html"
        path.write_text(corpus_page(corpus), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="module")
def usual(paged):
    return paged(made_corpus(6))


@pytest.fixture(scope="module")
def hostile(paged):
    return paged(made_corpus(3, attack=ATTACK))


def test_first_comes_what_was_shown_then_counts_matrix_coverage_weakest_and_every_dialogue(browser, usual):
    with visit(browser, usual) as page:
        assert page.inner_text("h1").startswith("6 dialogues, 18 triggers; told to look, a model passes 91 %")
        assert page.locator(".banner").count() == 0
        facts = page.locator("#glance .facts > div").all_inner_texts()
        assert [re.sub(r"\s+", " ", fact) for fact in facts] == [
            *("dialogues 6 of 6", "triggers kept 18 of 80", "EMERGENT 6", "CRITICAL 6", "RECOVERY 6"),
            *("personas 6", "control dialogues 18"),
        ]
        taker = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="anchor-taker"))
        assert taker.get_by_role("cell").all_inner_texts() == ["20 of 24", "4 of 24", "19 of 24"]
        headings = page.locator("main h2").all_inner_texts()
        assert headings[1:] == [
            "Coverage",
            "Review these first",
            "Every dialogue",
            "What was dropped",
            "How it was made",
        ]
        assert page.locator(".dialogue").count() == 6


def test_a_dialogue_has_its_anchors_marked_its_rubric_and_proof_before_the_response_and_its_swap_beside_it(
    browser, usual
):
    with visit(browser, usual) as page:
        page.evaluate(UNFOLD)
        first = page.locator("#d1")
        facts = [f"the user {FACTS[index][0]}." for index in (1, 2, 3)]
        shown = first.locator(":scope > div > .message mark").all_inner_texts()
        assert shown == [fact.removesuffix(".") for fact in facts]
        trigger = page.locator("#d1t2")
        assert trigger.locator(".badge").all_inner_texts()[:6] == ["PASS"] * 3 + ["FAIL"] * 3
        assert "Acts on it." in trigger.inner_text()
        # The response stands after the trigger, and the message before it.
        classes = trigger.evaluate("e => [e.previousElementSibling.className, e.nextElementSibling.className]")
        assert classes == ["message", "message other"]
        swap = trigger.locator(".beside .message")
        assert facts[0].removesuffix(".") in swap.first.inner_text()
        assert swap.nth(1).locator("mark").all_inner_texts() == ["new coat"]
        assert swap.first.bounding_box()["y"] == swap.nth(1).bounding_box()["y"]
        assert "As they were: turn 2." in trigger.inner_text()


def test_the_weakest_trigger_leads_to_its_place_in_its_dialogue(browser, usual):
    with visit(browser, usual) as page:
        page.get_by_role("link", name="Dialogue 2, turn 2").click()
        assert page.locator("#d2t2").is_visible()
        assert page.locator("#d2").get_attribute("open") is not None


@pytest.mark.parametrize("made", ["usual", "hostile"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_is_wider_than_the_screen_however_much_is_unfolded(browser, made, width, request):
    with visit(browser, request.getfixturevalue(made), viewport={"width": width, "height": 844}) as page:
        assert page.evaluate(WIDTH) == width
        page.evaluate(UNFOLD)
        assert page.evaluate(WIDTH) == width


def test_a_dark_page_is_dark(browser, usual):
    with visit(browser, usual, color_scheme="dark") as page:
        assert page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(20, 23, 26)"


def test_a_hostile_corpus_is_text_and_nothing_of_it_runs_is_fetched_or_hides(browser, hostile):
    source = hostile.read_text(encoding="utf-8")
    assert source.count("</style>") == 1
    assert "<script" not in source
    assert not {"\u202e", "\x00"} & set(source)
    with visit(browser, hostile) as page:
        page.evaluate(UNFOLD)
        assert (
            page.locator(":is(main, header) :is(script, img, style, iframe, link, [onload], [onmouseover])").count()
            == 0
        )
        assert page.locator("main a:not([href^='#'])").count() == 0
        assert "49" not in page.inner_text("h1")
        for selector in ("#d1 .message", "#weakest", "#dropped", "#method", "#d1 .trigger"):
            assert "<script>alert(1)</script>" in page.locator(selector).first.inner_text(), selector
        policy = page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "unsafe" not in policy


def test_drafts_and_the_stand_in_have_a_banner_and_drafts_no_figure(browser, paged):
    with visit(browser, paged(made_corpus(2, draft=True))) as page:
        assert page.inner_text(".banner") == "Drafts. Nothing was shown of what these dialogues measure."
        assert page.locator("#glance figure").count() == 0
    with visit(browser, paged(made_corpus(2, model="embedded"))) as page:
        assert page.inner_text(".banner").startswith("Embedded stand-in.")


def test_a_corpus_without_a_dialogue_has_a_page(browser, paged):
    with visit(browser, paged(made_corpus(0, wanted=2, proof=None))) as page:
        assert page.inner_text("h1") == "0 of 2 dialogues, 0 triggers: nothing to measure with."
        assert "There is none." in page.inner_text("#dialogues")


def test_new_words_are_marked_as_one_where_they_are_neighbours():
    assert str(new_words("She flies to Rome.", "She stays at home, in Rome.")) == (
        '<div class="text" dir="auto">She <mark>stays at home, in</mark> Rome.</div>'
    )


def test_a_page_is_a_function_of_the_corpus():
    assert corpus_page(made_corpus(2)) == corpus_page(made_corpus(2))


def test_a_style_is_named_by_its_traits():
    # In binary order of E, P, VA, Q, Em, IM: the first has none, the second IM alone, the last E, VA, Q and Em.
    assert style_of(made_dialogue(0, style=1)) == "1 of 24: no trait stands out"
    assert style_of(made_dialogue(0, style=2)) == "2 of 24: out to impress"
    assert style_of(made_dialogue(0, style=24)) == "24 of 24: expressive, verbally aggressive, questioning, emotional"
    assert style_of(made_dialogue(0, style=None)) == ""


def test_a_rubric_that_replaced_one_says_that_it_was_written_after_the_response():
    first = made_dialogue(1)
    triggers = [
        made.model_copy(update={"proof": made.proof and made.proof.model_copy(update={"replaced": made.rubric})})
        for made in first.triggers[:1]
    ]
    corpus = made_corpus(1)
    kept = replace(corpus.made.kept[0], item=first.model_copy(update={"triggers": [*triggers, *first.triggers[1:]]}))
    page = corpus_page(replace(corpus, made=replace(corpus.made, kept=[kept])))
    assert page.count("This rubric was written after the response") == 1
    assert "This rubric was written after the response" not in corpus_page(corpus)
