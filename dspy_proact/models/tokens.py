"""How many tokens texts and images are to a model: texts as litellm counts them, images by the provider's own rule.

Sources of those rules: OpenAI's guide to images, "Calculating costs" (tiles of 512 pixels, or patches of 32), and
Anthropic's guide to vision (750 pixels a token). OpenAI's rules are those of high detail, which its `auto` takes for
any but small images.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from io import BytesIO
from math import ceil, floor, sqrt
from typing import Any

from dspy.lm15 import ImagePart, Request, TextPart

from dspy_proact.errors import CorpusError
from dspy_proact.images import measured
from dspy_proact.models.clients import litellm_folder
from dspy_proact.models.spec import EMBEDDED

_CHARACTERS_A_TOKEN = 4
_TOKENS_A_MESSAGE = _TOKENS_BEFORE_A_REPLY = 3
_CHUNK = 1024
"""Characters that are encoded at once: a longer run of one character would take minutes."""
_DATED = r"(-\d{4}-\d{2}-\d{2}|-latest)?"
_TILES = {
    r"gpt-4o-mini": (2833, 5667),
    r"gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4-turbo": (85, 170),
    r"gpt-5(-chat)?": (70, 140),
    r"o1|o1-pro|o3": (75, 150),
}
"""Tokens of any image and of each tile, by the model's own name."""
_PATCHES = {r"gpt-4\.1-mini|gpt-5-mini": 1.62, r"gpt-4\.1-nano|gpt-5-nano": 2.46, r"o4-mini": 1.72}
"""Tokens of a patch, likewise."""
_MOST_PATCHES = 1536
_CLAUDE = r"(.*\.)?claude-(3[.-].*|((opus|sonnet|haiku)-)?4([.-][0-6])?(-\d{8}.*|-v\d.*|@.*)?)"
"""Up to 4.6; later ones see more of a large image, by a rule that is not known here."""
_LONGEST_CLAUDE, _MOST_CLAUDE = 1568, 1600
_PATCH, _MOST_UNKNOWN = 14, 16_384
"""Pixels of the smallest patch, and tokens of the most tiles, of models whose weights are public."""


def count_tokens(model: str, messages: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of messages' texts as litellm counts them, of the stand-in four characters each; no images are counted."""
    contents = (message["content"] or () for message in messages)
    texts = [text if isinstance(text, str) else "".join(part.get("text", "") for part in text) for text in contents]
    if model == EMBEDDED:
        return sum(map(len, texts)) // _CHARACTERS_A_TOKEN
    encoding = _encoding(model)
    tokens = sum(_TOKENS_A_MESSAGE + _tokens(encoding, message["role"]) for message in messages)
    return tokens + sum(_tokens(encoding, text) for text in texts) + _TOKENS_BEFORE_A_REPLY


def _tokens(encoding: Any, text: str) -> int:
    chunks = (text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK))
    return sum(len(encoding.encode(chunk, disallowed_special=())) for chunk in chunks)


@cache
def _encoding(model: str) -> Any:
    import tiktoken

    # It would download the encodings that litellm brings along.
    os.environ["TIKTOKEN_CACHE_DIR"] = str(litellm_folder() / "litellm_core_utils" / "tokenizers")
    try:
        name = tiktoken.encoding_name_for_model(model)
    except KeyError:
        name = ""
    return tiktoken.get_encoding(name if name == "o200k_base" else "cl100k_base")


def tokenizer_name(model: str) -> str:
    """The tokenizer that counts the prompts of a model."""
    if model == EMBEDDED:
        return "four characters a token"
    return "tiktoken" if model.startswith("openai/") else "tiktoken, a fallback: exact for OpenAI's models only"


def image_tokens(model: str, width: int, height: int) -> int | None:
    """Tokens of an image of this size in pixels; None where no rule is known, and 0 for the embedded model."""
    if model == EMBEDDED:
        return 0
    name = model.rpartition("/")[2].lower()
    for names, (base, tile) in _TILES.items():
        if re.fullmatch(f"({names}){_DATED}", name):
            # It is made to fit 2048 x 2048, then its shorter side 768.
            share = min(1.0, 2048 / max(width, height))
            share = min(share, 768 / min(width, height))
            return base + tile * ceil(round(width * share, 6) / 512) * ceil(round(height * share, 6) / 512)
    for names, weight in _PATCHES.items():
        if re.fullmatch(f"({names}){_DATED}", name):
            return ceil(weight * _patches(width, height))
    if re.fullmatch(_CLAUDE, name):
        share = min(1.0, _LONGEST_CLAUDE / max(width, height))
        return min(_MOST_CLAUDE, ceil(width * share * height * share / 750))
    return None


def _patches(width: float, height: float) -> int:
    """Patches of 32 pixels after scaling down to 1,536 of them, in whole patches along one side."""
    if ceil(width / 32) * ceil(height / 32) > _MOST_PATCHES:
        share = sqrt(32 * 32 * _MOST_PATCHES / (width * height))
        wide, high = width * share / 32, height * share / 32
        share *= min(floor(wide) / wide, floor(high) / high) if min(wide, high) >= 1 else 1.0
        width, height = round(width * share, 6), round(height * share, 6)
    return min(_MOST_PATCHES, ceil(width / 32) * ceil(height / 32))


def images_of(request: Request) -> list[ImagePart]:
    """The images of a request, in their order."""
    return [part for message in request.messages for part in message.parts if isinstance(part, ImagePart)]


def characters_of(request: Request) -> int:
    """Characters of all texts in a request."""
    system = [TextPart(request.system)] if isinstance(request.system, str) else request.system or ()
    parts = [*system, *(part for message in request.messages for part in message.parts)]
    return sum(len(part.text) for part in parts if isinstance(part, TextPart))


def most_tokens(model: str, images: Iterable[ImagePart]) -> int:
    """The most tokens that images can be: by the provider's rule, or as many as any model of public weights makes."""
    total = 0
    for image in images:
        try:
            width, height = measured(BytesIO(image.bytes), "", "an image")
        except (CorpusError, ValueError):  # it is named by its address, or of a format that we never send
            width = height = 2048
        known = image_tokens(model, width, height)
        total += known if known is not None else _MOST_UNKNOWN + ceil(width / _PATCH) * ceil(height / _PATCH)
    return total
