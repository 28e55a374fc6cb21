"""Players that only see images that say what they are of, and runs with them."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

from builders.images import images_of
from fakes.server import Answer, Sent
from pvb_entries import CATEGORIES
from pvb_server import Seen, read

from dspy_proact import Evaluation, Gate, ModelSpec, RunFolder, summarize
from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings


def seen(sent: Sent) -> list[Seen]:
    """What each image of a request is of."""
    return [read(image) for image in images_of(sent)]


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


def last_move(sent: Sent) -> Answer:
    """Asks by the last move of each list, as long as there is one."""
    moves = [option for option in options(sent)[:-4] if not option.startswith("I ")]
    return choosing([*options(sent)[:1], *moves][-1])


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
