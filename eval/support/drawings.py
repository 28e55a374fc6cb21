"""The images of ProactiveBench's bundled sample: seven small scenes, four entries each, in the published layout.

`drawn` makes the image of a name, and `description` says in words what is seen on it, for the embedded model, which
sees nothing. A description names a thing just where the drawing shows it. `python -m eval.support.drawings` draws those
that the sample holds again.
"""

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

from PIL import Image, ImageDraw, ImageEnhance, ImageFilter

from dspy_proact.benchmarks.proactivebench.entries import FOLDER

Seen = tuple[Image.Image, str]
"""A drawing, and what is seen on it in words."""

_SIDE = 320
"""Width and height of a drawing, in pixels."""
_INK, _PAPER, _GREY = "#20304a", "#f4efe4", "#8a8f98"
Outline = Sequence[tuple[float, float]]


THINGS: Mapping[str, Outline] = tomllib.loads(Path(__file__).with_name("outlines.toml").read_text(encoding="utf-8"))
"""Outlines of what is asked about, in a square from -1 to 1."""


def _a(thing: str) -> str:
    return f"an {thing}" if thing == "arrow" else f"a {thing}"


def _placed(thing: str, x: float, y: float, size: float) -> list[tuple[float, float]]:
    """The outline of a thing about a point, in pixels."""
    return [(x + size * across, y + size * down) for across, down in THINGS[thing]]


def _sheet(thing: str | None = None, size: float = 90) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """Paper, with a thing in its middle."""
    image = Image.new("RGB", (_SIDE, _SIDE), _PAPER)
    draw = ImageDraw.Draw(image)
    if thing:
        draw.polygon(_placed(thing, _SIDE / 2, _SIDE / 2, size), fill=_INK)
    return image, draw


def _bar(thing: str, frame: int) -> Seen:
    """A bar slides over a thing: it hides all of it in the middle of five frames, and nothing in the outer two."""
    image, draw = _sheet(thing)
    left = _SIDE / 2 - 100 + 105 * (frame - 2)
    draw.rectangle((left, 20, left + 200, _SIDE - 20), fill=_GREY)
    if frame in (0, 4):
        return image, f"{_a(thing)} beside a grey block"
    return image, "a grey block stands before " + ("everything" if frame == 2 else "half of a shape")


def _passer(thing: str, frame: int) -> Seen:
    """Somebody walks past a sign on a wall: they hide it in the middle of five frames."""
    image, draw = _sheet()
    draw.rectangle((90, 60, 230, 200), fill="white", outline=_INK, width=4)
    draw.polygon(_placed(thing, 160, 130, 55), fill=_INK)
    x = 160 + (-260, -70, 0, 70, 260)[frame]
    draw.ellipse((x - 45, 20, x + 45, 110), fill="#b5651d")
    draw.rounded_rectangle((x - 85, 95, x + 85, _SIDE), 30, fill="#4a6b57")
    if frame in (0, 4):
        return image, f"a sign with {_a(thing)}"
    return image, "somebody walks past and hides " + ("the sign" if frame == 2 else "a part of the sign")


def _card(thing: str, informative: int, view: int) -> Seen:
    """A card with a thing on its face: other views show its back, more or less from the side."""
    image, draw = _sheet(thing if informative else None)
    if informative:
        draw.rectangle((40, 40, 280, 280), outline="#7a3b3b", width=5)
        return image, f"the face of a card, with {_a(thing)}"
    half = 20 + 25 * (view % 4)
    draw.rectangle((160 - half, 50, 160 + half, 270), fill="#7a3b3b", outline=_INK, width=5)
    return image, "the plain back of a card"


_FAINT = (1, 0.7, 0.4, 0.02, 0.01, 0)
_FAULTS = {
    "blur": ("it is blurred", (0, 2, 6, 30, 45, 60)),
    "pixels": ("it has a few large pixels", (_SIDE, 80, 32, 5, 4, 3)),
    "dark": ("it is too dark", _FAINT),
    "flat": ("it has hardly any contrast", _FAINT),
}
"""What is said of a fault, and a radius, pixels a side, or shares of light and contrast by level."""


