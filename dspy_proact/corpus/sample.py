"""The bundled sample: our own dialogues in the official format, responses to them, and the authors' ratings.

The ratings are *author ratings*: the authors of this project gave them, each without sight of the others'. They are
no human study, and agreement with them shows how tools work and nothing about people.
"""

import csv
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import StringIO
from pathlib import Path

from dspy_proact.types import Frozen, Grade, OfferRating, Rating


class SampleResponse(Frozen):
    """One response to a trigger of the sample."""

    item: str
    """What its author ratings refer to."""
    case: str
    """Key of the trigger or control turn: `<unique_id_eval>__t<turn>`."""
    text: str

    @property
    def dialogue(self) -> str:
        """`unique_id_eval` of its dialogue."""
        return self.case.rpartition("__t")[0]


def sample_path() -> Path:
    """The sample's dialogues, a file in the official format."""
    return Path(str(_folder() / "dialogues.jsonl"))


def sample_responses() -> tuple[SampleResponse, ...]:
    """The sample's responses, in the order of their file."""
    return tuple(SampleResponse.model_validate_json(line) for line in _lines("responses.jsonl"))


def sample_ratings() -> tuple[Rating, ...]:
    """The author ratings of the sample's responses, in the order of their file."""
    return tuple(
        Rating(
            item=row["item"],
            annotator=row["annotator"],
            grade=Grade(row["grade"]),
            confidence=int(row["confidence"]),  # pyright: ignore[reportArgumentType] - checked by the model
            reason=row["reason"],
        )
        for row in csv.DictReader(_lines("ratings.csv"), strict=True)
    )


def sample_control_responses() -> tuple[SampleResponse, ...]:
    """Responses at the sample's control turns, three to each, in the order of their file."""
    return tuple(SampleResponse.model_validate_json(line) for line in _lines("control_responses.jsonl"))


def sample_offer_ratings() -> tuple[OfferRating, ...]:
    """The author ratings of these responses, in the order of their file."""
    return tuple(
        OfferRating(
            item=row["item"],
            annotator=row["annotator"],
            unwanted=row["unwanted"] == "yes",
            grounded=row["grounded"] == "yes" if row["grounded"] else None,
            confidence=int(row["confidence"]),  # pyright: ignore[reportArgumentType] - checked by the model
            reason=row["reason"],
        )
        for row in csv.DictReader(_lines("offer_ratings.csv"), strict=True)
    )


def _folder() -> Traversable:
    return files("dspy_proact.corpus") / "data" / "sample"


def _lines(name: str) -> StringIO:
    return StringIO((_folder() / name).read_text(encoding="utf-8"))
