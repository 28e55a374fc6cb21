"""A benchmark of pictures is forecast, run, shown, exported and compiled, and no file holds a byte of an image."""

import base64
import json
import re
from pathlib import Path

import dspy
import pytest
from builders.images import corners, images_of, saved
from drivers.browser import packed_cases
from fakes.server import Answer, Server
from PIL import Image

from dspy_proact import Benchmark, CallForecast, Case, CaseSet, Compile, Evaluation, Gate, ModelSpec, Recipe, Scored
from dspy_proact.compile.assistant_target import AssistantTarget
from dspy_proact.errors import UsageError
from dspy_proact.evaluation import registry
from dspy_proact.images import Picture, scaled
from dspy_proact.programs.asking import uploaded
from dspy_proact.programs.program import Question
from dspy_proact.runs import ExpectedCall, RunFolder, Scope
from dspy_proact.types import Frozen

COLOURS = ("red", "lime", "blue", "black")
SIZE = (1500, 1000)


class Shown(Frozen):
    file: str
    question: str


class Colour(Frozen):
    colour: str
    picture: Picture | None = None


class Remark(Frozen):
    wanted: str


class Look(dspy.Signature):
    """Say which colour is seen."""

    picture: dspy.Image = dspy.InputField()
    question: str = dspy.InputField()
    colour: str = dspy.OutputField()


class Looker(Question):
    def __init__(self, folder: Path):
        super().__init__(Look)
        self.folder = folder

    async def answer_by(self, asking, **inputs):
        path = self.folder / inputs["file"]
        upload = await uploaded(asking, path.read_bytes, inputs["file"], str(path))
        prediction = await super().answer_by(asking, picture=dspy.Image(upload.uri), question=inputs["question"])
        return dspy.Prediction(colour=prediction.colour, picture=upload.picture)


def look_calls(case, program, settings):
    inputs = {"picture": "(an image)", "question": case.view.question}
    return [ExpectedCall(program.messages(inputs), (5, 10), images=(scaled(*SIZE),))]


class Colours(Benchmark[Colour, Remark]):
    """Eight pictures of one colour each, two of each colour."""

    name = "colours"
    labels = ("RIGHT", "WRONG")
    view, answer_type = Shown, Colour
    forecast = CallForecast(look_calls)

    def __init__(self, folder: Path):
        self.folder = folder

    def read(self, corpus, settings, revision=None):
        cases = [
            Case(f"{number}", f"group-{number}", "all", Shown(file=f"{number}.png", question="Which colour?"))
            for number in range(8)
        ]
        return CaseSet.of("colours", cases)

    def program(self, settings, start, roles):
        return Looker(self.folder)

    async def grade(self, case, answer, ask):
        wanted = COLOURS[int(case.key) % 4]
        label = "RIGHT" if answer.colour == wanted else "WRONG"
        return Scored(float(label == "RIGHT"), label, Remark(wanted=wanted))


def drawn(folder: Path, width: int, height: int) -> Path:
    """Eight pictures. Below each are some rows of noise, so that no two of its bytes are alike."""
    folder.mkdir()
    for number in range(8):
        image = Image.new("RGB", (width, height), COLOURS[number % 4])
        image.paste(Image.effect_noise((width, 20), 90 + number), (0, height - 20))
        (folder / f"{number}.png").write_bytes(saved(image))
    return folder


@pytest.fixture
def folder(tmp_path):
    return drawn(tmp_path / "pictures", 300, 200)  # small: they are read again for every call


def looking(sent):
    """A model that sees: it says the colour above left, and never blue unless it is told to."""
    if sent.role != "assistant":
        return Answer(json.dumps({"new_instruction": "Blue too.", "improved_instruction": "Blue too."}))
    colour = corners(images_of(sent)[0])[0]
    blue = "Blue too." in sent.messages[0]["content"]
    names = {(255, 0, 0): "red", (0, 255, 0): "lime", (0, 0, 255): "blue" if blue else "black", (0, 0, 0): "black"}
    return Answer(json.dumps({"colour": names[colour]}))


def evaluation(server: Server, folder: Path, **gate):
    model = ModelSpec(name="openai/gpt-4o", api_base=server.assistant)
    return Evaluation("colours", model, benchmark=Colours(folder), gate=Gate(retries=0, **gate))


CODED = re.compile(r"[A-Za-z0-9+/]{200,}|base64|CUSTOM-TYPE")


def holds_no_image(path: Path, folder: Path):
    """No file below a folder holds the bytes of a picture, as they are or as text, from their beginning or within."""
    held = [file.read_bytes() for file in folder.iterdir()]
    for file in (file for file in path.rglob("*") if file.is_file()):
        data = file.read_bytes()
        assert not CODED.search(data.decode("utf-8", "replace")), file
        for image in held:
            assert image[1000:1024] not in data, file
            assert base64.b64encode(image[1002:1032]) not in data, file


