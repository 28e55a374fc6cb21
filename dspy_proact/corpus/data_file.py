"""The files that come with the package."""

import csv
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import StringIO

DATA = files("dspy_proact.corpus") / "data"


def csv_rows(file: Traversable) -> Iterator[dict[str, str]]:
    """The rows of a CSV file by column."""
    return csv.DictReader(StringIO(file.read_text(encoding="utf-8")), strict=True)
