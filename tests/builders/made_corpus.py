"""A folder that the stand-in made, once for all tests of a process: eight dialogues, each proved by one sample."""

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from dspy_proact import Generation
from dspy_proact.publish.parts import Source, threshold_of

ITEMS = 8


@cache
def made_corpus() -> Path:
    """To be read, never written."""
    folder = Path(mkdtemp(), "mine")
    atexit.register(shutil.rmtree, folder.parent)
    Generation(items=ITEMS, proof="light").run(folder)
    return folder


def middle_share(folder: Path) -> float:
    """By which half of the groups of a corpus are held back, whatever its identity, which prompts decide."""
    source = Source.of(folder, (), None)
    thresholds = sorted(
        threshold_of(source.claim.identity.digest(), group) for group in source.part("public", 0.0).groups
    )
    return sum(thresholds[len(thresholds) // 2 - 1 :][:2]) / 2
