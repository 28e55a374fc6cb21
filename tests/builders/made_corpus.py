"""A folder that the stand-in made, once for all tests of a process: eight dialogues, each proved by one sample."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from dspy_proact import Generation

ITEMS = 8


@cache
def made_corpus() -> Path:
    """To be read, never written."""
    folder = Path(mkdtemp(), "mine")
    Generation(items=ITEMS, proof="light").run(folder)
    return folder
