"""The page of more than two runs, and what of a page is on the first screen of a desktop and of a phone."""

import json
from pathlib import Path

import pytest
from builders.runs import run_of, spread
from drivers.browser import visit

from dspy_proact import Evaluation, Scope, load_corpus

NUMBERS = "e => [...e.querySelectorAll('data')].map(e => [e.dataset.at, e.value])"
SCREENS = ((1280, 800), (390, 844))


@pytest.fixture(scope="module")
def three_runs(tmp_path_factory, runs):
    """The two runs, and between them one of two triggers."""
    few = tmp_path_factory.mktemp("few") / "few"
    Evaluation(load_corpus("sample"), model="embedded", judge="embedded").run(few, Scope(limit=2))
    return [runs[0], few, runs[1]]


@pytest.fixture(scope="module")
def three(three_runs, paged):
    return paged(*three_runs)


def bottom(locator):
    box = locator.bounding_box()
    return box["y"] + box["height"]


def test_runs_are_sorted_and_one_of_two_triggers_is_marked_and_has_no_bar(browser, three, three_runs, proact):
    document = json.loads(proact("compare", *three_runs, "--json")[1])
    with visit(browser, three) as page:
        assert page.inner_text("h1") == document["headline"]
        rows = [text.split("\n")[0].split()[0] for text in page.locator("#glance tbody th").all_inner_texts()]
        assert rows == [of["run"] for of in document["runs"]] == ["C", "A", "B"]
        assert page.locator("#glance tbody th").last.inner_text().endswith("*")
        assert page.locator(".plot .run-1").count() == 0
        caption = page.inner_text("#glance figcaption")
        assert "* Fewer than half as many scored triggers as another run, so last and without bars." in caption
        assert page.locator(".plot .run-0 rect").count() == page.locator(".plot .run-2 rect").count() == 4
        assert page.locator("#differences > article > details").count() == 2
        shown = dict(page.locator("#glance tbody").evaluate(NUMBERS))
    of_a, of_b = document["comparisons"][1], document["comparisons"][0]
    for number, of in ((1, of_a), (0, of_b)):
        at = f"/comparisons/{number}"
        assert float(shown[f"{at}/overall/micro/weighted/value"]) == of["overall"]["micro"]["weighted"]["value"]
        assert float(shown[f"{at}/p_holm"]) == of["p_holm"]


@pytest.mark.parametrize("made", ["one", "two", "three"])
def test_answer_and_figure_are_on_the_first_screen_of_a_desktop_and_of_a_phone(browser, made, request):
    with visit(browser, request.getfixturevalue(made)) as page:
        for width, height in SCREENS:
            page.set_viewport_size({"width": width, "height": height})
            assert bottom(page.locator("h1")) < height / 2
            assert bottom(page.locator(".plot svg").first) <= height, (width, height)
            for difference in page.locator(".legend .difference").all():
                assert bottom(difference) < height


@pytest.fixture(scope="module")
def matrix(tmp_path_factory, paged):
    """Two models, each with a prompt, bare, and with another prompt; more triggers pass from run to run."""
    folder, cases, runs = tmp_path_factory.mktemp("matrix"), spread(8), list[Path]()
    for model in ("openai/ann", "openai/ben"):
        for prompt in ("a long <b>prompt</b>", None, "short"):
            grades = ["PASS" if n % 6 <= len(runs) else "FAIL" for n in range(len(cases))]
            named = {"program": "prompt", "prompt": f"hash of {prompt}"} if prompt else {}
            path = folder / f"{len(runs)}"
            run_of(path, zip(cases, grades, strict=True), model=model, variant=prompt, assistant=named)
            runs.append(path)
    return paged(*runs)


def test_models_by_prompts_come_first_the_bare_model_first_and_the_highest_in_bold(browser, matrix):
    with visit(browser, matrix) as page:
        for width, height in SCREENS:
            page.set_viewport_size({"width": width, "height": height})
            assert bottom(page.locator("table.matrix")) < height
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        table = page.locator("#glance table").first
        rows = [row.locator("th, td").all_inner_texts() for row in table.locator("tr").all()]
        cells = [[cell.split("[")[0].split() for cell in row] for row in rows]
        assert [cells[0], cells[1][0], cells[2][0]] == [
            [["model"], ["bare"], ["a", "long", "<b>prompt</b>"], ["short"]],
            ["ann"],
            ["ben"],
        ]
        # Of run k, counted from 0, k + 1 triggers of six pass: 24 triggers, 4 of each remainder.
        assert [cells[1][1:], cells[2][1:]] == [
            [["B", "33.3"], ["A", "16.7"], ["C", "50.0"]],
            [["E", "83.3"], ["D", "66.7"], ["F", "100.0"]],
        ]
        assert page.locator(".matrix .highest").inner_text().startswith("F 100.0")
        assert page.locator(".matrix .highest").count() == 1
        assert "F, openai/ben (short), has the highest strict score" in page.inner_text("#glance")


@pytest.fixture(scope="module")
def fourteen(tmp_path_factory, paged):
    """Two models with seven prompts each; the last runs of both pass all, and no other does."""
    folder, cases, runs = tmp_path_factory.mktemp("fourteen"), spread(8), list[Path]()
    for model in ("openai/ann", "openai/ben"):
        for number in range(7):
            grades = ["PASS" if n % 7 <= number else "FAIL" for n in range(len(cases))]
            path = folder / f"{len(runs)}"
            named = {"program": "prompt", "prompt": f"hash of {number}"}
            run_of(path, zip(cases, grades, strict=True), model=model, variant=f"p{number}", assistant=named)
            runs.append(path)
    return paged(*runs)


def test_runs_with_the_same_highest_score_are_all_bold(browser, fourteen):
    with visit(browser, fourteen) as page:
        highest = [text.split()[0] for text in page.locator(".matrix .highest").all_inner_texts()]
        assert highest == ["G", "N"]
        assert "G, openai/ann (p6), shares the highest strict score, 100.0, with N." in page.inner_text("#glance")


def test_a_colour_that_comes_again_has_another_mark_in_tables_legend_and_bars(browser, fourteen):
    look = "all => all.map(e => { const of = getComputedStyle(e); return of.backgroundColor + of.backgroundImage; })"
    bars = "all => all.map(e => [...e.querySelectorAll('rect')].map(r => getComputedStyle(r).fill).join())"
    with visit(browser, fourteen) as page:
        assert len(set(page.locator(".legend .swatch").evaluate_all(look))) == 14
        assert len(set(page.locator(".matrix .swatch").evaluate_all(look))) == 14
        assert len(set(page.locator(".plot .bar").evaluate_all(bars))) == 14
        assert page.locator("#striped, #dotted").count() == 2
        # Their letters stand at each bar as well.
        assert {*"ABCDEFGHIJKLMN"} <= {*page.locator(".plot .letter").all_text_contents()}
