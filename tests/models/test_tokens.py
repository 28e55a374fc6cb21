"""Tokens of images by the published rules, limits that hold for them, and models that take none."""

import asyncio
import json

import dspy
import pytest
from builders.images import quarters, saved
from drivers.client import ASSISTANT
from fakes.server import Answer
from PIL import Image

from dspy_proact.calls import Price
from dspy_proact.errors import LimitReached, SetupFault
from dspy_proact.images import prepare
from dspy_proact.models import Gate, Limits, ModelSpec, count_tokens, image_tokens, open_model
from dspy_proact.models.budget import most_of
from dspy_proact.models.endpoint import find_route
from dspy_proact.models.prices import find_capacity
from dspy_proact.programs import Direct
from dspy_proact.programs.program import Question


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        # OpenAI's guide: 768 x 768 after scaling, 4 tiles; 768 x 1536, 6 tiles.
        ("openai/gpt-4o", 1024, 1024, 85 + 4 * 170),
        ("openai/gpt-4.1-2025-04-14", 2048, 4096, 85 + 6 * 170),
        ("openai/gpt-4o", 512, 512, 85 + 170),
        ("openai/gpt-4o", 513, 512, 85 + 2 * 170),
        ("openai/gpt-4o-mini", 128, 64, 2833 + 5667),
        ("openrouter/openai/o3-2025-04-16", 128, 64, 75 + 150),
        ("gpt-5", 768, 768, 70 + 4 * 140),
        # 57 x 75 patches are too many: 1,056 x 1,408 pixels are 33 x 44, by the guide.
        ("openai/gpt-4.1-mini", 1800, 2400, 2353),  # 1,452 x 1.62 = 2,352.24
        ("openai/gpt-4.1-mini", 1024, 1024, 1659),  # 1,024 x 1.62 = 1,658.88
        ("openai/o4-mini-2025-04-16", 128, 64, 14),  # 8 x 1.72 = 13.76
        ("openai/gpt-5-nano", 33, 32, 5),  # 2 x 2.46 = 4.92
        ("openai/gpt-4.1-mini", 100_000, 10, 2489),  # never more than 1,536 patches: x 1.62 = 2,488.32
        # Anthropic's guide: its table has 54 and 1,334; from 1,568 pixels or 1,600 tokens on it is scaled down.
        ("anthropic/claude-sonnet-4-20250514", 200, 200, 54),
        ("bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", 1000, 1000, 1334),
        ("anthropic/claude-opus-4-6", 3000, 300, 328),  # 1,568 x 156.8 / 750 = 327.8
        ("anthropic/claude-opus-4-1", 6000, 6000, 1600),
        ("embedded", 1000, 1000, 0),
    ],
)
def test_tokens_are_those_of_the_providers_rule(model, width, height, tokens):
    assert image_tokens(model, width, height) == tokens


@pytest.mark.parametrize(
    "model",
    [
        "openai/gpt-5.4",
        "openai/o3-mini",
        "openai/gpt-4o-audio-preview",
        "anthropic/claude-opus-4-7",
        "hosted_vllm/qwen",
    ],
)
def test_where_no_rule_is_known_nothing_is_guessed(model):
    assert image_tokens(model, 100, 100) is None


def test_messages_are_counted_by_their_texts_alone():
    uri = prepare(saved(quarters(400, 400)), "x.png", "box").uri
    parts = [{"type": "text", "text": "What is "}, {"type": "image_url", "image_url": {"url": uri}}]
    rows = [{"role": "user", "content": [*parts, {"type": "text", "text": "this?"}]}]
    for model in ("openai/gpt-4o", "embedded"):
        assert count_tokens(model, rows) == count_tokens(model, [{"role": "user", "content": "What is this?"}])


def request(*images: dspy.Image, model="openai/gpt-4o"):
    content = [dspy.lm15.ImagePart(media_type="image/png", data=image.url.partition(",")[2]) for image in images]
    parts = (dspy.lm15.TextPart(text="What is this?"), *content)
    return dspy.lm15.Request(model=model, messages=(dspy.lm15.Message(role="user", parts=parts),))


def noise(size):
    """An image whose file is far longer than its tokens are many."""
    return dspy.Image(prepare(saved(Image.effect_noise(size, 100)), "x.png", "box").uri)


def test_a_limit_reserves_the_tokens_of_an_image_and_not_its_bytes():
    bare, one = (most_of(request(*images), 10, Price()).tokens for images in ((), [noise((512, 512))]))
    # 255 by the rule, and some 100 for what stands around the bytes in the request.
    assert 255 < one - bare < 400


def test_where_no_rule_is_known_a_limit_reserves_more_than_any_model_takes():
    unknown = [most_of(request(*images, model="m"), 10, Price()).tokens for images in ((), [noise((512, 512))])]
    # 16,384 and 37 x 37 patches of 14 pixels.
    assert 16_384 + 1_369 <= unknown[1] - unknown[0] < 18_000


class Look(dspy.Signature):
    """Say what is seen."""

    picture: dspy.Image = dspy.InputField()
    colour: str = dspy.OutputField()


async def shown_to(server, name, gate, own_endpoint=True):
    model = open_model(ModelSpec(name=name, api_base=server.assistant if own_endpoint else None), ASSISTANT, gate)
    try:
        with dspy.context(lm=model.lm):
            return await Question(Look).answer_by(Direct(model.lm), picture=noise((512, 512)))
    finally:
        await model.aclose()


def test_limits_hold_for_requests_with_images(server):
    server.script = lambda sent: Answer(json.dumps({"colour": "grey"}))
    assert asyncio.run(shown_to(server, "openai/gpt-4o", Gate(limits=Limits(tokens=30_000)))).colour == "grey"
    with pytest.raises(LimitReached):
        asyncio.run(shown_to(server, "openai/gpt-4o", Gate(limits=Limits(tokens=8_000))))
    assert len(server.sent) == 1


def test_a_model_that_takes_no_images_is_refused_before_a_call(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a key of a test")
    gate = Gate()
    with pytest.raises(SetupFault, match="`model` openai/o3-mini: takes no images; name a model that does"):
        asyncio.run(shown_to(server, "openai/o3-mini", gate, own_endpoint=False))
    assert gate.budget.spent.calls == 0


def test_an_unknown_model_and_one_of_an_endpoint_of_ones_own_may_take_images(server):
    assert find_capacity(find_route("hosted_vllm/any")).sees
    assert find_capacity(find_route("openai/gpt-4o")).sees
    assert not find_capacity(find_route("openai/o3-mini")).sees
    server.script = lambda sent: Answer(json.dumps({"colour": "grey"}))
    assert asyncio.run(shown_to(server, "openai/o3-mini", Gate())).colour == "grey"