def test_a_run_sends_every_picture_scaled_and_keeps_none(server, tmp_path):
    folder = drawn(tmp_path / "pictures", *SIZE)
    server.script = looking
    evaluation(server, folder).run(tmp_path / "run")
    assert len(server.sent) == 8
    assert {image.size for sent in server.sent for image in images_of(sent)} == {(1024, 683)}
    answers = [event.answer for event in RunFolder(tmp_path / "run").events() if event.answer]
    assert [answer["picture"]["width"] for answer in answers] == [1500] * 8
    names = {f"{number}.png" for number in range(8)}
    assert {answer["picture"]["name"] for answer in answers} == names
    assert {*re.findall(r"\d\.png", (tmp_path / "run" / "messages.jsonl").read_text("utf-8"))} == names
    labels = [event.grade.label for event in RunFolder(tmp_path / "run").events() if event.grade]
    assert (labels.count("RIGHT"), labels.count("WRONG")) == (6, 2), "a quarter is blue, which it does not say"
    holds_no_image(tmp_path / "run", folder)
    sent = len(server.sent)
    assert evaluation(server, folder).run(tmp_path / "run").stages == 0
    assert len(server.sent) == sent


def test_what_is_shown_printed_and_exported_of_a_run_holds_no_image(
    server, folder, tmp_path, proact, done, monkeypatch
):
    server.script = looking
    evaluation(server, folder).run(tmp_path / "run")
    monkeypatch.setattr(registry, "_OWN", {})
    output = ""
    for verb in (["show", "run", "--json"], ["show", "run"], ["report", "run", "--json"], ["report", "run"]):
        out, err = done(*verb)
        output += out + err
    assert "1.png" in output
    assert not CODED.search(output)
    (tmp_path / "made").mkdir()
    assert proact("export", "run", "--format", "csv", "--out", "made/run.csv")[0] == 0
    assert proact("report", "run", "--html", "made/run.html")[0] == 0
    page = tmp_path / "made" / "run.html"
    page.write_text(packed_cases(page.read_text("utf-8")), "utf-8")
    holds_no_image(tmp_path / "made", folder)


def test_a_forecast_counts_images_by_the_rule_and_decodes_none(server, folder, tmp_path):
    for file in folder.iterdir():
        file.write_bytes(b"no image")
    forecast = evaluation(server, folder).forecast(tmp_path / "run")
    # 1024 x 683 pixels are 2 x 2 tiles: 85 + 4 x 170 tokens.
    assert (forecast.assistant.images, forecast.assistant.uncounted_images) == (8, 0)
    texts = forecast.assistant.prompt_tokens - 8 * 765
    assert 8 * 50 < texts < 8 * 400


def test_a_forecast_says_what_it_does_not_count(server, folder, tmp_path, capsys):
    from dspy_proact.cli.views.runs import _role

    model = ModelSpec(name="hosted_vllm/any", api_base=server.assistant)
    forecast = Evaluation("colours", model, benchmark=Colours(folder)).forecast(tmp_path / "run")
    assert forecast.assistant.uncounted_images == 8
    assert ", 8 images (8 not counted: no rule for their tokens is known), " in _role(forecast.assistant)


@pytest.mark.parametrize("bad", [b"", b"<html>", "cut"])
def test_a_bad_picture_makes_a_sentence_and_no_call(server, folder, tmp_path, bad):
    server.script = looking
    path = folder / "3.png"
    path.write_bytes(path.read_bytes()[:5000] if bad == "cut" else bad)
    assert evaluation(server, folder).run(tmp_path / "run").unscored == 1
    assert len(server.sent) == 7
    (failure,) = [event.failure for event in RunFolder(tmp_path / "run").events() if event.failure]
    assert (failure.kind, failure.reason) == ("content", "image")
    assert failure.detail.startswith(f"{path}: ")


def test_a_provider_that_repeats_an_image_puts_none_into_the_run(server, folder, tmp_path):
    server.script = lambda sent: Answer(status=400, raw=json.dumps({"error": {"message": sent.text}}).encode())
    evaluation(server, folder).run(tmp_path / "run", Scope(keep_going=True))
    holds_no_image(tmp_path / "run", folder)


def compiling(server: Server, folder: Path, optimizer: str):
    task, proposer = (ModelSpec(name="openai/gpt-4o", api_base=base) for base in (server.assistant, server.proposer))
    recipe = Recipe(optimizer=optimizer, trials=2, folds=2)
    gate = Gate(retries=0, concurrency=2)
    return Compile(AssistantTarget("colours", task, proposer=proposer, benchmark=Colours(folder)), recipe, gate)


@pytest.mark.parametrize("optimizer", ["search", "gepa"])
def test_a_compile_shows_its_pictures_to_the_program_alone(server, folder, tmp_path, optimizer):
    server.script = looking
    finished = compiling(server, folder, optimizer).run(tmp_path / "compile")
    assert server.of("proposer"), "something was proposed"
    for sent in server.of("proposer"):
        assert not images_of(sent)
        assert not CODED.search(sent.text)
    assert all(images_of(sent) for sent in server.of("assistant"))
    assert finished.artefact.demos == 0
    assert any("Blue too." in sent.messages[0]["content"] for sent in server.of("assistant")), "it was tried"
    holds_no_image(tmp_path / "compile", folder)
    sent = len(server.sent)
    compiling(server, folder, optimizer).run(tmp_path / "compile")
    assert len(server.sent) == sent


def test_optimizers_that_work_by_worked_examples_are_refused(server, folder):
    with pytest.raises(UsageError, match="a program that is shown images has no worked examples, by which it works"):
        compiling(server, folder, "bootstrap")
