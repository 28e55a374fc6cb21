"""Screenshots of ProAgentBench: the last one before now is sent, scaled; no file holds it, and bad ones are refused."""

import json
import sqlite3
from datetime import timedelta
from functools import cache

import pytest
from builders.images import claiming, corners, images_of, saved
from PIL import Image
from recorded import BEGIN, evaluated, event, person, saying

from dspy_proact import Evaluation, Gate, ModelSpec
from dspy_proact.benchmarks.proagentbench.corpus import DATABASE, load_corpus
from dspy_proact.benchmarks.proagentbench.moments import ProAgentBenchSettings
from dspy_proact.errors import CorpusError

SIZE = (1600, 900)
COLOURS = {2: "red", 3: "lime", 4: "blue", 5: "yellow"}
"""Of the last screenshot that was taken during an event."""
SEEN = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0)}


def taken(folder, *rows, files=None):
    """Ann's table of screenshots, each with the number of its event and the seconds after 9:00, and their files."""
    connection = sqlite3.connect(folder / "ann" / DATABASE)
    connection.execute("CREATE TABLE IF NOT EXISTS screenshots (event_id INTEGER, file_path TEXT, created_at TEXT)")
    with connection:
        for number, path, seconds in rows:
            at = str(BEGIN + timedelta(seconds=seconds))
            connection.execute("INSERT INTO screenshots VALUES (?, ?, ?)", (number, path, at))
    connection.close()
    (folder / "ann" / "screenshots").mkdir(exist_ok=True)
    for name, data in (files or {}).items():
        (folder / "ann" / "screenshots" / name).write_bytes(data)
    return folder


@cache
def screen(colour):
    """A screen of one colour with noise below, so that its bytes are alike nowhere else."""
    image = Image.new("RGB", SIZE, colour)
    image.paste(Image.effect_noise((SIZE[0], 20), len(colour) * 20), (0, SIZE[1] - 20))
    return saved(image)


@pytest.fixture
def corpus(tmp_path):
    """Six events, one a minute for 50 seconds; help at 3 and 5. Canaries are black: too early, too late, of others."""
    rows = [event(n, n, help_="Why?" if n in {3, 5} else None) for n in range(1, 7)]
    folder = person(tmp_path / "corpus", "ann", rows)
    good = [(n, f"C:\\Users\\ann\\screenshots\\secret-{n}.png", 60 * n + 40) for n in COLOURS]
    canaries = [(n, "/home/ann/black.png", 60 * n + seconds) for n in COLOURS for seconds in (-30, 10, 55, 3600)]
    files = {f"secret-{n}.png": screen(colour) for n, colour in COLOURS.items()} | {"black.png": screen("black")}
    return taken(folder, *canaries, *good, (99, "black.png", 130), (None, "black.png", 130), files=files)


def colours(server):
    return [corners(image)[0] for sent in server.sent for image in images_of(sent)]


