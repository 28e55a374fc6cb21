"""Pages of a benchmark that says nothing of its own: its strata, measures, judges and failures, in its nouns."""

import base64
import re
from dataclasses import replace
from io import BytesIO

import pytest
from axe_playwright_python.sync_playwright import Axe
from builders.riddles import answered, case, failed, graded, identity, judged_by, manifest, written
from drivers.browser import visit
from PIL import Image

from dspy_proact import Measure, Nouns, Summary
from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.reporting import Reporting, Thumbnail
from dspy_proact.report.page import cases

WORDS = Nouns(case="riddle", cases="riddles", stratum="kind", strata="kinds", group="cave", groups="caves")
WIT = Measure(name="wit", title="wit, mean", parts=("wit",))
RIDDLES = [case(f"r{number}", f"g{number}", ("RHYME", "NUMBER")[number % 2]) for number in range(4)]


def page_of(folder, paged, events, **of):
    written(folder / "run", manifest(nouns=WORDS, **of), RIDDLES, events)
    return paged(folder / "run")


def test_measures_stand_beside_the_scores_and_nothing_of_another_benchmark(paged, tmp_path):
    of = {"identity": identity(judges=()), "judge_prices": {}, "measures": (WIT,)}
    events = []
    for number, riddle in enumerate(RIDDLES):
        verdict = graded(riddle.key, "SOLVED", judge=None)
        grade = replace(verdict.grade, parts={"wit": number / 4})
        events += [answered(riddle.key), verdict.model_copy(update={"grade": grade})]
    text = page_of(tmp_path, paged, events, **of).read_text(encoding="utf-8")
    # NUMBER has r1 and r3: (1/4 + 3/4) / 2.
    assert '<data value="0.5" data-at="/runs/0/kinds/NUMBER/measures/wit/value">0.50</data>' in text
    assert text.count('data-at="/runs/0/overall/measures/wit/value"') == 1
    assert "Every riddle" in text
    assert "The benchmark grades by itself." in text
    assert not re.search('id="ranking"|class="scatter"|Cite the', text)


def test_several_judges_are_beside_each_other_and_what_one_did_not_say_is_told(browser, paged, tmp_path):
    events = [answered(riddle.key) for riddle in RIDDLES]
    events += [graded(riddle.key, "SOLVED", judge="sphinx") for riddle in RIDDLES]
    events += [graded(riddle.key, "LOST", judge="oracle") for riddle in RIDDLES[:2]]
    events += [failed(riddle.key, "verdict", "content", "mute", judge="oracle") for riddle in RIDDLES[2:]]
    with visit(browser, page_of(tmp_path, paged, events, **judged_by("sphinx", "oracle"))) as page:
        exact = page.locator("[data-at='/runs/0/several_verdicts/agreement/0/exact/value']")
        assert (exact.get_attribute("value"), exact.inner_text()) == ("0.0", "0.0")
        flipped = page.locator("[data-at='/runs/0/several_verdicts/agreement/0/table/SOLVED/LOST']")
        assert flipped.inner_text() == "2"
        page.check("[name=disagree]")
        assert page.locator("#rows li").count() == 2
        assert page.locator("#case .verdict").count() == 2
        page.uncheck("[name=disagree]")
        page.click("#rows li:nth-child(3) a")
        page.locator("#case", has_text="oracle: no verdict, mute").wait_for()


def test_judges_whose_kappa_is_known_have_a_page(paged, tmp_path):
    riddles = [case(f"r{number}", f"g{number}", "RHYME") for number in range(24)]
    events = [answered(item.key) for item in riddles]
    for number, riddle in enumerate(riddles):
        events.append(graded(riddle.key, "SOLVED" if number % 3 else "LOST", judge="sphinx"))
        events.append(graded(riddle.key, "SOLVED" if number % 4 else "LOST", judge="oracle"))
    written(tmp_path / "run", manifest(nouns=WORDS, **judged_by("sphinx", "oracle")), riddles, events)
    assert "quadratic kappa" in paged(tmp_path / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("failure", ["", "silent"])
def test_where_nothing_is_scored_dashes_stand_and_the_reasons(paged, tmp_path, failure):
    events = [failed(riddle.key, "response", "content", failure) for riddle in RIDDLES] if failure else []
    text = page_of(tmp_path, paged, events).read_text(encoding="utf-8")
    assert "<rect" not in text[text.index('class="plot"') : text.index("</figure>")]
    assert text.count('<span class="none">–</span>') > 6
    unscored = 4 if failure else 0
    assert f'data-at="/runs/0/riddles/unscored">{unscored}</data>' in text
    assert ("<bdi>response: silent</bdi>" in text) == bool(failure)


def test_images_stand_beside_the_answer_as_far_as_there_is_room(browser, paged, tmp_path, monkeypatch):
    buffer = BytesIO()
    Image.new("RGB", (3, 2), "red").save(buffer, "PNG")
    uri = f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"

    def thumbnails(_, outcome):
        yield Thumbnail("step 1: a <b>", lambda: uri)
        if outcome.key == "r0":
            yield Thumbnail("step 2: a <b> again", lambda: uri)
            yield Thumbnail("step 3: large", lambda: uri + "A" * len(uri))
            yield Thumbnail("step 4", gone)

    def gone():
        raise CorpusError("there is no such image", source="photos.zip")

    monkeypatch.setattr(Summary, "reporting", Reporting(thumbnails=thumbnails))
    # Room for the first, which stands once however often it is shown, and for less than another.
    monkeypatch.setattr(cases, "IMAGE_ROOM", 2 * len(uri))
    events = [event for riddle in RIDDLES for event in (answered(riddle.key), graded(riddle.key, "SOLVED"))]
    with visit(browser, page_of(tmp_path, paged, events)) as page:
        page.locator("#rows li a", has_text="r0").or_(page.locator("#rows li:first-child a")).first.click()
        page.locator("#case[data-key=r0] img").first.wait_for()
        shown = page.locator("#case img")
        assert shown.count() == 2
        assert shown.nth(0).get_attribute("alt") == "step 1: a <b>"
        assert shown.nth(1).evaluate("image => [image.naturalWidth, image.naturalHeight]") == [3, 2]
        captions = page.locator("#case figcaption").all_inner_texts()
        assert captions[2:] == ["step 3: large: no room for more images", "images: photos.zip: there is no such image"]
        result = Axe().run(page)
        assert result.violations_count == 0, result.generate_report()


def test_once_there_is_hardly_room_no_further_image_is_read(paged, tmp_path, monkeypatch):
    read = list[str]()

    def thumbnails(_, outcome):
        yield Thumbnail(outcome.key, lambda: read.append(outcome.key) or f"data:,{outcome.key * 500}")

    monkeypatch.setattr(Summary, "reporting", Reporting(thumbnails=thumbnails))
    monkeypatch.setattr(cases, "IMAGE_ROOM", 1010)  # of one, which has 1,006 characters; the second finds it full
    events = [event for riddle in RIDDLES for event in (answered(riddle.key), graded(riddle.key, "SOLVED"))]
    page_of(tmp_path, paged, events)
    assert len(RIDDLES) > len(read) == 2
