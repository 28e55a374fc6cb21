"""Items of two made-up benchmarks, their ratings read from a file, and sheets that are filled in."""

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from builders.benchmarks import Declared
from dspy_proact import Benchmark, Nouns, Part, People, load_ratings
from dspy_proact.evaluation.ratings import RatedItem, Ratings


class Question(BaseModel, frozen=True):
    question: str
    hint: str = "Ask a shepherd."


class Reply(BaseModel, frozen=True):
    text: str


class Paths(Declared):
    name, labels, answer_type = "paths", ("GOOD", "FAIR", "POOR"), Reply
    nouns = Nouns(strata="hours", group="valley")


class Traits(Paths):
    name = "traits"
    people = People(parts=(Part("tone", ("RUDE", "KIND")), Part("topic", ("HOME", "WORK"), "nominal")))


PATHS, TRAITS = Paths(), Traits()


def item(
    key: str, text: str | None = "The last boat leaves at four.", question: str = "Which path?", **more: Any
) -> RatedItem:
    answer = None if text is None else Reply(text=text)
    fields = {"group": "v", "stratum": "DAWN", "view": Question(question=question), **more}
    return RatedItem(key, text=text, answer=answer, **fields)


ITEMS = (item("a"), item("b", "Take the cliff path."), item("c", None))


def read(
    folder: Path, text: str | bytes, items: Sequence[RatedItem] = ITEMS, declared: Benchmark[Any, Any] = PATHS
) -> Ratings:
    file = folder / "ratings"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_ratings(str(file), items, benchmark=declared)


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(StringIO(text), strict=True))


def filled(text: str, annotator: str = "ann", grade: str = "GOOD") -> str:
    """A sheet with one grade throughout."""
    out, lines = StringIO(), list(csv.DictReader(StringIO(text)))
    sheet = csv.DictWriter(out, lines[0])
    sheet.writeheader()
    sheet.writerows({**line, "annotator": annotator, "grade": grade} for line in lines)
    return out.getvalue()
