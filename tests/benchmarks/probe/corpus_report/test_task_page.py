"""The page of made tasks: what stands on it, on any screen, and what a hostile corpus cannot do."""

import re

import pytest
from builders.made_people import kept_proof, made_task_corpus
from drivers.browser import visit

from dspy_proact.benchmarks.probe.corpus_report.task_page import corpus_page, value_of
from dspy_proact.benchmarks.probe.corpus_report.task_summary import TaskSummary

ATTACK = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)></textarea></style><style>*{display:none}</style>"
    "<!-- --><svg onload=alert(3)>\"'><b onmouseover=alert(4)> {{ 7*7 }} [x](javascript:alert(5)) \u202e\x00 &amp;"
)
UNFOLD = "document.querySelectorAll('details').forEach(one => { one.open = true; })"
WIDTH = "document.documentElement.scrollWidth"
WEAK = kept_proof(
    kept=False,
    reason="Without item_32aa, 1 of 3 answers solve it; 1 could not be graded: not all its evidence is needed.",
    without={"item_30aa": (False,), "item_32aa": (True, None, False)},
    fresh=(),
    shortcut=None,
)


@pytest.fixture(scope="module")
def paged(tmp_path_factory):
    def write(corpus):
        path = tmp_path_factory.mktemp("corpus") / "corpus.html"
        path.write_text(corpus_page(TaskSummary(corpus), "guid-1"), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="module")
def usual(paged):
    return paged(made_task_corpus(6, weak=WEAK))


@pytest.fixture(scope="module")
def hostile(paged):
    return paged(made_task_corpus(3, attack=ATTACK))


def test_first_comes_what_was_shown_then_counts_shares_checks_coverage_weakest_and_every_task(browser, usual):
    with visit(browser, usual) as page:
        assert page.inner_text("h1").startswith(
            "6 people, 12 tasks; from the evidence alone, openai/tester solves 100 %"
        )
        assert page.locator(".banner").count() == 0
        facts = page.locator("#glance .facts > div").all_inner_texts()
        assert [re.sub(r"\s+", " ", fact) for fact in facts] == [
            *("people 6 of 6", "tasks kept 12 of 18 versions"),
            *("checks failed 0", "checks passed 1", "checks not tested 1"),
        ]
        fresh, _, less, none = page.locator("#glance tbody tr").all()
        assert fresh.locator("td").all_inner_texts() == ["100 %", "12", "36 of 36"]
        # First answers of six items of each kept task, and of five of each other, one of which solves it.
        assert less.locator("td").all_inner_texts() == ["7 %", "18", "6 of 102"]
        assert none.locator("td").all_inner_texts() == ["0 %", "12", "0 of 12"]
        headings = page.locator("main h2").all_inner_texts()
        assert headings[1:] == [
            *("Checks", "Coverage", "Review these first", "Every task", "What was dropped", "How it was made"),
        ]
        assert page.locator(".made").count() == 6
        assert not page.get_by_text("metadata: ids").is_visible()
        page.locator("#checks summary", has_text="1 check not tested").click()
        assert page.locator("#checks details .check h3").all_inner_texts() == ["not tested metadata: ids"]
        assert page.locator("#checks h3").all_inner_texts()[:2] == [
            "passed solvable",
            "reported less than the evidence",
        ]


def test_a_task_has_its_facets_parameters_with_quotes_and_evidence_in_which_these_are_marked(browser, usual):
    with visit(browser, usual) as page:
        page.evaluate(UNFOLD)
        task = page.locator("#p1t1")
        assert "water report not requested" in task.inner_text()
        assert "key-1-1" in task.inner_text()
        rows = [row.locator("th, td").all_inner_texts() for row in task.locator(".parameters tbody tr").all()]
        assert [row[:3] for row in rows] == [["holder", "Rolf Dahl", "item 3"], ["due", "2026-03-20", "item 2"]]
        assert task.locator(".item").nth(2).locator("mark").all_inner_texts() == [
            "The water report lies with Rolf Dahl, who waits for a request"
        ]
        assert "due" in task.locator(".item").nth(1).locator(".of-mark").all_inner_texts()
        task.get_by_role("link", name="item 3").click()
        assert page.url.endswith("#p1t1i3")
        badges = task.locator("tbody tr", has_text="all but item_10aa").locator(".badge")
        assert badges.all_inner_texts() == ["not solved"]
        assert "best" in badges.first.get_attribute("class")


def test_a_task_that_was_not_kept_and_a_bottleneck_without_one_stay_with_their_reasons(browser, usual):
    with visit(browser, usual) as page:
        page.evaluate(UNFOLD)
        rejected = page.locator("#p1t3")
        assert "not in the corpus Without item_32aa, 1 of 3 answers solve it" in rejected.inner_text()
        badges = rejected.locator("tbody tr", has_text="all but item_32aa").locator(".badge")
        assert badges.all_inner_texts() == ["solved", "not graded", "not solved"]
        assert "worst" in badges.first.get_attribute("class")
        assert "Bottleneck 4 no task plan: Item 2 states nothing." in page.locator("#p1").inner_text()
        assert "proof: Without one item, 1 of 3 answers solve it" in page.locator("#dropped").inner_text()


@pytest.mark.parametrize("made", ["usual", "hostile"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_task_is_wider_than_the_screen_however_much_is_unfolded(browser, made, width, request):
    with visit(browser, request.getfixturevalue(made), viewport={"width": width, "height": 844}) as page:
        assert page.evaluate(WIDTH) == width
        page.evaluate(UNFOLD)
        assert page.evaluate(WIDTH) == width


def test_hostile_tasks_are_text_and_nothing_of_them_runs_is_fetched_or_hides(browser, hostile):
    source = hostile.read_text(encoding="utf-8")
    assert source.count("</style>") == 1
    assert "<script" not in source
    assert not {"\u202e", "\x00"} & set(source)
    with visit(browser, hostile) as page:
        page.evaluate(UNFOLD)
        elements = ":is(main, header) :is(script, img, style, iframe, link, [onload], [onmouseover])"
        assert page.locator(elements).count() == 0
        assert "{{ 7*7 }}" in page.inner_text("#p1")


def test_drafts_and_the_stand_in_have_a_banner_and_drafts_no_figure(browser, paged):
    with visit(browser, paged(made_task_corpus(2, level="none"))) as page:
        assert page.inner_text(".banner").startswith("Drafts.")
        assert page.locator("figure").count() == 0
        assert "No proof was made" in page.inner_text("#glance")
    with visit(browser, paged(made_task_corpus(2, model="embedded"))) as page:
        assert page.inner_text(".banner").startswith("Embedded stand-in.")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(34.0, "34"), (1200.5, "1,200.5"), ("Rolf", "Rolf"), (["a", "b"], "a, b"), (12345678.0, "12,345,678")],
)
def test_a_value_is_shown_as_people_write_it(value, shown):
    assert value_of(value) == shown


def test_a_corpus_of_nobody_has_a_page(browser, paged):
    with visit(browser, paged(made_task_corpus(0, wanted=2))) as page:
        assert "There is none." in page.inner_text("#people")


def test_the_page_of_tasks_is_a_function_of_the_corpus():
    assert corpus_page(TaskSummary(made_task_corpus(2)), "x") == corpus_page(TaskSummary(made_task_corpus(2)), "x")
