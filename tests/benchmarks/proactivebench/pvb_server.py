"""A corpus whose images say in squares what they are of."""

import json
import zipfile
from typing import NamedTuple

from builders.images import saved
from PIL import Image, ImageDraw
from pvb_entries import CATEGORIES, fields

from dspy_proact.benchmarks.proactivebench.entries import NAMES, WORLDS

SIDE, SQUARES = 400, 4
NUMBERS = {
    "ROD": range(4),
    "VSOD": range(4),
    "MVP-N": (30, 31, 35, 0),
    "IN-C": range(6),
    "QD": range(3),
    "CIT": range(6),
    "COCO": (0,),
}
FULL_SIZE = {"crop": {"left": 3, "top": 3, "width": SIDE, "height": SIDE}, "horizontal_step": 1, "vertical_step": 1}
"""A crop that is nearly all of the image, so that its squares can be read however it grows."""


class Seen(NamedTuple):
    """What an image is of."""

    name: str
    id: int
    number: int


def drawn(seen: Seen) -> Image.Image:
    """Sixteen squares, black or white: three bits of the environment, seven of the id and six of the number."""
    bits = f"{NAMES.index(seen.name):03b}{seen.id:07b}{seen.number:06b}"
    image = Image.new("RGB", (SIDE, SIDE), "white")
    draw, side = ImageDraw.Draw(image), SIDE // SQUARES
    for index, bit in enumerate(bits):
        y, x = divmod(index, SQUARES)
        draw.rectangle(
            (x * side, y * side, (x + 1) * side - 1, (y + 1) * side - 1), fill="black" if bit == "1" else "white"
        )
    return image


def read(image: Image.Image) -> Seen:
    """What an image that arrived is of."""
    grey, (width, height) = image.convert("L"), image.size
    halves = [(index + 0.5) / SQUARES for index in range(SQUARES)]
    positions = [(int(x * width), int(y * height)) for y in halves for x in halves]
    levels = [int(str(grey.getpixel(index))) for index in positions]
    assert all(level < 40 or level > 215 for level in levels), "an image arrived broken"
    bits = "".join("1" if level < 40 else "0" for level in levels)
    return Seen(NAMES[int(bits[:3], 2)], int(bits[3:10], 2), int(bits[10:], 2))


def own_template(name: str, id_: int) -> str:
    slots = {"MVP-N": "{informative}_{image}", "IN-C": "{level}", "COCO": "whole"}.get(name, "{image}")
    return f"{name}/{id_}/{slots}.{'png' if id_ % 2 else 'jpg'}"


def write_corpus(folder, ids=range(4), names=NAMES):
    """Entries of these ids of each environment, and their images in a zip each."""
    for name in names:
        world, rows = WORLDS[name], list[str]()
        with zipfile.ZipFile(folder / f"{world.loader}.zip", "w") as archive:
            for id_ in ids:
                template = own_template(name, id_)
                own = {"id": id_, "image_template": template, "answer": CATEGORIES[id_ % 4]}
                rows.append(json.dumps(fields(name, **own, **(FULL_SIZE if name == "COCO" else {}))))
                for number in NUMBERS[name]:
                    data = saved(drawn(Seen(name, id_, number)), "PNG" if id_ % 2 else "JPEG")
                    for clear in (0, 1) if name == "MVP-N" else (0,):
                        path = template.format(image=f"{number:0{world.digits}}", level=number, informative=clear)
                        archive.writestr(path, data)
        (folder / f"{world.loader}_preprocessed.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return folder
