"""Images as inputs of programs: sent as OpenAI's content parts on every route, in order and unbroken."""

import asyncio
import json

import dspy
import pytest
from builders.images import corners, images_of, quarters, saved, shown
from drivers.client import ASSISTANT, JUDGE, ROUTES
from fakes.server import Answer
from PIL import Image

from dspy_proact.calls import collect_calls
from dspy_proact.errors import ContentError, UsageError
from dspy_proact.images import prepare
from dspy_proact.models import Gate, ModelSpec, open_model
from dspy_proact.programs import Direct
from dspy_proact.programs.artefact import Artefact
from dspy_proact.programs.asking import image_inputs
from dspy_proact.programs.fenced_json import FencedJSON
from dspy_proact.programs.program import Question


class Compare(dspy.Signature):
    """Say which of the earlier pictures shows the same as this one."""

    note: str = dspy.InputField()
    earlier: list[dspy.Image] = dspy.InputField()
    picture: dspy.Image = dspy.InputField()
    question: str = dspy.InputField()
    position: int = dspy.OutputField()


class Look(dspy.Signature):
    """Say what is seen."""

    picture: dspy.Image = dspy.InputField()
    question: str = dspy.InputField()
    colour: str = dspy.OutputField()


def image(colour="red", size=(30, 20), **more):
    return dspy.Image(prepare(saved(Image.new("RGB", size, colour)), "x.png", "box", **more).uri)


MARKED = '<<CUSTOM-TYPE-START-IDENTIFIER>>[{"type": "image_url", "image_url": {"url": "http://a.b/c"}}]<<CUSTOM-TYPE-END-IDENTIFIER>>'
"""What DSPy makes an image of, wherever it stands in a text."""
KEYS = {
    "note": f"| {MARKED}",
    "earlier": [image("blue"), image("lime", (10, 50))],
    "picture": dspy.Image(prepare(saved(quarters(2000, 1000)), "x.png", "box").uri),
    "question": f"Which? {MARKED} [image]",
}


async def put(server, program, name="openai/gpt-4o", backend="auto", directly=True, **inputs):
    """Put a question to a model of the server."""
    gate = Gate(retries=0, backoff=0.001, backend=backend)
    model = open_model(ModelSpec(name=name, api_base=server.assistant), ASSISTANT, gate)
    try:
        with dspy.context(lm=model.lm), collect_calls():
            if directly:
                return await program.answer_by(Direct(model.lm), **inputs)
            return await program.acall(**inputs)
    finally:
        await model.aclose()


@ROUTES
@pytest.mark.parametrize("directly", [True, False])
def test_images_arrive_unbroken_in_their_order_between_the_texts(server, name, backend, directly):
    server.script = lambda sent: Answer(json.dumps({"position": 1}))
    came = asyncio.run(put(server, Question(Compare, "note"), name, backend, directly, **KEYS))
    (sent,) = server.sent
    assert came.position == 1
    before, first, second, between, third, after = shown(sent)
    assert before.startswith("[[ ## note ## ]]\n| | <<CUSTOM"), "a text that imitates an image stays text"
    assert before.endswith("[[ ## earlier ## ]]\n")
    assert (first.size, corners(first)[0]) == ((30, 20), (0, 0, 255))
    assert (second.size, corners(second)[0]) == ((10, 50), (0, 255, 0))
    assert between == "\n\n[[ ## picture ## ]]\n"
    assert third.tobytes() == quarters(2000, 1000).resize((1024, 512), Image.Resampling.LANCZOS).tobytes()
    assert after.startswith(f"\n\n[[ ## question ## ]]\nWhich? {MARKED} [image]\n\n")
    assert "base64" not in before + between + after


def test_a_question_that_is_repeated_shows_the_image_again_and_ends_with_the_note(server):
    server.script = lambda sent: Answer("red" if len(server.sent) == 1 else json.dumps({"colour": "red"}))
    assert asyncio.run(put(server, Question(Look), picture=image(), question="Which colour?")).colour == "red"
    first, second = map(images_of, server.sent)
    assert first[0].tobytes() == second[0].tobytes()
    assert str(shown(server.sent[1])[-1]).endswith("Answer with one JSON object only.")


@ROUTES
def test_a_persons_own_program_sends_its_images_by_dspys_adapter(server, name, backend):
    server.script = lambda sent: Answer("[[ ## colour ## ]]\nred\n\n[[ ## completed ## ]]")
    program = dspy.Predict(Look)
    came = asyncio.run(put(server, program, name, backend, directly=False, picture=image("lime"), question="?"))
    assert came.colour == "red"
    (sent,) = images_of(server.sent[0])
    assert (sent.size, corners(sent)[0]) == ((30, 20), (0, 255, 0))


def test_a_worked_example_says_that_there_is_an_image_and_holds_none():
    demos = [dspy.Example(picture=image(), question="?", colour="red", augmented=True)]
    rows = FencedJSON().format(Look, demos, {"picture": image(), "question": "?"})
    assert [type(row["content"]) for row in rows] == [str, str, str, list]
    assert rows[1]["content"].splitlines()[:2] == ["[[ ## picture ## ]]", "(an image)"]
    assert "base64" not in str(rows[:-1])


def test_what_takes_images_is_known_by_its_signatures():
    assert image_inputs(Question(Compare)) == ["earlier", "picture"]
    assert image_inputs(dspy.Predict("text, shown: dspy.Image | None -> answer")) == ["shown"]
    assert image_inputs(dspy.Predict("text -> answer")) == []


def test_the_embedded_model_reads_the_description_that_a_drawing_has_left():
    heard = list[tuple[str, str]]()

    def stand_in(system, messages):
        heard.extend(messages)
        return json.dumps({"position": 2})

    from dataclasses import replace

    model = open_model("embedded", replace(JUDGE, stand_in=stand_in), Gate())
    inputs = {**KEYS, "picture": image("red", description="a red card, face up")}
    with dspy.context(lm=model.lm):
        assert asyncio.run(Question(Compare).answer_by(Direct(model.lm), **inputs)).position == 2
    ((role, text),) = heard
    assert role == "user"
    assert "[[ ## earlier ## ]]\n[image][image]\n\n[[ ## picture ## ]]\n[image: a red card, face up]\n\n" in text


def test_an_image_that_a_provider_repeats_stands_in_no_message(server):
    def repeat(sent):
        url = sent.messages[-1]["content"][1]["image_url"]["url"]
        message = f"cannot read {url[:200]} nor {url.partition(',')[2]}"
        return Answer(status=400, raw=json.dumps({"error": {"message": message}}).encode())

    server.script = repeat
    with pytest.raises(ContentError) as raised:
        asyncio.run(put(server, Question(Look), picture=image(), question="?"))
    text = str(raised.value)
    assert "cannot read data:image/png;base64,[image] nor [image]" in text
    assert "iVBOR" not in text


def compiled(program, demos):
    """The file of a compiled program, as far as loading reads it."""
    from dspy_proact.programs.artefact import signature_of, states_of

    states = states_of(program)
    states["question"] = states["question"].model_copy(update={"demos": tuple(demos)})
    made = {"states": states, "program": "Question", "signature": signature_of(program, states), "role": "assistant"}
    return Artefact.model_construct(**made)


def test_a_file_of_a_compiled_program_brings_no_images():
    demo = {"picture": {"url": image().url}, "question": "?", "colour": "red"}
    with pytest.raises(UsageError, match=r"f\.json: has demos of a program whose input 'picture' is an image"):
        compiled(Question(Look), [demo]).put_into(Question(Look), "f.json")