def held(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_moment_is_shown_the_last_screenshot_before_it_and_no_file_holds_it(server, corpus, tmp_path, proact):
    """Moments begin at 2 to 6; of the first one's state, event 1, there is no screenshot."""
    server.script = lambda sent: saying(sent, help_=True)
    summary = evaluated(server, corpus, tmp_path / "run", keep_inputs=True, negatives="all", screenshot=True)
    assert sorted(colours(server)) == sorted(SEEN[colour] for colour in COLOURS.values())
    assert {image.size for sent in server.sent for image in images_of(sent)} == {(1024, 576)}
    (sent,) = [sent for sent in server.sent if corners(images_of(sent)[0])[0] == SEEN["red"]]
    assert "title 2" in str(sent.messages[-1]["content"])
    assert "follows an event without a screenshot" in " ".join(summary.left_out)
    answers = [json.loads(outcome.response)["picture"] for outcome in summary.outcomes]
    assert {(answer["name"], answer["width"]) for answer in answers} == {(f"ann/{n}", 1600) for n in COLOURS}
    assert len({answer["sha256"] for answer in answers}) == 4
    proact("report", tmp_path / "run", "--html", tmp_path / "run" / "page.html")
    proact("show", tmp_path / "run", "--case", "ann/3")
    data = held(tmp_path / "run")
    assert b"title 2" in data, "texts are kept where they are asked for"
    assert not [
        word
        for word in (b"base64,", b"secret-", str(corpus / "ann" / "screenshots").encode(), b"black.png")
        if word in data
    ]
    assert not [True for path in corpus.rglob("*.png") if path.read_bytes()[2000:2040] in data]
    count = len(server.sent)
    evaluated(server, corpus, tmp_path / "run", keep_inputs=True, negatives="all", screenshot=True)
    assert len(server.sent) == count


def test_both_stages_and_all_samples_are_shown_it_and_a_forecast_counts_it(server, corpus, tmp_path):
    server.script = lambda sent: saying(sent, help_=True)
    evaluated(server, corpus, tmp_path / "run", screenshot=True, program="staged", samples=2)
    assert (len(server.sent), len(colours(server))) == (16, 16)  # 4 moments, 2 stages, 2 samples
    settings = ProAgentBenchSettings(screenshot=True, samples=2)
    model = ModelSpec(name="openai/gpt-4o", api_base=server.assistant)
    evaluation = Evaluation(str(corpus), model, benchmark="proagentbench", settings=settings, gate=Gate(retries=0))
    forecast = evaluation.forecast(tmp_path / "new")
    # 1024 x 576 pixels are 2 x 2 tiles: 85 + 4 x 170 tokens.
    assert (forecast.calls, forecast.assistant.images, forecast.assistant.uncounted_images) == (8, 8, 0)
    assert 8 * 765 < forecast.assistant.prompt_tokens < 8 * (765 + 900)


BAD = {
    "none": ("a.png", b"<html>", "a.png: is no image of JPEG"),
    "of another kind": ("a.jpg", screen("red"), "a.jpg: is a PNG, and no JPEG as its name says"),
    "50 megapixels": ("a.png", claiming(10_000, 5_000), "a.png: has more than 40 megapixels"),
    "missing": ("b.png", screen("red"), "there is no such file"),
    "elsewhere": ("../../ben.png", screen("red"), "screenshots/ben.png: there is no such file"),
    "long": ("x" * 10**6, screen("red"), "file_path is no path"),
    "cut": ("b\0c.png", screen("red"), "file_path is no path"),
}


@pytest.mark.parametrize("fault", BAD)
def test_an_image_that_is_none_is_refused_with_file_and_row_or_counted(tmp_path, refused, server, fault):
    path, data, message = BAD[fault]
    rows = [event(n, n, help_="Why?" if n in {3, 5} else None) for n in range(1, 7)]
    folder = person(tmp_path / "corpus", "ann", rows)
    (folder / "ben.png").write_bytes(screen("red"))
    files = {path if path.startswith("a.") else "a.png": data, "good.png": screen("lime")}
    taken(folder, (2, path, 140), (4, "good.png", 260), (5, "good.png", 330), files=files)
    with pytest.raises(CorpusError) as error:
        load_corpus(str(folder), ProAgentBenchSettings(screenshot=True))
    assert message in str(error.value)
    assert f"ann/{DATABASE}, field '" in str(error.value)
    assert len(str(error.value)) < 600
    models = ("--model", "hosted_vllm/any", "--model-api-base", server.assistant, "--out", tmp_path / "out")
    of = ("--benchmark", "proagentbench", "--corpus", folder, *models)
    assert message in " ".join(refused("eval", *of, "--set", "screenshot=true").split())
    assert (server.sent, (tmp_path / "out").exists()) == ([], False)
    result = load_corpus(str(folder), ProAgentBenchSettings(screenshot=True, strict=False, negatives="all"))
    assert [case.key for case in result.cases] == ["ann/5", "ann/6"]
    assert sum(result.corpus.left_out.values()) == 1 + 3  # the row, and the moments after events 1, 2 and 3
    assert len(load_corpus(str(folder), ProAgentBenchSettings(negatives="all")).cases) == 5


def test_without_a_table_of_screenshots_there_is_nothing_to_show(tmp_path):
    folder = person(tmp_path, "ann", [event(1, 1), event(2, 2, help_="Why?")])
    with pytest.raises(CorpusError, match="field 'screenshots': has no table screenshots"):
        load_corpus(str(folder), ProAgentBenchSettings(screenshot=True))


def test_the_sample_is_drawn_for_a_model_without_a_key(proact):
    of = ("eval", "--benchmark", "proagentbench", "--set", "screenshot=true", "--out", "seen", "--json")
    report = json.loads(proact(*of)[1])
    assert (report["moments"]["scored"], report["run"]["corpus"]["left_out"]) == (30, {})
