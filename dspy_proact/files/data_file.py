"""The files that come with the package."""

import csv
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from io import StringIO


def csv_rows(file: Traversable) -> Iterator[dict[str, str]]:
    """The rows of a CSV file by column."""
    return csv.DictReader(StringIO(file.read_text(encoding="utf-8")), strict=True)