def _degraded(thing: str, fault: str, level: int) -> Seen:
    """A picture that gets better from level 5 to 1; what it shows can be told at 1 and 2."""
    (image, _), (problem, amounts) = _sheet(thing), _FAULTS[fault]
    amount = amounts[level]
    if fault == "blur":
        image = image.filter(ImageFilter.GaussianBlur(amount))
    elif fault == "pixels":
        small = image.resize((int(amount), int(amount)), Image.Resampling.BOX)
        image = small.resize((_SIDE, _SIDE), Image.Resampling.NEAREST)
    else:
        image = (ImageEnhance.Brightness if fault == "dark" else ImageEnhance.Contrast)(image).enhance(amount)
    return image, f"{_a(thing) if level <= 2 else 'nothing that can be made out'}: {problem}"


def _strokes(thing: str, stroke: int) -> Seen:
    """A thing drawn line by line: five images, the last one whole."""
    image, draw = _sheet()
    outline = _placed(thing, 160, 160, 110)
    closed = [*outline, outline[0]]
    length = sum(math.dist(*ends) for ends in pairwise(closed))
    left = length * (0.08, 0.2, 0.4, 0.75, 1.0)[min(stroke, 4)]
    for start, end in pairwise(closed):
        share = min(1.0, left / math.dist(start, end))
        to = (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))
        draw.line((start, to), fill=_INK, width=6)
        left -= math.dist(start, to)
        if left <= 0:
            break
    return image, f"the outline of {_a(thing)}" if stroke >= 3 else "a few strokes of a sketch"


def _arrival(thing: str, comes: int, leaves: int, frame: int) -> Seen:
    """A gate through which a thing comes: it is there from one frame to another, and never before or after."""
    image, draw = _sheet()
    draw.rectangle((0, 260, _SIDE, _SIDE), fill="#9db38a")
    for x in (30, 270):
        draw.rectangle((x, 90, x + 20, 270), fill="#6b4f3a")
    if not comes <= frame <= leaves:
        return image, "an empty gate in a video"
    draw.polygon(_placed(thing, 160, 185, 75), fill=_INK)
    return image, f"{_a(thing)} in a gate"


def _landscape(thing: str, x: float, y: float) -> Seen:
    """A wide picture with a thing at one place; a crop shows little of it."""
    image, draw = _sheet()
    draw.rectangle((0, 200, _SIDE, _SIDE), fill="#9db38a")
    draw.ellipse((20, 20, 60, 60), fill="#e0b040")
    draw.polygon(_placed(thing, x, y, 60), fill=_INK)
    return image, f"{_a(thing)} in a field"


_SCENES: Mapping[str, tuple[Callable[..., Seen], Sequence[tuple[Any, ...]]]] = {
    "bar": (_bar, [("star",), ("house",), ("fish",), ("boat",)]),
    "passer": (_passer, [("arrow",), ("cross",), ("triangle",), ("tree",)]),
    "card": (_card, [("hexagon",), ("star",), ("boat",), ("tree",)]),
    "degraded": (_degraded, [("fish", "blur"), ("house", "pixels"), ("circle", "dark"), ("arrow", "flat")]),
    "sketch": (_strokes, [("house",), ("boat",), ("cross",), ("fish",)]),
    "gate": (_arrival, [("tree", 4, 8), ("star", 2, 8), ("circle", 0, 4), ("arrow", 0, 6)]),
    "field": (_landscape, [("boat", 140, 160), ("triangle", 180, 160), ("star", 160, 140), ("hexagon", 160, 160)]),
}
"""How the images of each folder are drawn, and what is on those of each of its entries."""
_NAME = re.compile(r"(\w+)/(\d)(?:[-/_](\d+))?(?:_(\d+))?\.png", re.ASCII)
"""Folder, number of the entry, and one or two numbers of the image."""


def drawn(name: str) -> bytes:
    """The PNG of a name; raises a `KeyError`, an `IndexError` or a `TypeError` where there is none."""
    buffer = BytesIO()
    _seen(name)[0].save(buffer, "PNG")
    return buffer.getvalue()


def description(name: str) -> str:
    """What is seen on an image; raises as `drawn` does."""
    return _seen(name)[1]


def _seen(name: str) -> Seen:
    if not (parts := _NAME.fullmatch(name)):
        raise KeyError(name)
    draw, things = _SCENES[parts[1]]
    return draw(*things[int(parts[2])], *(int(number) for number in parts.groups()[2:] if number))


def draw_sample(folder: Path) -> None:
    """Draw the images that a folder's zip names again, in the same place."""
    file = folder / "images.zip"
    with ZipFile(file) as held:
        names = held.namelist()
    with ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(ZipInfo(name), drawn(name))


if __name__ == "__main__":
    draw_sample(Path(str(FOLDER), "sample"))
