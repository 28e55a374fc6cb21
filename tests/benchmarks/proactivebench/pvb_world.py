"""A folder of entries whose images tell a server by their colours which they are, and players that only see those."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

from builders.images import images_of, saved
from fakes.server import Answer, Sent
from PIL import Image
from pvb_entries import CATEGORIES, fields

from dspy_proact import Evaluation, Gate, ModelSpec
from dspy_proact.benchmarks.proactivebench.entries import NAMES, WORLDS
from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings
from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder

SIZE = (300, 340)
SHOWN = {"MVP-N": (0, 30, 31, 35), "COCO": (0,)}
"""Numbers of the images of an entry, where these are not the first six."""


def template(name: str, number: int) -> str:
    """That of an entry, whose images are its own."""
    return (
        fields(name)["image_template"]
        .replace("coco/1.jpg", f"coco/{number}.png")
        .replace("/", f"/{number}-")
        .replace(".jpg", ".png")
    )


def folder(path: Path) -> Path:
    """Four entries of each environment; the answer to number n is the category n. Images are of one colour each.

    Red has the environment, green the entry, and blue the number of the image.
    """
    for world in WORLDS.values():
        rows = list[str]()
        for number, answer in enumerate(CATEGORIES):
            made = template(world.name, number)
            rows.append(json.dumps(fields(world.name, id=number, image_template=made, answer=answer)))
            for image in SHOWN.get(world.name, range(6)):
                for clear in (0, 1)[: 1 + ("{informative}" in made)]:
                    path = made.replace("{image}", f"{image:0{world.digits}}").replace("{level}", str(image))
                    path = path / path.replace("{informative}", str(clear))
                    path.parent.mkdir(parents=True, exist_ok=True)
                    colour = (NAMES.index(world.name) * 30, number, image * 7)
                    path.write_bytes(saved(Image.new("RGB", SIZE, colour)))
        (path / f"{world.loader}_preprocessed.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def seen(sent: Sent) -> list[tuple[str, int, int]]:
    """Environment, entry and number of each image of a request, by its colour."""
    pixels = [image.convert("RGB").getpixel((image.width // 2, 5)) for image in images_of(sent)]
    return [(NAMES[round(red / 30)], green, round(blue / 7)) for red, green, blue in pixels]


def options(sent: Sent) -> list[str]:
    """Those of a request, without their letters."""
    content = sent.messages[-1]["content"]
    text = "".join(part.get("text", "") for part in content)
    return re.findall(r"^\| [A-Z]\. (.+)$", text.rpartition("[[ ## options ## ]]")[2], re.MULTILINE)


def choosing(text: str) -> Answer:
    return Answer(json.dumps({"choice": text}))


def first_category(sent: Sent) -> Answer:
    """Guesses."""
    return choosing(options(sent)[-len(CATEGORIES)])


def first_option(sent: Sent) -> Answer:
    """Asks as long as a move comes first, by its letter."""
    return choosing("A")


def oracle(sent: Sent) -> Answer:
    """Knows the right category by the image, and in ROD that the first image needs a move."""
    name, number, image = seen(sent)[-1]
    return choosing(options(sent)[0] if name == "ROD" and image == 2 else CATEGORIES[number])


class Drawing:
    """Draws an option as the baseline `random` does, by entry and turn, which it knows from what it was shown."""

    def __init__(self, seed: int):
        self.seed, self.turns = seed, Counter[tuple[str, int]]()

    def __call__(self, sent: Sent) -> Answer:
        name, number, _ = seen(sent)[-1]
        digest = hashlib.sha256(f"{self.seed}/{name}/{number}/{self.turns[name, number]}".encode()).digest()
        self.turns[name, number] += 1
        among = options(sent)
        return choosing(among[int.from_bytes(digest[:8], "big") % len(among)])


def evaluation(server, corpus, **settings):
    """Of a folder, with the model and the judge at a server."""
    wanted = ProactiveBenchSettings(filter=corpus == "sample", **settings)
    asks = wanted.baseline == "none"
    model = ModelSpec(name="openai/gpt-4o", api_base=server.assistant) if asks else ModelSpec(name="embedded")
    judge = [ModelSpec(name="openai/gpt-4o", api_base=server.judge)] if wanted.program == "open" and asks else []
    return Evaluation(
        str(corpus), model, *judge, benchmark="proactivebench", settings=wanted, gate=Gate(retries=0, concurrency=4)
    )


def ran(server, corpus, out: Path, **settings):
    """The summary of a run."""
    evaluation(server, corpus, **settings).run(out)
    return summarize(RunFolder(out))


def by_environment(summary, measure: str | None = None) -> dict[str, float | None]:
    """The score of each environment, or a measure."""
    if measure is None:
        return {name: summary.scores(name).weighted.value for name in summary.strata}
    return {name: summary.measured(summary.of_stratum(name))[measure].value for name in summary.strata}
