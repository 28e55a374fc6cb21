"""How many tokens an image is to a model, by the rule that its provider has published.

Sources: OpenAI's guide to images, "Calculating costs" (tiles of 512 pixels, or patches of 32), and Anthropic's guide to
vision (750 pixels a token). OpenAI's rules are those of high detail, which its `auto` takes for any but small images.
"""

import re
from collections.abc import Iterable
from io import BytesIO
from math import ceil, floor, sqrt

from dspy.lm15 import ImagePart, Request, TextPart

from dspy_proact.errors import CorpusError
from dspy_proact.images import measured
from dspy_proact.models.spec import EMBEDDED

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
