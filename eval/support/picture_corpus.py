"""A corpus in ProactiveBench's published layout, of nothing: entries of the ids that its filter keeps, and zips.

The images are photographs of noise, of 640 x 480 pixels and some 50 kB, a few of which stand under many names: what is
measured is how they are read, decoded and sent, and not what is on them.
"""

import json
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from dspy_proact.benchmarks.proactivebench.corpus import kept_ids
from dspy_proact.benchmarks.proactivebench.entries import WORLDS, Name, World

SIZE = (640, 480)
_PHOTOGRAPHS = 16
_CATEGORIES = ("A kettle.", "A violin.", "A ladder.", "An anchor.")
_OPTIONS: Mapping[Name, Sequence[str]] = {
    "ROD": ("Move the block to the left.", "Move the block to the right."),
    "VSOD": ("Rewind the video.", "Wait for the person to pass."),
    "MVP-N": ("Show another view of it.",),
    "IN-C": ("Deblur it.", "Raise its contrast.", "Raise its brightness.", "Raise its resolution."),
    "QD": ("Add more details to it.",),
    "CIT": ("Rewind the video.", "Wait for the next frames."),
    "COCO": ("Move the camera to the left.", "Move the camera up."),
}
_COUNTS: Mapping[Name, int] = {"ROD": 14, "VSOD": 10, "MVP-N": 5, "IN-C": 5, "QD": 6, "CIT": 12, "COCO": 1}
"""Images of an entry; of ROD and IN-C as published."""


def write_pictures(folder: Path, most: int | None = None) -> None:
    """The files of each environment, with the entries that the filter keeps, or so many of them at most."""
    pool = [_photograph(number) for number in range(_PHOTOGRAPHS)]
    for name, ids in kept_ids().items():
        world, written = WORLDS[name], 0
        lines = (folder / f"{world.loader}_preprocessed.jsonl").open("w", encoding="utf-8")
        with lines, zipfile.ZipFile(folder / f"{world.loader}.zip", "w") as archive:
            for id_ in sorted(ids)[:most]:
                entry = _entry(world, id_)
                lines.write(json.dumps(entry) + "\n")
                for path in _paths(world, entry):
                    archive.writestr(path, pool[written % _PHOTOGRAPHS])
                    written += 1


def _photograph(seed: int) -> bytes:
    small = Image.effect_noise((SIZE[0] // 8, SIZE[1] // 8), 40 + seed)
    buffer = BytesIO()
    small.resize(SIZE, Image.Resampling.BICUBIC).convert("RGB").save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def _entry(world: World, id_: int) -> dict[str, Any]:
    """An entry, whose options stand in another order from one id to the next."""
    count, offered = _COUNTS[world.name], [*_OPTIONS[world.name], "I cannot answer this question."]
    at = id_ % len(offered)
    slots = "_".join(f"{{{slot}}}" for slot in world.slots)
    entry: dict[str, Any] = {
        "id": id_,
        "image_template": f"{world.loader}/{id_}{'-' if slots else ''}{slots}.jpg",
        "prompt": "Which object is it?",
        "options": offered[at:] + offered[:at],
        "categories": _CATEGORIES,
        "answer": _CATEGORIES[id_ % 4],
        "first_image": 0,
        "num_images": count,
        "reference_image": 0,
    }
    if world.name == "MVP-N":
        entry |= {"valid_images": list(range(count)), "reference_image": count - 1}
    elif world.name == "IN-C":
        entry |= {"first_image": 5, "quality_answer": _OPTIONS["IN-C"][id_ % 4]}
    elif world.name == "CIT":
        entry |= {"step_size": 2, "max_steps": 6}
    elif world.name == "COCO":
        step = {"direction": "left_up", "granularity": 4, "horizontal_step": 30, "vertical_step": 25}
        entry |= step | {"crop": {"left": 300, "top": 250, "width": 500, "height": 400}}
    return entry


def _paths(world: World, entry: Mapping[str, Any]) -> Sequence[str]:
    template, count = str(entry["image_template"]), int(entry["num_images"])
    if world.name == "MVP-N":
        return [template.format(image=f"{n:04}", informative=int(n == count - 1)) for n in range(count)]
    paths = [template.format(image=f"{n:0{world.digits}}", level=n) for n in range(max(count, 6))]
    return list(dict.fromkeys(paths))
