"""Sheets that people have filled in."""

import csv
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

GRADES = ("PASS", "PARTIAL", "FAIL", "FAIL")


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a sheet."""
    return list(csv.DictReader(StringIO(path.read_text(encoding="utf-8"))))


def filled(
    path: Path,
    rows: Sequence[dict[str, str]],
    raters: int = 8,
    times: int = 2,
    grade: Callable[[int], str] = lambda number: GRADES[number % 3],
) -> Path:
    """A file of ratings: the raters take turns, each row is rated so often."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for number, row in enumerate(rows):
            for time in range(times):
                rater = f"r{(times * number + time) % raters}"
                writer.writerow({**row, "annotator": rater, "grade": grade(number + time)})
    return path


def said(text: str) -> str:
    """What a person reads, however it is wrapped."""
    return " ".join(text.split())
